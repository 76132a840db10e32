// Compares the work that exchanges report (Work), which the clock charges, with what their kernels
// do on a device that counts launches, bytes and multiply-adds. The code is compiled with
// -fsanitize=thread (counted_memory.h).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compress/cuda/exchange/exchange_on.h"
#include "compress/kernel_costs.h"
#include "compress/schemes/codec_scheme.h"
#include "tests/compress/cuda/counting_device.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::work_test {
namespace {

using test::CountingDevice;
using test::Counts;

constexpr int kWorkers = 3;

// Counts a launch for each call on matrices of one shape.
class CountingProducts {
 public:
  explicit CountingProducts(CountingDevice device) : device_(std::move(device)) {}
  void Left(HostDevice& device, std::span<const MatrixGroup> groups,
            const ProductArrays& arrays) const {
    for (const MatrixGroup& group : groups) {
      device_.CountLaunch([&] { products_.Left(device, {&group, 1}, arrays); });
      Count(LeftGemm(group), group);
    }
  }
  void Right(HostDevice& device, std::span<const MatrixGroup> groups,
             const ProductArrays& arrays) const {
    for (const MatrixGroup& group : groups) {
      device_.CountLaunch([&] { products_.Right(device, {&group, 1}, arrays); });
      Count(RightGemm(group), group);
    }
  }

 private:
  void Count(const Gemm& gemm, const MatrixGroup& group) const {
    device_.CountMultiplyAdds(int64_t{group.count} * gemm.m * gemm.n * gemm.k);
  }

