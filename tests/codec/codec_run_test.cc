#include "scenarios/codec/codec_run.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "compress/gradients/gradients.h"
#include "compress/policy.h"
#include "scenarios/codec/codec_report.h"
#include "scenarios/codec/layer_list.h"
#include "tests/codec/codec_testing.h"
#include "tests/compress/model_shapes.h"
#include "tests/message_of.h"

namespace legacy::codec_run_test {
namespace {

using CodecRunTest = CodecFiles;

Row ReportOf(const std::string& codec, const GradientOptions& gradients,
             const RunOptions& options = {}) {
  GradientSource source(gradients);
  return ReportRows(RunCodec(ParseCodec(codec), options, source), options, source.workers(),
                    Detail::kCodec)
      .front();
}

TEST(CodecChoice, AcceptsParametersAsFractionsOrNumbers) {
  EXPECT_EQ(ParseCodec("topk@1%").parameter, 0.01);
  EXPECT_EQ(ParseCodec("topk@0.01").parameter, 0.01);
  EXPECT_EQ(ParseCodec("topk@0.7%").parameter, 0.007);  // rounded once
  EXPECT_EQ(ParseCodec("topk:index=u32+fp16@0.5%").scheme, "topk:index=u32+fp16");
  EXPECT_EQ(ParseCodec("qsgd@3").parameter, 3);
  EXPECT_EQ(ParseCodec("topk", "2%").parameter, 0.02);
  EXPECT_EQ(ParseCodec("topk@1%", "2%").parameter, 0.01);
  EXPECT_EQ(ParseCodec("topk").parameter, 0.01);
  EXPECT_EQ(ParseCodec("dense", "2%").scheme, "dense");  // one parameter for many codecs
}

TEST(CodecChoice, RefusesAmbiguousTexts) {
  const auto says = [](const std::string& text) { return MessageOf([&] { ParseCodec(text); }); };
  EXPECT_EQ(says("topk@5"),
            "topk: density: got '5'; allowed: a percentage such as 5% or a fraction such as 0.01");
  EXPECT_EQ(says("topk@1"), "topk: density: got '1'; allowed: 1%, or 100% where all is meant");
  EXPECT_EQ(ParseCodec("topk@100%").parameter, 1);
  EXPECT_EQ(ParseCodec("powersgd@1").parameter, 1);
  for (const char* text : {"topk@", "topk@x", "topk@-1%", "topk@101%", "topk@nan"}) {
    EXPECT_NE(says(text).find("topk: density"), std::string::npos) << text;
  }
  EXPECT_NE(says("qsgd@2.5").find("whole numbers"), std::string::npos);
  EXPECT_NE(says("dense@1%").find("no parameter"), std::string::npos);
  EXPECT_NE(says("topkk").find("randomk"), std::string::npos);
  EXPECT_NE(says("topk:indx=u32").find("indx"), std::string::npos);
}

// Top-K of known values is computed by hand: bytes, all three ratios, error, gain.
TEST_F(CodecRunTest, CountsTopKByHand) {
  GradientOptions gradients;
  gradients.files = {WriteValues("g", {3, 0, -4, 1, 0, 0, 0, 0, 2, 0})};
  gradients.workers = 4;
  const Row row = ReportOf("topk:index=u16@20%", gradients);
  EXPECT_EQ(row["message_bytes"], 16 + 2 * (2 + 4));
  EXPECT_EQ(row["payload_bytes"], 2 * (2 + 4));
  EXPECT_EQ(row["element_ratio"], 5);
  EXPECT_DOUBLE_EQ(row["payload_ratio"], 40.0 / 28);
  EXPECT_DOUBLE_EQ(row["traffic_ratio"], (2.0 * 3 / 4 * 40) / (3 * 28));
  EXPECT_DOUBLE_EQ(row["relative_error"], std::sqrt(5.0 / 30));
  EXPECT_DOUBLE_EQ(row["gain"], 25.0 / 30);
  EXPECT_DOUBLE_EQ(row["mean_relative_error"], std::sqrt(5.0 / 30));
  EXPECT_DOUBLE_EQ(ReportOf("dense", gradients)["traffic_ratio"], 40.0 / 56);  // payload and header
}

// The second step compresses the sum of the gradient and the residual of the first.
TEST_F(CodecRunTest, ErrorsAreRelativeToGradientPlusResidual) {
  GradientOptions gradients;
  gradients.files = {WriteValues("g", {3, 2})};
  gradients.steps = 2;
  gradients.workers = 1;
  GradientSource source(gradients);
  const CodecResult result = RunCodec(ParseCodec("topk@50%"), {}, source);
  ASSERT_EQ(result.records.size(), 2u);
  EXPECT_TRUE(result.error_feedback);
  EXPECT_EQ(result.records[0].error_squared, 4);
  EXPECT_EQ(result.records[1].squared, 9 + 16);
  EXPECT_EQ(result.records[1].error_squared, 9);
  EXPECT_EQ(result.records[1].kept_squared, 16);
}

TEST(CodecRun, ZerosAreSentWithoutError) {
  const Row row = ReportOf("topk@1%", Drawn("constant:n=1000,value=0"));
  EXPECT_EQ(row["relative_error"], 0);
  EXPECT_EQ(row["gain"], 1);
  EXPECT_TRUE(row["traffic_ratio"].is_null());  // one worker sends nothing
}

// Compares the published sizes of ResNet-18's messages (10 classes, 0.1 %, 8 bytes a value, without
// headers) with ours, with headers.
TEST_F(CodecRunTest, AgreesWithTheByteTableOfResNet18) {
  std::ostringstream list;
  for (const Unit& unit : test::ResNet18(10)) {
    list << "layer" << unit.name << ' ' << unit.shape[0];
    for (size_t d = 1; d < unit.shape.size(); ++d) list << 'x' << unit.shape[d];
    list << '\n';
  }
  GradientOptions gradients = Drawn("constant");
  gradients.layers = WriteFile("resnet18", list.str());
  RunOptions options;
  options.repeats = 1;
  const Row fixed = ReportOf("topk:index=u32@0.1%", gradients, options);
  EXPECT_EQ(fixed["elements"], 11173962);
  EXPECT_EQ(fixed["elements_sent"], 11193);
  EXPECT_EQ(fixed["payload_bytes"], 89544);
  EXPECT_EQ(fixed["message_bytes"], 89544 + 62 * 16);
}

std::vector<CodecRecord> WithoutTimes(std::vector<CodecRecord> records) {
  for (CodecRecord& record : records) record.encode_seconds = record.decode_seconds = 0;
  return records;
}

bool Equal(const CodecRecord& a, const CodecRecord& b) {
  return a.layer == b.layer && a.parameter == b.parameter && a.elements_sent == b.elements_sent &&
         a.message_bytes == b.message_bytes && a.nic_bytes == b.nic_bytes &&
         a.squared == b.squared && a.error_squared == b.error_squared &&
         a.mean_error_squared == b.mean_error_squared;
}

// Every codec and scheme gives sane figures over steps, and measuring several times changes
// nothing.
TEST(CodecRun, EverySchemeGivesSaneFiguresHoweverOftenItIsMeasured) {
  for (const std::string& name : SchemeNames()) {
    std::vector<CodecRecord> records[2];
    for (const int repeats : {1, 3}) {
      GradientSource source(Drawn("laplace", 3, 3, "20x30"));
      RunOptions options;
      options.repeats = repeats;
      const CodecResult result = RunCodec(ParseCodec(name), options, source);
      records[repeats == 3] = WithoutTimes(result.records);
    }
    ASSERT_EQ(records[0].size(), 3u) << name;
    EXPECT_TRUE(std::ranges::equal(records[0], records[1], Equal)) << name;
    for (const CodecRecord& record : records[0]) {
      EXPECT_GT(record.message_bytes, record.header_bytes) << name;
      EXPECT_GE(record.header_bytes, kHeaderBytes) << name;
      EXPECT_GT(record.nic_bytes, 0) << name;
      EXPECT_GT(record.squared, 0) << name;
      EXPECT_TRUE(std::isfinite(record.error_squared + record.mean_error_squared)) << name;
    }
    // The last step is checked, as variance sends nothing in the first.
    EXPECT_GT(records[0].back().elements_sent, 0) << name;
  }
}

// Every policy runs with every scheme over steps and layers, or says why it does not fit.
TEST(CodecRun, EveryPolicyRunsOrSaysWhyNot) {
  for (const PolicyRow& row : PolicyTable()) {
    int ran = 0;
    for (const std::string& name : SchemeNames()) {
      GradientSource source(Drawn("laplace", 2, 4, "20x30"));
      RunOptions options;
      options.policy = row.info.name;
      options.repeats = 1;
      try {
        const CodecChoice codec = ParseCodec(name);
        for (const CodecRecord& record : RunCodec(codec, options, source).records) {
          if (record.elements > 0) CheckParameter(MakeScheme(name)->Parameter(), record.parameter);
        }
        ++ran;
      } catch (const Error& error) {
        EXPECT_GT(std::string(error.what()).size(), 20u);
      }
    }
    EXPECT_GT(ran, 0) << row.info.name;
  }
}

// A policy's own messages are traffic as well.
TEST(CodecRun, PoliciesOwnMessagesAreCounted) {
  GradientSource source(Drawn("laplace", 4, 4, "40x50"));
  RunOptions options;
  options.policy = "lgreco:period=2,start=1";
  const CodecResult result = RunCodec(ParseCodec("topk@5%"), options, source);
  const auto own = [](const CodecRecord& record) { return record.elements == 0; };
  EXPECT_GT(std::ranges::count_if(result.records, own), 0);
  for (const CodecRecord& record : result.records) EXPECT_GT(record.nic_bytes, 0);
  const std::vector<Row> layers = ReportRows(result, options, 4, Detail::kLayer);
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[1]["layer"], "(policy)");
}

double SquaredOf(const std::vector<float>& values) {
  return std::transform_reduce(values.begin(), values.end(), 0.0, std::plus<>(),
                               [](float value) { return double{value} * value; });
}

// Adds the k values of the largest magnitude to `sum`, and returns what is left of `values`.
std::vector<float> SendLargest(std::vector<float> values, size_t k, std::vector<double>& sum) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return std::abs(values[a]) > std::abs(values[b]); });
  for (size_t i = 0; i < k; ++i) sum[order[i]] += std::exchange(values[order[i]], 0.0f);
  return values;
}

