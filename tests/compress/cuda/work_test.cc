// What exchanges say that a step takes (Work), against what kernels do for it: launches are counted by a device. The
// clock charges the former.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "compress/cuda/exchange_on.h"
#include "compress/cuda/host_operations.h"
#include "compress/kernel_costs.h"
#include "compress/schemes/codec_scheme.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda {
namespace {

constexpr int kWorkers = 3;

// Runs kernels on the host, and counts them.
class CountingDevice : public HostDevice {
 public:
  template <class Kernel>
  void Launch(int64_t blocks, const typename Kernel::Args& args) {
    ++*launches_;
    HostDevice::Launch<Kernel>(blocks, args);
  }
  int64_t Take() const { return std::exchange(*launches_, 0); }
  void Count() const { ++*launches_; }

 private:
  std::shared_ptr<int64_t> launches_ = std::make_shared<int64_t>(0);  // of all copies
};

// A call for matrices of one shape is a launch.
class CountingProducts {
 public:
  explicit CountingProducts(CountingDevice device) : device_(std::move(device)) {}
  void Left(HostDevice& device, std::span<const MatrixGroup> groups,
            const ProductArrays& arrays) const {
    for (size_t i = 0; i < groups.size(); ++i) device_.Count();
    products_.Left(device, groups, arrays);
  }
  void Right(HostDevice& device, std::span<const MatrixGroup> groups,
             const ProductArrays& arrays) const {
    for (size_t i = 0; i < groups.size(); ++i) device_.Count();
    products_.Right(device, groups, arrays);
  }

 private:
  CountingDevice device_;
  HostProducts products_;
};

std::unique_ptr<DeviceExchange> Open(const CountingDevice& device, const Scheme& scheme,
                                     std::span<const Unit> units) {
  if (const auto* low_rank = dynamic_cast<const PowerSgdScheme*>(&scheme)) {
    return std::make_unique<PowerSgdDeviceExchange<CountingDevice, CountingProducts>>(
        device, CountingProducts(device), *low_rank, units, kWorkers);
  }
  std::string why;
  return OpenExchangeOn(device, scheme, units, kWorkers, &why);
}

const KernelCost& CostOf(const std::string& kernel) {
  for (const KernelCost& cost : KernelCosts()) {
    if (cost.name == kernel) return cost;
  }
  throw Error("kernel", kernel, "those of the table");
}

// Of units that travel together, by what their rounds have in common.
struct Charge {
  WorkList encode, decode;
};

int64_t Launches(const WorkList& work) {
  int64_t launches = 0;
  for (const Work& entry : work) launches += entry.sets * CostOf(entry.kernel).launches;
  return launches;
}

std::string Text(const WorkList& work) {
  std::string text;
  for (const Work& entry : work) {
    text += entry.kernel + " " + std::to_string(entry.sets) + " x " +
            std::to_string(CostOf(entry.kernel).launches) + ", ";
  }
  return text;
}

// Units of one kind; whole ones travel another way.
std::vector<Unit> Units() {
  std::vector<Unit> units = test::MakeUnits({4096, 5000, 9000, 5000});
  for (Unit& unit : units) unit.shape = {50, unit.numel / 50};
  units[0].shape = {64, 64};
  return units;
}

struct Case {
  std::string scheme;
  bool feedback = false;
  double parameter = 0;  // 0: the default
};

// Third step of a training: nothing is made anew.
void ExpectCharged(const Case& one) {
  SCOPED_TRACE(one.scheme + (one.feedback ? ", error feedback" : ""));
  const auto scheme = MakeScheme(one.scheme, {.error_feedback = one.feedback});
  const std::vector<Unit> units = Units();
  CountingDevice device;
  const auto exchange = Open(device, *scheme, units);
  ASSERT_NE(exchange, nullptr);
  const double parameter = one.parameter != 0 ? one.parameter : scheme->Parameter().fallback;
  const std::vector<double> parameters(units.size(), parameter);
  const int64_t flat = units.back().offset + units.back().numel;
  std::vector<float> mean(flat);
  int64_t encoded = 0, decoded = 0;
  for (int64_t step = 0; step < 3; ++step) {
    device.Take();
    exchange->Begin({.seed = 7, .step = step, .parameters = parameters});
    const int64_t begun = device.Take();
    for (int w = 0; w < kWorkers; ++w) {
      const std::vector<float> gradient = test::Normals(flat, 10 * step + w);
      exchange->Encode(w, gradient.data());
      encoded = begun + device.Take();
    }
    exchange->Finish(mean.data());
    decoded = device.Take();
  }
  Charge charge;
  for (size_t u = 0; u < units.size(); ++u) {
    Charge own;
    for (const DeviceExchange::Travelled& travelled : exchange->Rounds(static_cast<int>(u))) {
      AddWork(travelled.round.encode, own.encode);
      AddWork(travelled.round.decode, own.decode);
    }
    JoinWork(own.encode, charge.encode);
    JoinWork(own.decode, charge.decode);
  }
  if (dynamic_cast<const PowerSgdScheme*>(scheme.get())) {  // Finish() makes the later rounds, too
    EXPECT_EQ(encoded + decoded, Launches(charge.encode) + Launches(charge.decode))
        << Text(charge.encode) << "; " << Text(charge.decode);
    return;
  }
  EXPECT_EQ(encoded, Launches(charge.encode)) << Text(charge.encode);
  EXPECT_EQ(decoded, Launches(charge.decode)) << Text(charge.decode);
}

TEST(CudaWork, QuantisersLaunchWhatIsCharged) {
  for (const bool feedback : {false, true}) {
    for (const char* name : {"dense", "fp16", "bf16", "uniform", "rbf", "qsgd", "maxmin", "natural",
                             "sign", "onebit"}) {
      ExpectCharged({name, feedback});
    }
  }
  ExpectCharged({"terngrad", false});
  ExpectCharged({"qsgd:memory=momentum", true});
}

// Samples of everything: fewer of them may find far too many, which takes another Top-K.
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
    for (const char* name : {"fft", "fft+qsgd", "fft:index=u32+fp16"}) {
      ExpectCharged({name, feedback, 0.85});
    }
  }
}

TEST(CudaWork, LowRankLaunchesWhatIsCharged) { ExpectCharged({"powersgd", true, 4}); }

}  // namespace
}  // namespace legacy::cuda
