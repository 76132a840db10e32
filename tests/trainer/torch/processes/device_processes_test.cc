// Trainings on emulated devices in several processes compared with one process on the host: the
// bits are the same.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <limits>

#include "compress/policy.h"
#include "tests/trainer/torch/emulated_accelerator.h"
#include "tests/trainer/torch/thread_processes.h"
#include "trainer/clock/record.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/one_thread.h"
#include "trainer/torch/tasks/classification.h"
#include "trainer/torch/training.h"

namespace legacy::device_processes_test {
namespace {

using test::EmulatedAccelerator;
using test::ThreadProcesses;

constexpr int kSteps = 6;

const Classification& Glyphs() {
  static const Classification task([] {
    Dataset glyphs = LoadDataset({"glyphs", "", 256, 100});
    glyphs.augment = Augmentation::kCrop;
    return glyphs;
  }());
  return task;
}

struct Case {
  std::string scheme = "topk";
  std::string policy = "uniform";
  double parameter = 0.05;
  std::string model = "small-cnn";
  int workers = 3;
  int64_t local_steps = 1;
  std::optional<OuterOptions> outer = std::nullopt;
  bool drops = false;  // true: worker 0 takes part only in the first step
};

std::unique_ptr<Training> Make(const Case& what, std::shared_ptr<Accelerator> accelerator,
                               ProcessGroup& processes = OneProcess()) {
  TrainingOptions options;
  options.workers = what.workers;
  options.batch_size = 4;
  options.total_steps = 12;
  options.seed = 11;
  options.sgd = {0.9, 5e-4, false};
  options.schedule = {.learning_rate = 0.05, .decay = Decay::kStep, .warmup_steps = 2};
  options.schedule.milestones = {4};
  options.local_steps = what.local_steps;
  options.outer = what.outer;
  options.evaluation_batch = 37;  // three parts, the last of them short
  options.accelerator = std::move(accelerator);
  options.processes = &processes;
  const ModelRequest request = Glyphs().RequestFor(what.model, 5);
  auto scheme = MakeScheme(what.scheme, {.error_feedback = what.scheme != "dense"});
  PolicyContext context{
      .scheme = scheme.get(),
      .units = PlanUnits(LayersOf(*MakeModel(request)), options.scope, options.buckets).units,
      .workers = options.workers,
      .total_steps = options.total_steps,
      .steps_per_epoch = 4,
      .parameter = what.parameter};
  auto policy = what.policy == "uniform" ? MakeUniformPolicy(what.parameter)
                                         : MakePolicy(what.policy, context);
  return std::make_unique<Training>(options, Glyphs(), request, std::move(policy),
                                    std::move(scheme));
}

// The results of a training in one of its processes.
struct Course {
  std::vector<double> losses;
  std::vector<std::string> work;  // of process 0
  std::vector<UnitOutcome> units;
  std::vector<std::vector<float>> weights;
  std::vector<std::vector<float>> means;
  std::vector<Evaluation> evaluations;
};

Course Follow(Training& training, const Case& what, bool leads) {
  UseOneThread();
  Course course;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<int> active;
    for (int w = 1; what.drops && step > 0 && w < what.workers; ++w) active.push_back(w);
    const StepOutcome outcome = training.Step(active);
    course.losses.push_back(outcome.loss);
    if (leads) {
      course.work.push_back(ToJson(outcome.work).dump());
      course.units.insert(course.units.end(), outcome.units.begin(), outcome.units.end());
      training.OnFeedback({.simulated_seconds = 1});
    }
    course.weights.push_back(training.Weights());
    const std::span<const float> mean = training.MeanGradient();
    course.means.emplace_back(mean.begin(), mean.end());
    if (step % 2 == 1) course.evaluations.push_back(training.Evaluate());
  }
  return course;
}

void ExpectSame(const Course& got, const Course& expected, bool leads) {
  EXPECT_EQ(got.losses, expected.losses);
  EXPECT_TRUE(got.weights == expected.weights);
  EXPECT_TRUE(got.means == expected.means);
  ASSERT_EQ(got.evaluations.size(), expected.evaluations.size());
  for (size_t e = 0; e < got.evaluations.size(); ++e) {
    EXPECT_EQ(got.evaluations[e].loss, expected.evaluations[e].loss);
    EXPECT_EQ(got.evaluations[e].metrics, expected.evaluations[e].metrics);
  }
  if (!leads) return;
  EXPECT_EQ(got.work, expected.work);
  ASSERT_EQ(got.units.size(), expected.units.size());
  for (size_t u = 0; u < got.units.size(); ++u) {
    EXPECT_EQ(got.units[u].parameter, expected.units[u].parameter) << u;
    EXPECT_EQ(got.units[u].elements, expected.units[u].elements) << u;
    EXPECT_EQ(got.units[u].bytes, expected.units[u].bytes) << u;
  }
}

// Trains on the host in one process, and on a device in each of several. Returns the report of the
// last process.
BackendReport ExpectTheHostsBits(const Case& what, int size) {
  SCOPED_TRACE(what.scheme + ", " + what.policy + ", " + what.model + ", " + std::to_string(size));
  const Course expected = Follow(*Make(what, nullptr), what, true);
  EXPECT_NE(expected.weights.front(), expected.weights.back()) << "it does train";
  ThreadProcesses processes(size);
  std::vector<std::unique_ptr<Training>> trainings;
  for (int rank = 0; rank < size; ++rank) {
    trainings.push_back(Make(what, std::make_shared<EmulatedAccelerator>(), processes[rank]));
  }
  std::vector<Course> courses(static_cast<size_t>(size));
  EXPECT_EQ(
      processes.Run([&](int rank) { courses[rank] = Follow(*trainings[rank], what, rank == 0); }),
      "");
  for (int rank = 0; rank < size; ++rank) {
    SCOPED_TRACE("process " + std::to_string(rank));
    ExpectSame(courses[rank], expected, rank == 0);
  }
  return trainings.back()->Report();
}

TEST(DeviceProcesses, AnyNumberGivesTheBitsOfTheHost) {
  EXPECT_EQ(ExpectTheHostsBits({}, 1).compression, "on the device");
  for (const int size : {2, 3}) {
    const BackendReport report = ExpectTheHostsBits({}, size);
    EXPECT_EQ(report.compression, "on the host: several processes exchange messages there");
    EXPECT_EQ(report.steps, "a recording");
  }
}

// PowerSGD has two collective calls, and its bits are the host's, too, if its products are.
TEST(DeviceProcesses, SchemesAndPolicies) {
  ExpectTheHostsBits({.scheme = "powersgd", .parameter = 2}, 2);
  ExpectTheHostsBits({.scheme = "dense", .parameter = 1}, 3);
  ExpectTheHostsBits({.scheme = "qsgd", .parameter = 4}, 2);
  ExpectTheHostsBits({.policy = "gravac"}, 2);
  ExpectTheHostsBits({.policy = "accordion"}, 3);
}

// The policy's gradient and the evaluation's statistics are then those of another process.
TEST(DeviceProcesses, DroppedWorkers) {
  ExpectTheHostsBits({.policy = "lgreco:start=2,period=2,accumulate=2", .drops = true}, 2);
  ExpectTheHostsBits({.model = "resnet20", .drops = true}, 3);
}

TEST(DeviceProcesses, LocalSteps) {
  ExpectTheHostsBits({.scheme = "dense", .parameter = 1, .model = "resnet20", .local_steps = 2}, 2);
  ExpectTheHostsBits(
      {.workers = 5, .local_steps = 3, .outer = OuterOptions{.rate = 0.7, .momentum = 0.9}}, 3);
}

// Trainings of one worker are those by which volumes are found.
TEST(DeviceProcesses, ProcessesWithoutWorkers) {
  ExpectTheHostsBits({.workers = 1}, 2);
  ExpectTheHostsBits({.workers = 1, .local_steps = 2}, 3);
}

TEST(DeviceProcesses, AGradientThatIsNotFiniteEndsAll) {
  ThreadProcesses processes(3);
  std::vector<std::unique_ptr<Training>> trainings;
  for (int rank = 0; rank < 3; ++rank) {
    trainings.push_back(Make({}, std::make_shared<EmulatedAccelerator>(), processes[rank]));
  }
  trainings[1]->Replica(1).parameters()[0].data_ptr<float>()[0] =
      std::numeric_limits<float>::infinity();
  const std::string reason = processes.Run([&](int rank) { Follow(*trainings[rank], {}, false); });
  EXPECT_EQ(reason.rfind("worker 1, step 0, layer 'conv1.weight': gradient: ", 0), 0u) << reason;
}

}  // namespace
}  // namespace legacy::device_processes_test
