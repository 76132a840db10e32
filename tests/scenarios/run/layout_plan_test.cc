// Layouts that fit, and which stream bounds the step of one.
#include "scenarios/run/layout_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "scenarios/network/device_times.h"
#include "scenarios/network/step_doctor.h"
#include "scenarios/run/one_step.h"
#include "scenarios/run/scenario_timing.h"
#include "tests/message_of.h"

namespace legacy::layout_plan_test {
namespace {

const StopFlag kNever = 0;

Scenario Small(const std::string& layers = "gpt2-xl", int workers = 16) {
  Scenario scenario = ShapeDefaults();
  scenario.layers = layers;
  scenario.workers = workers;
  scenario.batch = 2;
  scenario.steps = 1;
  scenario.policies = {"dense"};
  scenario.precision = "bf16";
  scenario.optimizer = "adam";
  scenario.device_profile = "a100-sxm-40";
  scenario.fidelity = "analytic";
  scenario.topology = "nodes:nodes=2,gpus=8,node.rate=1920Gbps,network.rate=800Gbps";
  return scenario;
}

LayoutPlan PlanOf(const Scenario& scenario, int64_t most = 1000) {
  return PlanLayouts(scenario, most, kNever, [](int64_t, int64_t) {});
}

TEST(LayoutPlan, RanksWhatFits) {
  Scenario scenario = Small();
  SetOption(scenario, "clock.sharding", "fsdp");
  const LayoutPlan plan = PlanOf(scenario);
  ASSERT_FALSE(plan.timed.empty());
  EXPECT_EQ(plan.samples, 32);
  int64_t dropped = 0;
  for (const auto& [reason, count] : plan.dropped) dropped += count;
  EXPECT_EQ(plan.tried, plan.fit + dropped);
  EXPECT_EQ(plan.fit, std::ssize(plan.timed));
  for (const PlannedLayout& one : plan.timed) {
    EXPECT_LE(one.memory.Total(), 40e9);
    EXPECT_EQ(one.scenario.batch * one.scenario.accumulate * DataWorkers(one.scenario), 32);
    EXPECT_EQ(one.scenario.sharding.text(), "fsdp");
  }
  EXPECT_TRUE(std::ranges::is_sorted(
      plan.timed, {}, [](const PlannedLayout& one) { return one.step.step_seconds; }));
  // A row is what its scenario takes.
  EXPECT_EQ(TimeOneStep(plan.timed.front().scenario).step_seconds,
            plan.timed.front().step.step_seconds);
  const std::string text = LayoutPlanText(plan, 2);
  EXPECT_NE(text.find("\n2: legacy-scenario --"), std::string::npos) << text;
  EXPECT_EQ(text.find("\n3: "), std::string::npos);
}

TEST(LayoutPlan, TimesAtMostSoMany) {
  const LayoutPlan plan = PlanOf(Small(), 3);
  EXPECT_EQ(plan.timed.size(), 3u);
  EXPECT_GT(plan.fit, 3);
}

TEST(LayoutPlan, SaysWhyNothingFits) {
  const LayoutPlan plan = PlanOf(Small("gpt3-175b", 8));
  EXPECT_EQ(plan.fit, 0);
  EXPECT_GT(plan.dropped.at("more than 40 GB"), 0);
  EXPECT_NE(LayoutPlanText(plan, 5).find("0 fit"), std::string::npos);
}

TEST(LayoutPlan, NeedsAShapeAndADevicesMemory) {
  Scenario scenario = Small();
  scenario.layers.clear();
  EXPECT_NE(MessageOf([&] { PlanOf(scenario); }).find("a shape to divide (--layers)"),
            std::string::npos);
  scenario = Small();
  scenario.device_profile = "phone-assumed";
  scenario.precision = "fp32";
  EXPECT_NE(MessageOf([&] { PlanOf(scenario); }).find("memory_bytes"), std::string::npos);
}

}  // namespace
}  // namespace legacy::layout_plan_test
