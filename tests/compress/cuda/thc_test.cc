#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "compress/checks.h"
#include "compress/cuda/kernels/transforms/thc_kernels.h"
#include "compress/message.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::thc_test {
namespace {

using test::Buffer;

constexpr int kSlots = 2;
constexpr RandomKey kKey = {.seed = 3, .step = 5};

// Vectors of two workers with their messages, on a device.
struct Vectors {
  Vectors(test::Device& device, const ThcTable& levels, int bits, bool codes,
          const std::vector<int64_t>& lengths, float factor)
      : table({.rules = levels.rules(), .block = 64, .bits = bits, .codes = codes},
              test::Apart(lengths)),
        view(table),
        flat(test::FlatSize(table.segments())),
        squares(kSlots * table.count()),
        largest(std::vector<uint32_t>(kSlots * table.count())),
        signs(Signs()),
        messages(std::vector<std::byte>(kSlots * table.stride())) {
    std::vector<float> both = test::Normals(kSlots * flat, 7);
    for (float& x : both) x *= factor;
    const Buffer<float> values(both);
    const Buffer<int32_t> active(std::vector<int32_t>{0, 1});
    const Buffer<cpu::DrawSource> draws(Draws());
    const auto layout = [&](Workspace& workspace) {
      return LayOutSums(table.segments(), workspace);
    };
    const test::Scratch scratch(layout);
    Workspace workspace = scratch.workspace();
    double* const sums = layout(workspace);
    for (int slot = 0; slot < kSlots; ++slot) {
      LaunchThcNorms(device, table, view.view(), values.data() + slot * flat, sums,
                     squares.data() + slot * table.count(), largest.data() + slot * table.count());
    }
    LaunchThcEncode(device, table,
                    {.vectors = view.view(),
                     .values = values.data(),
                     .values_stride = flat,
                     .active = active.data(),
                     .squares = squares.data(),
                     .signs = signs.data(),
                     .draws = draws.data(),
                     .out = messages.data(),
                     .out_stride = table.stride(),
                     .units = table.count(),
                     .slots = kSlots});
    device.Wait();  // before the values are freed
  }

  std::vector<StreamKey> Signs() const {
    return std::vector(static_cast<size_t>(table.count()), StreamKeyOf(cpu::RotationKey(kKey)));
  }
  std::vector<cpu::DrawSource> Draws() const {
    return std::vector(static_cast<size_t>(kSlots * table.count()), cpu::MakeDrawSource(kKey));
  }
  // Returns the flags of messages, of each unit of each worker, where those of worker 1 have
  // `byte` at a place after the numbers' begin.
  std::vector<uint32_t> Faults(test::Device& device, size_t unit, int64_t at,
                               std::byte byte) const {
    std::vector<std::byte> changed = messages.Get();
    changed[table.stride() + table.units()[unit].message + ThcVectors::kNumbersAt + at] = byte;
    const Buffer<std::byte> in(changed);
    const Buffer<float> mean(flat);
    const Buffer<uint32_t> malformed(std::vector<uint32_t>(kSlots * table.count()));
    LaunchThcDecode(device, table, view.view(),
                    {.in = in.data(),
                     .stride = table.stride(),
                     .slots = kSlots,
                     .squares = squares.data(),
                     .signs = signs.data(),
                     .out = mean.data(),
                     .malformed = malformed.data()});
    device.Wait();
    return malformed.Get();
  }
  std::byte ByteAt(size_t unit, int64_t at) const {
    return messages
        .Get()[table.stride() + table.units()[unit].message + ThcVectors::kNumbersAt + at];
  }

  ThcUnitTable table;
  test::Tables<ThcUnitTable> view;
  int64_t flat;
  Buffer<double> squares;
  Buffer<uint32_t> largest;
  Buffer<StreamKey> signs;
  Buffer<std::byte> messages;
};

// A number of 6 bits has an entry of the table.
TEST(CudaThc, NoticesWhatNoEncoderWrites) {
  const ThcTable levels(4, 30, 0.03125);
  test::OnDevice([&](test::Device& device) {
    const Vectors vectors(device, levels, 6, false, {37, 9000}, 1);
    EXPECT_EQ(vectors.Faults(device, 1, 0, vectors.ByteAt(1, 0)), std::vector<uint32_t>(4));
    const std::vector<uint32_t> first = {0, 0, 1, 0}, second = {0, 0, 0, 1};
    // Point 1 has no code, and 31 is no point.
    ASSERT_FALSE(levels.IsEntry(1));
    for (const int point : {1, 31}) {
      EXPECT_EQ(vectors.Faults(device, 1, 0, static_cast<std::byte>(point)), second) << point;
    }
    // 37 numbers of 6 bits leave two bits of the last byte.
    EXPECT_EQ(vectors.Faults(device, 0, 27, vectors.ByteAt(0, 27) | std::byte{0x80}), first);
    // Of vectors of zeros all numbers are 0.
    const Vectors zeros(device, levels, 6, false, {37, 9000}, 0);
    EXPECT_EQ(zeros.Faults(device, 1, 0, std::byte{0}), std::vector<uint32_t>(4));
    EXPECT_EQ(zeros.Faults(device, 1, 0, std::byte{30}), second);
    const Vectors codes(device, levels, 4, true, {37, 9000}, 0);
    EXPECT_EQ(codes.Faults(device, 1, 4096, std::byte{1}), second);
  });
}

// Norms are those of the CPU to the bit, and the largest magnitudes are found in the same pass.
TEST(CudaThc, NormsAreTheCpus) {
  const ThcTable levels(4, 30, 0.03125);
  test::OnDevice([&](test::Device& device) {
    const Vectors vectors(device, levels, 6, false, {0, 1, 4095, 9000}, 0.5f);
    std::vector<float> both = test::Normals(kSlots * vectors.flat, 7);
    for (float& x : both) x *= 0.5f;
    const std::vector<double> squares = vectors.squares.Get();
    const std::vector<uint32_t> largest = vectors.largest.Get();
    for (int slot = 0; slot < kSlots; ++slot) {
      for (int32_t u = 0; u < vectors.table.count(); ++u) {
        const Extent extent = vectors.table.units()[u].extent;
        const auto part =
            std::span(both).subspan(slot * vectors.flat + extent.offset, extent.length);
        EXPECT_EQ(squares[slot * vectors.table.count() + u], cpu::SquaredNorm(part));
        EXPECT_EQ(largest[slot * vectors.table.count() + u], cpu::KeyOf(cpu::AbsMax(part)));
      }
    }
  });
}

}  // namespace
}  // namespace legacy::cuda::thc_test
