// Bytes of an exchange's state, written and read field by field. Little endian.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "compress/message.h"

namespace legacy {

class StateWriter {
 public:
  void Number(uint64_t value);
  void Text(std::string_view text);
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
  // `what` names the field in the message: "exchange state: <what>: got 3; allowed: 4".
  void ExpectNumber(const char* what, uint64_t expected);
  void ExpectText(const char* what, std::string_view expected);
  // Throws unless exactly `count` floats are left, all finite; so that nothing is half loaded, call
  // it before Floats.
  void ExpectFloatsLeft(int64_t count) const;
  void Floats(std::span<float> values);

 private:
  uint64_t Number();

  ByteSpan in_;
};

}  // namespace legacy
