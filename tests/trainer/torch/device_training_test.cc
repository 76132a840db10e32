// Training on an emulated device compared with training on the host: the bits are the same, as
// LibTorch is the same.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <bit>
#include <limits>
#include <string_view>

#include "base/error.h"
#include "compress/policy.h"
#include "tests/message_of.h"
#include "tests/trainer/torch/emulated_accelerator.h"
#include "trainer/clock/record.h"
#include "trainer/torch/data/batch.h"
#include "trainer/torch/data/device_data.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/tasks/classification.h"
#include "trainer/torch/training.h"

namespace legacy::device_training_test {
namespace {

using test::EmulatedAccelerator;

const Classification& Glyphs() {
  static const Classification task(LoadDataset({"glyphs", "", 256, 100}));
  return task;
}

const Classification& AugmentedGlyphs() {
  static const Classification task([] {
    Dataset glyphs = Glyphs().images();
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
  bool augment = false;
  SgdOptions sgd = {0.9, 5e-4, false};
  int64_t local_steps = 1;
  Scope scope = Scope::kLayer;
  Precision precision = Precision::kFp32;
};

ModelRequest ModelFor(const Case& what) { return Glyphs().RequestFor(what.model, 5); }

std::unique_ptr<Training> Make(const Case& what, std::shared_ptr<Accelerator> accelerator) {
  TrainingOptions options;
  options.workers = 3;
  options.batch_size = 4;
  options.total_steps = 12;
  options.seed = 11;
  options.sgd = what.sgd;
  options.schedule = {.learning_rate = 0.05, .decay = Decay::kStep, .warmup_steps = 2};
  options.schedule.milestones = {4};
  options.scope = what.scope;
  options.buckets = {4096, 65536};
  options.local_steps = what.local_steps;
  options.precision = what.precision;
  options.evaluation_batch = 37;
  options.accelerator = std::move(accelerator);
  const ModelRequest request = ModelFor(what);
  auto scheme = MakeScheme(what.scheme, {.error_feedback = what.scheme.rfind("dense", 0) != 0});
  PolicyContext context{
      .scheme = scheme.get(),
      .units = PlanUnits(LayersOf(*MakeModel(request)), options.scope, options.buckets).units,
      .workers = options.workers,
      .total_steps = options.total_steps,
      .steps_per_epoch = 4,
      .parameter = what.parameter};
  auto policy = what.policy == "uniform" ? MakeUniformPolicy(what.parameter)
                                         : MakePolicy(what.policy, context);
  return std::make_unique<Training>(options, what.augment ? AugmentedGlyphs() : Glyphs(), request,
                                    std::move(policy), std::move(scheme));
}

void ExpectSameStep(Training& host, Training& device, std::span<const int> active_workers) {
  const StepOutcome expected = host.Step(active_workers), got = device.Step(active_workers);
  EXPECT_EQ(got.loss, expected.loss);
  EXPECT_EQ(ToJson(got.work), ToJson(expected.work));
  ASSERT_EQ(got.units.size(), expected.units.size());
  for (size_t u = 0; u < got.units.size(); ++u) {
    EXPECT_EQ(got.units[u].parameter, expected.units[u].parameter) << u;
    EXPECT_EQ(got.units[u].elements, expected.units[u].elements) << u;
    EXPECT_EQ(got.units[u].bytes, expected.units[u].bytes) << u;
  }
  EXPECT_EQ(device.Weights(), host.Weights());
  EXPECT_TRUE(std::ranges::equal(device.MeanGradient(), host.MeanGradient()));
  host.OnFeedback({.simulated_seconds = 1});
  device.OnFeedback({.simulated_seconds = 1});
}

// Takes steps on both, one of them without worker 1, with evaluations between and after. Returns
// the device's report.
BackendReport ExpectSame(const Case& what,
                         std::shared_ptr<EmulatedAccelerator> accelerator = nullptr) {
  SCOPED_TRACE(what.scheme + ", " + what.policy + ", " + what.model);
  if (!accelerator) accelerator = std::make_shared<EmulatedAccelerator>();
  const auto host = Make(what, nullptr), device = Make(what, accelerator);
  const std::vector<float> before = host->Weights();
  for (int step = 0; step < 7; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const bool drops = step == 3 && what.local_steps == 1;
    ExpectSameStep(*host, *device, drops ? std::vector<int>{0, 2} : std::vector<int>{});
    if (step % 3 != 0) continue;
    const Evaluation expected = host->Evaluate(), got = device->Evaluate();
    EXPECT_EQ(got.loss, expected.loss);
    EXPECT_EQ(got.metrics, expected.metrics);
  }
  EXPECT_NE(host->Weights(), before) << "it does train";
  EXPECT_GT(accelerator->uses, 0);
  return device->Report();
}

TEST(DeviceTraining, SchemesGiveTheBitsOfTheHost) {
  for (const char* scheme : {"topk", "randomk", "qsgd", "sign", "dense", "topk+fp16", "fft", "eden",
                             "dct", "thc", "omnireduce", "arc", "dynamiq", "mx:reduction=ring"}) {
    Case what{.scheme = scheme};
    const std::string_view name = what.scheme;
    if (name == "qsgd" || name == "eden" || name == "dynamiq") what.parameter = 4;
    if (name == "dense" || name == "sign" || name == "thc" || name.starts_with("mx")) {
      what.parameter = 1;
    }
    const BackendReport report = ExpectSame(what);
    EXPECT_EQ(report.compression, "on the device");
    EXPECT_EQ(report.steps, "a recording");
    EXPECT_EQ(report.name, "emulated");
  }
}

// The device's matrix products add in another order.
TEST(DeviceTraining, PowerSgdIsNearTheHost) {
  const Case what{.scheme = "powersgd", .parameter = 2};
  const auto host = Make(what, nullptr);
  const auto device = Make(what, std::make_shared<EmulatedAccelerator>());
  for (int step = 0; step < 5; ++step) {
    const StepOutcome expected = host->Step(), got = device->Step();
    EXPECT_NEAR(got.loss, expected.loss, 1e-4) << step;
    EXPECT_EQ(ToJson(got.work), ToJson(expected.work)) << step;
  }
  EXPECT_EQ(device->Report().compression, "on the device");
}

TEST(DeviceTraining, GradientsAreClippedAsOnTheHost) {
  const Case what{.scheme = "dgc:local_clip=0.5", .sgd = {0, 0, false}};
  EXPECT_EQ(ExpectSame(what).compression, "on the device");
}

TEST(DeviceTraining, OptimizersAndScopes) {
  ExpectSame({.sgd = {0, 1e-3, false}, .scope = Scope::kModel});
  ExpectSame({.sgd = {0.9, 1e-3, true}, .scope = Scope::kBucket});
}

TEST(DeviceTraining, BatchNormAndAugmentation) {
  ExpectSame({.model = "resnet20", .augment = true});
}

TEST(DeviceTraining, LocalSteps) {
  ExpectSame({.scheme = "dense", .parameter = 1, .local_steps = 3});
  ExpectSame({.model = "resnet20", .augment = true, .local_steps = 2});
}

TEST(DeviceTraining, SixteenBits) {
  ExpectSame({.precision = Precision::kBf16});
  ExpectSame({.scheme = "bf16", .parameter = 1, .precision = Precision::kBf16});
  ExpectSame({.scheme = "dense", .parameter = 1, .local_steps = 3, .precision = Precision::kBf16});
  EXPECT_EQ(ExpectSame({.scheme = "bf16:reduction=hop", .parameter = 1}).compression,
            "on the host: reduction=hop has no kernels");
}

TEST(DeviceTraining, PoliciesDecideAsOnTheHost) {
  for (const char* policy : {"legacy-auto", "lgreco:start=2,period=2,accumulate=2",
                             "lgreco:start=2,period=2,accumulate=2,source=mean", "accordion"}) {
    EXPECT_EQ(ExpectSame({.policy = policy}).compression, "on the device");
  }
}

TEST(DeviceTraining, WhatHasNoKernelsIsCompressedOnTheHost) {
  EXPECT_EQ(ExpectSame({.policy = "gravac"}).compression,
            "on the host: policy gravac chooses within the step");
  EXPECT_EQ(ExpectSame({.scheme = "ar-topk"}).compression,
            "on the host: scheme ar-topk has no kernels");
  EXPECT_NE(ExpectSame({.scheme = "topk:index=delta"}).compression, "on the device");
}

TEST(DeviceTraining, StepsThatCannotBeRecordedAreQueuedEachTime) {
  const auto accelerator = std::make_shared<EmulatedAccelerator>();
  accelerator->records = false;
  EXPECT_EQ(ExpectSame({}, accelerator).steps,
            "operation by operation, as LibTorch cannot record them: not today");
}

TEST(DeviceTraining, AWorkersStepIsRecordedOnce) {
  const auto accelerator = std::make_shared<EmulatedAccelerator>();
  const auto training = Make({}, accelerator);
  for (int step = 0; step < 3; ++step) training->Step();
  EXPECT_EQ(accelerator->recordings, training->options().workers);
}

TEST(DeviceTraining, NamesWhereAGradientIsNotFinite) {
  for (const char* scheme : {"topk", "ar-topk"}) {  // the latter compresses on the host
    std::string messages[2];
    for (const bool on_device : {false, true}) {
      const auto training =
          Make({.scheme = scheme}, on_device ? std::make_shared<EmulatedAccelerator>() : nullptr);
      training->Step();
      training->Replica(0).parameters()[0].data_ptr<float>()[0] =
          std::numeric_limits<float>::infinity();
      messages[on_device] = MessageOf([&] { training->Step(); });
    }
    EXPECT_EQ(messages[1].rfind("worker 0, step 1, layer 'conv1.weight': gradient: ", 0), 0u)
        << messages[1];
    EXPECT_EQ(messages[1], messages[0]);
  }
}

TEST(DeviceTraining, HooksSeeGradientsButNoMessagesOfADevice) {
  const auto accelerator = std::make_shared<EmulatedAccelerator>();
  const auto host = Make({}, nullptr), device = Make({}, accelerator);
  std::vector<std::vector<float>> seen[2];
  const auto hook = [&](bool which) {
    return [&, which](int64_t, int, std::span<const float> gradient) {
      seen[which].emplace_back(gradient.begin(), gradient.end());
    };
  };
  host->SetGradientHook(hook(false));
  device->SetGradientHook(hook(true));
  host->Step();
  device->Step();
  EXPECT_EQ(seen[1], seen[0]);
  EXPECT_EQ(seen[1].size(), 3u);
  const auto message_hook = [](const MessageInfo&, Bytes&) {};
  EXPECT_THROW(device->SetMessageHook(message_hook), Error);
  EXPECT_EQ(device->Residual(0, 1), host->Residual(0, 1));
  EXPECT_NO_THROW(Make({.policy = "gravac"}, accelerator)->SetMessageHook(message_hook));
}

// LibTorch's sums have a different order on a GPU: results are near, and the same from run to run.
TEST(DeviceTraining, OnAGpuIsNearTheHost) {
  std::string why;
  if (!OpenGpu(&why)) GTEST_SKIP() << why;
  for (const char* model : {"small-cnn", "resnet20"}) {
    const Case what{.scheme = "topk", .parameter = 0.1, .model = model, .augment = true};
    const auto host = Make(what, nullptr);
    const auto once = Make(what, OpenGpu(&why)), again = Make(what, OpenGpu(&why));
    for (int step = 0; step < 6; ++step) {
      const double loss = once->Step().loss;
      EXPECT_EQ(again->Step().loss, loss) << model;
      EXPECT_NEAR(host->Step().loss, loss, step < 2 ? 1e-3 : 0.1) << model;
    }
    EXPECT_EQ(again->Weights(), once->Weights()) << model;
    EXPECT_EQ(again->Evaluate().loss, once->Evaluate().loss) << model;
    EXPECT_EQ(once->Report().compression, "on the device");
    EXPECT_EQ(once->Report().steps, "a CUDA graph");
  }
}

TEST(DeviceTraining, RefusesWhatTheHostRefuses) {
  const auto message = [](std::shared_ptr<Accelerator> accelerator) {
    return MessageOf([&] { Make({.sgd = {0, 0, true}}, std::move(accelerator)); });
  };
  EXPECT_EQ(message(std::make_shared<EmulatedAccelerator>()), message(nullptr));
  EXPECT_THROW(Make({.scheme = "dgc"}, std::make_shared<EmulatedAccelerator>()), Error);
}

TEST(DeviceData, BatchesHaveTheHostsPixels) {
  Dataset reflected = Glyphs().images();
  reflected.augment = Augmentation::kReflectCrop;
  for (const Dataset* data : std::initializer_list<const Dataset*>{
           &Glyphs().images(), &AugmentedGlyphs().images(), &reflected}) {
    const DeviceData device(*data, torch::kCPU);
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < 120; ++i) indices.push_back(i * 7 % 256);
    std::optional<RandomKey> key;
    if (data->augment != Augmentation::kNone) {
      key = {.seed = 1, .step = 2, .worker = 3, .layer = 0, .purpose = Purpose::kAugment};
    }
    const Batch expected = TrainingBatch(*data, indices, key);
    const Batch got = device.Training(DeviceData::Choice(indices, key));
    EXPECT_TRUE(torch::equal(got.inputs, expected.inputs));
    EXPECT_TRUE(torch::equal(got.targets, expected.targets));
    EXPECT_TRUE(torch::equal(device.Test(30, 50).inputs, TestBatch(*data, 30, 50).inputs));
  }
}

TEST(ChooseDevice, SaysWhatIsMissing) {
  EXPECT_EQ(ChooseDevice(DeviceRequest::kCpu).accelerator, nullptr);
  EXPECT_EQ(ChooseDevice(DeviceRequest::kCpu).reason, "");
  EXPECT_THROW(ParseDeviceRequest("gpu", "--device"), Error);
  std::string why;
  const bool usable = OpenGpu(&why) != nullptr;
  const DeviceChoice chosen = ChooseDevice(ParseDeviceRequest("auto", ""));
  EXPECT_EQ(chosen.accelerator != nullptr, usable);
  EXPECT_EQ(chosen.reason, usable ? "a GPU can be used" : why);
  if (usable) return;
  EXPECT_NE(why, "");
  EXPECT_EQ(MessageOf([] { ChooseDevice(ParseDeviceRequest("cuda", "")); }),
            "device: got 'cuda'; allowed: cpu, or auto: " + why);
}

}  // namespace
}  // namespace legacy::device_training_test