#include "scenarios/programs/codec_command_line.h"

#include <CLI/CLI.hpp>

#include "base/arguments.h"
#include "base/parse.h"
#include "ns3-module/fabric/base/units.h"

namespace legacy {
namespace {

constexpr const char* kDescription =
    "Tries codecs on gradients: bytes, ratios, errors and speed of each, side by side. FILES hold "
    "raw little-endian float32; all workers have the one, or each its own.";

constexpr const char* kExamples =
    "Examples:\n"
    "  legacy-codec                                   every codec at its default\n"
    "  legacy-codec gradient.f32 --codec=topk@1% --codec=topk+fp16@1% --codec=randomk@0.01\n"
    "  legacy-codec --generate=student-t:n=1e6,freedom=2 --codec=topk:index=u32@0.1% --workers=16\n"
    "  legacy-codec gradients.f32 --layers=model.layers --codec=topk --policy=uniform --per=layer\n"
    "  legacy-codec gradient.f32 --codec=topk@1% --out=message.bin\n"
    "  legacy-codec --decode=message.bin --codec=topk@1% --shape=100000 --out=decoded.f32\n"
    "  legacy-codec list topk\n"
    "  legacy-codec check --plugin=my_codec.so\n"
    "Codecs are written STAGE[:option=value,...][+STAGE...][@PARAMETER]; fractions as 1% or 0.01.\n"
    "error is a ratio of norms, ||e - C(e)|| / ||e||; gain one of energies, ||C(e)||^2 / ||e||^2;\n"
    "e is the gradient and what the worker held before. Of all zeros the error is 0, the gain 1.\n"
    "Exit status: 0 done, 1 something cannot be (it is said what and what is allowed), 2 the line "
    "is wrong.\n"
    "Handbook: docs/legacy-codec.md.";

// Texts of options whose values are made of them.
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
  app.add_option("FILES", gradients.files, "raw float32 values")->type_name("")->group(kGroup);
  AddText(app, kGroup, "--generate", gradients.drawn, "TEXT",
          "drawn values, others for each worker and step: student-t:n=1e6,seed=1 (see list)");
  AddText(app, kGroup, "--gradient", gradients.real, "NAME", "of a real one that is compiled in");
  AddText(app, kGroup, "--shape", gradients.shape, "NxM", "of the values, as in 64x3x7x7");
  AddText(app, kGroup, "--layers", gradients.layers, "FILE",
          "lines 'name shape': the values are these layers, one after the other");
  AddText(app, kGroup, "--steps", texts.steps, "N",
          "for methods with state; files hold all steps one after the other, or one that is the "
          "same at each [as many as the files hold]");
  AddText(app, kGroup, "--workers", texts.workers, "N",
          "that exchange gradients [the number of files, else 8]");
}

void AddCodecs(CLI::App& app, CodecCommand& command, Texts& texts) {
  constexpr const char* kGroup = "Codecs";
  app.add_option("--codec", command.codecs, "codec or scheme with its parameter; repeatable [all]")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->group(kGroup);
  AddText(app, kGroup, "--parameter", command.parameter, "P",
          "of codecs that name none [each codec's own default]");
  AddText(app, kGroup, "--policy", command.run.policy, "TEXT",
          "picks the parameter of each layer and step; the codec's is its anchor");
  AddText(app, kGroup, "--error-feedback", texts.error_feedback, "on|off|auto",
          "auto: where the codec allows it");
  AddText(app, kGroup, "--seed", texts.seed, "N", "of the codecs' own draws");
  AddText(app, kGroup, "--step", texts.step, "N", "number of the first step");
  AddText(app, kGroup, "--steps-per-epoch", texts.epoch, "N", "for policies");
}

void AddLegacy(CLI::App& app, CodecCommand& command, Texts& texts) {
  constexpr const char* kGroup = "Policies legacy-layer, legacy-phase, legacy-both";
  AddText(app, kGroup, "--levels", command.run.table.schedule, "10%,0.5%/1%,0.05%",
          "sizes by ',' (small first), phases by '/' [solved from the codec's parameter]");
  AddText(app, kGroup, "--splits", texts.splits, "N,N,...",
          "sizes in elements [the size below which split-share of the elements lie]");
  AddText(app, kGroup, "--split-share", texts.split_share, "1%|0.01", "of the default split");
  AddText(app, kGroup, "--phase-bounds", command.run.table.phase_bounds, "100,200|30%,60%",
          "steps, or parts of the training, at which phases end [equal phases]");
  AddText(app, kGroup, "--closed-right", texts.closed_right, "on|off",
          "the step on a bound belongs to the phase that ends there");
  AddText(app, kGroup, "--volume", texts.volume, "elements|bytes|off",
          "levels are scaled to the uniform parameter's volume, counted so; off: as they are");
}

void AddNetwork(CLI::App& app, Texts& texts) {
  constexpr const char* kGroup = "Network";
  AddText(app, kGroup, "--collective", texts.collective, "KINDS",
          "that carry what they can, as in ring-allreduce,direct-allgather "
          "[ring-allreduce,ring-allgather,broadcast,scatter-reduce-allgather]");
  AddText(app, kGroup, "--bandwidth", texts.bandwidth, "RATE",
          "for transfer times by alpha-beta, and what methods read of the network");
  AddText(app, kGroup, "--latency", texts.latency, "TIME", "of a message of no length, likewise");
  AddText(app, kGroup, "--compute", texts.compute, "TIME",
          "of a step without communication, for policies that read the clock");
}

void AddOutputs(CLI::App& app, CodecCommand& command, Texts& texts) {
  constexpr const char* kGroup = "Output";
  AddText(app, kGroup, "--per", texts.per, "codec|step|layer", "one row for each of these");
  AddText(app, kGroup, "--csv", command.csv, "FILE", "the rows; -: standard output");
  AddText(app, kGroup, "--json", command.json, "FILE", "the same");
  AddText(app, kGroup, "--out", command.out, "FILE",
          "the message of one worker alone in the last step, as it is sent; later rounds go to "
          "FILE.2, FILE.3. With --decode: the values, raw float32");
  AddText(app, kGroup, "--decode", command.decode, "FILE",
          "read a message back; takes the --codec, --shape, --seed and --step that it was made "
          "with");
  AddText(app, kGroup, "--repeats", texts.repeats, "N", "of what is measured");
  app.add_flag("--quiet", command.quiet, "print no table")->group(kGroup);
}

CLI::App* AddList(CLI::App& app, CodecListCommand& list) {
  CLI::App* sub = app.add_subcommand("list", "every codec, policy and drawn gradient");
  sub->footer("");
  sub->add_option("NAMES", list.names, "only these")->type_name("");
  sub->add_flag("--markdown", list.markdown, "as tables");
  sub->add_option("--document", list.document, "Markdown file whose tables are written anew")
      ->type_name("FILE");
  return sub;
}

CLI::App* AddCheck(CLI::App& app, CodecCheckCommand& check) {
  CLI::App* sub = app.add_subcommand(
      "check",
      "properties that every codec and policy must have: lengths, round trips, error "
      "feedback, hostile bytes");
  sub->footer("Exit status: 0 all hold, 1 one does not.");
  sub->add_option("NAMES", check.names, "codecs or policies [all that --plugin brings]")
      ->type_name("");
  return sub;
}

double SecondsOf(const std::string& text, const std::string& option) {
  return static_cast<double>(fabric::ParseTime(text, option)) * 1e-9;
}

void ApplyTable(const Texts& texts, LegacyTable& table) {
  for (const std::string& split : SplitList(texts.splits)) {
    table.splits.push_back(ParseInteger(split, "--splits", 1, INT64_MAX));
  }
  table.split_share = ParseFraction(texts.split_share, "--split-share");
  table.closed_right = ParseSwitch(texts.closed_right, "--closed-right");
  const std::string volume = ParseChoice(texts.volume, "--volume", {"elements", "bytes", "off"});
  if (volume == "bytes") table.volume = VolumeMeasure::kBytes;
  if (volume == "off") table.volume.reset();
}

void Apply(const Texts& texts, CodecCommand& command) {
  RunOptions& run = command.run;
  ApplyTable(texts, run.table);
  run.collectives = ParseCollectives(texts.collective);
  if (ParseChoice(texts.error_feedback, "--error-feedback", {"on", "off", "auto"}) != "auto") {
    run.error_feedback = texts.error_feedback == "on";
  }
  run.link.latency_seconds = SecondsOf(texts.latency, "--latency");
  run.link.seconds_per_byte =
      8 / static_cast<double>(fabric::ParseRate(texts.bandwidth, "--bandwidth"));
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
  app.footer(kExamples);
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