  CountingDevice device_;
  HostProducts products_;
};

std::unique_ptr<DeviceExchange> Open(const CountingDevice& device, const Scheme& scheme,
                                     std::span<const Unit> units, int workers) {
  if (const auto* low_rank = dynamic_cast<const PowerSgdScheme*>(&scheme)) {
    return std::make_unique<PowerSgdDeviceExchange<CountingDevice, CountingProducts>>(
        device, CountingProducts(device), *low_rank, units, workers);
  }
  std::string why;
  return OpenExchangeOn(device, scheme, units, workers, &why);
}

int64_t Launches(const WorkList& work) {
  int64_t launches = 0;
  for (const Work& entry : work) launches += entry.sets * CostOf(entry.kernel).launches;
  return launches;
}

double BytesOf(const WorkList& work) {
  double bytes = 0;
  for (const Work& entry : work) {
    if (entry.kernel == "dct.multiply") continue;  // multiply-adds, which move nothing here
    bytes += static_cast<double>(entry.elements) * CostOf(entry.kernel).bytes;
  }
  return bytes;
}

// Returns matrices, and one unit that PowerSGD sends whole.
std::vector<Unit> Matrices(const std::vector<std::pair<int64_t, int64_t>>& shapes) {
  std::vector<int64_t> sizes;
  for (const auto& [rows, columns] : shapes) sizes.push_back(rows * columns);
  std::vector<Unit> units = test::MakeUnits(sizes);
  for (size_t u = 0; u < units.size(); ++u) units[u].shape = {shapes[u].first, shapes[u].second};
  return units;
}

struct Case {
  std::string scheme;
  bool feedback = false;
  double parameter = 0;  // 0: the default
};

// A worker's encoding and the decoding of all messages, with the work that the clock charges for
// both.
struct Step {
  Counts encode, decode;
  WorkList encode_work, decode_work;
  bool together = false;  // Finish() encodes, too
};

// Returns the rounds in which all workers take a hop.
int RoundsOf(HopOrder order, int workers) {
  if (order == HopOrder::kRing) return workers - 1;
  const int levels = std::countr_zero(static_cast<unsigned>(HopPieces(order, workers)));
  return levels + (workers > 1 << levels ? 1 : 0);
}

// `gradient`(step, worker) returns the gradient of all units.
template <class Gradient>
Step LastStep(const Case& one, const std::vector<Unit>& units, int workers, int64_t steps,
              Gradient gradient) {
  const auto scheme = MakeScheme(one.scheme, {.error_feedback = one.feedback});
  CountingDevice device;
  const auto exchange = Open(device, *scheme, units, workers);
  if (exchange == nullptr) throw Error("scheme", one.scheme, "those with kernels");
  const double parameter = one.parameter != 0 ? one.parameter : scheme->Parameter().fallback;
  const std::vector<double> parameters(units.size(), parameter);
  const int64_t flat = units.back().offset + units.back().numel;
  DeviceArray<CountingDevice, float> input(flat), mean(flat);
  Step counted;
  for (int64_t step = 0; step < steps; ++step) {
    device.Take();
    exchange->Begin({.info = {.seed = 7, .step = step}, .parameters = parameters});
    const Counts begun = device.Take();
    for (int w = 0; w < workers; ++w) {
      input.Upload(device, gradient(step, w));
      device.Take();
      exchange->Encode(w, input.data());
      counted.encode = device.Take();
      counted.encode.launches += begun.launches;
      counted.encode.bytes += begun.bytes;
    }
    exchange->Finish(mean.data());
    counted.decode = device.Take();
  }
  for (size_t u = 0; u < units.size(); ++u) {
    WorkList encode, decode;
    for (const SentCall& sent : exchange->Calls(static_cast<int>(u))) {
      AddWork(sent.encode, encode);
      AddWork(sent.decode, decode);
      if (!sent.hops) continue;
      for (int round = 0; round < RoundsOf(sent.hops->order, workers); ++round) {
        AddWork(sent.hops->work, decode);
      }
    }
    JoinWork(encode, counted.encode_work);
    JoinWork(decode, counted.decode_work);
  }
  counted.together = dynamic_cast<const CodecScheme*>(scheme.get()) == nullptr;
  return counted;
}

std::string Text(const WorkList& work) {
  std::string text;
  for (const Work& entry : work) {
    text += entry.kernel + " " + std::to_string(entry.sets) + " x " +
            std::to_string(CostOf(entry.kernel).launches) + ", ";
  }
  return text;
}

// Checks the third step of a training, which allocates nothing.
void ExpectCharged(const Case& one) {
  SCOPED_TRACE(one.scheme + (one.feedback ? ", error feedback" : ""));
  const std::vector<Unit> units = Matrices({{64, 64}, {50, 100}, {50, 180}, {50, 100}});
  const int64_t flat = units.back().offset + units.back().numel;
  const Step step = LastStep(one, units, kWorkers, 3,
                             [&](int64_t i, int w) { return test::Normals(flat, 10 * i + w); });
  if (step.together) {
    EXPECT_EQ(step.encode.launches + step.decode.launches,
              Launches(step.encode_work) + Launches(step.decode_work))
        << Text(step.encode_work) << "; " << Text(step.decode_work);
    return;
  }
  EXPECT_EQ(step.encode.launches, Launches(step.encode_work)) << Text(step.encode_work);
  EXPECT_EQ(step.decode.launches, Launches(step.decode_work)) << Text(step.decode_work);
}

TEST(CudaWork, QuantisersLaunchWhatIsCharged) {
  for (const bool feedback : {false, true}) {
    for (const char* name : {"dense", "fp16", "bf16", "uniform", "rbf", "qsgd", "maxmin", "natural",
                             "sign", "onebit", "mx", "fp8"}) {
      ExpectCharged({name, feedback});
    }
  }
  ExpectCharged({"terngrad", false});
  ExpectCharged({"qsgd:memory=momentum", true});
}

// The sample is the whole unit: a smaller one may select far too many, which takes another Top-K.
TEST(CudaWork, SparsifiersLaunchWhatIsCharged) {
  for (const bool feedback : {false, true}) {
    for (const char* name : {"topk", "topk:index=bitmap", "topk+qsgd", "topk+sign", "randomk",
                             "randomk+fp16", "randomk:seed=worker", "sampled:sample=1"}) {
      ExpectCharged({name, feedback, 0.05});
    }
    ExpectCharged({"threshold:index=packed", feedback, 2});
  }
  for (const char* name :
       {"dgc:sample=1", "topk:memory=momentum", "topk:memory=momentum,masking=off",
        "randomk:memory=momentum", "dgc:sample=1+qsgd"}) {
    ExpectCharged({name, true, 0.05});
  }
}

TEST(CudaWork, MomentumBeforeAThreshold) {
  ExpectCharged({"threshold:memory=momentum,index=packed", true, 2});
}

TEST(CudaWork, SpectraLaunchWhatIsCharged) {
  for (const bool feedback : {false, true}) {
    for (const char* name : {"fft", "fft+qsgd", "fft:index=u32+fp16", "fft+fp32"}) {
      ExpectCharged({name, feedback, 0.85});
    }
  }
}

TEST(CudaWork, TransformsLaunchWhatIsCharged) {
  for (const bool feedback : {false, true}) {
    for (const double density : {0.0078125, 0.1}) ExpectCharged({"dct", feedback, density});
    for (const double bits : {1, 4}) ExpectCharged({"eden", feedback, bits});
  }
}

TEST(CudaWork, LowRankLaunchesWhatIsCharged) { ExpectCharged({"powersgd", true, 4}); }

TEST(CudaWork, BlocksLaunchWhatIsCharged) {
  for (const bool feedback : {false, true}) {
    for (const double density : {0.01, 0.3, 1.0}) ExpectCharged({"omnireduce", feedback, density});
  }
}

TEST(CudaWork, RowsLaunchWhatIsCharged) {
  for (const bool feedback : {false, true}) ExpectCharged({"arc", feedback, 0.1});
}

TEST(CudaWork, SharedTablesLaunchWhatIsCharged) {
  for (const bool feedback : {false, true}) {
    for (const char* name : {"thc", "thc:sums=server"}) ExpectCharged({name, feedback});
  }
}

// A round of hops is a launch. Real workers encode what they send first; here each encodes all of
// its message, and clears the residual of what does not travel.
TEST(CudaWork, HopsLaunchWhatIsCharged) {
  for (const char* name : {"mx:reduction=ring", "mx:reduction=butterfly", "maxmin:reduction=ring",
                           "qsgd:reduction=butterfly", "dynamiq"}) {
    ExpectCharged({name, false});
  }
}

// The units' sizes fill many tiles and samples, and one fills none.
const std::vector<Unit>& Layers() {
  static const std::vector<Unit> layers = Matrices({{512, 1024}, {1, 300}, {400, 500}, {256, 256}});
  return layers;
}

const std::vector<float>& Gradient(int64_t step, int worker) {
  static std::map<std::pair<int64_t, int>, std::vector<float>> gradients;
  std::vector<float>& gradient = gradients[{step, worker}];
  if (gradient.empty()) {
    const Unit& last = Layers().back();
    gradient = test::Normals(last.offset + last.numel, 10 * step + worker);
  }
  return gradient;
}

// Cases whose charges differ from the count by more than kTolerance, with the largest difference.
struct Differing {
  const char* scheme;
  bool feedback;
  double parameter;
  double tolerance;
  const char* reason;
};
constexpr double kTolerance = 0.1;
constexpr Differing kDiffering[] = {
    {"topk+qsgd", false, 0.1, 0.16, "messages are shorter than values; of 1 % it is 2 %"},
    {"topk+qsgd", true, 0.1, 0.16, "the same, and values that are put back share sectors"},
    {"sampled", false, 0, 0.3, "a Top-K of units whose sample misled is charged in the mean"},
    {"sampled", true, 0, 0.3, "the same"},
    {"dgc", true, 0, 0.3, "the same"},
    {"dgc+qsgd", true, 0, 0.3, "the same"},
    {"qsgd:memory=momentum", true, 0, 0.15, "the sum is read, not gradient and residual"},
};

double ToleranceOf(const Case& one) {
  for (const Differing& known : kDiffering) {
    if (one.scheme == known.scheme && one.feedback == known.feedback &&
        one.parameter == known.parameter) {
      return known.tolerance;
    }
  }
  return kTolerance;
}

void PrintRow(const Case& one, const char* part, double counted, double charged) {
  const auto elements = static_cast<double>(Layers().back().offset + Layers().back().numel);
  std::printf("%-36s %-3s %-5g %-6s %9.2f %9.2f %+7.1f %%\n", one.scheme.c_str(),
              one.feedback ? "on" : "off", one.parameter, part, counted / elements,
              charged / elements, 100 * (charged / counted - 1));
}

void ExpectBytes(const Case& one, int workers) {
  SCOPED_TRACE(one.scheme + (one.feedback ? ", error feedback" : ""));
  const Step step = LastStep(one, Layers(), workers, 2, Gradient);
  const double tolerance = ToleranceOf(one);
  const auto expect = [&](const char* part, int64_t counted, double charged) {
    PrintRow(one, part, static_cast<double>(counted), charged);
    EXPECT_NEAR(charged / static_cast<double>(counted), 1, tolerance) << part;
  };
  if (step.together) {
    expect("both", step.encode.bytes + step.decode.bytes,
           BytesOf(step.encode_work) + BytesOf(step.decode_work));
    return;
  }
  expect("encode", step.encode.bytes, BytesOf(step.encode_work));
  expect("decode", step.decode.bytes, BytesOf(step.decode_work));
}

// A sum that the network forms is one message; otherwise each worker sends one.
TEST(CudaWork, BytesAreWhatIsCharged) {
  std::puts("scheme                               ef  param part     counted   charged");
  for (const bool feedback : {false, true}) {
    for (const char* name : {"dense", "fp16", "bf16"}) ExpectBytes({name, feedback}, 1);
    for (const char* name : {"uniform", "uniform:bits=4", "rbf", "qsgd", "qsgd:bits=8", "maxmin",
                             "natural", "sign", "onebit", "mx", "mx:format=e2m1", "fp8"}) {
      ExpectBytes({name, feedback}, 2);
    }
    for (const double density : {0.001, 0.1}) ExpectBytes({"topk", feedback, density}, 2);
    for (const char* name :
         {"topk", "topk:index=bitmap", "topk+qsgd", "topk+sign", "randomk:seed=worker", "sampled",
          "fft", "fft+qsgd", "fft+fp16", "fft+fp32"}) {
      ExpectBytes({name, feedback}, 2);
    }
    ExpectBytes({"topk+qsgd", feedback, 0.1}, 2);
    for (const double theta : {0.5, 0.95}) ExpectBytes({"fft", feedback, theta}, 2);
    for (const char* name : {"randomk", "randomk+fp16"}) ExpectBytes({name, feedback}, 1);
    ExpectBytes({"threshold:index=packed", feedback, 2.5}, 2);
    for (const double bits : {1, 4}) ExpectBytes({"eden", feedback, bits}, 2);
    for (const double density : {0.0078125, 0.1}) ExpectBytes({"dct", feedback, density}, 2);
    for (const double rank : {1, 4, 8}) ExpectBytes({"powersgd", feedback, rank}, 1);
    for (const char* name : {"thc", "thc:sums=server"}) ExpectBytes({name, feedback}, 1);
    for (const double density : {0.001, 0.01, 0.1}) {
      ExpectBytes({"omnireduce", feedback, density}, 1);
    }
    for (const double density : {0.01, 0.2}) ExpectBytes({"arc", feedback, density}, 1);
  }
  ExpectBytes({"terngrad", false}, 2);
  for (const char* name : {"dgc", "dgc+qsgd", "topk:memory=momentum", "qsgd:memory=momentum"}) {
    ExpectBytes({name, true}, 2);
  }
  ExpectBytes({"randomk:memory=momentum", true}, 1);
}

// In a ring each round has all pieces, as hops are charged. In a butterfly a worker keeps sums in
// fp32 besides, which are not counted here.
TEST(CudaWork, HopsMoveWhatIsCharged) {
  for (const char* name : {"mx:reduction=ring", "mx:format=e2m1,reduction=ring",
                           "maxmin:reduction=ring", "qsgd:bits=8,reduction=ring"}) {
    const Step step = LastStep({name, false}, Layers(), 4, 2, Gradient);
    const auto counted = static_cast<double>(step.decode.bytes);
    const double charged = BytesOf(step.decode_work);
    PrintRow({name, false}, "hops", counted, charged);
    EXPECT_NEAR(charged / counted, 1, kTolerance) << name;
  }
}

// Each of four workers encodes four times what it sends first, and its values are written as they
// are sent.
TEST(CudaWork, HopsByEnergyMoveWhatIsCharged) {
  constexpr int kRing = 4;
  const Step step = LastStep({"dynamiq", false}, Layers(), kRing, 2, Gradient);
  double statistics = 0, padded = 0;
  for (const Work& entry : step.encode_work) {
    if (entry.kernel == "dynamiq.statistics") statistics = BytesOf({entry});
    if (entry.kernel == "dynamiq.encode") padded = static_cast<double>(kRing * entry.elements);
  }
  const double drawn = 2 * padded / dynamiq::kGroup * kRing;
  const double message = kRing * (BytesOf(step.encode_work) - statistics - drawn);
  const double charged = drawn + kRing * (message + 4 * padded) + BytesOf(step.decode_work);
  const auto counted = static_cast<double>(step.decode.bytes);
  PrintRow({"dynamiq", false}, "all", counted, charged);
  EXPECT_NEAR(charged / counted, 1, kTolerance);
  EXPECT_NEAR(statistics / static_cast<double>(step.encode.bytes - 8 * (Layers().back().offset +
                                                                        Layers().back().numel)),
              1, kTolerance)
      << "besides the copy of the gradient";
}

TEST(CudaWork, MultiplyAddsAreWhatIsCharged) {
  for (const double rank : {1, 4, 8}) {
    const Step step = LastStep({"powersgd", true, rank}, Layers(), 1, 1, Gradient);
    int64_t charged = 0;
    for (const Work& entry : step.encode_work) {
      if (entry.kernel == "powersgd.multiply") charged += entry.elements;
    }
    EXPECT_EQ(step.encode.multiply_adds + step.decode.multiply_adds, charged) << rank;
  }
}

}  // namespace
}  // namespace legacy::cuda::work_test