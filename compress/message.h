// A message is the real bytes that one worker sends for one unit in one collective call: a 16-byte
// header, then segments whose lengths follow from the header alone (delta varint excepted), all
// little endian. See docs/message-format.md.
//
//   offset  0  u16  magic 0x474C ("LG")
//           2  u8   version (1) << 4 | value type: the quantiser
//           3  u8   codec id (low 5 bits) | index coding << 5
//           4  u32  unit id
//           8  u32  numel of the unit
//          12  u32  count: values in this message
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace legacy {

// The bytes that are sent.
struct Message {
  Bytes bytes;
  int64_t size() const { return static_cast<int64_t>(bytes.size()); }
};

inline constexpr int64_t kHeaderBytes = 16;  // bytes of a header
// The largest numel of a unit.
inline constexpr int64_t kMaxUnitElements = 0xFFFFFFFFLL;

// The coding of the positions of selected elements. Every coding except kDelta has a length fixed
// by (numel, count).
enum class IndexCoding : uint8_t {
  kNone = 0,  // positions are implied (dense, or drawn from a shared seed)
  kU16 = 1,   // 2 bytes each; numel <= 65536
  kU32 = 2,
  kBitmap = 3,  // ceil(numel / 8) bytes
  kPacked = 4,  // ceil(log2 numel) bits each
  kDelta = 5,   // LEB128 varint of gaps; data dependent, opt-in
};

// Returns the coding of that name ("u32"), or nothing for "auto", the shortest. Throws Error on any
// other text.
std::optional<IndexCoding> ParseIndexCoding(const std::string& text,
                                            const std::string& key = "index coding");

// The quantiser that wrote the values.
enum class ValueType : uint8_t {
  kFloat32 = 0,
  kFloat16 = 1,
  kBfloat16 = 2,
  kUniform = 3,  // levels over [-max, max], rounded to the nearest
  kRange = 4,    // range-based float
  kQsgd = 5,     // codes of fixed width
  kQsgdElias = 6,
  kMaxMin = 7,
  kTernary = 8,  // ternary values and one scale
  kNatural = 9,
  kSign = 10,    // signs and one scale
  kOneBit = 11,  // signs and two means
  kMean = 12,    // one mean for all values (quantised RedSync)
  kCounts = 13,  // integer sums of shared-scale ternary values
  // 14 and 15: quantisers of the user's own
  kUser = 14,
};

// The number formats of the OCP's 8-bit and MX specifications, integers of quantiser `int`, and
// quantiser `nf4`.
// Their numbers follow those of value types, which do not fit into a header: one with such a value
// type is extended.
enum class ElementFormat : uint8_t {
  kE4M3 = 16,
  kE5M2 = 17,
  kE3M2 = 18,
  kE2M3 = 19,
  kE2M1 = 20,
  kInteger = 21,
  kNarrowInteger = 22,
  kNormalFloat = 23,
};
inline constexpr ElementFormat kLastElementFormat = ElementFormat::kNormalFloat;

// Returns true if headers with that value type are extended (ExtendedHeader).
constexpr bool IsElementFormat(ValueType values) {
  return values >= static_cast<ValueType>(ElementFormat::kE4M3);
}

// The number of a codec in headers. Numbers are appended, and never change.
enum class CodecId : uint8_t {
  kDense = 0,  // all values, in order, through any quantiser
  kTopK = 2,
  kRandomK = 3,
  kPositions = 4,  // AR-Topk, first call: positions without values
  kSupport = 5,    // AR-Topk, second call: values at those positions
  kThreshold = 6,
  kSampled = 7,  // DGC's sampled threshold
  kRedSync = 8,
  kSidco = 9,
  kAdaComp = 10,
  kCat = 11,
  kFft = 12,
  kPowerSgdP = 13,
  kPowerSgdQ = 14,
  kLengths = 15,  // lengths of the following messages, if they depend on the data
  kScale = 16,    // shared-scale TernGrad, first call: one maximum
  kSlice = 17,    // one worker's slice of a requantised sum
  kVote = 18,     // sign bits for a vote
  kPolicy = 19,   // a policy's own message: agreement, announcement
  kGaussian = 20,
  kVariance = 21,
  kExtended = 23,  // an ExtendedHeader says which method
  // 24 to 31: codecs of the user's own
  kUser = 24,
};

// The decoded header of a message. If its values are an ElementFormat, it is written as an extended
// header of method kMx, whose parameter is `codec`.
struct Header {
  uint8_t codec = 0;
  IndexCoding index = IndexCoding::kNone;
  ValueType values = ValueType::kFloat32;
  uint32_t unit = 0;
  uint32_t numel = 0;
  uint32_t count = 0;
};

inline constexpr uint16_t kMessageMagic = 0x474C;  // "LG"
inline constexpr uint8_t kMessageVersion = 1;
inline constexpr int kCodecBits = 5;

// Returns the four 32-bit words of a header, without its extension.
constexpr std::array<uint32_t, 4> HeaderWords(const Header& header) {
  const bool extended = IsElementFormat(header.values);
  const uint32_t values = extended ? 0 : static_cast<uint32_t>(header.values);
  const uint32_t codec = extended ? static_cast<uint32_t>(CodecId::kExtended) : header.codec;
  const uint32_t kinds = kMessageVersion << 4 | values | codec << 8 |
                         static_cast<uint32_t>(header.index) << (8 + kCodecBits);
  return {kMessageMagic | kinds << 16, header.unit, header.numel, header.count};
}

// Returns the number of bits of a packed position.
constexpr int BitsPerPosition(int64_t numel) {
  // This is the 32-bit function, because nvcc compiles the 64-bit one to 0
  // (cuda/kernels/coding/bits.h).
  return numel <= 1 ? 0 : std::bit_width(static_cast<uint32_t>(numel - 1));
}

// The method of a message whose codec is kExtended. Numbers are appended, and never change.
enum class ExtendedMethod : uint8_t {
  kMx = 1,   // block formats with shared scales, and pieces of their sums
  kDct = 2,  // cosine coefficients of chunks
  kEden = 3,
  kThcCodes = 4,
  kThcSums = 5,
  kDynamiq = 6,
  kDynamiqStatistics = 7,
  kArcSketch = 8,
  kArcRows = 9,
  kOkTopk = 10,
  kOmniBlocks = 11,
  kNorm = 12,  // one norm or flag
};

// An extended header is a header of codec 23, and four bytes that follow it:
//
//   offset 16  u8   method
//          17  u8   value type: a ValueType (then that of the header), or an ElementFormat
//          18  u16  parameter of the method (bits, rank), or 0
struct ExtendedHeader {
  Header header;  // its codec is kExtended
  ExtendedMethod method = ExtendedMethod::kMx;
  uint8_t values = 0;
  uint16_t parameter = 0;
};

inline constexpr int64_t kExtendedHeaderBytes = kHeaderBytes + 4;

// Returns the bytes of a header with that value type.
constexpr int64_t HeaderBytes(ValueType values) {
  return IsElementFormat(values) ? kExtendedHeaderBytes : kHeaderBytes;
}
// Returns the fifth word of a header whose values are an ElementFormat.
constexpr uint32_t ExtensionWord(const Header& header) {
  return static_cast<uint32_t>(ExtendedMethod::kMx) | static_cast<uint32_t>(header.values) << 8 |
         uint32_t{header.codec} << 16;
}

// Appends `header`, whose codec and value type follow from the other fields.
void WriteExtendedHeader(ExtendedHeader header, Bytes& out);
// Reads and checks an extended header, as ReadHeader does: the codec is kExtended, and both value
// types agree. The method's decoder checks all else. Throws Error for anything else.
ExtendedHeader ReadExtendedHeader(ByteSpan message);

// Appends `header` to `out`, with its extension if its values are an ElementFormat.
void WriteHeader(const Header& header, Bytes& out);

// Reads and checks a header (magic, version, known codings, count <= numel), with the extension of
// method kMx if it has one. Throws Error for anything else, because `message` is untrusted.
Header ReadHeader(ByteSpan message);

// Returns the number of bytes of `count` positions below `numel` under `coding`. Throws Error for
// kDelta, which has no fixed length.
int64_t IndexBytes(IndexCoding coding, int64_t numel, int64_t count);

// Returns the shortest coding of fixed length for (numel, count); ties go to the first of u16, u32,
// bitmap, packed.
IndexCoding ShortestIndexCoding(int64_t numel, int64_t count);

// Appends positions, which are strictly ascending and below `numel`.
void WriteIndices(IndexCoding coding, int64_t numel, std::span<const uint32_t> indices, Bytes& out);

// Reads `count` strictly ascending positions below `numel` from the front of `in` and removes them
// from it. Throws Error if bytes are missing, if positions are outside, repeat or go backwards, or
// if padding bits are set.
std::vector<uint32_t> ReadIndices(IndexCoding coding, int64_t numel, int64_t count, ByteSpan& in);

}  // namespace legacy
