// Shapes: the shipped ones compared with published counts, the reader, and steps of drawn gradients
// compared with real exchanges.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>

#include "analysis/summary.h"
#include "analysis/tables.h"
#include "base/error.h"
#include "scenarios/options/model_shape.h"
#include "scenarios/replay/replay.h"
#include "scenarios/run/workers/comparison.h"
#include "scenarios/shapes/drawn_training.h"
#include "trainer/clock/clock.h"
#include "trainer/clock/record.h"
#include "trainer/host_exchange.h"

namespace legacy::shapes_test {
namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t never = 0;

struct Published {
  const char* name;
  int64_t elements;
  size_t tensors;
  double multiply_adds;  // 0 means unknown
};

TEST(Shapes, HaveThePublishedCounts) {
  const Published published[] = {{"resnet18-cifar", 11'173'962, 62, 0.56e9},
                                 {"resnet18", 11'689'512, 62, 1.81e9},
                                 {"resnet50", 25'557'032, 161, 4.09e9},
                                 {"resnet101", 44'549'160, 314, 7.80e9},
                                 {"resnet152", 60'192'808, 467, 11.51e9},
                                 {"vgg16", 138'357'544, 32, 15.47e9},
                                 {"alexnet", 61'100'840, 16, 0.71e9},
                                 {"googlenet", 6'624'904, 173, 1.5e9},
                                 {"googlenet-cifar", 6'166'250, 258, 0},
                                 {"inception-v3", 23'834'568, 284, 5.71e9},
                                 {"lstm-ptb", 66'034'000, 11, 0},
                                 {"transformer-xl", 191'950'298, 182, 0},
                                 {"transformer-xl-large", 285'167'482, 215, 0},
                                 {"gpt2-small", 124'439'808, 148, 0},
                                 {"ncf", 31'832'577, 12, 0},
                                 {"bert-base", 109'514'298, 202, 0},
                                 {"bert-large", 335'174'458, 394, 0},
                                 {"bert-large-squad", 334'094'338, 391, 0},
                                 {"deit-small", 22'050'664, 152, 4.61e9},
                                 {"deit-base", 86'567'656, 152, 17.58e9},
                                 {"vit-large", 304'326'632, 296, 61.6e9},
                                 {"gpt2-xl", 1'557'611'200, 580, 0},
                                 {"gpt3-175b", 174'604'259'328, 1156, 0},
                                 {"llama2-7b", 6'738'415'616, 291, 0},
                                 {"llama2-13b", 13'015'864'320, 363, 0},
                                 {"llama2-70b", 68'976'648'192, 723, 0},
                                 {"llama3-8b", 8'030'261'248, 291, 8192 * 57'912'852'480.0 / 6},
                                 {"llama3-70b", 70'553'706'496, 723, 0},
                                 {"llama3-405b", 405'853'388'800, 1137, 0},
                                 {"mixtral-8x7b", 46'702'792'704, 323, 0},
                                 {"mpt-1b", 1'315'950'592, 292, 0},
                                 {"mpt-3b", 2'651'837'440, 388, 0},
                                 {"mpt-7b", 6'658'859'008, 388, 0},
                                 {"mpt-13b", 12'853'954'560, 484, 0},
                                 {"mpt-30b", 29'975'214'080, 580, 0},
                                 {"mpt-70b", 64'862'437'376, 964, 0}};
  EXPECT_EQ(ModelShapeNames().size(), std::size(published));
  for (const Published& one : published) {
    const ModelShape shape = LoadModelShape(one.name);
    EXPECT_EQ(shape.Elements(), one.elements) << one.name;
    EXPECT_EQ(shape.layers.size(), one.tensors) << one.name;
    EXPECT_FALSE(shape.source.empty()) << one.name;
    EXPECT_FALSE(shape.batch_source.empty()) << one.name;
    if (one.multiply_adds == 0) continue;
    EXPECT_NEAR(shape.MultiplyAdds() / one.multiply_adds, 1, 0.02) << one.name;
  }
}

// A matrix product costs a multiply-add for each weight and word.
TEST(Shapes, OfTextCountEachWeightOnceAWord) {
  EXPECT_EQ(LoadModelShape("lstm-ptb").MultiplyAdds(), 35.0 * (66'034'000 - 15'000'000 - 34'000));
  const double gpt = LoadModelShape("gpt2-small").MultiplyAdds() / 1024;
  const double attention = 12.0 * 2 * 1024 * 768;  // scores, and their products with the values
  EXPECT_EQ(gpt, 12.0 * 12 * 768 * 768 + 50257.0 * 768 + attention);
  const double squad = LoadModelShape("bert-large-squad").MultiplyAdds() / 384;
  EXPECT_EQ(squad, 24.0 * 12 * 1024 * 1024 + 2 * 1024 + 24.0 * 2 * 384 * 1024);
  // Keys and values of as many words of the memory; scores by content and by position; the
  // embedding's product, that before the head, and the head of the frequent words.
  const double xl = LoadModelShape("transformer-xl-large").MultiplyAdds() / 384;
  EXPECT_EQ(xl, 18 * (15.0 * 1024 * 1024 + 3.0 * 768 * 1024) + 2.0 * 1024 * 1024 + 20000.0 * 1024);
}

// Between its products attention shifts, adds (which reads two), masks and normalises its scores,
// and the large model drops some. The head's words are the only other tensors of that size.
TEST(Shapes, OfTransformerXlCountEachPassOverScores) {
  const auto numbers = [](const char* name, double scores) {
    double sum = 0;
    for (const OperationCost& cost : LoadModelShape(name).costs) {
      const double moved = cost.forward_bytes / 4;
      if (cost.kind == "elementwise" && moved >= 2 * scores) sum += moved;
    }
    return sum;
  };
  const double base = 8.0 * 192 * 384, large = 16.0 * 384 * 768;
  EXPECT_EQ(numbers("transformer-xl", base), 16 * 9 * base + 2.0 * 192 * 20000);
  EXPECT_EQ(numbers("transformer-xl-large", large), 18 * 11 * large + 2.0 * 384 * 20000);
}

TEST(Shapes, ArePricedByEveryProfile) {
  for (const std::string& name : ModelShapeNames()) {
    const ModelShape shape = LoadModelShape(name);
    std::vector<int64_t> numels;
    for (const Unit& layer : shape.layers) numels.push_back(layer.numel);
    for (const std::string& profile : ProfileNames()) {
      const Clock clock(LoadProfile(profile), shape.costs, numels);
      EXPECT_GT(clock.ComputeSeconds(1), 0) << name << " " << profile;
    }
  }
}

TEST(Shapes, ReadAListOfTensors) {
  const ModelShape shape = ParseModelShape(
      "# two tensors\n\nconv.weight 4x3x3x3 108000 4000\nconv.bias, 4\n", "my.layers");
  EXPECT_EQ(shape.name, "my");
  EXPECT_EQ(shape.Elements(), 112);
  EXPECT_EQ(shape.layers[1].offset, 108);
  EXPECT_EQ(shape.MultiplyAdds(), 108000);
  EXPECT_EQ(shape.costs[0].weight_bytes, 4 * 108);
  EXPECT_TRUE(shape.has_costs);
  EXPECT_FALSE(ParseModelShape("w 10\n", "w.csv").has_costs);
}

// Four experts of 2 x 3 weights, of which a token uses one, two kinds of blocks, and values of
// another size than keys.
TEST(Shapes, HaveExpertsAndSeveralKindsOfBlocks) {
  const ModelShape shape = ParseModelShape(
      "tokens: 8\n"
      "operations:\n"
      "  - blocks: 2\n"
      "    prefix: b.\n"
      "    operations:\n"
      "      - {kind: attention, heads: 6, kv_heads: 2, head_size: 5, value_size: 3}\n"
      "      - {kind: linear, parameters: {w: 2x3}}\n"
      "  - blocks: 1\n"
      "    prefix: b.\n"
      "    operations:\n"
      "      - {kind: linear, experts: 4, used: 1, parameters: {w: 8x3}}\n",
      "f");
  ASSERT_EQ(shape.costs.size(), 5u);
  EXPECT_EQ(shape.layers.back().name, "b.2.w");
  EXPECT_EQ(shape.costs.back().block, 2);
  const MatrixProduct& product = shape.costs.back().products.front();
  EXPECT_EQ(product.rows, 8 / 4);
  EXPECT_EQ(product.columns, 2);
  EXPECT_EQ(product.inner, 3);
  EXPECT_EQ(product.count, 4);
  EXPECT_EQ(shape.costs.back().forward_flops, 2 * 8 * 2 * 3);
  EXPECT_EQ(shape.costs.back().weight_bytes, 4 * 8 * 3);
  const OperationCost& attention = shape.costs.front();
  EXPECT_EQ(attention.forward_flops, 2 * 6 * 8 * 8 * (5 + 3));
  EXPECT_EQ(attention.keys, 8 * 2 * (5 + 3));
  EXPECT_EQ(attention.forward_bytes, 4 * 8 * (6 + 2) * (5 + 3));
}

TEST(Shapes, OfAFileThatChangedAreReadAnew) {
  const std::string list = (fs::path(::testing::TempDir()) / "changes.layers").string();
  for (const int64_t size : {300, 301, 300}) {
    std::ofstream(list) << "a 64x" << size << "\n";
    EXPECT_EQ(LoadModelShape(list).Elements(), 64 * size);
  }
  fs::remove(list);
}

TEST(Shapes, SayWhereAFileIsWrong) {
  const auto error = [](const std::string& text) -> std::string {
    try {
      ParseModelShape(text, "f");
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const auto expect = [&](const std::string& text, const std::string& part) {
    EXPECT_NE(error(text).find(part), std::string::npos) << text << ": " << error(text);
  };
  expect("", "f: has no parameter tensors");
  expect("a 3\nb 3x\n", "f:2:3: got '3x'");
  expect("a 3\na 4\n", "f:2:3: got 'a'; allowed: each name once");
  expect("a 3 x\n", "f:1:5: got 'x'");
  expect("a\n", "f:1:1: got 'a'");
  expect("a 1 2 3 4\n", "f:1:9: got '4'");
  expect("a 99999999999x9\n", "f:1:3: got");
  expect("operations:\n  - {kind: conv, parameters: {w: 3}, size: 4}\n",
         "f:2:38: unknown key 'size'");
  expect("operations:\n  - {kind: dense, parameters: {w: 3}}\n", "f:2:6: kind: got 'dense'");
  expect("operations:\n  - {parameters: {w: 3}}\n", "f:2:5: missing key 'kind'");
  expect("operations:\n  - {kind: conv, multiply_adds: -1}\n", "f:2:18: multiply_adds: got '-1'");
  expect("elements: 4\noperations:\n  - {kind: conv, parameters: {w: 3}}\n",
         "f:1:11: elements: got '4'");
  expect("operations: [\n", "f:2:1");
  for (const char* experts :
       {"experts: 4", "used: 2", "experts: 4, used: 5", "experts: 3, used: 1"}) {
    expect("tokens: 8\noperations:\n  - {kind: linear, " + std::string(experts) +
               ", parameters: {w: 8x3}}\n",
           "f:3:5: experts: needs used, at most as many, and weights of as many times the same");
  }
  expect("operations: 3\n", "f:1:1: operations: expected a list");
}

ModelShape Small() {
  return ParseModelShape(
      "operations:\n"
      "  - {kind: conv, multiply_adds: 1e6, bytes: 1e5, parameters: {a.weight: 16x3x3x3, a.bias: "
      "16}}\n"
      "  - {kind: elementwise, bytes: 1e5}\n"
      "  - {kind: linear, multiply_adds: 2e6, bytes: 1e4, parameters: {b.weight: 64x96, b.bias: "
      "64}}\n",
      "small");
}

std::string TextOf(std::vector<BucketWork> buckets, int workers) {
  StepWork work;
  work.workers = workers;
  work.buckets = std::move(buckets);
  return ToJson(work).dump(1);
}

// Shapes alone give the messages of an exchange of real gradients.
TEST(DrawnExchange, SendsWhatRealGradientsWould) {
  constexpr int kWorkers = 4;
  const ModelShape shape = Small();
  for (const std::string text :
       {"dense", "fp16", "topk", "randomk", "powersgd", "qsgd", "ar-topk", "signsgd",
        "terngrad-shared", "topk+rbf:bits=8", "arc", "topk:memory=ef21", "arc:memory=ef21m"}) {
    for (const std::vector<int>& active : {std::vector<int>(), std::vector<int>{0, 2, 3}}) {
      const auto scheme =
          MakeScheme(text, {.error_feedback = text == "topk" || text == "powersgd" ||
                                              text.find("ef21") != std::string::npos});
      const ParameterSpec& spec = scheme->Parameter();
      const auto policy = MakeUniformPolicy(spec.name == "density" ? 0.05 : spec.fallback);
      const UnitPlan plan = PlanUnits(shape.layers, Scope::kLayer);
      WorkerPool pool(1);
      Aggregation real(plan, *policy, kWorkers,
                       std::make_unique<HostModelExchange>(*scheme, plan.units, kWorkers, pool));
      auto exchange =
          std::make_unique<DrawnExchange>(*scheme, plan.units, kWorkers, DrawnGradients());
      const DrawnExchange& draws = *exchange;
      Aggregation drawn(plan, *policy, kWorkers, std::move(exchange));
      std::vector<float> mean(static_cast<size_t>(shape.Elements()));
      for (int64_t step = 0; step < 3; ++step) {
        const StepInfo info{.seed = 1, .step = step, .total_steps = 3, .active_workers = active};
        real.Begin(info);
        drawn.Begin(info);
        for (int w = 0; w < kWorkers; ++w) {
          if (!active.empty() && std::ranges::find(active, w) == active.end()) continue;
          std::vector<float> gradient(mean.size());
          for (size_t i = 0; i < gradient.size(); ++i) {
            gradient[i] = static_cast<float>((7 * i + 3 * static_cast<size_t>(w)) % 101) - 50;
          }
          real.AddGradient(w, gradient.data(), nullptr);
        }
        real.Finish(mean.data());
        drawn.AddGradient(0, nullptr, nullptr);
        drawn.Finish(nullptr);
        EXPECT_EQ(TextOf(drawn.Buckets(), kWorkers), TextOf(real.Buckets(), kWorkers)) << text;
        for (size_t u = 0; u < plan.units.size(); ++u) {
          EXPECT_EQ(drawn.Outcomes()[u].elements, real.Outcomes()[u].elements) << text;
        }
      }
      if (scheme->Plan(plan.units[0], spec.name == "density" ? 0.05 : spec.fallback, kWorkers)) {
        EXPECT_EQ(draws.ValuesDrawn(), 0) << text;
      }
    }
  }
}

TEST(DrawnExchange, DrawsDataDependentMessagesAFewTimesForEachParameter) {
  const ModelShape shape = Small();
  const auto scheme = MakeScheme("threshold");
  DrawnExchange drawn(*scheme, shape.layers, 4, {.text = "gaussian", .steps = 2});
  const std::vector<double> parameters(shape.layers.size(), 0.01);
  std::vector<int64_t> bytes;
  for (int64_t step = 0; step < 5; ++step) {
    drawn.Begin({.info = {.seed = 1, .step = step, .total_steps = 5}, .parameters = parameters});
    drawn.Encode(0, nullptr);
    drawn.Finish(nullptr);
    const std::vector<int64_t> sent = drawn.Calls(2).back().bytes;
    bytes.push_back(std::accumulate(sent.begin(), sent.end(), int64_t{0}));
  }
  EXPECT_EQ(drawn.ValuesDrawn(), 2 * shape.Elements());
  EXPECT_GT(bytes[0], 0);
  EXPECT_NE(bytes[0], bytes[1]);  // residuals count
  EXPECT_EQ(bytes[1], bytes[4]);
}

// Clipping takes each worker's whole gradient: the norm of the first layers alone is below the
// limit of the second case.
// The lengths of a dense start, and those after it, are drawn apart.
TEST(DrawnExchange, StartsDense) {
  const ModelShape shape = Small();
  const auto bytes = [&](const char* text, int64_t step) {
    const auto scheme = MakeScheme(text);
    DrawnExchange drawn(*scheme, shape.layers, 4, {.text = "gaussian", .steps = 2});
    std::vector<double> parameters(shape.layers.size(), 0.01);
    int64_t sent = 0;
    for (int64_t at = 0; at <= step; ++at) {
      drawn.Begin({.info = {.seed = 1, .step = at}, .parameters = parameters, .candidates = {}});
      drawn.Encode(0, nullptr);
      drawn.Finish(nullptr);
      sent = drawn.Calls(0).back().bytes[0];
    }
    return sent;
  };
  for (const char* text : {"topk:dense_start=5", "topk:memory=ef21,dense_start=4"}) {
    EXPECT_EQ(bytes(text, 0), bytes("dense", 0)) << text;
    EXPECT_EQ(bytes(text, 4), bytes("dense", 0)) << text;
    EXPECT_EQ(bytes(text, 5), bytes("topk", 0)) << text;
    EXPECT_EQ(bytes(text, 9), bytes("topk", 0)) << text;
  }
}

// A message of an all-to-all has parts that differ; every worker is sent as much as it sends.
TEST(DrawnExchange, SendsPartsOfAllToAlls) {
  const auto scheme = MakeScheme("oktopk");
  const ModelShape shape = Small();
  DrawnExchange drawn(*scheme, shape.layers, 3, {.text = "gaussian", .steps = 2});
  const std::vector<double> parameters(shape.layers.size(), 0.05);
  int exchanges = 0;
  for (int64_t step = 0; step < 4; ++step) {
    drawn.Begin({.info = {.seed = 1, .step = step}, .parameters = parameters, .candidates = {}});
    drawn.Encode(0, nullptr);
    drawn.Finish(nullptr);
    for (const SentCall& call : drawn.Calls(0)) {
      if (call.collective != Collective::kAllToAll) continue;
      ++exchanges;
      ASSERT_EQ(call.pair_bytes.size(), 9u);
      for (size_t w = 0; w < 3; ++w) {
        const auto& p = call.pair_bytes;
        EXPECT_EQ(p[3 * w] + p[3 * w + 1] + p[3 * w + 2], call.bytes[w]);
        EXPECT_EQ(p[w] + p[3 + w] + p[6 + w], call.bytes[w]);
        EXPECT_EQ(p[4 * w], p[0]) << "its own part";
      }
    }
  }
  EXPECT_GE(exchanges, 8);
}

// Sums of blocks have as many as independent workers would send.
TEST(DrawnExchange, JoinsBlocksOfIndependentWorkers) {
  const auto scheme = MakeScheme("omnireduce:block=8");
  const ModelShape shape = Small();
  for (const double density : {0.05, 1.0}) {
    DrawnExchange drawn(*scheme, shape.layers, 4, {.text = "gaussian", .steps = 1});
    const std::vector<double> parameters(shape.layers.size(), density);
    drawn.Begin({.info = {.seed = 1, .step = 0}, .parameters = parameters, .candidates = {}});
    drawn.Encode(0, nullptr);
    drawn.Finish(nullptr);
    const SentCall call = drawn.Calls(0).front();
    EXPECT_EQ(call.collective, Collective::kBlockSparse);
    const auto expected = scheme->ExpectedCalls(shape.layers[0], density, 4, {});
    EXPECT_EQ(call.pull, expected->front().call.pull);
    EXPECT_GE(*call.pull, call.bytes[0]);
    EXPECT_EQ(*call.pull == call.bytes[0], density == 1);
  }
}

TEST(DrawnTraining, ClipsDrawnGradientsAndChargesForIt) {
  const ModelShape shape = Small();
  const auto step = [&](const std::string& text) {
    TrainingOptions options;
    options.workers = 4;
    DrawnTraining training(options, shape, 1, {.text = "gaussian"}, MakeUniformPolicy(0.01),
                           MakeScheme("threshold" + text));
    return training.Step();
  };
  const StepOutcome free = step("");
  EXPECT_TRUE(free.work.whole_gradient.empty());
  EXPECT_GT(free.units[2].elements, 0);
  // Four units have a norm of 1 each: a limit of 4.5 / sqrt(4 workers) is above the whole norm, and
  // a limit of 1.8 below.
  for (const auto& [text, equal] : std::vector<std::pair<std::string, bool>>{
           {":local_clip=4.5", true}, {":local_clip=3.6", false}}) {
    const StepOutcome clipped = step(text);
    ASSERT_EQ(clipped.work.whole_gradient.size(), 1u);
    EXPECT_EQ(clipped.work.whole_gradient[0].kernel, "clip");
    EXPECT_EQ(clipped.work.whole_gradient[0].elements, shape.Elements());
    EXPECT_EQ(clipped.units[2].elements == free.units[2].elements, equal) << text;
  }
}

TEST(DrawnTraining, RefusesPoliciesThatNeedALoss) {
  const ModelShape shape = Small();
  auto scheme = MakeScheme("fft");
  auto policy = MakePolicy("theta:form=recover", {.scheme = scheme.get(),
                                                  .units = shape.layers,
                                                  .workers = 2,
                                                  .total_steps = 10,
                                                  .steps_per_epoch = 1,
                                                  .parameter = 0.8,
                                                  .seed = 1});
  EXPECT_THROW(DrawnTraining({}, shape, 1, {}, std::move(policy), std::move(scheme)), Error);
}

class ShapeRun : public ::testing::Test {
 protected:
  void SetUp() override {
    scenario_.layers = "resnet18-cifar";
    scenario_.workers = 4;
    scenario_.steps = 6;
    scenario_.topology = "star";
    scenario_.stragglers = "none";
    scenario_.fidelity = "analytic";
    scenario_.pictures = false;
    scenario_.record = true;
    scenario_.overwrite = true;
    scenario_.out =
        (fs::path(::testing::TempDir()) / ("shape-" + std::to_string(getpid()))).string();
  }
  void TearDown() override { fs::remove_all(scenario_.out); }

  analysis::RunDirectory Run() {
    ValidateScenario(scenario_);
    RunComparison(scenario_, "test", "test", never);
    return analysis::ReadRunDirectory(scenario_.out);
  }

  Scenario scenario_;
};

TEST_F(ShapeRun, ClaimsNoAccuracyAndIsReplayed) {
  scenario_.policies = {"dense", "topk", "legacy-layer", "powersgd"};
  const analysis::RunDirectory run = Run();
  EXPECT_FALSE(run.manifest.target);
  EXPECT_TRUE(run.manifest.metrics.empty());
  EXPECT_TRUE(run.evaluations.empty());
  EXPECT_EQ(run.steps.front().message_bytes, 4.0 * 11'173'962 + 62 * 16);
  const std::string table = analysis::TextTable(analysis::Summarise(run));
  EXPECT_EQ(table.find("Accuracy, and"), std::string::npos) << table;
  EXPECT_NE(table.find("step speed-up over dense"), std::string::npos) << table;
  EXPECT_EQ(table.find("incomplete"), std::string::npos) << table;

  const Recording recording = ReadRecording(scenario_.out);
  EXPECT_EQ(recording.scenario.layers, scenario_.layers);
  const analysis::RunDirectory again = ReplayRows(recording, ReplayDefaults(recording), never);
  ASSERT_EQ(again.steps.size(), run.steps.size());
  for (size_t i = 0; i < run.steps.size(); ++i) {
    ASSERT_EQ(again.steps[i].step_seconds, run.steps[i].step_seconds);
  }
  Scenario slower = ReplayDefaults(recording);
  slower.bandwidth = "100Mbps";
  EXPECT_GT(ReplayRows(recording, slower, never).steps[0].step_seconds, run.steps[0].step_seconds);
}

TEST_F(ShapeRun, TakesPoliciesThatLookAtGradients) {
  scenario_.layers = (fs::path(::testing::TempDir()) / "small-shape.layers").string();
  std::ofstream(scenario_.layers) << "a 64x300 2e6 1e4\na.bias 64\nb 100x64 1e6 1e4\n";
  scenario_.record = false;
  scenario_.density = 0.1;
  scenario_.methods["g"] = {.name = "g", .policy = "gravac:window=2"};
  scenario_.methods["l"] = {.name = "l", .policy = "lgreco:start=1,period=2"};
  scenario_.policies = {"accordion", "g", "l", "kimad", "dgc@10%"};
  const analysis::RunDirectory run = Run();
  EXPECT_EQ(run.steps.size(), 5u * 6u);
  fs::remove(scenario_.layers);
}

TEST(ShapeScenario, TakesTheUsualBatchUnlessItIsGiven) {
  const auto batch = [](const std::string& layers, int given) {
    return OverDefaults({},
                        [&](Scenario& scenario) {
                          scenario.layers = layers;
                          if (given > 0) scenario.batch = given;
                        })
        .batch;
  };
  EXPECT_EQ(batch("vgg16", 0), 64);
  EXPECT_EQ(batch("vgg16", 16), 16);
  const std::string list = (fs::path(::testing::TempDir()) / "batch.layers").string();
  std::ofstream(list) << "a 64x300\n";
  EXPECT_EQ(batch(list, 0), kUnknownBatch);
  fs::remove(list);
  EXPECT_EQ(batch("", 0), Scenario().batch);
}

TEST_F(ShapeRun, RefusesWhatOnlyATrainingReads) {
  scenario_.model = "resnet9";
  EXPECT_THROW(ValidateScenario(scenario_), Error);
  scenario_ = Scenario();
  scenario_.gradients = "gaussian";
  EXPECT_THROW(ValidateScenario(scenario_), Error);
  scenario_.layers = "resnet5000";
  EXPECT_THROW(ValidateScenario(scenario_), Error);
}

}  // namespace
}  // namespace legacy::shapes_test