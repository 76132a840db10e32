// Lists of all codecs, schemes, policies and gradients, from the tables that make them.
#pragma once

#include <string>
#include <vector>

#include "analysis/recorded_table.h"
#include "compress/options.h"

namespace legacy {

// A MethodEntry is one method. Codecs and schemes have all fields; the others have no parameter,
// message or collective.
struct MethodEntry {
  MethodInfo info;
  std::string parameter;   // parameter: "density, 0 to 1, default 0.01"
  std::string message;     // bytes of one worker for 1,000 x 1,000 values at the default
  std::string collective;  // collectives that carry the message
};

// Returns what --codec accepts, in the order of SchemeNames().
std::vector<MethodEntry> CodecEntries();
std::vector<MethodEntry> PolicyEntries();
std::vector<MethodEntry> GradientEntries();

// Returns a list for a terminal. `names` select entries; empty: all. Throws Error with the list on
// unknown names.
std::string ListText(const std::vector<std::string>& names);

// Returns the tables of docs/compressors.md: codecs, policies and gradients, their options and
// papers.
std::vector<ValidationTable> ListTables();

}  // namespace legacy
