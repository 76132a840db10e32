// PowerSGD of rank 4 with one worker: its matrix products alone, and the whole step. ARC-Top-K of
// rank 4 with one worker, but for the draws of its sketch.
#include <memory>

#include "compress/cuda/bench/setup.h"
#include "compress/cuda/exchange/arc_exchange.h"
#include "compress/cuda/exchange/powersgd.h"
#include "compress/cuda/kernels/transforms/arc_kernels.h"
#include "compress/cuda/kernels/transforms/orthonormalise_kernels.h"
#include "compress/cuda/kernels/transforms/powersgd_kernels.h"

namespace legacy::bench {
namespace {

constexpr double kRank = 4;

PowerSgdScheme Scheme() { return PowerSgdScheme({}); }

std::vector<Unit> Units(const Case& c) {
  std::vector<Unit> units;
  int64_t offset = 0;
  for (const Shape& shape : ShapesOf(c.size)) {
    const int64_t numel = ElementsOf(shape);
    units.push_back({static_cast<uint32_t>(units.size()), "", shape, offset, numel});
    offset += numel;
  }
  return units;
}

// Sizes of a case's matrices; units that are sent whole are counted separately.
struct Sizes {
  explicit Sizes(const Case& c) {
    const PowerSgdScheme scheme = Scheme();
    for (const Unit& unit : Units(c)) {
      const int64_t vectors = scheme.Vectors(unit, kRank);
      if (vectors == 0) {
        whole += unit.numel;
        continue;
      }
      const MatrixShape shape = MatrixOf(unit);
      elements += unit.numel;
      left += vectors * shape.rows;
      right += vectors * shape.columns;
      multiply_adds += vectors * unit.numel;
    }
  }
  double FactorBytes() const { return 4.0 * static_cast<double>(left + right); }
  int64_t elements = 0, whole = 0, left = 0, right = 0, multiply_adds = 0;
};

// Operands of the products.
struct Matrices {
  Matrices(const Case& c, uint32_t seed, Arena& arena)
      : units(Units(c)), layout(Scheme(), units), table(layout, units, VectorsOf(units)) {
    view = Upload(table, arena);
    float* const residual = arena.New<float>(layout.residual_size());
    FillInput(c.input, seed, residual, layout.residual_size());
    std::vector<const float*> matrices, vectors[cuda::kCalls];
    std::vector<float*> results[cuda::kCalls];
    for (const auto call : {cuda::kLeft, cuda::kRight}) {
      factors[call] = arena.New<float>(layout.size(call));
      FillInput("student-t", seed + kOtherSeed, factors[call], layout.size(call));
      products[call] = arena.New<float>(layout.size(call));
    }
    for (const int32_t u : table.order()) {
      const int64_t* const at = table.units()[u].factors;
      matrices.push_back(residual + layout.residuals()[u].offset);
      for (const auto call : {cuda::kLeft, cuda::kRight}) {
        const auto other = call == cuda::kLeft ? cuda::kRight : cuda::kLeft;
        vectors[call].push_back(factors[other] + at[other]);
        results[call].push_back(products[call] + at[call]);
      }
    }
    const float* const* const all = arena.NewCopy(matrices);
    for (const auto call : {cuda::kLeft, cuda::kRight}) {
      arrays[call] = {all, arena.NewCopy(vectors[call]), arena.NewCopy(results[call])};
    }
  }
  static std::vector<int64_t> VectorsOf(const std::vector<Unit>& units) {
    std::vector<int64_t> vectors;
    for (const Unit& unit : units) vectors.push_back(Scheme().Vectors(unit, kRank));
    return vectors;
  }

