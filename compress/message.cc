#include "compress/message.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>

#include "base/error.h"

namespace legacy {
namespace {

static_assert(std::endian::native == std::endian::little,
              "segments are copied as they lie in memory: little endian only");

constexpr int kMaxVarintBytes = 5;  // 32 bits in groups of 7

template <typename T>
void Append(T value, Bytes& out) {
  const auto* first = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), first, first + sizeof value);
}

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

[[noreturn]] void Malformed(const std::string& what) { throw Error::Refusal("message: " + what); }

void WritePacked(int bits, std::span<const uint32_t> indices, Bytes& out) {
  uint64_t pending = 0;
  int filled = 0;
  for (const uint32_t index : indices) {
    pending |= static_cast<uint64_t>(index) << filled;
    for (filled += bits; filled >= 8; filled -= 8, pending >>= 8) {
      out.push_back(static_cast<std::byte>(pending));
    }
  }
  if (filled > 0) out.push_back(static_cast<std::byte>(pending));
}

void WriteDelta(std::span<const uint32_t> indices, Bytes& out) {
  uint32_t next = 0;  // smallest position that may follow
  for (const uint32_t index : indices) {
    uint32_t gap = index - next;
    for (; gap >= 0x80; gap >>= 7) out.push_back(static_cast<std::byte>(gap | 0x80));
    out.push_back(static_cast<std::byte>(gap));
    next = index + 1;
  }
}

template <typename T>
std::vector<uint32_t> ReadPlain(ByteSpan in, int64_t count) {
  std::vector<uint32_t> indices(count);
  for (int64_t i = 0; i < count; ++i) indices[i] = Load<T>(in.data() + i * sizeof(T));
  return indices;
}

std::vector<uint32_t> ReadBitmap(ByteSpan in, int64_t numel, int64_t count) {
  std::vector<uint32_t> indices;
  indices.reserve(count);
  for (size_t i = 0; i < in.size(); ++i) {
    for (auto bits = std::to_integer<uint32_t>(in[i]); bits != 0; bits &= bits - 1) {
      indices.push_back(static_cast<uint32_t>(i * 8 + std::countr_zero(bits)));
    }
    if (static_cast<int64_t>(indices.size()) > count) break;  // too many: reported below
  }
  if (static_cast<int64_t>(indices.size()) != count) {
    Malformed("bitmap over " + std::to_string(numel) + " elements marks another count than " +
              std::to_string(count));
  }
  return indices;
}

std::vector<uint32_t> ReadPackedIndices(ByteSpan in, int bits, int64_t count) {
  std::vector<uint32_t> indices(count);
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  uint64_t pending = 0;
  int filled = 0;
  size_t next = 0;
  for (uint32_t& index : indices) {
    for (; filled < bits; filled += 8) {
      pending |= std::to_integer<uint64_t>(in[next++]) << filled;
    }
    index = static_cast<uint32_t>(pending & mask);
    pending >>= bits;
    filled -= bits;
  }
  if (pending != 0) Malformed("padding bits of packed positions are set");
  return indices;
}

// Reads one canonical LEB128 number below 2^32 and removes it from `in`.
uint32_t ReadVarint(ByteSpan& in) {
  uint64_t value = 0;
  for (size_t i = 0; i < kMaxVarintBytes; ++i) {
    if (i == in.size()) Malformed("positions end early");
    const auto byte = std::to_integer<uint64_t>(in[i]);
    value |= (byte & 0x7F) << (7 * i);
    if (byte >= 0x80) continue;
    if (byte == 0 && i > 0) Malformed("gap written with more bytes than it needs");
    if (value > 0xFFFFFFFF) break;
    in = in.subspan(i + 1);
    return static_cast<uint32_t>(value);
  }
  Malformed("gap above 32 bits");
}

std::vector<uint32_t> ReadDelta(ByteSpan& in, int64_t numel, int64_t count) {
  if (static_cast<int64_t>(in.size()) < count) Malformed("positions end early");
  std::vector<uint32_t> indices(count);
  ByteSpan rest = in;
  int64_t next = 0;
  for (uint32_t& index : indices) {
    const int64_t position = next + ReadVarint(rest);
    if (position >= numel) Malformed("position " + std::to_string(position) + " is outside");
    index = static_cast<uint32_t>(position);
    next = position + 1;
  }
  in = rest;
  return indices;
}

