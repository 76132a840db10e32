#include "scenarios/programs/codec_command_line.h"

#include <CLI/CLI.hpp>

#include "base/parse.h"
#include "base/programs/arguments.h"
#include "base/programs/program.h"
#include "base/units.h"

namespace legacy {
namespace {

constexpr const char* kDescription =
    "Compresses gradients with one or more codecs and compares bytes, ratios, errors and speed. "
    "Gradients are read from FILES of raw little-endian float32, one for all workers or one for "
    "each, or generated.";

constexpr const char* kExamples =
    "Examples:\n"
    "  legacy-codec --codec=topk@1% --codec=topk+rbf:bits=8@1% --codec=powersgd@4\n"
    "  legacy-codec gradients.f32 --layers=model.layers --codec=topk --policy=uniform --per=layer\n"
    "  legacy-codec gradient.f32 --codec=topk@1% --out=message.bin\n"
    "  legacy-codec --decode=message.bin --codec=topk@1% --shape=100000 --out=decoded.f32\n"
    "A codec is written STAGE[:option=value,...][+STAGE...][@PARAMETER]; fractions as 1% or 0.01.\n"
    "The error is ||e - C(e)|| / ||e||, the gain ||C(e)||^2 / ||e||^2: e is gradient + residual,\n"
    "and C(e) is the decoded message. Where e is zero, the error is 0 and the gain is 1.\n";

// Texts of the options whose values are parsed afterwards.
struct Texts {
  std::string collective;
  std::string error_feedback = "auto";
  std::string bandwidth = "1Gbps";
  std::string latency = "10us";
  std::string compute = "0s";
  std::string per = "codec";
  std::string seed = "1";
  std::string step = "0";
  std::string steps;
  std::string workers;
  std::string repeats = "5";
  std::string epoch = "1";
  std::string splits;
  std::string split_share = "10%";
  std::string closed_right = "off";
  std::string volume = "elements";
};

void AddText(CLI::App& app, const char* group, const std::string& flag, std::string& value,
             const std::string& type, const std::string& help) {
  app.add_option(flag, value, help + (value.empty() ? "" : " [" + value + "]"))
      ->take_last()
      ->type_name(type)
      ->group(group);
}

void AddGradients(CLI::App& app, CodecCommand& command, Texts& texts) {
  constexpr const char* kGroup = "Gradients";
  GradientOptions& gradients = command.gradients;
  app.add_option("FILES", gradients.files, "files of raw little-endian float32 values")
      ->type_name("")
      ->group(kGroup);
  AddText(app, kGroup, "--generate", gradients.drawn, "TEXT",
          "generate random gradients, different for each worker and step, as in "
          "student-t:n=1e6,seed=1 (see " +
              CommandOf("legacy-codec") + " list)");
  AddText(app, kGroup, "--gradient", gradients.real, "NAME",
          "use a built-in gradient of a real training");
  AddText(app, kGroup, "--shape", gradients.shape, "NxM", "shape of the values, as in 64x3x7x7");
  AddText(app, kGroup, "--layers", gradients.layers, "FILE",
          "file with a line 'name shape' for each layer, whose values follow one another");
  AddText(app, kGroup, "--steps", texts.steps, "N",
          "number of steps, for methods with state; files hold all steps one after the other, or "
          "one for all [as many as the files hold]");
  AddText(app, kGroup, "--workers", texts.workers, "N",
          "number of workers that exchange gradients [the number of files, else 8]");
}

void AddCodecs(CLI::App& app, CodecCommand& command, Texts& texts) {
  constexpr const char* kGroup = "Codecs";
  app.add_option("--codec", command.codecs,
                 "codec or scheme to try, with its parameter; repeatable [all]")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->group(kGroup);
  AddText(app, kGroup, "--parameter", command.parameter, "P",
          "parameter of codecs that are given without one [each codec's own default]");
  AddText(app, kGroup, "--policy", command.run.policy, "TEXT",
          "policy that chooses the parameter of each layer and step, with the codec's parameter as "
          "anchor");
  AddText(app, kGroup, "--error-feedback", texts.error_feedback, "on|off|auto",
          "use error feedback; auto: where the codec allows it");
  AddText(app, kGroup, "--seed", texts.seed, "N", "random seed of the codecs");
  AddText(app, kGroup, "--step", texts.step, "N", "number of the first step");
  AddText(app, kGroup, "--steps-per-epoch", texts.epoch, "N",
          "number of steps per epoch, for policies");
}

void AddLegacy(CLI::App& app, CodecCommand& command, Texts& texts) {
  constexpr const char* kGroup = "Policies legacy-layer, legacy-phase, legacy-both";
  AddText(app, kGroup, "--levels", command.run.table.schedule, "10%,0.5%/1%,0.05%",
          "densities: ',' separates layer sizes (small first), '/' separates phases [solved from "
          "the codec's parameter]");
  AddText(app, kGroup, "--splits", texts.splits, "N,N,...",
          "layer sizes, in elements, at which the density changes [the size below which "
          "--split-share of the elements lie]");
  AddText(app, kGroup, "--split-share", texts.split_share, "1%|0.01",
          "share of all elements that lies in layers below the default split");
  AddText(app, kGroup, "--phase-bounds", command.run.table.phase_bounds, "100,200|30%,60%",
          "steps, or fractions of the training, at which phases end [phases of equal length]");
  AddText(app, kGroup, "--closed-right", texts.closed_right, "on|off",
          "count a step on a phase bound to the phase that ends there");
  AddText(app, kGroup, "--volume", texts.volume, "elements|bytes|off",
          "measure in which the densities are scaled to the uniform parameter's volume; off: use "
          "them as given");
}

void AddNetwork(CLI::App& app, Texts& texts) {
  constexpr const char* kGroup = "Network";
  AddText(app, kGroup, "--collective", texts.collective, "KINDS",
          "algorithms for the collective calls, as in ring-allreduce,direct-allgather "
          "[ring-allreduce,ring-allgather,broadcast,scatter-reduce-allgather]");
  AddText(app, kGroup, "--bandwidth", texts.bandwidth, "RATE",
          "link rate, for alpha-beta transfer times and methods that use network estimates");
  AddText(
      app, kGroup, "--latency", texts.latency, "TIME",
      "latency of a message, for alpha-beta transfer times and methods that use network estimates");
  AddText(app, kGroup, "--compute", texts.compute, "TIME",
          "computing time of a step, for policies that read the clock");
}

void AddOutputs(CLI::App& app, CodecCommand& command, Texts& texts) {
  constexpr const char* kGroup = "Output";
  AddText(app, kGroup, "--per", texts.per, "codec|step|layer",
          "print one row for each codec, step or layer");
  AddText(app, kGroup, "--csv", command.csv, "FILE", "CSV file of the rows; -: standard output");
  AddText(app, kGroup, "--json", command.json, "FILE", "JSON file of the rows; -: standard output");
  AddText(app, kGroup, "--out", command.out, "FILE",
          "file for the message of a single worker in the last step; messages of further "
          "collective calls go to FILE.2, FILE.3; with --decode: file for the values, raw float32");
  AddText(
      app, kGroup, "--decode", command.decode, "FILE",
      "message to decode; needs the --codec, --shape, --seed and --step with which it was encoded");
  AddText(app, kGroup, "--repeats", texts.repeats, "N",
          "number of repetitions of each speed measurement");
  app.add_flag("--quiet", command.quiet, "do not print the table")->group(kGroup);
}

CLI::App* AddList(CLI::App& app, CodecListCommand& list) {
  CLI::App* sub = app.add_subcommand("list", "list all codecs, policies and generated gradients");
  sub->footer("Example:\n  legacy-codec list topk");
  sub->add_option("NAMES", list.names, "methods to list (default: all)")->type_name("");
  sub->add_flag("--markdown", list.markdown, "print Markdown tables");
  sub->add_option("--document", list.document, "Markdown file whose tables to rewrite")
      ->type_name("FILE");
  return sub;
}

CLI::App* AddCheck(CLI::App& app, CodecCheckCommand& check) {
  CLI::App* sub =
      app.add_subcommand("check",
                         "check properties that every codec, scheme and policy must have: "
                         "lengths, round trips, error feedback, hostile bytes");
  sub->footer(
      "Example:\n  legacy-codec check --plugin=my_codec.so\n"
      "Exit status: 0 all properties hold, 1 one does not, 2 wrong option or value.");
  sub->add_option("NAMES", check.names, "codecs, schemes or policies to check [all of --plugin]")
      ->type_name("");
  return sub;
}

double SecondsOf(const std::string& text, const std::string& option) {
  return static_cast<double>(ParseTime(text, option)) * 1e-9;
}

void ApplyTable(const Texts& texts, LegacyTable& table) {
  for (const std::string& split : SplitList(texts.splits)) {
    table.splits.push_back(ParseInteger(split, "--splits", 1, INT64_MAX));
  }
  table.split_share = ParseFraction(texts.split_share, "--split-share");
  table.closed_right = ParseSwitch(texts.closed_right, "--closed-right");
  table.volume = ParseVolume(texts.volume, "--volume");
}

void Apply(const Texts& texts, CodecCommand& command) {
  RunOptions& run = command.run;
  ApplyTable(texts, run.table);
  run.transfers = ParseAlgorithms(texts.collective, "--collective");
  if (ParseChoice(texts.error_feedback, "--error-feedback", {"on", "off", "auto"}) != "auto") {
    run.error_feedback = texts.error_feedback == "on";
  }
  run.link.latency_seconds = SecondsOf(texts.latency, "--latency");
  run.link.seconds_per_byte = 8 / static_cast<double>(ParseRate(texts.bandwidth, "--bandwidth"));
  run.compute_seconds = SecondsOf(texts.compute, "--compute");
  run.seed = static_cast<uint64_t>(ParseInteger(texts.seed, "--seed", 0, INT64_MAX));
  run.first_step = ParseInteger(texts.step, "--step", 0, int64_t{1} << 40);
  run.repeats = static_cast<int>(ParseInteger(texts.repeats, "--repeats", 1, 10000));
  run.steps_per_epoch = ParseInteger(texts.epoch, "--steps-per-epoch", 1, int64_t{1} << 40);
  command.detail = ParseDetail(texts.per);
  GradientOptions& gradients = command.gradients;
  if (!texts.steps.empty()) gradients.steps = ParseInteger(texts.steps, "--steps", 1, 1 << 20);
  if (!texts.workers.empty()) {
    gradients.workers = static_cast<int>(ParseInteger(texts.workers, "--workers", 1, kMostWorkers));
  }
}

}  // namespace

CodecCommandLine ParseCodecCommandLine(int argc, char** argv) {
  CodecCommandLine line;
  CodecCommand command;
  CodecListCommand list;
  CodecCheckCommand check;
  Texts texts;
  CLI::App app(kDescription, "legacy-codec");
  PrepareArguments(app);
  AddPluginOption(app);
  app.footer(std::string(kExamples) + kExitStatuses + "Handbook: docs/legacy-codec.md.");
  AddGradients(app, command, texts);
  AddCodecs(app, command, texts);
  AddLegacy(app, command, texts);
  AddNetwork(app, texts);
  AddOutputs(app, command, texts);
  const CLI::App* list_app = AddList(app, list);
  const CLI::App* check_app = AddCheck(app, check);
  app.require_subcommand(0, 1);
  line.exit = ParseArguments(app, argc, argv);
  if (line.exit) return line;
  if (*list_app) {
    line.command = list;
  } else if (*check_app) {
    line.command = check;
  } else {
    Apply(texts, command);
    line.command = command;
  }
  return line;
}

}  // namespace legacy