// GraVAC chooses among candidates that workers have measured before: what they compress is their
// gradient, added once, and the decayed residual, and both errors are relative to that.
TEST(CodecRun, ErrorsWithCandidatesAreOfWhatIsCompressed) {
  constexpr int kWorkers = 3;
  constexpr int64_t kSteps = 6;
  for (const float decay : {1.0f, 0.5f}) {
    const GradientOptions gradients = Drawn("laplace:n=600", kWorkers, kSteps);
    GradientSource source(gradients);
    RunOptions options;
    options.policy = "gravac:eps=0.3,theta_min=5,theta_max=50,window=2";
    options.repeats = 1;
    const CodecResult result =
        RunCodec(ParseCodec("topk:decay=" + std::to_string(decay)), options, source);
    std::vector<std::vector<float>> residuals(kWorkers, std::vector<float>(600));
    std::set<double> parameters;
    GradientSource again(gradients);
    int64_t step = 0;
    for (const CodecRecord& record : result.records) {
      if (record.elements == 0) continue;  // messages of the agreement
      parameters.insert(record.parameter);
      const auto parts = again.AtStep(step++);
      std::vector<double> fed(600);  // sums over workers
      std::vector<double> sent(600);
      for (int w = 0; w < kWorkers; ++w) {
        std::vector<float> e = residuals[w];
        for (size_t i = 0; i < e.size(); ++i) fed[i] += e[i] = decay * e[i] + parts[w][i];
        const auto k = std::max<size_t>(1, static_cast<size_t>(record.parameter * 600));
        std::vector<double> own(600);
        residuals[w] = SendLargest(e, k, own);
        for (size_t i = 0; i < e.size(); ++i) sent[i] += own[i];
        if (w > 0) continue;
        EXPECT_NEAR(record.squared, SquaredOf(e), 1e-5 * record.squared) << step;
        EXPECT_NEAR(record.error_squared, SquaredOf(residuals[w]), 1e-5 * record.squared) << step;
      }
      double squared = 0;
      double error = 0;
      for (size_t i = 0; i < fed.size(); ++i) {
        squared += fed[i] * fed[i] / (kWorkers * kWorkers);
        error += (fed[i] - sent[i]) * (fed[i] - sent[i]) / (kWorkers * kWorkers);
      }
      EXPECT_NEAR(record.mean_squared, squared, 1e-5 * squared) << step;
      EXPECT_NEAR(record.mean_error_squared, error, 1e-5 * squared) << step;
    }
    EXPECT_EQ(step, kSteps);
    EXPECT_GT(parameters.size(), 1u) << "one candidate was always chosen";
  }
}

TEST(CodecReport, RowsSplitAndAddUp) {
  GradientOptions gradients = Drawn("gaussian:n=1000", 2, 3);
  GradientSource source(gradients);
  const CodecResult result = RunCodec(ParseCodec("topk@10%"), {}, source);
  const auto rows = [&](Detail detail) { return ReportRows(result, {}, 2, detail); };
  ASSERT_EQ(rows(Detail::kCodec).size(), 1u);
  ASSERT_EQ(rows(Detail::kStep).size(), 3u);
  ASSERT_EQ(rows(Detail::kLayer).size(), 1u);
  EXPECT_EQ(rows(Detail::kStep)[2]["step"], 2);
  double bytes = 0;
  for (const Row& row : rows(Detail::kStep)) bytes += row["message_bytes"].get<double>();
  EXPECT_DOUBLE_EQ(bytes / 3, rows(Detail::kCodec)[0]["message_bytes"]);
  EXPECT_EQ(MessageOf([] { ParseDetail("all", "--per"); }),
            "--per: got 'all'; allowed: codec, step, layer");
}

}  // namespace
}  // namespace legacy::codec_run_test