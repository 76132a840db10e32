// Modules that draw and that keep values of their own: the bits depend neither on threads nor on
// processes, nor on interruptions, and evaluations leave no trace.
#include <gtest/gtest.h>

#include "base/files/section_file.h"
#include "compress/policy.h"
#include "tests/trainer/torch/models/script_module.h"
#include "tests/trainer/torch/thread_processes.h"
#include "trainer/torch/federated/local_training.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/one_thread.h"
#include "trainer/torch/training.h"

namespace legacy::script_state_test {
namespace {

using test::ThreadProcesses;

constexpr int kSteps = 6;
constexpr int kWorkers = 3;

// Returns the file of a module that draws in evaluations, too, and whose result depends on a
// number, a list, a buffer that is replaced, one that grows and one that is changed in place, all
// of which evaluations change, too.
const std::string& Module() {
  static const std::string file = [] {
    torch::jit::Module module("Stateful");
    module.register_parameter("weight", test::Weights({10, 784}).set_requires_grad(true), false);
    module.register_buffer("replaced", torch::zeros({}));
    module.register_buffer("in_place", torch::zeros({1}));
    module.register_buffer("grows", torch::zeros({1}));
    module.register_attribute("passes", c10::IntType::get(), 0);
    module.register_attribute("recent", c10::ListType::ofFloats(), c10::List<double>({0.5}));
    module.register_attribute("training", c10::BoolType::get(), true);
    module.define(
        "def forward(self, x):\n"
        "  self.passes = self.passes + 1\n"
        "  self.recent = [float(x.mean()), self.recent[0]]\n"
        "  self.replaced = 0.9 * self.replaced + x.mean()\n"
        "  self.in_place.add_(1)\n"
        "  self.grows = torch.cat([self.grows, self.in_place])\n"
        "  y = torch.linear(torch.dropout(x.flatten(1), 0.5, True), self.weight)\n"
        "  y = torch.dropout(y, 0.2, self.training)\n"
        "  factor = 1 + 0.1 * self.passes + self.recent[1] + 0.01 * self.grows.sum()\n"
        "  return y * factor + self.replaced * torch.arange(10)\n");
    return test::SaveScript(module, "stateful");
  }();
  return file;
}

std::unique_ptr<Training> Make(int threads, ProcessGroup& processes = OneProcess()) {
  TrainingOptions options;
  options.workers = kWorkers;
  options.batch_size = 4;
  options.threads = threads;
  options.seed = 9;
  options.schedule.learning_rate = 0.02;
  options.evaluation_batch = 30;
  options.processes = &processes;
  const Task& task = test::SomeImages();
  return std::make_unique<Training>(options, task, task.RequestFor(Module(), 1),
                                    MakeUniformPolicy(0.1), MakeScheme("topk"));
}

struct Course {
  std::vector<double> numbers;
  std::vector<float> weights;
  bool operator==(const Course&) const = default;
};

void Follow(Training& training, int64_t until, Course& course) {
  while (training.step() < until) {
    course.numbers.push_back(training.Step().loss);
    if (training.step() % 2 == 1) continue;
    const Evaluation evaluation = training.Evaluate();
    course.numbers.push_back(evaluation.loss);
    course.numbers.push_back(evaluation.metrics.front());
  }
  course.weights = training.Weights();
}

const Course& Expected() {
  static const Course course = [] {
    Course followed;
    Follow(*Make(1), kSteps, followed);
    return followed;
  }();
  return course;
}

TEST(ScriptState, ThreadsDoNotMatter) {
  for (const int threads : {2, 3}) {
    Course course;
    Follow(*Make(threads), kSteps, course);
    EXPECT_EQ(course, Expected());
  }
}

TEST(ScriptState, ProcessesDoNotMatter) {
  for (const int count : {2, 3}) {
    ThreadProcesses processes(count);
    std::vector<Course> courses(static_cast<size_t>(count));
    const std::string reason = processes.Run([&](int rank) {
      UseOneThread();
      Follow(*Make(1, processes[rank]), kSteps, courses[rank]);
    });
    EXPECT_EQ(reason, "");
    for (const Course& course : courses) EXPECT_EQ(course, Expected());
  }
}

TEST(ScriptState, AnInterruptionDoesNotMatter) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / ("script-state-" + std::to_string(getpid()));
  for (const int stop : {1, 4}) {
    Course course;
    {
      const auto training = Make(1);
      Follow(*training, stop, course);
      SectionWriter out(path);
      training->Save(out);
      out.Finish();
    }
    const auto training = Make(2);
    training->Load(SectionFile(path));
    Follow(*training, kSteps, course);
    EXPECT_EQ(course, Expected()) << stop;
  }
  std::filesystem::remove(path);
}

TEST(ScriptState, EvaluationsLeaveNoTrace) {
  const auto quiet = Make(1), watched = Make(1);
  for (int step = 0; step < 3; ++step) {
    const double loss = quiet->Step().loss;
    const Evaluation once = watched->Evaluate(), twice = watched->Evaluate();
    EXPECT_EQ(once.loss, twice.loss);
    EXPECT_EQ(watched->Step().loss, loss);
  }
}

// What a client's task leaves behind in a module does not reach the next one.
TEST(ScriptState, FederatedTasksBeginWithTheModulesState) {
  UseOneThread();
  const Task& task = test::SomeImages();
  const auto samples = task.OpenSamples();
  LocalTrainer trainer(task, *samples, task.RequestFor(Module(), 1), {.batch_size = 4}, {});
  const std::vector<int64_t> own = {3, 1, 4, 15, 9, 2, 6};
  const LocalTask first = {.client = 1,
                           .samples = own,
                           .epochs = 2,
                           .base = trainer.initial_weights(),
                           .rate = [](int64_t) { return 0.02; }};
  const LocalResult before = trainer.Train(first);
  LocalTask other = first;
  other.client = 2;
  EXPECT_NE(trainer.Train(other).loss, before.loss);
  const LocalResult after = trainer.Train(first);
  EXPECT_EQ(after.loss, before.loss);
  EXPECT_EQ(after.update, before.update);
}

}  // namespace
}  // namespace legacy::script_state_test
