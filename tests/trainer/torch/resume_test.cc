// A training that is saved, and loaded by another object, continues to the same bits.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <torch/torch.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "base/files/section_file.h"
#include "base/files/whole_file.h"
#include "compress/policy.h"
#include "tests/compress/test_data.h"
#include "tests/trainer/torch/drawn_text.h"
#include "tests/trainer/torch/thread_processes.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/one_thread.h"
#include "trainer/torch/tasks/classification.h"
#include "trainer/torch/training.h"
#include "trainer/weight_codec.h"

namespace legacy::resume_test {
namespace {

namespace fs = std::filesystem;

constexpr int kSteps = 7;
constexpr int kWorkers = 3;

const Classification& Glyphs() {
  static const Classification task(LoadDataset({"glyphs", "", 96, 10}));
  return task;
}

// A Case is one training; texts are those of the tables.
struct Case {
  std::string scheme = "topk";
  std::string policy = "uniform";
  std::string model = "small-cnn";
  TrainingOptions options = {};
  bool drops = false;          // true: worker 1 is left out of some steps
  const Task* task = nullptr;  // null: Glyphs()
};

TrainingOptions SmallOptions() {
  TrainingOptions options;
  options.workers = kWorkers;
  options.batch_size = 4;
  options.total_steps = 12;
  options.seed = 11;
  options.evaluation_batch = 4;
  options.schedule.learning_rate = 0.05;
  options.schedule.decay = Decay::kStep;
  options.schedule.milestones = {5};
  options.buckets = {4096, 65536};
  return options;
}

Training Make(const Case& one) {
  auto scheme = test::AnyScheme(one.scheme);
  const Task& task = one.task ? *one.task : Glyphs();
  const ModelRequest request = task.RequestFor(one.model, 5);
  const std::vector<Unit> units =
      PlanUnits(LayersOf(*MakeModel(request)), one.options.scope, one.options.buckets).units;
  const ParameterSpec& spec = scheme->Parameter();
  PolicyContext context{.scheme = scheme.get(),
                        .units = units,
                        .workers = one.options.workers,
                        .total_steps = one.options.total_steps,
                        .steps_per_epoch = 4,
                        .parameter = one.policy == "uniform" || spec.integer ? spec.fallback : 0.05,
                        .seed = 9};
  auto policy = MakePolicy(one.policy, context);
  TrainingOptions options = one.options;
  if (scheme->Traits().owns_momentum) options.sgd.momentum = 0;
  if (scheme->Traits().momentum_from) options.optimizer.kind = OptimizerKind::kAdam;
  if (scheme->Traits().owns_rate) options.optimizer.kind = OptimizerKind::kSign;
  return Training(options, task, request, std::move(policy), std::move(scheme));
}

// Returns everything that is visible of a step, as text.
std::string StepText(Training& training, const Case& one) {
  const int64_t step = training.step();
  std::vector<int> active;
  if (one.drops && step % 3 == 1) active = {0, 2};
  training.SetLink({1e-5 * static_cast<double>(step / 3 + 1), 1e-8});
  const StepOutcome outcome = training.Step(active);
  const double part = 1e-3 * static_cast<double>(step % 4 + 1);
  training.OnFeedback(
      {.simulated_seconds = 1.0 / static_cast<double>(step % 5 + 2),
       .compute_seconds = 1e-2,
       .codec_seconds = 1e-3,
       .communication_seconds = part,
       .bucket_exposed_seconds = std::vector<double>(outcome.work.buckets.size(), part)});
  std::ostringstream text;
  text << std::hexfloat << outcome.loss << ' ' << outcome.learning_rate;
  for (const UnitOutcome& unit : outcome.units) {
    text << ' ' << unit.parameter << ' ' << unit.elements << ' ' << unit.bytes;
  }
  for (const Decision& decision : training.TakeDecisions()) {
    text << " decision " << decision.step << ' ' << decision.number << ' ' << decision.unit << ' '
         << decision.parameter << ' ' << decision.grounds.gain << ' ' << decision.grounds.reason;
  }
  if (step % 2 == 1) {
    const Evaluation evaluation = training.Evaluate();
    text << " test " << evaluation.loss << ' ' << evaluation.metrics.front();
  }
  return text.str();
}

class Resume : public testing::Test {
 protected:
  Resume() : path_(fs::path(testing::TempDir()) / ("resume" + std::to_string(getpid()))) {}
  ~Resume() override { fs::remove(path_); }

