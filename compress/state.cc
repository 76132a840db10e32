#include "compress/state.h"

#include <cassert>
#include <cstring>

#include "compress/codecs/common.h"
#include "compress/error.h"

namespace legacy {
namespace {

[[noreturn]] void Truncated() { throw Error("exchange state: ends early"); }

}  // namespace

void StateWriter::Number(uint64_t value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  out_.insert(out_.end(), bytes.begin(), bytes.end());
}

void StateWriter::Text(std::string_view text) {
  Number(text.size());
  const auto bytes = std::as_bytes(std::span(text));
  out_.insert(out_.end(), bytes.begin(), bytes.end());
}

void StateWriter::Floats(std::span<const float> values) { AppendFloats(values, out_); }

uint64_t StateReader::Number() {
  uint64_t value = 0;
  if (in_.size() < sizeof value) Truncated();
  std::memcpy(&value, in_.data(), sizeof value);
  in_ = in_.subspan(sizeof value);
  return value;
}

void StateReader::ExpectNumber(const char* what, uint64_t expected) {
  const uint64_t got = Number();
  if (got == expected) return;
  throw Error(std::string("exchange state: ") + what, std::to_string(got),
              std::to_string(expected));
}

void StateReader::ExpectText(const char* what, std::string_view expected) {
  const uint64_t length = Number();
  if (length > in_.size()) Truncated();
  const std::string got(reinterpret_cast<const char*>(in_.data()), length);
  in_ = in_.subspan(length);
  if (got == expected) return;
  throw Error(std::string("exchange state: ") + what, got, std::string(expected));
}

void StateReader::ExpectFloatsLeft(int64_t count) const {
  const int64_t bytes = count * static_cast<int64_t>(sizeof(float));
  if (static_cast<int64_t>(in_.size()) != bytes) {
    throw Error("exchange state: bytes of residuals", std::to_string(in_.size()),
                std::to_string(bytes));
  }
  CheckFiniteSegment(in_);
}

void StateReader::Floats(std::span<float> values) {
  assert(in_.size() >= values.size_bytes());
  if (!values.empty()) std::memcpy(values.data(), in_.data(), values.size_bytes());
  in_ = in_.subspan(values.size_bytes());
}

}  // namespace legacy
