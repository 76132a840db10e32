#include "scenarios/programs/codec_command_line.h"

#include <CLI/CLI.hpp>

#include "base/programs/arguments.h"
#include "scenarios/programs/table_options.h"

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

}  // namespace

CodecCommandLine ParseCodecCommandLine(int argc, char** argv) {
  CodecCommandLine line;
  CodecOptions options;
  CodecListCommand list;
  CodecCheckCommand check;
  CLI::App app(kDescription, "legacy-codec");
  PrepareArguments(app);
  AddPluginOption(app);
  app.footer(std::string(kExamples) + kExitStatuses + "Handbook: docs/legacy-codec.md.");
  app.add_option("FILES", options.gradients.files, "files of raw little-endian float32 values")
      ->type_name("")
      ->group(kGradientsGroup);
  const TableOptions<CodecOptions> rows(app, CodecRows(), options);
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
    rows.Apply(options);
    line.command = options;
  }
  return line;
}

}  // namespace legacy
