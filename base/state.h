// State, such as that of an exchange, is written and read as bytes, field by field, little endian.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace legacy {

// Appends fields to bytes, which Take() returns, or hands them on.
class StateWriter {
 public:
  // A Sink takes the next bytes. Long fields come straight from the caller's memory.
  using Sink = std::function<void(ByteSpan bytes)>;

  StateWriter() = default;
  explicit StateWriter(Sink sink) : sink_(std::move(sink)) {}
  // Hands on what is left. It is called at the end where there is a sink.
  void Flush();

  // Append one field each: a number, a length with its characters, a double, floats without their
  // count.
  void Number(uint64_t value);
  void Text(std::string_view text);
  void Real(double value);
  void Floats(std::span<const float> values);
  // Appends a length with its bytes.
  void Blob(ByteSpan bytes);
  Bytes Take() { return std::move(out_); }

 private:
  void Append(ByteSpan bytes);

  Sink sink_;
  Bytes out_;  // with a sink, what is not handed on yet
};

// Reads what StateWriter wrote, as untrusted input: every call throws Error if the bytes are not
// the requested field.
class StateReader {
 public:
  explicit StateReader(ByteSpan in) : in_(in) {}
  // Read a field and throw unless it is the expected one. `what` names the field in the message:
  // "state: <what>: got 3; allowed: 4".
  void ExpectNumber(const char* what, uint64_t expected);
  void ExpectText(const char* what, std::string_view expected);
  // Reads any 64 bits, such as those of a double that may be NaN.
  uint64_t Number();
  // Reads a length with its characters or bytes.
  std::string Text();
  ByteSpan Blob();
  // Reads a number of at most `maximum`.
  uint64_t Number(const char* what, uint64_t maximum);
  // Reads a finite number.
  double Real(const char* what);
  // Reads as many finite floats as `values` has.
  void Floats(std::span<float> values);
  // Reads `count` finite floats. It checks first that this many are present, so that a malicious
  // count allocates no memory.
  std::vector<float> Floats(uint64_t count);
  // Reads as many floats as `values` has, whatever their values.
  void AnyFloats(std::span<float> values);
  // Returns the number of bytes that are not read yet.
  uint64_t Left() const { return in_.size(); }
  // Throws unless all bytes are read.
  void ExpectEnd() const;

 private:
  ByteSpan Take(uint64_t bytes);

  ByteSpan in_;
};

// Writes several parts of a state one after the other. Each part has Save(StateWriter&) and
// Load(StateReader&).
template <typename... Parts>
void SaveParts(StateWriter& out, const Parts&... parts) {
  (parts.Save(out), ...);
}

// Reads those parts to the end of `in`. Throws Error, changing none of them.
template <typename... Parts>
void LoadParts(StateReader& in, Parts&... parts) {
  std::tuple<Parts...> loaded(parts...);
  std::apply([&in](Parts&... part) { (part.Load(in), ...); }, loaded);
  in.ExpectEnd();
  std::tie(parts...) = std::move(loaded);
}

}  // namespace legacy
