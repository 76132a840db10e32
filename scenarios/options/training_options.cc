// The options of training.
#include "base/programs/program.h"
#include "compress/gradients/gradients.h"
#include "compress/options.h"
#include "scenarios/options/option_forms.h"
#include "trainer/clock/step_work.h"

namespace legacy {
namespace {

using namespace option_forms;

void CheckGradients(const std::string& text, const std::string& key) {
  try {
    FindRow("gradient", ParseStages(text).front().name, GradientTable());
  } catch (const Error& error) {
    throw error.Within(key + ": ");
  }
}

ScenarioOption TargetOption() {
  ScenarioOption option = Text<&Scenario::target>(
      "training.target", "--target", "85%|METRIC=VALUE|auto|none",
      "target to which the simulated time is reported: a value of the task's main metric, or of "
      "another one, as in top5=90% or perplexity=120; auto: that of the data set");
  option.kind = OptionKind::kTarget;
  return option;
}

}  // namespace

std::vector<ScenarioOption> OptionsOfTraining() {
  return {
      Text<&Scenario::dataset>(
          "training.dataset", "--dataset", "NAME[:k=v,...]",
          "data set to train on, as in cifar10 or text:file=novel.txt; glyphs, grammar and tastes "
          "need no files; --dataset=list prints the names and options") |
          kUsual | kReadByClients | kTrainingAlone,
      Text<&Scenario::data_root>(
          "training.data_root", "--data-root", "DIR",
          "folder of the data sets (default: $LEGACY_DATA, then ~/.cache/legacy-data)") |
          kUsual | kReadByClients | kTrainingAlone | kMayResume,
      Integer<&Scenario::train_limit, 0>("training.train_limit", "--train-limit",
                                         "number of training samples to use; 0: all") |
          kReadByClients | kTrainingAlone,
      Integer<&Scenario::test_limit, 0>("training.test_limit", "--test-limit",
                                        "number of test samples to use; 0: all") |
          kReadByClients | kTrainingAlone,
      Integer<&Scenario::window, 0, 1 << 20>(
          "training.window", "--window",
          "tokens of a window of text, through which gradients go back; 0: 35 words, or 128 "
          "characters") |
          kReadByClients | kTrainingAlone,
      Integer<&Scenario::evaluation_columns, 1, 1 << 20>(
          "training.evaluation_columns", "--evaluation-columns",
          "number of stretches of a text that are evaluated side by side; 1: in one pass") |
          kReadByClients | kTrainingAlone,
      Text<&Scenario::evaluate_on>("training.evaluate_on", "--evaluate-on", "test|validation",
                                   "part of a text on which metrics are evaluated") |
          kReadByClients | kTrainingAlone,
      Integer<&Scenario::negatives, 1, 1000>(
          "training.negatives", "--negatives",
          "number of drawn items that each pair of a recommendation comes with") |
          kReadByClients | kTrainingAlone,
      Switch<&Scenario::strict_data>(
          "training.strict_data", "--strict-data",
          "end at the first broken image of a folder, instead of leaving out one in a thousand") |
          kReadByClients | kTrainingAlone,
      Text<&Scenario::augment>(
          "training.augment", "--augment", "auto|off|crop|reflect-crop",
          "how training images in memory are moved: cropped after padding with 4 black pixels, or "
          "with 4 reflected ones, and mirrored; auto: as the data set has it") |
          kReadByClients | kTrainingAlone,
      Switch<&Scenario::normalise>("training.normalise", "--normalise",
                                   "normalise images by the data set's mean and deviation; off: "
                                   "inputs are pixels / 255") |
          kReadByClients | kTrainingAlone,
      Text<&Scenario::model>(
          "training.model", "--model", "NAME[:k=v,...]",
          "model to train, as in resnet18:width=16; --model=list prints the names and options") |
          kUsual | kReadByClients | kTrainingAlone,
      Text<&Scenario::init>("training.init", "--init", "model|torch",
                            "how weights start: as the model has it, or as PyTorch's layers do, "
                            "weights and biases uniform within 1 / sqrt(fan-in)") |
          kReadByClients | kTrainingAlone,
      Integer<&Scenario::workers, 1, 65536>("training.workers", "--workers",
                                            "number of simulated data-parallel workers") |
          kUsual,
      Integer<&Scenario::batch, 1, 1 << 20>("training.batch", "--batch",
                                            "batch size of each worker, in samples") |
          kUsual | kReadByClients,
      Integer<&Scenario::accumulate, 1, kMostPasses>(
          "training.accumulate", "--accumulate",
          "number of batches whose gradients each worker adds up in a step, before it compresses") |
          kOmittedAtDefault,
      Steps<&Scenario::steps, 1>("training.steps", "--steps",
                                 "number of training steps, or epochs (30ep)") |
          kUsual,
      Number<&Scenario::learning_rate>("training.learning_rate", "--learning-rate",
                                       "peak learning rate", 0, 1'000) |
          kUsual | kReadByClients,
      Switch<&Scenario::scale_learning_rate>(
          "training.scale_learning_rate", "--scale-learning-rate",
          "multiply the peak and the final learning rate by the number of workers") |
          kOmittedAtDefault,
      Text<&Scenario::optimizer>(
          "training.optimizer", "--optimizer", "NAME[:k=v,...]",
          "sgd, adam, adamw or lamb (options beta1, beta2, epsilon), or sign") |
          kUsual | kReadByClients,
      Number<&Scenario::momentum>("training.momentum", "--momentum",
                                  "momentum of SGD, applied after aggregation", 0, 0.999) |
          kUsual | kReadByClients,
      Switch<&Scenario::nesterov>("training.nesterov", "--nesterov", "use Nesterov momentum") |
          kReadByClients | kTrainingAlone,
      Number<&Scenario::weight_decay>("training.weight_decay", "--weight-decay",
                                      "weight decay, applied after aggregation", 0, 1) |
          kReadByClients,
      Switch<&Scenario::decay_vectors>(
          "training.decay_vectors", "--decay-vectors",
          "weight decay of biases and of scales of normalisation too") |
          kReadByClients | kTrainingAlone,
      Number<&Scenario::label_smoothing>(
          "training.label_smoothing", "--label-smoothing",
          "part of the training loss that is spread evenly over all classes", 0, 0.999) |
          kReadByClients | kTrainingAlone,
      Text<&Scenario::loss>("training.loss", "--loss", "mean|sum",
                            "gradients of the mean loss of a worker's targets in a step, or of "
                            "their sum") |
          kTrainingAlone | kOmittedAtDefault,
      Number<&Scenario::clip_worker>(
          "training.clip_worker", "--clip-worker",
          "norm to which each worker's gradient is clipped before it is compressed; 0: none", 0,
          1'000'000) |
          kReadByClients | kTrainingAlone,
      Number<&Scenario::clip_mean>(
          "training.clip_mean", "--clip-mean",
          "norm to which the mean gradient is clipped before the update; 0: none", 0, 1'000'000) |
          kTrainingAlone,
      Text<&Scenario::precision>(
          "training.precision", "--precision", "fp32|tf32|bf16|fp16|bf16-fp8",
          "numbers of forward and backward pass, by which devices are priced; bf16 and fp16: "
          "weights and gradients are rounded to 16 bits, of fp32 weights that the optimizer "
          "updates, and fp16 scales the loss; tf32: matrix products round their inputs on a GPU, "
          "and the host trains as in fp32; bf16-fp8, with --layers: linear layers of repeated "
          "blocks multiply in FP8") |
          kUsual | kOmittedAtDefault,
      Text<&Scenario::reduce>(
          "training.reduce", "--reduce", "fp32|bf16|fp16",
          "format in which methods without compression (dense, local-sgd, diloco) send gradients; "
          "other methods send what they are made of") |
          kUsual | kOmittedAtDefault,
      Text<&Scenario::sum>(
          "training.sum", "--sum", "exact|hop",
          "sums of dense gradients in bf16 or fp16: in fp32 and in the order of workers, or as a "
          "ring forms them, whose partial sums are rounded at every hop") |
          kOmittedAtDefault,
      Integer<&Scenario::local_steps, 0>(
          "training.local_steps", "--local-steps",
          "steps between exchanges, of the methods that train locally in between (local-sgd, "
          "diloco, sparseloco); 0: their own") |
          kOmittedAtDefault,
      Text<&Scenario::outer>(
          "training.outer", "--outer", "NAME[:k=v,...]",
          "optimizer of the weights that workers agree on, of the methods that have one: sgd, "
          "momentum or nesterov (options rate, momentum); empty: their own") |
          kOmittedAtDefault,
      Steps<&Scenario::warmup_steps, 0>(
          "training.warmup_steps", "--warmup-steps",
          "number of steps (or epochs: 5ep) in which the learning rate rises linearly") |
          kReadByClients,
      Number<&Scenario::warmup_from>(
          "training.warmup_from", "--warmup-from",
          "learning rate from which it rises in the warm-up; --schedule=one-cycle has its own", 0,
          1'000) |
          kReadByClients | kOmittedAtDefault,
      Text<&Scenario::schedule>(
          "training.schedule", "--schedule", "NAME",
          "learning rate schedule after the warm-up: constant, linear, cosine, step, inverse-sqrt, "
          "one-cycle") |
          kUsual | kReadByClients,
      DecaySteps("training.decay_steps", "--decay-steps",
                 "steps, or epochs (30ep), at which --schedule=step multiplies the learning rate") |
          kReadByClients,
      Number<&Scenario::decay_factor>(
          "training.decay_factor", "--decay-factor",
          "factor by which --schedule=step multiplies the learning rate", 0, 1) |
          kReadByClients,
      Number<&Scenario::final_learning_rate>(
          "training.final_learning_rate", "--final-learning-rate",
          "learning rate at the end of --schedule=linear, cosine or one-cycle", 0, 1'000) |
          kReadByClients,
      Steps<&Scenario::evaluate_every, 1>("training.evaluate_every", "--evaluate-every",
                                          "number of steps, or epochs, between evaluations") |
          kUsual | kReadByClients,
      TargetOption() | kUsual | kReadByClients | kMayReplay,
      Text<&Scenario::device>("training.device", "--device", "cpu|cuda|auto",
                              "device that trains and compresses; cuda: the first "
                              "GPU, or of several processes each its own; auto: a GPU if one is "
                              "usable, else cpu") |
          kUsual | kTrainingAlone | kOmittedAtDefault,
      Text<&Scenario::processor>(
          "training.processor", "--processor", "portable|native",
          "kernels that train on the host; portable: those with AVX2 and FMA, which give the same "
          "bits on every processor that has both; native: the fastest ones here") |
          kReadByClients | kTrainingAlone,
      Text<&Scenario::layers>(
          "training.layers", "--layers", "NAME|FILE",
          "give bytes and times of a model's shape without training; --layers=list prints the "
          "names; sets the default of --fidelity to flow") |
          kUsual | kOmittedAtDefault,
      Text<&Scenario::times_of>(
          "training.times_of", "--times-of", "NAME|FILE",
          "train the model, and give steps the bytes and times of this shape (see --layers) with "
          "its usual batch: learning in small, time at size") |
          kUsual | kOmittedAtDefault,
      Text<&Scenario::gradients, CheckGradients>(
          "training.gradients", "--gradients", "NAME[:k=v,...]",
          "with --layers or --times-of: distribution of generated gradients, where message lengths "
          "depend on the data (see " +
              CommandOf("legacy-codec") + " list)"),
      Integer<&Scenario::drawn_steps, 1>(
          "training.drawn_steps", "--drawn-steps",
          "with --layers or --times-of: number of steps with generated gradients after each change "
          "of a layer's parameter; later steps repeat the last message lengths"),
  };
}

}  // namespace legacy
