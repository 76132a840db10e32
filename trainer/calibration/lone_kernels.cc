#include "trainer/calibration/lone_kernels.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "compress/codecs/blocks_codec.h"
#include "compress/codecs/fft_codec.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/cpu/dct.h"
#include "compress/cpu/fft_rules.h"
#include "compress/cpu/histogram.h"
#include "compress/cpu/random_subset.h"
#include "compress/cpu/rotation.h"
#include "compress/cpu/topk.h"
#include "compress/cpu/vector.h"
#include "compress/gradients/gradients.h"
#include "compress/policies/knapsack.h"
#include "compress/schemes/codec_exchange.h"
#include "compress/schemes/hops/dynamiq_hops.h"
#include "compress/schemes/hops/quantised_hops.h"
#include "compress/schemes/matrices/low_rank.h"
#include "trainer/clock/profile.h"
#include "trainer/optimizer.h"

namespace legacy {
namespace {

using Call = std::function<void()>;

constexpr float kMessages = 4;

std::vector<float> Drawn(int64_t numel) {
  return DrawGradient("laplace:n=" + std::to_string(numel));
}

int64_t Itself(int64_t size) { return size; }

LoneKernel Elementwise(const std::string& name, const KernelSizes& sizes,
                       std::function<Call(int64_t)> prepare) {
  return {name, sizes.small, sizes.large, Itself, std::move(prepare)};
}

void AddVectors(const KernelSizes& sizes, std::vector<LoneKernel>& kernels) {
  // A receiver first clears its sum and finally forms the mean, for dense and for sparse messages.
  for (const char* name : {"mean", "sparse.sum"}) {
    kernels.push_back(Elementwise(name, sizes, [](int64_t numel) {
      auto sum = std::make_shared<std::vector<float>>(numel);
      auto mean = std::make_shared<std::vector<float>>(numel);
      return [sum, mean] {
        std::ranges::fill(*sum, 0.0f);
        DenseCodec().MeanOf(*sum, kMessages, {}, *mean);
      };
    }));
  }
  kernels.push_back(Elementwise("norm", sizes, [](int64_t numel) {
    auto square = std::make_shared<double>();
    return [square, values = Drawn(numel)] { *square = cpu::SquaredNorm(values); };
  }));
  kernels.push_back(Elementwise("blocks.norm", sizes, [](int64_t numel) {
    constexpr int64_t kBlock = 256;
    const auto squares = std::make_shared<std::vector<double>>();
    return [squares, layout = LayoutBlocks(numel, kBlock, 1), values = Drawn(numel)] {
      *squares = BlockSquares(values, layout);
    };
  }));
  kernels.push_back(Elementwise("clip", sizes, [](int64_t numel) {
    auto values = std::make_shared<std::vector<float>>(Drawn(numel));
    return [values] { cpu::Scale(*values, cpu::SquaredNorm(*values) > 0 ? -1.0f : 1.0f); };
  }));
  kernels.push_back(Elementwise("accumulate", sizes, [](int64_t numel) {
    auto sum = std::make_shared<std::vector<float>>(numel);
    return [sum, values = Drawn(numel)] { cpu::Add(values, *sum); };
  }));
  kernels.push_back(Elementwise("histogram", sizes, [](int64_t numel) {
    auto histogram = std::make_shared<cpu::MagnitudeHistogram>();
    return [histogram, values = Drawn(numel)] {
      histogram->Clear();
      histogram->Add(values);
    };
  }));
  for (const auto kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kLamb, OptimizerKind::kSign}) {
    kernels.push_back(Elementwise(OptimizerKernel(kind), sizes, [kind](int64_t numel) {
      const std::shared_ptr<Optimizer> optimizer = MakeOptimizer(numel, {}, {.kind = kind});
      auto weights = std::make_shared<std::vector<float>>(numel, 1.0f);
      return [optimizer, weights, gradient = Drawn(numel)] {
        optimizer->Update(*weights, gradient, {.learning_rate = 1e-3});
      };
    }));
  }
}

// Adds the kernels that work on selected values, 1 % of a unit.
void AddEntries(const KernelSizes& sizes, std::vector<LoneKernel>& kernels) {
  const auto codec = std::shared_ptr<const Codec>(MakeCodec("topk"));
  const auto kept = [](int64_t numel) { return std::max<int64_t>(1, numel / 100); };
  const auto selection = [codec, kept](int64_t numel) {
    const auto values = Drawn(numel);
    Selection selected = {cpu::SelectTopK(values, kept(numel)), {}};
    for (const uint32_t at : selected.positions) selected.values.push_back(values[at]);
    return selected;
  };
  kernels.push_back({"sparse.encode", sizes.small, sizes.large, kept, [=](int64_t numel) -> Call {
                       const auto& sparse = *codec->Sparse();
                       return [=, &sparse, selected = selection(numel)] {
                         sparse.Pack(selected, numel,
                                     {.unit = 0, .parameter = kMeasuredDensity, .random = {}});
                       };
                     }});
  kernels.push_back({"entries.store", sizes.small, sizes.large, kept, [=](int64_t numel) -> Call {
                       auto values = std::make_shared<std::vector<float>>(numel);
                       return [=, selected = selection(numel)] {
                         cpu::ClearAt(*values, selected.positions);
                       };
                     }});
  kernels.push_back(Elementwise("bitmap.decode", sizes, [kept](int64_t numel) -> Call {
    const std::vector<uint32_t> positions = cpu::SelectTopK(Drawn(numel), kept(numel));
    Bytes bytes;
    WriteIndices(IndexCoding::kBitmap, numel, positions, bytes);
    return [=] {
      ByteSpan rest = bytes;
      ReadIndices(IndexCoding::kBitmap, numel, std::ssize(positions), rest);
    };
  }));
  // Measures the draw of positions, without the values.
  kernels.push_back(Elementwise("randomk.draw", sizes, [kept](int64_t numel) -> Call {
    auto positions = std::make_shared<std::vector<uint32_t>>();
    return [=] { *positions = cpu::RandomSubset(RandomStream({.seed = 1}), numel, kept(numel)); };
  }));
}

void AddSpectra(const KernelSizes& sizes, std::vector<LoneKernel>& kernels) {
  const auto codec = std::shared_ptr<const Codec>(MakeCodec("fft"));
  const auto& plan = static_cast<const FftCodec&>(*codec).plan();
  kernels.push_back(Elementwise("fft.forward", sizes, [codec, &plan](int64_t numel) {
    const auto out = std::make_shared<std::vector<float>>(3 * plan.Bins(numel));
    return [codec, &plan, out, values = Drawn(numel)] {
      float* const re = out->data();
      const size_t bins = out->size() / 3;
      plan.Forward(values, cpu::SpectrumScale(cpu::AbsMax(values)), re, re + bins, re + 2 * bins);
    };
  }));
  kernels.push_back(Elementwise("fft.inverse", sizes, [codec](int64_t numel) {
    const auto out = std::make_shared<std::vector<float>>(numel);
    const auto spectrum = Drawn(codec->SumSize(numel));
    return [codec, out, spectrum] { codec->MeanOf(spectrum, kMessages, {}, *out); };
  }));
}

int64_t SideOf(int64_t numel) {
  int64_t side = 1;
  while (side * side < numel) side *= 2;
  return side;
}

// Adds random rotations of blocks, and cosine transforms of chunks of 64 x 64 at most.
void AddRotations(const KernelSizes& sizes, std::vector<LoneKernel>& kernels) {
  const auto codec = std::shared_ptr<const Codec>(MakeCodec("eden"));
  kernels.push_back(Elementwise("rotate.forward", sizes, [](int64_t numel) {
    constexpr int64_t kBlock = 8192;
    const auto out = std::make_shared<std::vector<float>>(numel);
    const auto square = std::make_shared<double>();
    return [out, square, values = Drawn(numel)] {
      const cpu::Rotation rotation(RandomKey{}, std::ssize(values), kBlock);
      rotation.ForEachPiece([&](int64_t begin, int64_t length) {
        const auto piece = std::span(*out).subspan(begin, length);
        rotation.Forward(std::span(values).subspan(begin, length), begin, 1.0f, piece);
        *square += cpu::SquaredNorm(piece);
      });
    };
  }));
  kernels.push_back(Elementwise("rotate.inverse", sizes, [codec](int64_t numel) {
    const auto out = std::make_shared<std::vector<float>>(numel);
    return [codec, out, sum = Drawn(numel)] { codec->MeanOf(sum, kMessages, {}, *out); };
  }));
  const auto chunk = [](int64_t numel) { return std::min<int64_t>(SideOf(numel), 64); };
  const auto transform = [chunk](int64_t numel) -> Call {
    const int64_t side = SideOf(numel);
    const auto dct = std::make_shared<const cpu::ChunkDct>(
        cpu::ChunkGrid{side, side, chunk(numel), chunk(numel)});
    const auto out = std::make_shared<std::vector<float>>(side * side);
    return [dct, out, matrix = Drawn(side * side)] { dct->Forward(matrix, *out); };
  };
  kernels.push_back({"dct.multiply", sizes.small, sizes.large,
                     [chunk](int64_t numel) { return 2 * numel * chunk(numel); }, transform});
}

// Adds the kernels of low-rank factors, for square matrices at rank 4.
void AddFactors(const KernelSizes& sizes, std::vector<LoneKernel>& kernels) {
  constexpr int64_t kRank = 4;
  const auto multiply = [](int64_t numel) -> Call {
    const int64_t side = SideOf(numel);
    const auto out = std::make_shared<std::vector<float>>(side * kRank);
    return [=, matrix = Drawn(side * side), vectors = Drawn(side * kRank)] {
      Multiply(matrix, {side, side}, vectors, *out);
    };
  };
  kernels.push_back({"powersgd.multiply", sizes.small, sizes.large,
                     [](int64_t numel) { return numel * kRank; }, multiply});
  const auto orthonormalise = [](int64_t numel) -> Call {
    const int64_t side = SideOf(numel);
    const auto vectors = std::make_shared<std::vector<float>>();
    return [=, start = Drawn(side * kRank)] {
      *vectors = start;
      Orthonormalise(*vectors, side);
    };
  };
  kernels.push_back({"orthonormalise", sizes.small, 16 * sizes.large,
                     [](int64_t numel) { return SideOf(numel) * kRank * kRank; }, orthonormalise});
  kernels.push_back(Elementwise("powersgd.lengths", sizes, [](int64_t numel) {
    auto vectors = std::make_shared<std::vector<float>>(Drawn(numel));
    return [vectors] { cpu::Scale(*vectors, cpu::SquaredNorm(*vectors) > 0 ? -1.0f : 1.0f); };
  }));
}

// Adds L-GreCo's knapsack, for `units` layers with 7 options.
void AddSolver(std::vector<LoneKernel>& kernels) {
  constexpr int64_t kOptions = 7, kSteps = 10000;
  const auto prepare = [](int64_t units) -> Call {
    ChoiceTable errors(units, kOptions), costs(units, kOptions);
    RandomStream random({.seed = 2, .purpose = Purpose::kTest});
    for (int64_t u = 0; u < units; ++u) {
      for (int64_t o = 0; o < kOptions; ++o) {
        errors.At(u, o) = random.Uniform() / static_cast<double>(1 + o);
        costs.At(u, o) = random.Uniform() * static_cast<double>(1 + o);
      }
    }
    const double budget = 0.3 * static_cast<double>(units);
    return [=] { SolveKnapsack(errors, costs, budget, kSteps); };
  };
  kernels.push_back(
      {"lgreco.solve", 10, 60, [](int64_t units) { return units * kOptions * kSteps; }, prepare});
}

// Adds the hops of quantisers, which decode, add and encode again.
void AddQuantisedHops(const KernelSizes& sizes, std::vector<LoneKernel>& kernels) {
  for (const std::string name : {"maxmin", "mx", "qsgd"}) {
    kernels.push_back(Elementwise(name + ".hop", sizes, [name](int64_t numel) -> Call {
      const std::shared_ptr<const Quantiser> quantiser = MakeQuantiser({name});
      CodecContext context;
      context.parameter = quantiser->Parameter().fallback;
      const auto sum = std::make_shared<std::vector<float>>(numel);
      const HopRange all = {0, numel};
      const auto payload = std::make_shared<Bytes>();
      EncodeSegment(*quantiser, Drawn(numel), context.parameter, context, *payload);
      return [=, values = Drawn(numel)] {
        const QuantiserHops coder(*quantiser, context, numel, {});
        coder.Decode(*payload, all, *sum);
        cpu::Add(values, *sum);
        coder.Encode(0, 0, all, *sum);
      };
    }));
  }
}

// Adds what workers of DynamiQ do.
void AddDynamiq(const KernelSizes& sizes, std::vector<LoneKernel>& kernels) {
  constexpr double kBits = 5;
  struct Unit {
    explicit Unit(int64_t numel)
        : values(Drawn(dynamiq::SupersOf(numel) * dynamiq::kSuper)),
          statistics(dynamiq::StatisticsOf(values)),
          layout(std::vector<double>(statistics.begin(), statistics.end()), 1, kBits),
          coder(layout, {}, 1, dynamiq::Rounding::kValue, {}),
          all{0, std::ssize(values)},
          payload(coder.Encode(0, 0, all, values)),
          sum(values.size()) {}

    std::vector<float> values, statistics;
    dynamiq::Layout layout;
    dynamiq::Coder coder;
    HopRange all;
    Bytes payload;
    std::vector<float> sum;
  };
  const auto add = [&](const std::string& name, void (*call)(Unit & unit)) {
    kernels.push_back(Elementwise("dynamiq." + name, sizes, [call](int64_t numel) -> Call {
      const auto unit = std::make_shared<Unit>(numel);
      return [=] { call(*unit); };
    }));
  };
  add("statistics", [](Unit& unit) { unit.statistics = dynamiq::StatisticsOf(unit.values); });
  add("encode", [](Unit& unit) { unit.payload = unit.coder.Encode(0, 0, unit.all, unit.values); });
  add("decode", [](Unit& unit) { unit.coder.Decode(unit.payload, unit.all, unit.sum); });
  add("hop", [](Unit& unit) {
    unit.coder.Decode(unit.payload, unit.all, unit.sum);
    cpu::Add(unit.values, unit.sum);
    unit.coder.Encode(0, 0, unit.all, unit.sum);
  });
}

}  // namespace

std::vector<LoneKernel> LoneKernels(const KernelSizes& sizes) {
  std::vector<LoneKernel> kernels;
  AddVectors(sizes, kernels);
  AddEntries(sizes, kernels);
  AddSpectra(sizes, kernels);
  AddRotations(sizes, kernels);
  AddFactors(sizes, kernels);
  AddSolver(kernels);
  AddQuantisedHops(sizes, kernels);
  AddDynamiq(sizes, kernels);
  return kernels;
}

}  // namespace legacy