  std::vector<Unit> units;
  cuda::LowRankLayout layout;
  cuda::LowRankTable table;
  cuda::LowRankView view;
  float* factors[cuda::kCalls] = {nullptr, nullptr};
  float* products[cuda::kCalls] = {nullptr, nullptr};
  cuda::ProductArrays arrays[cuda::kCalls];
};

int64_t MultiplyAdds(const Case& c) { return Sizes(c).multiply_adds; }
double MultiplyBytes(const Case& c) {
  const Sizes sizes(c);
  return 4.0 * static_cast<double>(sizes.elements) + sizes.FactorBytes();
}

Work Multiply(const Case& c, uint32_t seed, Arena& arena) {
  const auto matrices = std::make_shared<Matrices>(c, seed, arena);
  const auto blas = std::make_shared<cuda::BlasProducts>();
  return Runs([=](StreamDevice device) {
    blas->Left(device, matrices->table.groups(), matrices->arrays[cuda::kLeft]);
  });
}

double ProductsBytes(const Case& c) { return 3 * MultiplyBytes(c); }

Work Products(const Case& c, uint32_t seed, Arena& arena) {
  const auto matrices = std::make_shared<Matrices>(c, seed, arena);
  const auto blas = std::make_shared<cuda::BlasProducts>();
  float* const mean = arena.New<float>(c.elements());
  uint32_t* const faults = arena.New<uint32_t>(std::ssize(matrices->units));
  return Runs([=](StreamDevice device) {
    const cuda::LowRankTable& table = matrices->table;
    blas->Left(device, table.groups(), matrices->arrays[cuda::kLeft]);
    blas->Right(device, table.groups(), matrices->arrays[cuda::kRight]);
    const cuda::Reconstruct::Args args = {.segments = matrices->view.residual,
                                          .units = matrices->view.units,
                                          .workers = {},
                                          .left = matrices->factors[cuda::kLeft],
                                          .right = matrices->products[cuda::kRight],
                                          .mean = mean,
                                          .faults = faults};
    device.Launch<cuda::Reconstruct>(table.residual_tiles(), args);
  });
}

int64_t LeftElements(const Case& c) { return Sizes(c).left; }
double OrthonormaliseBytes(const Case& c) { return 8.0 * static_cast<double>(LeftElements(c)); }

Work Orthonormalise(const Case& c, uint32_t seed, Arena& arena) {
  const auto matrices = std::make_shared<Matrices>(c, seed, arena);
  float* const left = matrices->factors[cuda::kLeft];
  double* const work = arena.New<double>(matrices->table.work());
  return {.restore = Restores(left, matrices->layout.size(cuda::kLeft), arena),
          .run = [=](StreamDevice device) {
            cuda::LaunchOrthonormalise(device, matrices->view.bases,
                                       std::ssize(matrices->table.bases()), left, work);
          }};
}

// Three passes are necessary, because Q needs all of P, and the result all of Q. The first reads
// gradient and residual and writes their sum; the second reads the sum; the third reads it and
// writes residual and mean. A unit that is sent whole moves its gradient, message and mean.
double StepBytes(const Case& c) {
  const Sizes sizes(c);
  return (12.0 + 4.0 + 12.0) * static_cast<double>(sizes.elements) + 2 * sizes.FactorBytes() +
         16.0 * static_cast<double>(sizes.whole);
}

Work Step(const Case& c, uint32_t seed, Arena& arena) {
  const std::vector<Unit> units = Units(c);
  const float* const gradient = Input(c, seed, arena);
  float* const mean = arena.New<float>(c.elements());
  const std::shared_ptr<DeviceExchange> exchange =
      cuda::OpenPowerSgd(StreamDevice(nullptr), Scheme(), units, 1);
  const std::vector<double> ranks(units.size(), kRank);
  return {.restore = {},
          .run =
              [=](StreamDevice) {
                exchange->Begin({.info = {.seed = seed}, .parameters = ranks});
                exchange->Encode(0, gradient);
                exchange->Finish(mean);
              },
          .capturable = false};
}

cuda::ArcTable ArcTableOf(const Case& c) {
  const std::vector<Unit> units = Units(c);
  const ArcOptions options = {.rank = static_cast<int64_t>(kRank)};
  const std::vector<double> densities(units.size(), c.ratio);
  return {options.rank, cuda::ArcMembersOf(options, units, densities)};
}

// Gradient and residual are read and their sum is written; the sketch reads it; rows are read,
// written to the message, cleared, and read again; the mean is written.
double ArcBytes(const Case& c) {
  const cuda::ArcTable table = ArcTableOf(c);
  double rows = 0;
  for (const cuda::ArcUnit& unit : table.units()) rows += double{1} * unit.kept * unit.columns;
  return Floats<5>(c) + 16.0 * rows + 4.0 * static_cast<double>(table.draws() + 2 * table.sketch());
}

Work Arc(const Case& c, uint32_t seed, Arena& arena) {
  const auto table = std::make_shared<cuda::ArcTable>(ArcTableOf(c));
  const cuda::ArcVectors vectors = Upload(*table, arena);
  const float* const gradient = Input(c, seed, arena);
  float* const draws = arena.New<float>(table->draws());
  FillInput("student-t", seed + kOtherSeed, draws, table->draws());
  uint32_t* const faults = arena.New<uint32_t>(table->count());
  const cuda::ArcArrays arrays = {.values = Input(c, seed + 2 * kOtherSeed, arena),
                                  .active = arena.NewCopy(std::vector<int32_t>{0}),
                                  .draws = draws,
                                  .sketches = arena.New<float>(table->sketch()),
                                  .squares = arena.New<double>(table->rows()),
                                  .ranks = arena.New<uint32_t>(table->rows()),
                                  .positions = arena.New<uint32_t>(table->kept()),
                                  .messages = arena.New<std::byte>(table->stride()),
                                  .mean = arena.New<float>(c.elements()),
                                  .overflows = faults};
  return {.restore = Restores(arrays.values, c.elements(), arena), .run = [=](StreamDevice device) {
            cuda::LaunchArcFeed(device, *table, vectors, gradient, arrays.values, arrays.messages,
                                faults);
            cuda::LaunchArc(device, *table, vectors, arrays);
          }};
}

}  // namespace

std::vector<Row> LowRankRows() {
  return {{"powersgd.multiply", "powersgd.multiply", MultiplyAdds, false, MultiplyBytes, Multiply},
          {"powersgd.products", nullptr, nullptr, false, ProductsBytes, Products},
          {"powersgd.orthonormalise", "orthonormalise", LeftElements, false, OrthonormaliseBytes,
           Orthonormalise},
          {"powersgd.step", nullptr, nullptr, false, StepBytes, Step},
          {"arc.step", nullptr, nullptr, true, ArcBytes, Arc}};
}

}  // namespace legacy::bench
