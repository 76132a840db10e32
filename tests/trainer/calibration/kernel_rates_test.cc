#include "trainer/calibration/kernel_rates.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "compress/kernel_costs.h"

namespace legacy::kernel_rates_test {
namespace {

// Times of parts are computed from known rates; solving must find these rates.
TEST(KernelRates, AreSolvedFromTheTimesOfWholeSteps) {
  Profile truth;
  truth.launches = Launches::kPerLayer;
  truth.kernels = {{"a", {1e-6, 2e-9}}, {"b", {3e-6, 5e-9}}, {"c", {0, 7e-9}}, {"d", {4e-6, 1e-9}}};
  const auto part = [&](const WorkList& small, const WorkList& large) {
    MeasuredPart made = {small, large};
    for (const Work& work : small) made.small_seconds += truth.WorkSeconds(work);
    for (const Work& work : large) made.large_seconds += truth.WorkSeconds(work);
    return made;
  };
  const std::vector<MeasuredPart> parts = {
      // This part gives "c" once "b" is known, which needs "a".
      part({{"c", 10, 4}, {"b", 100}}, {{"c", 4000, 4}, {"b", 100000}}),
      part({{"a", 100}, {"b", 100}, {"", 7}}, {{"a", 100000}, {"b", 100000}, {"", 7}}),
      part({{"a", 100}}, {{"a", 100000}}),
      part({{"d", 50}}, {{"d", 5000}}),
      part({{"d", 100, 2}}, {{"d", 300000, 2}}),  // known from several parts together
  };
  Profile solved;
  solved.launches = Launches::kPerLayer;
  SolveKernels(parts, solved);
  ASSERT_EQ(solved.kernels.size(), truth.kernels.size());
  for (const auto& [name, rate] : truth.kernels) {
    EXPECT_NEAR(solved.kernels[name].launch_seconds, rate.launch_seconds, 1e-8) << name;
    EXPECT_NEAR(solved.kernels[name].seconds_per_element, rate.seconds_per_element,
                0.01 * rate.seconds_per_element)
        << name;
  }
}

TEST(KernelRates, NameWhatStepsLeaveOpen) {
  const WorkList both = {{"a", 1}, {"b", 1}};
  Profile profile;
  try {
    SolveKernels({{both, both, 1, 2}}, profile);
    FAIL() << "solved";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("kernel a"), std::string::npos) << error.what();
  }
}

// Every kernel that can be charged is measured.
TEST(KernelRates, CoverTheTableOfKernels) {
  Profile profile;
  profile.name = "tiny";
  profile.launches = Launches::kPerLayer;
  MeasureKernels({.small = 64, .large = 65536}, {.runs = 1, .seconds = 0}, profile);
  for (const KernelCost& cost : KernelCosts()) {
    EXPECT_TRUE(profile.kernels.contains(std::string(cost.name))) << cost.name;
  }
}

}  // namespace
}  // namespace legacy::kernel_rates_test
