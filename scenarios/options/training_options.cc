// Options of training.
#include "compress/gradients/gradients.h"
#include "compress/options.h"
#include "scenarios/options/option_forms.h"

namespace legacy {
namespace {

using namespace option_forms;

void CheckSchedule(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"constant", "linear", "cosine", "step"});
}
void CheckDevice(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"cpu", "cuda", "auto"});
}
void CheckGradients(const std::string& text, const std::string& key) {
  try {
    FindRow("gradient", ParseStages(text).front().name, GradientTable());
  } catch (const Error& error) {
    throw Error(key + ": " + error.what());
  }
}

}  // namespace

std::vector<ScenarioOption> OptionsOfTraining() {
  return {
      Text<&Scenario::dataset>("training.dataset", "--dataset", "NAME",
                               "glyphs (embedded, needs no file), fashion-mnist, mnist, cifar10, "
                               "cifar100"),
      Text<&Scenario::data_root>("training.data_root", "--data-root", "DIR",
                                 "folder of the data sets; default: $LEGACY_DATA, then "
                                 "~/.cache/legacy-data"),
      Integer<&Scenario::train_limit, 0>("training.train_limit", "--train-limit",
                                         "use the first N training samples only; 0: all"),
      Integer<&Scenario::test_limit, 0>("training.test_limit", "--test-limit",
                                        "use the first N test samples only; 0: all"),
      Text<&Scenario::model>("training.model", "--model", "NAME",
                             "small-cnn, medium-cnn, lenet5, resnet9, resnet20, patch-resnet20"),
      Integer<&Scenario::workers, 1, 65536>("training.workers", "--workers",
                                            "simulated data-parallel workers"),
      Integer<&Scenario::batch, 1, 1 << 20>("training.batch", "--batch",
                                            "samples per worker and step"),
      Integer<&Scenario::steps, 1>("training.steps", "--steps", "training steps"),
      Number<&Scenario::learning_rate, 0, 1'000'000>("training.learning_rate", "--learning-rate",
                                                     "peak learning rate of SGD"),
      Number<&Scenario::momentum, 0, 999>("training.momentum", "--momentum",
                                          "momentum, applied after aggregation"),
      Switch<&Scenario::nesterov>("training.nesterov", "--nesterov", "Nesterov momentum"),
      Number<&Scenario::weight_decay, 0, 1000>("training.weight_decay", "--weight-decay",
                                               "weight decay, applied after aggregation"),
      Integer<&Scenario::warmup_steps, 0>("training.warmup_steps", "--warmup-steps",
                                          "steps of linear warm-up of the rate"),
      Text<&Scenario::schedule, CheckSchedule>("training.schedule", "--schedule", "NAME",
                                               "rate after warm-up: constant, linear (to 0), "
                                               "cosine, step"),
      Integers<&Scenario::decay_steps>("training.decay_steps", "--decay-steps",
                                       "steps at which schedule step multiplies the rate"),
      Number<&Scenario::decay_factor, 0, 1000>("training.decay_factor", "--decay-factor",
                                               "factor of schedule step"),
      Integer<&Scenario::evaluate_every, 1>("training.evaluate_every", "--evaluate-every",
                                            "steps between evaluations"),
      Fraction<&Scenario::target>("training.target", "--target",
                                  "accuracy whose simulated time is reported"),
      Text<&Scenario::device, CheckDevice>("training.device", "--device", "cpu|cuda|auto",
                                           "what trains and compresses: cpu, of the same results "
                                           "everywhere; cuda: the first GPU; auto: that where "
                                           "there is one to be used"),
      Text<&Scenario::layers>("training.layers", "--layers", "NAME|FILE",
                              "trains nothing: bytes and times of a model's shape, by name (list "
                              "names them) or from a file; fidelity is then flow by default"),
      Text<&Scenario::gradients, CheckGradients>(
          "training.gradients", "--gradients", "NAME[:k=v,...]",
          "of a shape: distribution of the gradients that are drawn where lengths depend on the "
          "data (legacy-codec list)"),
      Integer<&Scenario::drawn_steps, 1>("training.drawn_steps", "--drawn-steps",
                                         "of a shape: steps that are drawn after each change of a "
                                         "layer's parameter; later ones repeat the last lengths"),
  };
}

}  // namespace legacy
