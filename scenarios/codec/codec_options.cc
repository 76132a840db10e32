#include "scenarios/codec/codec_options.h"

#include "base/option_forms.h"
#include "base/programs/program.h"
#include "compress/policies/legacy_table_options.h"

namespace legacy {
namespace {

using namespace option_forms;

constexpr int64_t kMostSteps = int64_t{1} << 40;

Option<CodecOptions> OfRun(const Option<RunOptions>& row) {
  return OptionOfPart<CodecOptions>(
      row, [](auto& options) -> auto& { return options.run; });
}

OptionTable<CodecOptions> OptionsOfGradients() {
  const OptionTable<GradientOptions> rows = {
      Text<&GradientOptions::drawn>(
          "generate", "--generate", "TEXT",
          "generate random gradients, different for each worker and step, as in "
          "student-t:n=1e6,seed=1 (see " +
              CommandOf("legacy-codec") + " list)"),
      Text<&GradientOptions::real>("gradient", "--gradient", "NAME",
                                   "use a built-in gradient of a real training"),
      Text<&GradientOptions::shape>("shape", "--shape", "NxM",
                                    "shape of the values, as in 64x3x7x7"),
      Text<&GradientOptions::layers>(
          "layers", "--layers", "FILE",
          "file with a line 'name shape' for each layer, whose values follow one another"),
      Integer<&GradientOptions::steps, 1, 1 << 20>(
          "steps", "--steps",
          "number of steps, for methods with state; files hold all steps one after the other, or "
          "one for all [as many as the files hold]"),
      Integer<&GradientOptions::workers, 1, kMostWorkers>(
          "workers", "--workers",
          "number of workers that exchange gradients [the number of files, else 8]"),
  };
  OptionTable<CodecOptions> options;
  AddTableOfPart(
      options, rows, [](auto& whole) -> auto& { return whole.gradients; });
  return options;
}

OptionTable<CodecOptions> OptionsOfCodecs() {
  return {
      Repeated<&CodecOptions::codecs>(
          "codec", "--codec", "TEXT",
          "codec or scheme to try, with its parameter; repeatable [all]"),
      Text<&CodecOptions::parameter>(
          "parameter", "--parameter", "P",
          "parameter of codecs that are given without one [each codec's own default]"),
      OfRun(Text<&RunOptions::policy>("policy", "--policy", "TEXT",
                                      "policy that chooses the parameter of each layer and step, "
                                      "with the codec's parameter as anchor")),
      OfRun(
          Text<&RunOptions::error_feedback>("error-feedback", "--error-feedback", "on|off|auto",
                                            "use error feedback; auto: where the codec allows it")),
      OfRun(Integer<&RunOptions::seed, 0>("seed", "--seed", "random seed of the codecs")),
      OfRun(Integer<&RunOptions::first_step, 0, kMostSteps>("step", "--step",
                                                            "number of the first step")),
      OfRun(Integer<&RunOptions::steps_per_epoch, 1, kMostSteps>(
          "steps-per-epoch", "--steps-per-epoch", "number of steps per epoch, for policies")),
  };
}

OptionTable<CodecOptions> OptionsOfSchedules() {
  OptionTable<CodecOptions> options;
  AddTableOfPart(
      options, LegacyTableOptions(), [](auto& whole) -> auto& { return whole.run.table; });
  return options;
}

OptionTable<CodecOptions> OptionsOfNetwork() {
  return {
      OfRun(Text<&RunOptions::transfers>(
          "collective", "--collective", "KINDS",
          "algorithms for the collective calls, as in ring-allreduce,direct-allgather "
          "[ring-allreduce,ring-allgather,broadcast,scatter-reduce-allgather]")),
      OfRun(Text<&RunOptions::bandwidth>("bandwidth", "--bandwidth", "RATE",
                                         "link rate, for alpha-beta transfer times and methods "
                                         "that use network estimates")),
      OfRun(Text<&RunOptions::latency>("latency", "--latency", "TIME",
                                       "latency of a message, for alpha-beta transfer times and "
                                       "methods that use network estimates")),
      OfRun(Text<&RunOptions::compute>("compute", "--compute", "TIME",
                                       "computing time of a step, for policies that read the "
                                       "clock")),
  };
}

OptionTable<CodecOptions> OptionsOfOutput() {
  return {
      Text<&CodecOptions::detail>("per", "--per", "codec|step|layer",
                                  "print one row for each codec, step or layer"),
      Text<&CodecOptions::csv>("csv", "--csv", "FILE", "CSV file of the rows; -: standard output"),
      Text<&CodecOptions::json>("json", "--json", "FILE",
                                "JSON file of the rows; -: standard output"),
      Text<&CodecOptions::out>(
          "out", "--out", "FILE",
          "file for the message of a single worker in the last step; messages of further "
          "collective calls go to FILE.2, FILE.3; with --decode: file for the values, raw float32"),
      Text<&CodecOptions::decode>("decode", "--decode", "FILE",
                                  "message to decode; needs the --codec, --shape, --seed and "
                                  "--step with which it was encoded"),
      OfRun(Integer<&RunOptions::repeats, 1, 10000>(
          "repeats", "--repeats", "number of repetitions of each speed measurement")),
      Flag<&CodecOptions::quiet>("quiet", "--quiet", "do not print the table"),
  };
}

}  // namespace

const OptionTable<CodecOptions>& CodecRows() {
  static const auto options = [] {
    auto all = JoinedTables<CodecOptions>({
        {kGradientsGroup, OptionsOfGradients()},
        {"Codecs", OptionsOfCodecs()},
        {"Policies legacy-layer, legacy-phase, legacy-both", OptionsOfSchedules()},
        {"Network", OptionsOfNetwork()},
        {"Output", OptionsOfOutput()},
    });
    AddToAll(all, kUsual);
    return all;
  }();
  return options;
}

}  // namespace legacy
