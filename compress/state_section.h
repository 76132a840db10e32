// The fields of a state (state.h) as a section of a file (base/files/section_file.h).
#pragma once

#include <string>

#include "base/error.h"
#include "base/files/section_file.h"
#include "base/state.h"

namespace legacy {

// Writes one section, by write(StateWriter&). Its long fields go straight to the file.
template <class Write>
void WriteSection(SectionWriter& out, const std::string& name, const Write& write) {
  out.Begin(name);
  StateWriter state([&](ByteSpan bytes) { out.Write(bytes); });
  write(state);
  state.Flush();
}

// Reads one section, by read(StateReader&). Throws Error that names file and section where it has
// other fields.
template <class Read>
void ReadSection(const SectionFile& in, const std::string& name, const Read& read) {
  try {
    StateReader state(in.Get(name));
    read(state);
    state.ExpectEnd();
  } catch (const Error& error) {
    throw error.Within(in.path().string() + ": section '" + name + "': ");
  }
}

}  // namespace legacy
