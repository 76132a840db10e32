#include "compress/cpu/elias.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/error.h"

namespace legacy::cpu {
namespace {

class BitWriter {
 public:
  explicit BitWriter(std::vector<std::byte>& out) : out_(out) {}
  // Appends `count` bits, 0 <= count <= 32; higher bits of `bits` are zero.
  void Put(uint64_t bits, int count) {
    pending_ |= bits << filled_;
    for (filled_ += count; filled_ >= 8; filled_ -= 8, pending_ >>= 8) {
      out_.push_back(static_cast<std::byte>(pending_));
    }
  }
  void PutGamma(uint64_t value) {  // value < 2^32 + 1
    const int below = std::bit_width(value) - 1;
    Put(0, below);
    Put(1, 1);
    Put(value & ((uint64_t{1} << below) - 1), below);
  }
  void Finish() {
    if (filled_ > 0) out_.push_back(static_cast<std::byte>(pending_));
  }

 private:
  std::vector<std::byte>& out_;
  uint64_t pending_ = 0;
  int filled_ = 0;
};

class BitReader {
 public:
  explicit BitReader(std::span<const std::byte> in) : in_(in) {}
  // Returns the next `count` bits, 0 <= count <= 32.
  uint64_t Get(int count) {
    for (; filled_ < count; filled_ += 8) {
      if (next_ == in_.size()) throw Error("message: Elias codes end early");
      pending_ |= std::to_integer<uint64_t>(in_[next_++]) << filled_;
    }
    const uint64_t bits = pending_ & ((uint64_t{1} << count) - 1);
    pending_ >>= count;
    filled_ -= count;
    return bits;
  }
  uint64_t GetGamma() {
    int below = 0;
    while (Get(1) == 0) {
      if (++below > 32) throw Error("message: an Elias code is too long");
    }
    return uint64_t{1} << below | Get(below);
  }
  void CheckEnd() const {
    if (next_ != in_.size() || pending_ != 0) {
      throw Error("message: bits after the last Elias code are set");
    }
  }

 private:
  std::span<const std::byte> in_;
  size_t next_ = 0;
  uint64_t pending_ = 0;
  int filled_ = 0;
};

}  // namespace

void WriteElias(std::span<const uint8_t> codes, int levels, std::vector<std::byte>& out) {
  BitWriter writer(out);
  size_t next = 0;  // first position not yet encoded
  for (size_t i = 0; i < codes.size(); ++i) {
    const int level = codes[i] - levels;
    if (level == 0) continue;
    writer.PutGamma(i - next + 1);
    writer.Put(level < 0, 1);
    writer.PutGamma(static_cast<uint64_t>(std::abs(level)));
    next = i + 1;
  }
  if (next < codes.size()) writer.PutGamma(codes.size() - next + 1);
  writer.Finish();
}

void ReadElias(std::span<const std::byte> in, int levels, std::span<uint8_t> codes) {
  BitReader reader(in);
  std::ranges::fill(codes, static_cast<uint8_t>(levels));
  for (uint64_t next = 0; next < codes.size(); ++next) {
    next += reader.GetGamma() - 1;
    if (next > codes.size()) throw Error("message: Elias codes go beyond the last value");
    if (next == codes.size()) break;
    const bool negative = reader.Get(1) == 1;
    const uint64_t level = reader.GetGamma();
    if (level > static_cast<uint64_t>(levels)) {
      throw Error("message: a code is above the largest level");
    }
    codes[next] = static_cast<uint8_t>(negative ? levels - static_cast<int>(level)
                                                : levels + static_cast<int>(level));
  }
  reader.CheckEnd();
}

}  // namespace legacy::cpu
