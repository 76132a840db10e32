// Bytes of an exchange's or a policy's state, written and read field by field. Little endian.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "compress/message.h"

namespace legacy {

class StateWriter {
 public:
  void Number(uint64_t value);
  void Text(std::string_view text);
  void Real(double value);
  void Floats(std::span<const float> values);
  Bytes Take() { return std::move(out_); }

 private:
  Bytes out_;
};

// Reads what StateWriter wrote, treating it as hostile: every call throws Error where the bytes are
// not what is asked.
class StateReader {
 public:
  explicit StateReader(ByteSpan in) : in_(in) {}
  // `what` names the field in the message: "state: <what>: got 3; allowed: 4".
  void ExpectNumber(const char* what, uint64_t expected);
  void ExpectText(const char* what, std::string_view expected);
  uint64_t Number(const char* what, uint64_t maximum);
  double Real(const char* what);              // finite
  void Floats(std::span<float> values);       // all finite
  std::vector<float> Floats(uint64_t count);  // is not believed before that many are there
  void ExpectEnd() const;

 private:
  uint64_t Number();
  ByteSpan Take(uint64_t bytes);

  ByteSpan in_;
};

// Several parts of a state, one after the other: each has Save and Load, as this writer and reader
// do it field by field.
template <typename... Parts>
void SaveParts(StateWriter& out, const Parts&... parts) {
  (parts.Save(out), ...);
}

// Reads them to the end of `in`; throws Error, changing none.
template <typename... Parts>
void LoadParts(StateReader& in, Parts&... parts) {
  std::tuple<Parts...> loaded(parts...);
  std::apply([&in](Parts&... part) { (part.Load(in), ...); }, loaded);
  in.ExpectEnd();
  std::tie(parts...) = std::move(loaded);
}

}  // namespace legacy
