// Fuzz targets, one for each family of readers of bytes that others sent, or of files and requests.
// Each takes any input: the first bytes choose what is read and how, the rest is read. What must
// hold is checked by Require; a target that returns was fine. libFuzzer runs them (./waf fuzz), and
// replay_test.cc with seeds and plain mutations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "compress/message.h"

namespace legacy::fuzz {

void FuzzMessage(ByteSpan input);  // reads headers and positions
void FuzzCodec(ByteSpan input);    // decodes with every codec
// Runs every scheme's calls, with bytes changed on the way, and loads its saved state.
void FuzzScheme(ByteSpan input);
void FuzzPolicy(ByteSpan input);   // runs the policies' own calls, with bytes changed
void FuzzOptions(ByteSpan input);  // reads texts of codecs, schemes and policies

struct Family {
  const char* name;
  void (*run)(ByteSpan input);
  std::vector<Bytes> (*seeds)();  // inputs that are read to their end
  uint32_t mutations = 3000;      // changed seeds that the test tries without a fuzzer
};
std::span<const Family> Families();

// Takes numbers from the front of an input; past its end it gives zeros.
class Input {
 public:
  explicit Input(ByteSpan bytes) : bytes_(bytes) {}
  uint32_t Take(size_t bytes) {
    uint32_t value = 0;
    for (size_t i = 0; i < bytes && !bytes_.empty(); ++i, bytes_ = bytes_.subspan(1)) {
      value |= std::to_integer<uint32_t>(bytes_.front()) << (8 * i);
    }
    return value;
  }
  uint32_t Below(uint32_t bound) { return Take(2) % bound; }
  bool Empty() const { return bytes_.empty(); }
  ByteSpan Rest() const { return bytes_; }

 private:
  ByteSpan bytes_;
};

// Writes the numbers that Input takes, for seeds.
class Output {
 public:
  Output& Put(uint32_t value, size_t bytes = 2) {
    for (size_t i = 0; i < bytes; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
  Output& Put(ByteSpan more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return *this;
  }
  Bytes Take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

// Ends the program if `holds` is false, even if asserts are off; a fuzzer reports this as a crash.
inline void Require(bool holds) {
  if (!holds) std::abort();
}

// Returns `message` as a faulty sender or network may change it: unchanged, with flipped bits, cut,
// longer, or with other bytes.
Bytes Tampered(Bytes message, Input& input);

// Texts that the tables allow: every method at its defaults and with each option at each word that
// it allows, quantisers after all first stages that take them, and index codings. A policy may not
// fit a scheme.
const std::vector<std::string>& CodecTexts();
const std::vector<std::string>& SchemeTexts();
const std::vector<std::string>& PolicyTexts();

}  // namespace legacy::fuzz
