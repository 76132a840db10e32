#include <cmath>

#include "compress/cuda/kernels/transforms/orthonormalise_kernels.h"
#include "compress/cuda/kernels/transforms/powersgd_kernels.h"
#include "compress/cuda/kernels/transforms/powersgd_products.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"
#if defined(__CUDACC__)
#include "compress/cuda/exchange/powersgd.h"
#endif

namespace legacy::cuda::powersgd_test {
namespace {

constexpr double kUnit = 0x1p-24;  // u of fp32

double Dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

// -------------------------------------------------------------------------------------------------
// Orthonormal bases

struct HardBasis {
  Basis basis;
  std::vector<float> vectors;
};

// Returns bases of normal values, some with zeros, multiples of others, nearly equal, tiny or huge
// vectors.
std::vector<HardBasis> HardBases() {
  std::vector<HardBasis> all;
  const std::vector<std::pair<int64_t, int32_t>> sizes = {
      {1, 1},   {7, 7},    {31, 2},    {64, 3},   {513, 8},
      {512, 9}, {2048, 4}, {1000, 17}, {100, 32}, {70, 64}};
  for (const auto& [length, count] : sizes) {
    auto& hard = all.emplace_back(HardBasis{{.length = length, .count = count},
                                            test::Normals(length * count, length + count)});
    const auto at = [&, length = length](int64_t c) {
      return std::span(hard.vectors).subspan(c * length, length);
    };
    if (count < 8) continue;
    for (int64_t i = 0; i < length; ++i) {
      at(2)[i] = 0;
      at(3)[i] = -2 * at(1)[i];
      at(4)[i] = at(0)[i] * (1 + 1e-3f * at(5)[i]);
      at(5)[i] *= 1e-30f;
      at(6)[i] *= 1e25f;
    }
  }
  return all;
}

TEST(CudaOrthonormalise, IsTheCpusUpToRounding) {
  std::vector<HardBasis> all = HardBases();
  std::vector<float> flat;
  std::vector<Basis> bases;
  for (HardBasis& hard : all) {
    hard.basis.offset = std::ssize(flat);
    flat.insert(flat.end(), hard.vectors.begin(), hard.vectors.end());
    bases.push_back(hard.basis);
    legacy::Orthonormalise(hard.vectors, hard.basis.length);
  }
  const int64_t doubles = SetWork(bases);
  std::vector<float> first;
  test::OnDevice([&](test::Device& device) {
    const test::Buffer<Basis> tables(bases);
    const test::Buffer<float> vectors(flat);
    const test::Buffer<double> work(doubles);
    LaunchOrthonormalise(device, tables.data(), std::ssize(bases), vectors.data(), work.data());
    const std::vector<float> found = vectors.Get();
    if (first.empty()) first = found;
    EXPECT_TRUE(test::SameBits(found, first)) << "depends on the order of threads";
    for (size_t b = 0; b < all.size(); ++b) {
      SCOPED_TRACE(b);
      const auto& [offset, length, count, unused] = bases[b];
      for (int32_t c = 0; c < count; ++c) {
        const auto expected = std::span(all[b].vectors).subspan(c * length, length);
        const auto vector = std::span(found).subspan(offset + c * length, length);
        double squared = 0;
        for (int64_t i = 0; i < length; ++i) {
          squared += std::pow(double{vector[i]} - double{expected[i]}, 2);
        }
        EXPECT_LE(std::sqrt(squared), 1.1 * kUnit) << c;
        EXPECT_EQ(Dot(vector, vector) == 0, Dot(expected, expected) == 0) << c;
        for (int32_t other = 0; other <= c; ++other) {
          const auto before = std::span(found).subspan(offset + other * length, length);
          const bool one = other == c && Dot(expected, expected) > 0;
          EXPECT_NEAR(Dot(vector, before), one ? 1 : 0, 0x1p-22) << c << " " << other;
        }
      }
    }
  });
}

// -------------------------------------------------------------------------------------------------
// Products

// Multiplies with the arguments that cuBLAS gets.
void Multiply(test::Device& device, bool transposes, const MatrixGroup& group,
              const ProductArrays& arrays) {
#if defined(__CUDACC__)
  BlasProducts products;
#else
  const HostProducts products;
#endif
  transposes ? products.Left(device, {&group, 1}, arrays)
             : products.Right(device, {&group, 1}, arrays);
}

TEST(CudaPowerSgdProducts, AreWithinTheBoundOfSumsInAnyOrder) {
  const std::vector<std::pair<MatrixShape, int32_t>> shapes = {
      {{1, 1}, 1}, {{64, 147}, 4}, {{5, 300}, 3}, {{300, 5}, 5}, {{33, 64}, 2}};
  test::OnDevice([&](test::Device& device) {
    for (const auto& [shape, count] : shapes) {
      const auto [rows, columns] = shape;
      const auto matrix = test::Normals(rows * columns, 1),
                 right = test::Normals(count * columns, 2), left = test::Normals(count * rows, 3);
      const test::Buffer<float> a(matrix), right_vectors(right), left_vectors(left),
          left_product(count * rows), right_product(count * columns);
      const test::Buffer<const float*> matrices(std::vector<const float*>{a.data()}),
          vectors(std::vector<const float*>{right_vectors.data(), left_vectors.data()});
      const test::Buffer<float*> products(
          std::vector<float*>{left_product.data(), right_product.data()});
      const MatrixGroup group = {rows, columns, count, 0, 1};
      Multiply(device, true, group, {matrices.data(), vectors.data(), products.data()});
      Multiply(device, false, group, {matrices.data(), vectors.data() + 1, products.data() + 1});
      const std::vector<float> by_rows = left_product.Get(), by_columns = right_product.Get();
      const auto check = [&](float found, int64_t terms, auto term) {
        double sum = 0, magnitudes = 0;
        for (int64_t t = 0; t < terms; ++t) {
          sum += term(t);
          magnitudes += std::abs(term(t));
        }
        const double k = static_cast<double>(terms) * kUnit;
        ASSERT_LE(std::abs(found - sum), k / (1 - k) * magnitudes);
      };
      for (int64_t c = 0; c < count; ++c) {
        for (int64_t i = 0; i < rows; ++i) {
          check(by_rows[c * rows + i], columns, [&, columns = columns](int64_t j) {
            return double{matrix[i * columns + j]} * right[c * columns + j];
          });
        }
        for (int64_t j = 0; j < columns; ++j) {
          check(by_columns[c * columns + j], rows, [&, rows = rows, columns = columns](int64_t i) {
            return double{matrix[i * columns + j]} * left[c * rows + i];
          });
        }
      }
    }
  });
}

TEST(CudaPowerSgd, ScalesByPowersOfTwoAsTheCpuDoes) {
  for (const float largest : {1.0f, 1.5f, 3e38f, 1e-38f, 1.2e-38f, 1e-45f, 7e-42f, 0.1f}) {
    for (const float share : {1.0f, -0.7f, 1e-3f, 1e-30f, 0.0f}) {
      const float x = largest * share;
      EXPECT_EQ(ScaledBy(x, cpu::KeyOf(largest)), std::ldexp(x, -std::ilogb(largest)))
          << largest << " " << share;
    }
  }
}

}  // namespace
}  // namespace legacy::cuda::powersgd_test