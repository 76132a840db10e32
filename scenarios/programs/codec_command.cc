#include "scenarios/programs/codec_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "base/programs/arguments.h"
#include "base/programs/program.h"
#include "base/programs/terminal.h"
#include "compress/policy.h"
#include "compress/registry/registry.h"
#include "scenarios/codec/codec_list.h"
#include "scenarios/codec/layer_list.h"
#include "scenarios/codec/message_files.h"
#include "scenarios/codec/method_check.h"

namespace legacy {
namespace {

// The gradient to try if none is given. It is a matrix, because some methods do not compress
// vectors.
constexpr const char* kDefaultGradient = "student-t";
constexpr const char* kDefaultShape = "250x400";

void CheckFiles(const CodecOptions& options) {
  CheckOutput(options.csv, "--csv");
  CheckOutput(options.json, "--json");
  CheckOutput(options.out, "--out");
  if (!options.csv.empty() && options.csv == options.json) {
    throw Error("--json", options.json, "a file of its own; --csv has this one");
  }
}

std::vector<CodecChoice> Choices(const CodecOptions& options) {
  const std::vector<std::string> texts = options.codecs.empty() ? SchemeNames() : options.codecs;
  std::vector<CodecChoice> choices;
  for (const std::string& text : texts) choices.push_back(ParseCodec(text, options.parameter));
  return choices;
}

CodecChoice TheCodec(const CodecOptions& options, const std::string& option) {
  if (options.codecs.size() == 1) return Choices(options).front();
  throw Error(option, options.decode.empty() ? options.out : options.decode,
              "one --codec with it, not " + std::to_string(options.codecs.size()));
}

std::string Headline(const GradientSource& source, const RunOptions& run) {
  const std::vector<Unit>& units = source.units();
  const std::string layers =
      units.size() == 1 ? "one layer" : fmt::format("{} layers", units.size());
  return fmt::format(
      "{}: {} values in {}, {} workers, {} step{}, policy {}\n"
      "error and gain of one worker's own message, of mean: error of the workers' mean;\n"
      "encode and decode: measured here for one worker, median of {}; GB/s of dense fp32\n\n",
      source.description(), ElementsOf(units), layers, source.workers(), source.steps(),
      source.steps() == 1 ? "" : "s", run.policy, run.repeats);
}

// Throws Error if there is more than one layer, because --out writes the message of a single layer.
void CheckOut(const CodecOptions& options, const GradientSource& source) {
  if (options.out.empty()) return;
  TheCodec(options, "--out");
  if (source.units().size() > 1) {
    throw Error("--out", options.out, "one layer; --layers has more: cut the file and use --shape");
  }
}

int Decode(const CodecOptions& options) {
  const CodecChoice codec = TheCodec(options, "--decode");
  if (options.gradients.shape.empty())
    throw Error::Refusal("--decode: --shape of the values is missing");
  if (options.out.empty()) throw Error::Refusal("--decode: --out=FILE for the values is missing");
  const Unit unit = OneLayer(ParseShape(options.gradients.shape, "--shape")).front();
  bool feedback = false;
  const std::unique_ptr<Scheme> scheme = OpenScheme(codec, *options.run.error_feedback, &feedback);
  WriteFloats(ReadMessages(*scheme, unit,
                           {.info = {.seed = options.run.seed,
                                     .step = options.run.first_step,
                                     .link = options.run.Link()},
                            .parameter = codec.parameter},
                           options.decode),
              options.out);
  return 0;
}

// False if the text has options that belong to a scheme, as in topk:decay=0.5.
bool IsCodec(const std::string& text) {
  try {
    MakeCodec(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Checks the codec with that text or, if there is none, the scheme or the policy.
std::vector<CheckedProperty> CheckMethod(const std::string& text) {
  const std::string name = ParseStages(text).front().name;
  const auto codecs = CodecNames();
  if (std::ranges::find(codecs, name) != codecs.end()) {
    return IsCodec(text) ? CheckCodec(text) : CheckScheme(text);
  }
  const auto schemes = SchemeNames();
  if (std::ranges::find(schemes, name) != schemes.end()) return CheckScheme(text);
  for (const PolicyRow& row : PolicyTable()) {
    if (row.info.name == name) return CheckPolicy(text);
  }
  std::vector<std::string> known = schemes;
  for (const PolicyRow& row : PolicyTable()) known.push_back(row.info.name);
  throw NotAmong("check", text, known, CommandOf("legacy-codec") + " list");
}

std::vector<std::string> OfPlugins() {
  std::vector<std::string> names = AddedCodecs();
  for (const std::string& policy : AddedPolicies()) names.push_back(policy);
  if (names.empty()) {
    throw Error(
        "check: NAMES of codecs or policies are missing; without them what --plugin brings "
        "is checked");
  }
  return names;
}

}  // namespace

int RunCodecCheckCommand(const CodecCheckCommand& command) {
  bool all = true;
  for (const std::string& name : command.names.empty() ? OfPlugins() : command.names) {
    fmt::print("{}\n", name);
    for (const CheckedProperty& property : CheckMethod(name)) {
      all = all && property.holds;
      fmt::print("  {:<6}  {:<32}  {}\n", property.holds ? "ok" : "FAILED", property.name,
                 property.detail);
      std::fflush(stdout);
    }
  }
  return all ? 0 : kFailed;
}

int RunCodecCommand(const CodecOptions& options) {
  CheckFiles(options);
  if (!options.decode.empty()) return Decode(options);
  GradientOptions gradients = options.gradients;
  if (gradients.files.empty() && gradients.real.empty() && gradients.drawn.empty()) {
    gradients.drawn = kDefaultGradient;
    if (gradients.layers.empty() && gradients.shape.empty()) gradients.shape = kDefaultShape;
  }
  GradientSource source(gradients);
  CheckOut(options, source);
  std::vector<Row> rows;
  std::vector<Bytes> messages;
  for (const CodecChoice& codec : Choices(options)) {
    CodecResult result = RunCodec(codec, options.run, source);
    for (Row& row : ReportRows(result, options.run, source.workers(), *options.detail)) {
      rows.push_back(std::move(row));
    }
    messages = std::move(result.messages);
  }
  const bool to_stdout = options.csv == "-" || options.json == "-" || options.out == "-";
  if (!options.quiet) {
    const std::string table = Headline(source, options.run) + ReportTable(rows, *options.detail);
    std::fputs(table.c_str(), to_stdout ? stderr : stdout);
  }
  if (!options.csv.empty()) WriteOutput(options.csv, CsvText(rows));
  if (!options.json.empty()) WriteOutput(options.json, JsonText(rows));
  if (!options.out.empty()) WriteMessages(messages, options.out);
  return 0;
}

int RunCodecListCommand(const CodecListCommand& command) {
  if (!command.document.empty()) {
    CheckOutput(command.document, "--document");
    std::string document = ReadWholeFile(command.document);
    for (const ValidationTable& table : ListTables()) {
      document = WithTable(document, table, command.document);
    }
    WriteOutput(command.document, document);
    return 0;
  }
  if (command.markdown) {
    for (const ValidationTable& table : ListTables()) {
      std::fputs(fmt::format("{}\n\n{}\n", table.name, ToMarkdown(table)).c_str(), stdout);
    }
    return 0;
  }
  std::fputs(Wrapped(ListText(command.names), OutputColumns(), 2).c_str(), stdout);
  return 0;
}

}  // namespace legacy