void CheckPositions(std::span<const uint32_t> indices, int64_t numel) {
  int64_t next = 0;
  for (const uint32_t index : indices) {
    if (index < next) Malformed("position " + std::to_string(index) + " repeats or goes back");
    next = int64_t{index} + 1;
  }
  if (next > numel) Malformed("position " + std::to_string(next - 1) + " is outside");
}

// Returns the value type of the header before an extension with `values`; element formats have
// none.
ValueType BaseValues(uint8_t values) {
  return static_cast<ValueType>(values < static_cast<uint8_t>(ElementFormat::kE4M3) ? values : 0);
}

}  // namespace

void WriteHeader(const Header& header, Bytes& out) {
  assert(header.codec < (1 << kCodecBits));
  for (const uint32_t word : HeaderWords(header)) Append(word, out);
  if (IsElementFormat(header.values)) Append(ExtensionWord(header), out);
}

namespace {

// Reads a header without its extension.
Header ReadBase(ByteSpan message) {
  if (static_cast<int64_t>(message.size()) < kHeaderBytes) {
    Malformed(std::to_string(message.size()) + " bytes, shorter than the header");
  }
  const std::byte* from = message.data();
  if (Load<uint16_t>(from) != kMessageMagic) Malformed("does not begin with the magic number");
  const auto kind = Load<uint8_t>(from + 2);
  if (kind >> 4 != kMessageVersion) Malformed("unknown version " + std::to_string(kind >> 4));
  const auto coding = Load<uint8_t>(from + 3);
  if (coding >> kCodecBits > static_cast<int>(IndexCoding::kDelta)) {
    Malformed("unknown index coding " + std::to_string(coding >> kCodecBits));
  }
  Header header;
  header.values = static_cast<ValueType>(kind & 0xF);
  header.codec = coding & ((1 << kCodecBits) - 1);
  header.index = static_cast<IndexCoding>(coding >> kCodecBits);
  header.unit = Load<uint32_t>(from + 4);
  header.numel = Load<uint32_t>(from + 8);
  header.count = Load<uint32_t>(from + 12);
  if (header.count > header.numel) {
    Malformed(std::to_string(header.count) + " values for " + std::to_string(header.numel) +
              " elements");
  }
  return header;
}

}  // namespace

Header ReadHeader(ByteSpan message) {
  Header header = ReadBase(message);
  if (header.codec != static_cast<uint8_t>(CodecId::kExtended)) return header;
  const ExtendedHeader extended = ReadExtendedHeader(message);
  if (extended.method != ExtendedMethod::kMx) return header;
  const auto largest = static_cast<uint8_t>(kLastElementFormat);
  header.values = static_cast<ValueType>(extended.values);
  if (!IsElementFormat(header.values) || extended.values > largest ||
      extended.parameter >= 1 << kCodecBits) {
    Malformed("value type " + std::to_string(extended.values) + " of codec " +
              std::to_string(extended.parameter) + " is no element format of a codec");
  }
  header.codec = static_cast<uint8_t>(extended.parameter);
  return header;
}

void WriteExtendedHeader(ExtendedHeader header, Bytes& out) {
  header.header.codec = static_cast<uint8_t>(CodecId::kExtended);
  header.header.values = BaseValues(header.values);
  WriteHeader(header.header, out);
  Append(static_cast<uint8_t>(header.method), out);
  Append(header.values, out);
  Append(header.parameter, out);
}

ExtendedHeader ReadExtendedHeader(ByteSpan message) {
  ExtendedHeader header{.header = ReadBase(message)};
  if (header.header.codec != static_cast<uint8_t>(CodecId::kExtended)) {
    Malformed("codec " + std::to_string(header.header.codec) + " has no extended header");
  }
  if (static_cast<int64_t>(message.size()) < kExtendedHeaderBytes) {
    Malformed(std::to_string(message.size()) + " bytes, shorter than the extended header");
  }
  const std::byte* from = message.data() + kHeaderBytes;
  header.method = static_cast<ExtendedMethod>(Load<uint8_t>(from));
  header.values = Load<uint8_t>(from + 1);
  header.parameter = Load<uint16_t>(from + 2);
  if (header.header.values != BaseValues(header.values)) {
    Malformed("value types " + std::to_string(static_cast<int>(header.header.values)) + " and " +
              std::to_string(header.values) + " differ");
  }
  return header;
}

