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

// Gradient to try where none is given. It is a matrix, because some methods do not compress
// vectors.
constexpr const char* kDefaultGradient = "student-t";
constexpr const char* kDefaultShape = "250x400";

void CheckFiles(const CodecCommand& command) {
  CheckOutput(command.csv, "--csv");
  CheckOutput(command.json, "--json");
  CheckOutput(command.out, "--out");
  if (!command.csv.empty() && command.csv == command.json) {
    throw Error("--json", command.json, "a file of its own; --csv has this one");
  }
}

std::vector<CodecChoice> Choices(const CodecCommand& command) {
  const std::vector<std::string> texts = command.codecs.empty() ? SchemeNames() : command.codecs;
  std::vector<CodecChoice> choices;
  for (const std::string& text : texts) choices.push_back(ParseCodec(text, command.parameter));
  return choices;
}

CodecChoice TheCodec(const CodecCommand& command, const std::string& option) {
  if (command.codecs.size() == 1) return Choices(command).front();
  throw Error(option, command.decode.empty() ? command.out : command.decode,
              "one --codec with it, not " + std::to_string(command.codecs.size()));
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

// Throws Error where there is more than one layer, because --out writes the message of one.
void CheckOut(const CodecCommand& command, const GradientSource& source) {
  if (command.out.empty()) return;
  TheCodec(command, "--out");
  if (source.units().size() > 1) {
    throw Error("--out", command.out, "one layer; --layers has more: cut the file and use --shape");
  }
}

int Decode(const CodecCommand& command) {
  const CodecChoice codec = TheCodec(command, "--decode");
  if (command.gradients.shape.empty())
    throw Error::Refusal("--decode: --shape of the values is missing");
  if (command.out.empty()) throw Error::Refusal("--decode: --out=FILE for the values is missing");
  const Unit unit = OneLayer(ParseShape(command.gradients.shape, "--shape")).front();
  bool feedback = false;
  const std::unique_ptr<Scheme> scheme = OpenScheme(codec, command.run.error_feedback, &feedback);
  WriteFloats(ReadMessages(*scheme, unit,
                           {.info = {.seed = command.run.seed,
                                     .step = command.run.first_step,
                                     .link = command.run.link},
                            .parameter = codec.parameter},
                           command.decode),
              command.out);
  return 0;
}

// False where the text has options of a scheme, as in topk:decay=0.5.
bool IsCodec(const std::string& text) {
  try {
    MakeCodec(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Checks the codec of that text or, where there is none, the scheme or the policy.
std::vector<CheckedProperty> Check(const std::string& text) {
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
    for (const CheckedProperty& property : Check(name)) {
      all = all && property.holds;
      fmt::print("  {:<6}  {:<32}  {}\n", property.holds ? "ok" : "FAILED", property.name,
                 property.detail);
      std::fflush(stdout);
    }
  }
  return all ? 0 : kFailed;
}

int RunCodecCommand(const CodecCommand& command) {
  CheckFiles(command);
  if (!command.decode.empty()) return Decode(command);
  GradientOptions gradients = command.gradients;
  if (gradients.files.empty() && gradients.real.empty() && gradients.drawn.empty()) {
    gradients.drawn = kDefaultGradient;
    if (gradients.layers.empty() && gradients.shape.empty()) gradients.shape = kDefaultShape;
  }
  GradientSource source(gradients);
  CheckOut(command, source);
  std::vector<Row> rows;
  std::vector<Bytes> messages;
  for (const CodecChoice& codec : Choices(command)) {
    CodecResult result = RunCodec(codec, command.run, source);
    for (Row& row : ReportRows(result, command.run, source.workers(), command.detail)) {
      rows.push_back(std::move(row));
    }
    messages = std::move(result.messages);
  }
  const bool to_stdout = command.csv == "-" || command.json == "-" || command.out == "-";
  if (!command.quiet) {
    const std::string table = Headline(source, command.run) + ReportTable(rows, command.detail);
    std::fputs(table.c_str(), to_stdout ? stderr : stdout);
  }
  if (!command.csv.empty()) WriteOutput(command.csv, CsvText(rows));
  if (!command.json.empty()) WriteOutput(command.json, JsonText(rows));
  if (!command.out.empty()) WriteMessages(messages, command.out);
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
