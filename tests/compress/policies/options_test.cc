// Every option of every policy, set as text, changes the decisions, the announcements or the
// charged work.
#include <gtest/gtest.h>

#include <map>

#include "tests/compress/policy_driver.h"

namespace legacy::options_test {
namespace {

// A value of an option that is not its default, and other options that it needs to have a meaning.
struct Setting {
  std::string value;
  std::string base = {};
};

const std::map<std::string, Setting>& Settings() {
  static const std::map<std::string, Setting> settings = {
      {"accordion.eta", {"0", "interval_steps=3"}},
      {"accordion.high", {"0.001", "interval_steps=3"}},
      {"accordion.interval", {"2"}},
      {"accordion.interval_steps", {"3"}},
      {"accordion.low", {"0.1"}},
      {"edgc.every", {"2", "window=4,start=0"}},
      {"edgc.form", {"code", "window=4,start=0,every=1"}},
      {"edgc.least", {"7", "window=4,start=0,every=1"}},
      {"edgc.most", {"16", "window=4,start=0,every=1,form=code"}},
      {"edgc.sample", {"0.1%", "window=4,start=0,every=1"}},
      {"edgc.start", {"5", "window=4"}},
      {"edgc.window", {"4", "start=0"}},
      {"flexible.change", {"1000", "interval=1"}},
      {"flexible.interval", {"3"}},
      {"flexible.scale", {"2"}},
      {"gravac.charge_dense_probe", {"off", "eps=1"}},
      {"gravac.eps", {"0.3"}},
      {"gravac.gain", {"norm", "eps=0.5,window=2"}},
      {"gravac.omega", {"1", "eps=0.05,window=2"}},
      {"gravac.release_on_lr", {"on", "eps=0.01,window=2,omega=1"}},
      {"gravac.scaling", {"geometric", "eps=0.01,window=2,omega=0"}},
      {"gravac.theta_max", {"40", "eps=0.01,window=2,omega=0"}},
      {"gravac.theta_min", {"4"}},
      {"gravac.window", {"4", "eps=0.01,omega=0"}},
      {"kimad.budget", {"0.0001"}},
      {"kimad.period", {"3", "budget=0.001"}},
      {"kimad.smoothing", {"1", "budget=0.001"}},
      {"kimad.split", {"knapsack", "budget=0.001"}},
      {"kimad.steps", {"100", "budget=0.001,split=knapsack"}},
      {"legacy-auto.volume", {"bytes"}},
      {"lgreco-accordion.eta", {"0", "period=3"}},
      {"lgreco.accumulate", {"1", "period=3"}},
      {"lgreco.alpha", {"2"}},
      {"lgreco.beta", {"1"}},
      {"lgreco.gamma", {"0.9"}},
      {"lgreco.period", {"3"}},
      {"lgreco.start", {"2"}},
      {"lgreco.steps", {"100"}},
      {"theta.factor", {"0.9", "form=recover,interval=2"}},
      {"theta.improvement", {"0.5", "form=recover,interval=2"}},
      {"theta.interval", {"3", "form=measured"}},
      {"theta.patience", {"1", "form=recover,interval=2"}},
      {"theta.smoothness", {"0.01", "form=measured,interval=2"}},
      {"warmup.epochs", {"2"}},
      {"warmup.steps", {"7"}}};
  return settings;
}

std::vector<Setting> SettingsOf(std::string policy, const OptionSpec& option) {
  const auto found = Settings().find(policy + "." + option.name);
  if (found != Settings().end()) return {found->second};
  if (policy == "lgreco-accordion") return SettingsOf("lgreco", option);
  std::vector<Setting> all;
  for (size_t begin = 0; begin < option.allowed.size();) {
    const size_t end = std::min(option.allowed.find(", ", begin), option.allowed.size());
    const std::string choice = option.allowed.substr(begin, end - begin);
    if (choice != option.fallback) all.push_back({choice});
    begin = end + 2;
  }
  return all;
}

// Decisions, messages and charged work of a policy.
struct Trace {
  std::vector<std::vector<double>> parameters;
  std::vector<Bytes> announcements;
  std::vector<std::pair<std::string, int64_t>> work;
  friend bool operator==(const Trace&, const Trace&) = default;
};

PolicyContext Context(const std::string& scheme) {
  const auto [anchor, units] = test::AnchorAndUnits(scheme);
  return {.scheme = nullptr,
          .units = units,
          .workers = 3,
          .total_steps = 24,
          .steps_per_epoch = 4,
          .parameter = anchor,
          .seed = 9};
}

// Runs a training in which the rate falls once, the loss stalls, times and exposure vary, and the
// network becomes slow.
Trace TraceOf(const std::string& policy) {
  static const std::vector<double> bytes = {100, 100, 100}, exposed = {0, 1e-4, 2e-4};
  const std::string scheme = test::SchemeOf(policy);
  const PolicyContext context = Context(scheme);
  test::PolicyDriver driver(policy, scheme, context);
  const auto normal = test::NormalGradients(context.units);
  static std::map<std::pair<int64_t, int>, std::vector<float>> drawn;  // shared by all policies
  const auto gradients = [&](int64_t step, int worker) {
    std::vector<float>& values = drawn[{step, worker}];
    if (values.empty()) {
      values = normal(step, worker);
      for (float& x : values) x *= std::exp2(static_cast<float>(step % 5));
    }
    return values;
  };
  Trace trace;
  for (int64_t step = 0; step < context.total_steps; ++step) {
    StepFeedback feedback{.loss = step < 4 ? 4.0 - static_cast<double>(step) : 0.95};
    feedback.simulated_seconds = 1.0 / static_cast<double>(step + 2);
    feedback.communication_seconds = 1e-3 * static_cast<double>(step % 3 + 1);
    feedback.unit_bytes = bytes;
    feedback.unit_exposed_seconds = exposed;
    const double rate = step < 15 ? 1 : 0.1;
    const auto result = driver.Step(
        {.step = step,
         .total_steps = 24,
         .learning_rate = rate,
         .steps_per_epoch = 4,
         .link = {.latency_seconds = 1e-4, .seconds_per_byte = step < 12 ? 1e-8 : 1e-6}},
        gradients, feedback);
    trace.parameters.push_back(result.parameters);
    trace.announcements.push_back(result.announcement);
    for (const Work& work : result.policy_work) {
      trace.work.emplace_back(work.kernel, work.elements);
    }
  }
  return trace;
}

TEST(Stages, APlusWithinANumberSeparatesNone) {
  const std::vector<Stage> one = ParseStages("gravac:theta_max=1e+06,theta_min=2.e+1");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].options.at("theta_max"), "1e+06");
  EXPECT_EQ(one[0].options.at("theta_min"), "2.e+1");
  for (const char* text : {"one+two", "one:name=1+two", "one:name=e+2two", "one:name=1e+two"}) {
    EXPECT_EQ(ParseStages(text).size(), 2u) << text;
  }
  EXPECT_EQ(FormatStages(ParseStages("fft+rbf:bits=1e+1+fp16")), "fft+rbf:bits=1e+1+fp16");
  EXPECT_THROW(ParseStages("one+"), Error);
}

TEST(PolicyOptions, EveryOptionOfEveryPolicyActs) {
  std::map<std::string, Trace> plain;  // shared by options with the same reference
  for (const PolicyRow& row : PolicyTable()) {
    for (const OptionSpec& option : row.info.options) {
      const auto settings = SettingsOf(row.info.name, option);
      EXPECT_FALSE(settings.empty()) << row.info.name << ": " << option.name;
      for (const Setting& setting : settings) {
        const std::string& base = setting.base;
        const std::string set = option.name + "=" + setting.value;
        const std::string without = row.info.name + (base.empty() ? "" : ":" + base);
        if (!plain.contains(without)) plain[without] = TraceOf(without);
        const Trace changed = TraceOf(row.info.name + ":" + base + (base.empty() ? "" : ",") + set);
        EXPECT_FALSE(plain[without] == changed) << row.info.name << ":" << base << ": " << set;
      }
    }
  }
}

}  // namespace
}  // namespace legacy::options_test