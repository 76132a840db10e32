#include "compress/message.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "compress/checks.h"
#include "compress/cpu/random_subset.h"
#include "compress/cuda/kernels/coding/read_message_kernels.h"
#include "compress/cuda/kernels/coding/write_message_kernels.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::message_test {
namespace {

// Parts of messages, and the CPU's messages.
struct Case {
  std::vector<MessageUnit> units;
  std::vector<uint32_t> positions;
  std::vector<std::byte> values;
  std::vector<std::byte> messages;

  // Adds a message whose values are `bytes` bytes that are not a NaN of any width; values of every
  // other message are aligned to 16.
  void Add(Header header, const std::vector<uint32_t>& own, int64_t bytes) {
    header.unit = static_cast<uint32_t>(7 * units.size());
    header.count = static_cast<uint32_t>(own.size());
    header.codec = 2;
    const int64_t begin =
        units.size() % 2 == 0 ? (std::ssize(values) + 15) / 16 * 16 : std::ssize(values) + 4;
    const MessageUnit unit = {header, std::ssize(messages), std::ssize(positions) + 3, begin,
                              bytes};
    positions.resize(unit.positions, 0xFFFFFFFF);
    positions.insert(positions.end(), own.begin(), own.end());
    values.resize(unit.values, std::byte{0xFF});
    for (int64_t i = 0; i < bytes; ++i) values.push_back(std::byte(1 + (i * 37 + bytes) % 120));
    Bytes message;
    WriteHeader(header, message);
    WriteIndices(header.index, header.numel, own, message);
    message.insert(message.end(), values.end() - bytes, values.end());
    values.resize((values.size() + 3) / 4 * 4, std::byte{0xFF});
    message.resize(MessageTable::Room(message.size()));
    messages.insert(messages.end(), message.begin(), message.end());
    units.push_back(unit);
  }
};

std::vector<uint32_t> Some(int64_t numel, int64_t count) {
  return cpu::RandomSubset(RandomStream({.seed = static_cast<uint64_t>(numel)}), numel, count);
}

constexpr IndexCoding kListed[] = {IndexCoding::kU16, IndexCoding::kU32, IndexCoding::kBitmap,
                                   IndexCoding::kPacked};

// Returns small messages of all kinds, with every length of the values modulo 16, and some of many
// tiles.
Case AllKinds() {
  Case all;
  for (const int64_t numel : {0, 1, 2, 3, 31, 32, 33, 127, 128, 129, 1000}) {
    for (const IndexCoding index : kListed) {
      const int64_t limit = std::min<int64_t>(numel, 40);
      for (int64_t count = 0; count <= limit; count += count < 5 ? 1 : 7) {
        all.Add({.index = index, .numel = static_cast<uint32_t>(numel)}, Some(numel, count),
                4 * count);
        all.Add({.index = index, .values = ValueType::kQsgd, .numel = static_cast<uint32_t>(numel)},
                Some(numel, count), (3 * count + count % 5) % 50);
      }
    }
    all.Add({.numel = static_cast<uint32_t>(numel)}, Some(numel, numel), 4 * numel);
  }
  const auto add_large = [&](IndexCoding index, int64_t numel, int64_t count) {
    all.Add({.index = index, .numel = static_cast<uint32_t>(numel)}, Some(numel, count), 4 * count);
    all.Add({.index = index, .values = ValueType::kFloat16, .numel = static_cast<uint32_t>(numel)},
            Some(numel, count), 2 * count);
  };
  for (const IndexCoding index : kListed) {
    add_large(index, 65536, 30001);
    if (index != IndexCoding::kU16) add_large(index, 1000003, 20011);
  }
  std::vector<uint32_t> far(9000);
  for (size_t i = 0; i < far.size(); ++i) far[i] = static_cast<uint32_t>(i * 477218 + i % 7);
  all.Add({.index = IndexCoding::kPacked, .numel = 0xFFFFFFFF}, far, 4 * std::ssize(far));
  add_large(IndexCoding::kPacked, 40000, 39999);
  add_large(IndexCoding::kBitmap, 600000, 590000);
  for (int i = 0; i < 2; ++i) all.Add({.numel = 50001}, Some(50001, 50001), 4 * 50001);
  return all;
}

TEST(CudaMessage, EveryByteIsTheCpus) {
  Case all = AllKinds();
  // After the last value there is no memory.
  all.Add({.index = IndexCoding::kU16, .values = ValueType::kQsgd, .numel = 9}, Some(9, 3), 7);
  all.values.resize(all.units.back().values + all.units.back().value_bytes);
  const MessageTable table(all.units);
  const test::Tables copy(table);
  test::OnDevice([&](test::Device& device) {
    const test::Buffer<uint32_t> positions(all.positions);
    const test::Buffer<std::byte> values(all.values), out(std::ssize(all.messages));
    LaunchWriteMessages(device, table, copy.view(), positions.data(), values.data(), out.data());
    const auto got = out.Get();
    for (const MessageLayout& message : table.layouts()) {
      const auto begin = message.unit.message;
      const auto end = begin + MessageTable::Room(message.length);
      ASSERT_TRUE(std::equal(got.begin() + begin, got.begin() + end, all.messages.begin() + begin))
          << "coding " << static_cast<int>(message.unit.header.index) << ", "
          << message.unit.header.count << " of " << message.unit.header.numel << ", "
          << message.unit.value_bytes << " bytes of values";
    }
  });
}

struct Read {
  std::vector<uint32_t> positions;
  std::vector<std::byte> values;
  std::vector<uint32_t> faults, counts;
};

Read OnGpu(test::Device& device, const Case& all) {
  const MessageTable table(all.units);
  const test::Tables copy(table);
  const test::Buffer<std::byte> messages(all.messages), values(std::ssize(all.values));
  const test::Buffer<uint32_t> positions(std::ssize(all.positions)), faults(table.count()),
      counts(table.count());
  const ReadArrays arrays = {messages.data(), positions.data(), values.data(), faults.data(),
                             counts.data()};
  const test::Scratch scratch(
      [&](Workspace& workspace) { LayOutReadMessages(table, copy.view(), arrays, workspace); });
  Workspace workspace = scratch.workspace();
  LaunchReadMessages(device, table, LayOutReadMessages(table, copy.view(), arrays, workspace));
  return {positions.Get(), values.Get(), faults.Get(), counts.Get()};
}

// Returns the positions that the CPU reads from a message; nothing if it refuses the message.
std::optional<std::vector<uint32_t>> OnCpu(const Case& all, size_t u) {
  const MessageUnit& unit = all.units[u];
  const Header& header = unit.header;
  const bool listed = header.index != IndexCoding::kNone;
  const int64_t length =
      kHeaderBytes + IndexBytes(header.index, header.numel, header.count) + unit.value_bytes;
  try {
    ByteSpan rest = CheckedPayload(ByteSpan(all.messages).subspan(unit.message, length), header);
    std::vector<uint32_t> positions;
    if (listed) positions = ReadIndices(header.index, header.numel, header.count, rest);
    CheckLength(rest, unit.value_bytes);
    if (header.values == ValueType::kFloat32) CheckFiniteSegment(rest);
    return positions;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void ExpectRead(const Read& got, const Case& all, size_t u,
                const std::vector<uint32_t>& positions) {
  const MessageUnit& unit = all.units[u];
  EXPECT_EQ(got.faults[u], 0u);
  EXPECT_EQ(got.counts[u], unit.header.count);
  ASSERT_TRUE(std::ranges::equal(std::span(got.positions).subspan(unit.positions, positions.size()),
                                 positions));
  const int64_t length =
      kHeaderBytes + IndexBytes(unit.header.index, unit.header.numel, unit.header.count);
  ASSERT_TRUE(
      std::ranges::equal(std::span(got.values).subspan(unit.values, unit.value_bytes),
                         std::span(all.messages).subspan(unit.message + length, unit.value_bytes)));
}

TEST(CudaMessage, IsReadBack) {
  const Case all = AllKinds();
  test::OnDevice([&](test::Device& device) {
    const Read got = OnGpu(device, all);
    for (size_t u = 0; u < all.units.size(); ++u) {
      const auto expected = OnCpu(all, u);
      ASSERT_TRUE(expected);
      ExpectRead(got, all, u, *expected);
      // Only zeros up to a whole word are written after the values.
      const MessageUnit& unit = all.units[u];
      const int64_t end = unit.values + unit.value_bytes;
      for (int64_t i = end; i < (end + 3) / 4 * 4; ++i) EXPECT_EQ(got.values[i], std::byte{0});
      if (u % 2 == 1) {
        EXPECT_EQ(got.values[unit.values - 1], std::byte{0xA5});
      }
      EXPECT_EQ(got.positions[unit.positions - 3], 0xA5A5A5A5);
      EXPECT_EQ(got.positions[unit.positions - 1], 0xA5A5A5A5);
    }
  });
}

// With a flipped bit, each message is refused, or read as the CPU reads it.
TEST(CudaMessage, IsRefusedWhereTheCpuRefusesIt) {
  const Case intact = AllKinds();
  const MessageTable table(intact.units);
  RandomStream stream({.seed = 9});
  int64_t refused = 0, accepted = 0;
  for (int round = 0; round < 12; ++round) {
    Case all = intact;
    for (const MessageLayout& message : table.layouts()) {
      const bool in_positions = message.values_begin > kHeaderBytes && stream.Below(2) == 0;
      const int64_t at = in_positions ? kHeaderBytes + stream.Below(static_cast<uint32_t>(
                                                           message.values_begin - kHeaderBytes))
                                      : stream.Below(static_cast<uint32_t>(message.length));
      all.messages[message.unit.message + at] ^= std::byte(1u << stream.Below(8));
    }
    test::OnDevice([&](test::Device& device) {
      const Read got = OnGpu(device, all);
      for (size_t u = 0; u < all.units.size(); ++u) {
        const auto expected = OnCpu(all, u);
        ++(expected ? accepted : refused);
        if (expected) {
          ExpectRead(got, all, u, *expected);
        } else {
          EXPECT_NE(got.faults[u], 0u) << u;
          EXPECT_EQ(got.counts[u], 0u);
        }
        EXPECT_EQ(got.positions[intact.units[u].positions - 3], 0xA5A5A5A5);  // unchanged
      }
    });
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(accepted, 1000);
}

TEST(CudaMessage, FaultsSayWhatIsWrong) {
  Case all;
  for (const IndexCoding index : kListed) {
    for (int i = 0; i < 6; ++i) all.Add({.index = index, .numel = 9}, {1, 4, 5}, 12);
  }
  const MessageTable table(all.units);
  std::vector<uint32_t> expected(all.units.size());
  for (size_t u = 0; u < all.units.size(); ++u) {
    const MessageLayout& message = table.layouts()[u];
    std::byte* const bytes = all.messages.data() + message.unit.message;
    const auto put = [&](int64_t at, float x) {
      std::memcpy(bytes + message.values_begin + 4 * at, &x, sizeof x);
    };
    const size_t kind = u % 6;
    const IndexCoding index = message.unit.header.index;
    if (kind == 1) {
      bytes[4] ^= std::byte{1};
      expected[u] = kBadHeader;
    } else if (kind == 2) {  // repeated positions, or a bitmap of too many
      const std::vector<uint32_t> wrong = {1, 4, 4};
      Bytes coded;
      WriteIndices(index, 9, wrong, coded);
      if (index == IndexCoding::kBitmap) coded[1] |= std::byte{1};
      if (index == IndexCoding::kBitmap) coded[0] |= std::byte{8};
      std::ranges::copy(coded, bytes + kHeaderBytes);
      expected[u] = kBadPositions;
    } else if (kind == 3) {  // a position outside of the unit
      const std::vector<uint32_t> wrong = {1, 4, 9};
      Bytes coded;
      WriteIndices(index, 10, wrong, coded);
      std::ranges::copy(coded, bytes + kHeaderBytes);
      expected[u] = index == IndexCoding::kBitmap ? kBadPositions | kBadPadding : kBadPositions;
    } else if (kind == 4) {
      put(2, std::numeric_limits<float>::infinity());
      expected[u] = kNotFinite;
    } else if (kind == 5) {
      put(0, std::nanf(""));
      bytes[0] ^= std::byte{1};
      expected[u] = kNotFinite | kBadHeader;
      if (index == IndexCoding::kBitmap || index == IndexCoding::kPacked) {
        bytes[message.values_begin - 1] |= std::byte{0x80};
        expected[u] |= kBadPadding;
      }
    }
  }
  test::OnDevice([&](test::Device& device) { EXPECT_EQ(OnGpu(device, all).faults, expected); });
}

// Units have many tiles: faults are in the middle of one, and between two.
TEST(CudaMessage, FaultsAreSeenInEveryTile) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Case all;
  const auto add = [&](IndexCoding index, int64_t count) {
    for (int i = 0; i < 4; ++i) {
      all.Add({.index = index, .numel = 60000}, Some(60000, count), 4 * count);
    }
  };
  add(IndexCoding::kNone, 60000);
  for (const IndexCoding index : kListed) add(index, 20001);
  const MessageTable table(all.units);
  std::vector<uint32_t> expected(all.units.size());
  for (size_t u = 0; u < all.units.size(); ++u) {
    const MessageLayout& message = table.layouts()[u];
    std::byte* const bytes = all.messages.data() + message.unit.message;
    const IndexCoding index = message.unit.header.index;
    if (u % 4 < 2) {
      const auto at = static_cast<int64_t>(u % 4 == 0 ? 4097 + u : message.unit.header.count - 1);
      std::memcpy(bytes + message.values_begin + 4 * at, &kNan, sizeof kNan);
      expected[u] = kNotFinite;
    } else if (u % 4 == 2 && index != IndexCoding::kNone) {  // swaps two neighbours
      auto positions = Some(60000, 20001);
      std::swap(positions[4095], positions[4096]);
      Bytes coded;
      WriteIndices(index, 60000, positions, coded);
      if (index == IndexCoding::kBitmap) coded[4200] ^= std::byte{4};
      std::ranges::copy(coded, bytes + kHeaderBytes);
      expected[u] = kBadPositions;
    }
  }
  test::OnDevice([&](test::Device& device) { EXPECT_EQ(OnGpu(device, all).faults, expected); });
}

TEST(CudaMessage, DeltaStaysOnTheCpu) {
  const std::vector<MessageUnit> units = {{.header = {.index = IndexCoding::kDelta, .numel = 9}}};
  EXPECT_THROW(MessageTable{units}, Error);
}

// Compares whole messages of codecs.
TEST(CudaMessage, CodecsSendTheSame) {
  for (const char* name : {"topk", "topk:index=packed", "topk:index=bitmap", "topk:index=u32"}) {
    SCOPED_TRACE(name);
    const auto codec = MakeCodec(name);
    Case all;
    for (const int64_t numel : {5000, 70000}) {
      const auto values = test::Normals(numel, 1);
      CodecContext context;
      context.unit = 7 * static_cast<uint32_t>(all.units.size());
      context.parameter = 0.02;
      const Message message = codec->Encode(values, context);
      const Header header = ReadHeader(message.bytes);
      const auto positions = test::SortedTopK(values, header.count);
      all.Add(header, positions, 4 * header.count);
      for (size_t i = 0; i < positions.size(); ++i) {
        std::memcpy(&all.values[all.units.back().values + 4 * i], &values[positions[i]], 4);
      }
      std::ranges::copy(message.bytes, all.messages.begin() + all.units.back().message);
    }
    const MessageTable table(all.units);
    const test::Tables copy(table);
    test::OnDevice([&](test::Device& device) {
      const test::Buffer<uint32_t> positions(all.positions);
      const test::Buffer<std::byte> values(all.values), out(std::ssize(all.messages));
      LaunchWriteMessages(device, table, copy.view(), positions.data(), values.data(), out.data());
      EXPECT_EQ(out.Get(), all.messages);
    });
  }
}

}  // namespace
}  // namespace legacy::cuda::message_test