#include "base/metric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/parse.h"
#include "tests/message_of.h"

namespace legacy::metric_test {
namespace {

const Metric kAccuracy = {"accuracy", "accuracy", Metric::Better::kHigher, true};
const Metric kTop5 = {"top5", "top-5 accuracy", Metric::Better::kHigher, true};
const Metric kPerplexity = {"perplexity", "perplexity", Metric::Better::kLower, false};
const std::vector<Metric> kImages = {kAccuracy, kTop5};
const std::vector<Metric> kWords = {kPerplexity};

Target Read(const std::string& text, const std::vector<Metric>& metrics) {
  return NamedTarget(ParseTarget(text), metrics);
}
std::string Refusal(const std::string& text, const std::vector<Metric>& metrics) {
  return MessageOf([&] { Read(text, metrics); });
}

TEST(Metric, IsReachedInItsDirection) {
  EXPECT_TRUE(kAccuracy.Reaches(0.9, 0.85));
  EXPECT_TRUE(kAccuracy.Reaches(0.85, 0.85));
  EXPECT_FALSE(kAccuracy.Reaches(0.8, 0.85));
  EXPECT_TRUE(kPerplexity.Reaches(110, 120));
  EXPECT_TRUE(kPerplexity.Reaches(120, 120));
  EXPECT_FALSE(kPerplexity.Reaches(130, 120));
  EXPECT_FALSE(kPerplexity.Reaches(INFINITY, 120));
  for (const Metric& metric : {kAccuracy, kPerplexity}) {
    EXPECT_FALSE(metric.Reaches(NAN, 0.5));
    EXPECT_FALSE(metric.IsBetter(1, 1));
    EXPECT_FALSE(metric.IsBetter(NAN, 1));
    EXPECT_FALSE(metric.IsBetter(NAN, NAN));
    EXPECT_TRUE(metric.IsBetter(1, NAN));
  }
  EXPECT_TRUE(kAccuracy.IsBetter(0.2, 0.1));
  EXPECT_FALSE(kAccuracy.IsBetter(0.1, 0.2));
  EXPECT_TRUE(kPerplexity.IsBetter(100, 120));
  EXPECT_FALSE(kPerplexity.IsBetter(120, 100));
}

TEST(Target, IsReadInAllItsForms) {
  EXPECT_EQ(Read("85%", kImages), (Target{"accuracy", 0.85}));
  EXPECT_EQ(Read("0.85", kImages), (Target{"accuracy", 0.85}));
  EXPECT_EQ(Read("1", kImages), (Target{"accuracy", 1}));
  EXPECT_EQ(Read("top5=90%", kImages), (Target{"top5", 0.9}));
  EXPECT_EQ(Read("120", kWords), (Target{"perplexity", 120}));
  EXPECT_EQ(Read("perplexity=0.5", kWords), (Target{"perplexity", 0.5}));
}

TEST(Target, IsRefusedWithWhatTheTaskAllows) {
  EXPECT_EQ(Refusal("85", kImages),
            "target: got '85'; allowed: for accuracy, a percentage such as 85% or a fraction such "
            "as 0.85");
  EXPECT_EQ(Refusal("85%", kWords), "target: got '85%'; allowed: for perplexity, a number above 0");
  EXPECT_EQ(Refusal("0", kWords), "target: got '0'; allowed: for perplexity, a number above 0");
  EXPECT_EQ(Refusal("top5=90%", kWords),
            "target: got 'top5'; allowed: a metric of the task: perplexity");
  EXPECT_EQ(Refusal("85%", {}), "target: got '0.85'; allowed: none, as nothing is trained");
  for (const char* text : {"", "x", "-1", "nan", "inf", "1e13", "0%", "101%",
                           "perplexity=", "perplexity=x", "top5=top5=1"}) {
    EXPECT_NE(Refusal(text, kImages).find(std::string("got '") + text + "'"), std::string::npos)
        << Refusal(text, kImages);
  }
  EXPECT_NE(Refusal("=1", kImages).find("METRIC=VALUE"), std::string::npos);
  EXPECT_NE(Refusal("Top5=1", kImages).find("METRIC=VALUE"), std::string::npos);
}

// Every tenth of a per cent is shown as it is given, without the rounding of its product with 100.
TEST(ShowValue, HidesTheRoundingOfPercentages) {
  for (int tenth = 1; tenth <= 1000; ++tenth) {
    const std::string text =
        std::to_string(tenth / 10) + (tenth % 10 == 0 ? "" : "." + std::to_string(tenth % 10));
    EXPECT_EQ(ShowValue(kAccuracy, ParseTarget(text + "%").value), text + " %");
  }
  EXPECT_EQ(ShowValue(kPerplexity, 120), "120");
  EXPECT_EQ(ShowValue(kPerplexity, 0.1 + 0.2), "0.3");
  EXPECT_EQ(ShowValue(kPerplexity, INFINITY), "inf");
}

TEST(Metric, NamesArePartsOfColumns) {
  for (const char* name : {"a", "top5", "bits_per_character"}) EXPECT_TRUE(IsMetricName(name));
  for (const char* name : {"", "5top", "_a", "Top", "a b", "a,b"}) EXPECT_FALSE(IsMetricName(name));
  EXPECT_EQ(MetricLabel(kTop5), "top-5 accuracy [%]");
  EXPECT_EQ(MetricLabel(kPerplexity), "perplexity");
  EXPECT_EQ(Capitalised("perplexity"), "Perplexity");
  EXPECT_EQ(Capitalised("HR@10"), "HR@10");
  EXPECT_EQ(MetricPosition(kImages, "top5"), 1u);
  EXPECT_EQ(MetricPosition(kImages, ""), 0u);
}

}  // namespace
}  // namespace legacy::metric_test
