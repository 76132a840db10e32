#include "base/error.h"
#include "tests/fuzz/targets.h"

namespace legacy::fuzz {
namespace {

constexpr IndexCoding kCodings[] = {IndexCoding::kU16, IndexCoding::kU32, IndexCoding::kBitmap,
                                    IndexCoding::kPacked, IndexCoding::kDelta};

void CheckHeader(ByteSpan message) {
  try {
    const Header header = ReadHeader(message);
    Bytes written;
    WriteHeader(header, written);
    Require(std::equal(written.begin(), written.end(), message.begin()));
  } catch (const Error&) {
  }
}

// Checks that positions that were read are written to the same bytes: no two messages have the same
// positions.
void CheckIndices(IndexCoding coding, int64_t numel, int64_t count, ByteSpan bytes) {
  if (coding == IndexCoding::kU16 && numel > 65536) return;
  ByteSpan rest = bytes;
  std::vector<uint32_t> indices;
  try {
    indices = ReadIndices(coding, numel, count, rest);
  } catch (const Error&) {
    Require(rest.size() == bytes.size());
    return;
  }
  Require(static_cast<int64_t>(indices.size()) == count);
  for (size_t i = 0; i < indices.size(); ++i) {
    Require(indices[i] < numel && (i == 0 || indices[i - 1] < indices[i]));
  }
  Bytes written;
  WriteIndices(coding, numel, indices, written);
  Require(written.size() == bytes.size() - rest.size());
  Require(std::equal(written.begin(), written.end(), bytes.begin()));
}

}  // namespace

void FuzzMessage(ByteSpan bytes) {
  Input input(bytes);
  CheckHeader(bytes);
  const IndexCoding coding = kCodings[input.Take(1) % std::size(kCodings)];
  const auto numel = static_cast<int64_t>(input.Take(4));
  const auto count = static_cast<int64_t>(input.Take(4));
  if (count <= numel) CheckIndices(coding, numel, count, input.Rest());
}

std::vector<Bytes> MessageSeeds() {
  std::vector<Bytes> seeds;
  Bytes header;
  WriteHeader({.codec = 2, .unit = 3, .numel = 100, .count = 10}, header);
  seeds.push_back(header);
  const std::vector<std::vector<uint32_t>> lists = {{}, {0}, {0, 7, 8, 31, 32, 63}, {3, 250, 299}};
  for (uint32_t coding = 0; coding < std::size(kCodings); ++coding) {
    for (const std::vector<uint32_t>& list : lists) {
      Bytes written;
      WriteIndices(kCodings[coding], 300, list, written);
      seeds.push_back(Output()
                          .Put(coding, 1)
                          .Put(300, 4)
                          .Put(static_cast<uint32_t>(list.size()), 4)
                          .Put(written)
                          .Take());
    }
  }
  return seeds;
}

}  // namespace legacy::fuzz
