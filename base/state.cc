#include "base/state.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/number.h"

namespace legacy {
namespace {

[[noreturn]] void Truncated() { throw Error("state: ends early"); }

[[noreturn]] void Refuse(const char* what, const std::string& got, const std::string& allowed) {
  throw Error(std::string("state: ") + what, got, allowed);
}

// Throws Error if one of the floats is NaN or infinite.
void CheckFinite(ByteSpan floats) {
  constexpr uint32_t kExponent = 0x7F800000;  // all bits set only in NaN and infinity
  for (; !floats.empty(); floats = floats.subspan(sizeof kExponent)) {
    uint32_t bits = 0;
    std::memcpy(&bits, floats.data(), sizeof bits);
    if ((bits & kExponent) == kExponent) Refuse("a value", "NaN or infinity", "finite numbers");
  }
}

}  // namespace

void StateWriter::Append(ByteSpan bytes) {
  constexpr size_t kLong = size_t{1} << 16;
  if (sink_ && out_.size() + bytes.size() >= kLong) {
    Flush();
    return sink_(bytes);
  }
  out_.insert(out_.end(), bytes.begin(), bytes.end());
}

void StateWriter::Flush() {
  if (sink_ && !out_.empty()) sink_(out_);
  out_.clear();
}

void StateWriter::Number(uint64_t value) { Append(std::as_bytes(std::span(&value, 1))); }

void StateWriter::Text(std::string_view text) { Blob(std::as_bytes(std::span(text))); }

void StateWriter::Blob(ByteSpan bytes) {
  Number(bytes.size());
  Append(bytes);
}

void StateWriter::Real(double value) { Number(std::bit_cast<uint64_t>(value)); }

void StateWriter::Floats(std::span<const float> values) { Append(std::as_bytes(values)); }

ByteSpan StateReader::Take(uint64_t bytes) {
  if (bytes > in_.size()) Truncated();
  const ByteSpan taken = in_.first(bytes);
  in_ = in_.subspan(bytes);
  return taken;
}

uint64_t StateReader::Number() {
  uint64_t value = 0;
  std::memcpy(&value, Take(sizeof value).data(), sizeof value);
  return value;
}

void StateReader::ExpectNumber(const char* what, uint64_t expected) {
  const uint64_t got = Number();
  if (got != expected) Refuse(what, std::to_string(got), std::to_string(expected));
}

void StateReader::ExpectText(const char* what, std::string_view expected) {
  const std::string got = Text();
  if (got != expected) Refuse(what, got, std::string(expected));
}

std::string StateReader::Text() {
  const ByteSpan bytes = Blob();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

ByteSpan StateReader::Blob() { return Take(Number()); }

uint64_t StateReader::Number(const char* what, uint64_t maximum) {
  const uint64_t got = Number();
  if (got > maximum) Refuse(what, std::to_string(got), "at most " + std::to_string(maximum));
  return got;
}

double StateReader::Real(const char* what) {
  const double got = std::bit_cast<double>(Number());
  if (!std::isfinite(got)) Refuse(what, FormatNumber(got), "finite numbers");
  return got;
}

void StateReader::Floats(std::span<float> values) {
  const ByteSpan bytes = Take(values.size_bytes());
  CheckFinite(bytes);
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
}

void StateReader::AnyFloats(std::span<float> values) {
  const ByteSpan bytes = Take(values.size_bytes());
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
}

std::vector<float> StateReader::Floats(uint64_t count) {
  if (count > in_.size() / sizeof(float)) Truncated();
  std::vector<float> values(count);
  Floats(values);
  return values;
}

void StateReader::ExpectEnd() const {
  if (!in_.empty()) Refuse("bytes after its end", std::to_string(in_.size()), "none");
}

}  // namespace legacy