  void Save(const Training& training) const {
    SectionWriter out(path_);
    training.Save(out);
    out.Finish();
  }

  // Stops after `stop` steps, continues in another object, and expects every bit of the steps, the
  // weights and the state of a training that was not stopped.
  void Expect(const Case& one, std::initializer_list<int> stops = {3, 5}) const {
    SCOPED_TRACE(one.scheme + ", " + one.policy + ", " + one.model);
    for (const int stop : stops) {
      Training whole = Make(one);
      for (int s = 0; s < stop; ++s) StepText(whole, one);
      Save(whole);
      Training resumed = Make(one);
      resumed.Load(SectionFile(path_));
      EXPECT_EQ(resumed.step(), stop);
      EXPECT_TRUE(resumed.Weights() == whole.Weights());
      for (int s = stop; s < kSteps; ++s) {
        ASSERT_EQ(StepText(resumed, one), StepText(whole, one)) << "stop " << stop << " step " << s;
      }
      EXPECT_TRUE(resumed.Weights() == whole.Weights());
      Save(whole);
      const std::string expected = ReadWholeFile(path_);
      Save(resumed);
      EXPECT_EQ(ReadWholeFile(path_), expected);
    }
  }

  const fs::path path_;
};

TEST_F(Resume, EveryScheme) {
  for (const std::string& scheme : SchemeNames()) {
    Expect({.scheme = scheme, .options = SmallOptions()}, {3});
  }
  for (const char* text :
       {"topk:dense_start=4", "topk+rbf", "topk:where=after-mean", "topk:where=both",
        "topk:where=server,servers=3", "topk:where=both,servers=2+bf16", "topk:owners=3",
        "sidco:owners=3", "topk:owners=3,select=unit", "int:memory=loco,reset_every=3",
        "int:memory=loco,storage=int8", "topk:storage=bf16", "dgc:warmup=2", "powersgd:rank=2"}) {
    try {
      MakeScheme(text);
    } catch (const Error&) {
      continue;
    }
    Expect({.scheme = text, .options = SmallOptions()}, {3});
  }
}

// What workers know of the weights is saved beside them.
TEST_F(Resume, GatheredWeights) {
  for (const char* text : {"int:bits=4", "delta:int:bits=4", "int:bits=4,rounding=stochastic"}) {
    Case one{.options = SmallOptions()};
    one.options.weights =
        std::make_shared<WeightCodec>(text, Cut{.owners = kWorkers}, 3, "weights");
    Expect(one, {2, 3});
    one.options.precision = Precision::kBf16;
    Expect(one, {3});
  }
  // Nodes of two of four workers keep the residuals of their means.
  Case nodes{.scheme = "int:owners=4,node=2,bits=4", .options = SmallOptions()};
  nodes.options.workers = 4;
  Expect(nodes, {3});
}

TEST_F(Resume, EveryPolicy) {
  for (const PolicyRow& row : PolicyTable()) {
    Case one{.policy = row.info.name, .options = SmallOptions()};
    if (one.policy == "theta") one.scheme = "fft+fp32";
    if (one.policy == "edgc") one.scheme = "powersgd";
    for (const char* text :
         {"lgreco:period=3", "lgreco:period=3,cost=time", "lgreco-accordion:period=2",
          "accordion:interval_steps=3", "gravac:eps=0.4,window=2", "flexible:interval=2",
          "edgc:start=1,window=2,every=1"}) {
      if (std::string_view(text).substr(0, std::string_view(text).find(':')) != one.policy)
        continue;
      Case long_name = one;
      long_name.policy = text;
      Expect(long_name, {1, 2, 3, 5});
    }
    Expect(one);
  }
}

TEST_F(Resume, EveryOptimizerWithLocalModelsAndWithout) {
  for (const auto kind : {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW,
                          OptimizerKind::kLamb, OptimizerKind::kSign}) {
    for (const int64_t local_steps : {1, 3}) {
      Case one{.options = SmallOptions()};
      one.options.optimizer.kind = kind;
      one.options.local_steps = local_steps;
      one.options.sgd.weight_decay = 1e-3;
      Expect(one, {1, 3, 4});
    }
  }
}

TEST_F(Resume, OuterOptimizersAndPasses) {
  Case one{.options = SmallOptions()};
  one.options.outer = OuterOptions();
  Expect(one, {1, 3});
  one.options.local_steps = 2;
  one.options.passes = 2;
  Expect(one, {2, 3});
}

TEST_F(Resume, SixteenBits) {
  Case one{.options = SmallOptions()};
  one.options.precision = Precision::kBf16;
  Expect(one, {3});
  one.options.local_steps = 3;
  Expect(one, {1, 3});
  one.options = SmallOptions();
  one.options.precision = Precision::kFp16;
  one.options.optimizer.kind = OptimizerKind::kAdam;
  one.options.loss = LossReduction::kSum;  // the first steps overflow
  one.options.batch_size = 16;
  one.options.schedule.learning_rate = 0.001;
  Expect(one, {1, 3, 5});
}

TEST_F(Resume, StatisticsOfEachWorkerAndItsDropout) {
  Case one{.model = "resnet20", .options = SmallOptions(), .drops = true};
  Expect(one, {2});
  one.options.local_steps = 1;
  one.model = "alexnet:width=4";
  Expect(one, {3});
}

TEST_F(Resume, StatesOfRecurrentModels) {
  for (const char* model :
       {"lstm:hidden=8,layers=2,dropout=0.3", "gpt-tiny:width=16,layers=1,heads=2",
        "transformer-xl:width=16,layers=1,heads=2,inner=16,memory=4"}) {
    Case one{.model = model, .options = SmallOptions(), .task = &test::DrawnText()};
    one.options.batch_size = 2;
    Expect(one, {1, 3});
    one.options.passes = 2;
    Expect(one, {3});
  }
}

// If the disk is full, all processes continue, and the previous checkpoint stays.
TEST_F(Resume, AFullDiskEndsNoProcess) {
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  test::ThreadProcesses processes(2);
  std::string message, before;
  const std::string reason = processes.Run([&](int rank) {
    UseOneThread();
    Case one{.options = SmallOptions()};
    one.options.processes = &processes[rank];
    Training training = Make(one);
    training.Step();
    if (rank == 0) Save(training);
    if (rank != 0) training.JoinSave();
    training.Step();
    if (rank == 0) {
      before = ReadWholeFile(path_);
      rlimit limit;
      getrlimit(RLIMIT_FSIZE, &limit);
      const rlimit small = {size_t{1} << 12, limit.rlim_max};
      setrlimit(RLIMIT_FSIZE, &small);
      try {
        Save(training);
      } catch (const Error& error) {
        message = error.what();
      }
      setrlimit(RLIMIT_FSIZE, &limit);
    } else {
      training.JoinSave();
    }
    training.Step();
  });
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(reason, "");
  EXPECT_NE(message.find(path_.string() + ": cannot be written: "), std::string::npos) << message;
  EXPECT_EQ(ReadWholeFile(path_), before);
  const Case one{.options = SmallOptions()};
  Training resumed = Make(one);
  resumed.Load(SectionFile(path_));
  EXPECT_EQ(resumed.step(), 1);
}

TEST_F(Resume, RefusesTheStateOfAnotherTraining) {
  const Case one{.options = SmallOptions()};
  Training training = Make(one);
  StepText(training, one);
  Save(training);
  const SectionFile file(path_);
  Case other = one;
  other.scheme = "randomk";
  EXPECT_THROW(Make(other).Load(file), Error);
  other = one;
  other.options.workers = 2;
  EXPECT_THROW(Make(other).Load(file), Error);
  other = one;
  other.model = "medium-cnn";
  EXPECT_THROW(Make(other).Load(file), Error);
  other = one;
  other.options.optimizer.kind = OptimizerKind::kAdam;
  EXPECT_THROW(Make(other).Load(file), Error);
}

}  // namespace
}  // namespace legacy::resume_test