int64_t IndexBytes(IndexCoding coding, int64_t numel, int64_t count) {
  switch (coding) {
    case IndexCoding::kNone:
      return 0;
    case IndexCoding::kU16:
      if (numel <= 65536) return 2 * count;
      throw Error("index coding u16", std::to_string(numel) + " elements", "at most 65536");
    case IndexCoding::kU32:
      return 4 * count;
    case IndexCoding::kBitmap:
      return (numel + 7) / 8;
    case IndexCoding::kPacked:
      return (count * BitsPerPosition(numel) + 7) / 8;
    case IndexCoding::kDelta:
      break;
  }
  throw Error("index coding delta has no length that is known beforehand");
}

IndexCoding ShortestIndexCoding(int64_t numel, int64_t count) {
  constexpr std::array kFixed = {IndexCoding::kU16, IndexCoding::kU32, IndexCoding::kBitmap,
                                 IndexCoding::kPacked};
  const auto candidates = std::span(kFixed).subspan(numel <= 65536 ? 0 : 1);
  return *std::ranges::min_element(
      candidates, {}, [&](IndexCoding coding) { return IndexBytes(coding, numel, count); });
}

void WriteIndices(IndexCoding coding, int64_t numel, std::span<const uint32_t> indices,
                  Bytes& out) {
  switch (coding) {
    case IndexCoding::kNone:
      return;
    case IndexCoding::kU16:
      for (const uint32_t index : indices) Append(static_cast<uint16_t>(index), out);
      return;
    case IndexCoding::kU32:
      for (const uint32_t index : indices) Append(index, out);
      return;
    case IndexCoding::kBitmap: {
      const size_t start = out.size();
      out.resize(start + IndexBytes(coding, numel, 0));
      for (const uint32_t index : indices) {
        out[start + index / 8] |= static_cast<std::byte>(1u << index % 8);
      }
      return;
    }
    case IndexCoding::kPacked:
      return WritePacked(BitsPerPosition(numel), indices, out);
    case IndexCoding::kDelta:
      return WriteDelta(indices, out);
  }
}

std::vector<uint32_t> ReadIndices(IndexCoding coding, int64_t numel, int64_t count, ByteSpan& in) {
  if (coding == IndexCoding::kNone) Malformed("positions are missing");
  if (count > numel) Malformed("more positions than elements");
  if (coding == IndexCoding::kDelta) return ReadDelta(in, numel, count);
  const int64_t length = IndexBytes(coding, numel, count);
  if (static_cast<int64_t>(in.size()) < length) Malformed("positions end early");
  const ByteSpan segment = in.first(length);
  std::vector<uint32_t> indices;
  if (coding == IndexCoding::kU16) {
    indices = ReadPlain<uint16_t>(segment, count);
  } else if (coding == IndexCoding::kU32) {
    indices = ReadPlain<uint32_t>(segment, count);
  } else if (coding == IndexCoding::kBitmap) {
    indices = ReadBitmap(segment, numel, count);
  } else {
    indices = ReadPackedIndices(segment, BitsPerPosition(numel), count);
  }
  CheckPositions(indices, numel);
  in = in.subspan(length);
  return indices;
}

std::optional<IndexCoding> ParseIndexCoding(const std::string& text, const std::string& key) {
  constexpr std::pair<std::string_view, IndexCoding> kCodings[] = {{"u16", IndexCoding::kU16},
                                                                   {"u32", IndexCoding::kU32},
                                                                   {"bitmap", IndexCoding::kBitmap},
                                                                   {"packed", IndexCoding::kPacked},
                                                                   {"delta", IndexCoding::kDelta}};
  if (text == "auto") return std::nullopt;
  for (const auto& [name, coding] : kCodings) {
    if (name == text) return coding;
  }
  throw Error(key, text, "auto, u16, u32, bitmap, packed, delta");
}

}  // namespace legacy
