#include "scenarios/codec/codec_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/number.h"
#include "compress/codecs/fft_codec.h"
#include "compress/exchange.h"
#include "compress/gradients/gradients.h"
#include "compress/policy.h"
#include "compress/quantiser.h"
#include "compress/schemes/codec_scheme.h"
#include "compress/schemes/dense_start.h"
#include "compress/schemes/owners/owned_slices.h"
#include "compress/schemes/residual_decay.h"
#include "compress/sparsifier.h"
#include "scenarios/codec/codec_run.h"

namespace legacy {
namespace {

template <typename RowType>
const MethodInfo* Find(std::span<const RowType> table, std::string_view name) {
  const auto row =
      std::ranges::find_if(table, [&](const RowType& one) { return one.info.name == name; });
  return row == table.end() ? nullptr : &row->info;
}

MethodInfo InfoOf(const std::string& name) {
  const MethodInfo* scheme = Find(SchemeTable(), name);
  return scheme != nullptr ? *scheme : CodecInfo(name);
}

std::string ParameterText(const ParameterSpec& spec) {
  if (spec.Kind() == ParameterKind::kNone) return "none";
  return fmt::format("{}, {}{} to {}, default {}", spec.name, spec.integer ? "whole, " : "",
                     FormatNumber(spec.minimum), FormatNumber(spec.maximum),
                     FormatNumber(spec.fallback));
}

// Returns 1234567 as 1,234,567.
std::string Grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<size_t>(at), 1, ',');
  }
  return text;
}

std::string CollectiveText(const Scheme& scheme, const Unit& unit) {
  const std::unique_ptr<Exchange> exchange = scheme.Open(unit, 1);
  exchange->Begin({.parameter = scheme.Parameter().fallback});
  switch (exchange->NextCall()->collective) {
    case Collective::kAllReduce:
      return "all-reduce";
    case Collective::kBroadcast:
      return "broadcast";
    case Collective::kAllToAll:
      return "all-to-all";
    case Collective::kBlockSparse:
      return "block-sparse";
    default:
      return "all-gather";
  }
}

// Returns the options that all schemes take.
std::vector<OptionSpec> CommonOptions() {
  std::vector<OptionSpec> options = {DenseStartOption(), ResidualDecayOption()};
  options.insert(options.end(), OwnedSlicesOptions().begin(), OwnedSlicesOptions().end());
  return options;
}

MethodEntry CodecEntry(const std::string& name) {
  CodecChoice choice{.scheme = name, .parameter = MakeScheme(name)->Parameter().fallback};
  bool feedback = false;
  const std::unique_ptr<Scheme> scheme = OpenScheme(choice, std::nullopt, &feedback);
  const Unit square{
      .id = 0, .name = "square", .shape = {1000, 1000}, .offset = 0, .numel = 1000 * 1000};
  const auto bytes = scheme->MessageBytes(square, scheme->Parameter().fallback);
  const auto table = SchemeTable();
  const auto row =
      std::ranges::find_if(table, [&](const SchemeRow& one) { return one.info.name == name; });
  return {.info = InfoOf(name),
          .parameter = ParameterText(scheme->Parameter()),
          .message = bytes ? Grouped(*bytes) : "depends on the data",
          .collective = row != table.end() ? row->collective : CollectiveText(*scheme, square)};
}

// Returns the gradients that are compiled in.
std::vector<MethodEntry> RealEntries() {
  std::vector<MethodEntry> entries;
  for (const RealGradient& gradient : RealGradients()) {
    MethodInfo info;
    info.name = gradient.name;
    info.help = "gradient of a real training, with " +
                Grouped(static_cast<int64_t>(gradient.values.size())) + " values";
    entries.push_back({.info = info, .parameter = {}, .message = {}, .collective = {}});
  }
  return entries;
}

template <typename RowType>
std::vector<MethodEntry> EntriesOf(std::span<const RowType> table) {
  std::vector<MethodEntry> entries;
  for (const RowType& row : table) {
    entries.push_back({.info = row.info, .parameter = {}, .message = {}, .collective = {}});
  }
  return entries;
}

std::string OptionText(const OptionSpec& option) {
  return fmt::format("{}={} ({}): {}", option.name, option.fallback, option.allowed, option.help);
}

std::string EntryText(const MethodEntry& entry) {
  std::string text = fmt::format("{:17} {}\n", entry.info.name, entry.info.help);
  const auto line = [&](const std::string& what) { text += fmt::format("{:17} {}\n", "", what); };
  if (!entry.parameter.empty()) line("parameter: " + entry.parameter);
  for (const OptionSpec& option : entry.info.options) line("option: " + OptionText(option));
  if (!entry.collective.empty()) {
    line("carried by: " + entry.collective + "; 1,000 x 1,000 values: " + entry.message +
         (entry.message.back() == 'a' ? "" : " bytes"));
  }
  if (!entry.info.paper.empty()) line("paper: " + entry.info.paper);
  return text;
}

std::string OptionLine(std::span<const OptionSpec> options) {
  std::string text;
  for (const OptionSpec& option : options) {
    text += (text.empty() ? "" : "; ") + OptionText(option);
  }
  return text;
}

// Returns the text with bars escaped, because bars end cells of a Markdown table.
std::string Cell(const std::string& text) {
  std::string cell;
  for (const char c : text) cell += c == '|' ? std::string("\\|") : std::string(1, c);
  return cell;
}

ValidationTable NameTable(const std::string& name, const std::vector<MethodEntry>& entries) {
  ValidationTable table{name, {"name", "what it does"}, {}};
  for (const MethodEntry& entry : entries) {
    table.rows.push_back({"`" + entry.info.name + "`", Cell(entry.info.help)});
  }
  return table;
}

// Returns a row for each option. Methods with the same option share its row.
ValidationTable TableOfOptions(const std::string& name, const std::vector<MethodEntry>& entries) {
  ValidationTable table{name, {"option", "of", "what it does"}, {}};
  for (const MethodEntry& entry : entries) {
    for (const OptionSpec& option : entry.info.options) {
      const std::string key = "`" + option.name + "=" + option.fallback + "`";
      const std::string text = Cell("(" + option.allowed + "): " + option.help);
      const auto row = std::ranges::find_if(table.rows, [&](const ValidationRow& other) {
        return other[0] == key && other[2] == text;
      });
      if (row == table.rows.end()) {
        table.rows.push_back({key, "`" + entry.info.name + "`", text});
      } else {
        (*row)[1] += ", `" + entry.info.name + "`";
      }
    }
  }
  return table;
}

ValidationTable PaperTable(const std::string& name, const std::vector<MethodEntry>& entries) {
  ValidationTable table{name, {"name", "paper"}, {}};
  for (const MethodEntry& entry : entries) {
    if (entry.info.paper.empty()) continue;
    table.rows.push_back({"`" + entry.info.name + "`", Cell(entry.info.paper)});
  }
  return table;
}

}  // namespace

std::vector<MethodEntry> CodecEntries() {
  std::vector<MethodEntry> entries;
  for (const std::string& name : SchemeNames()) entries.push_back(CodecEntry(name));
  return entries;
}

std::vector<MethodEntry> PolicyEntries() { return EntriesOf(PolicyTable()); }

std::vector<MethodEntry> GradientEntries() { return EntriesOf(GradientTable()); }

std::string ListText(const std::vector<std::string>& names) {
  const std::pair<const char*, std::vector<MethodEntry>> sections[] = {
      {"codecs and schemes (--codec)", CodecEntries()},
      {"policies (--policy)", PolicyEntries()},
      {"generated gradients (--generate)", GradientEntries()},
      {"real gradients (--gradient)", RealEntries()}};
  std::vector<std::string> known;
  std::string text;
  for (const auto& [title, entries] : sections) {
    if (entries.empty()) continue;
    if (names.empty()) text += fmt::format("{}{}\n\n", text.empty() ? "" : "\n", title);
    for (const MethodEntry& entry : entries) {
      known.push_back(entry.info.name);
      const bool chosen = std::ranges::find(names, entry.info.name) != names.end();
      if (names.empty() || chosen) text += EntryText(entry);
    }
    if (names.empty() && title == sections[0].first) {
      text += "every codec also takes: " + OptionLine(CodecSchemeOptionSpecs()) + "\n";
      text += "every codec and scheme takes: " + OptionLine(CommonOptions()) + "\n";
    }
  }
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) == known.end()) ThrowUnknown("method", name, known);
  }
  return text;
}

std::vector<ValidationTable> ListTables() {
  const std::vector<MethodEntry> entries = CodecEntries();
  ValidationTable messages{"codec-messages", {"name", "parameter", "message", "collective"}, {}};
  for (const MethodEntry& entry : entries) {
    messages.rows.push_back({"`" + entry.info.name + "`", Cell(entry.parameter), entry.message,
                             Cell(entry.collective)});
  }
  ValidationTable common{"codec-options", {"option", "what it does"}, {}};
  std::vector<OptionSpec> options(CodecSchemeOptionSpecs().begin(), CodecSchemeOptionSpecs().end());
  const std::vector<OptionSpec> all = CommonOptions();
  options.insert(options.end(), all.begin(), all.end());
  for (const OptionSpec& option : options) {
    common.rows.push_back({"`" + option.name + "=" + option.fallback + "`",
                           Cell("(" + option.allowed + "): " + option.help)});
  }
  return {NameTable("codecs", entries),
          messages,
          TableOfOptions("method-options", entries),
          common,
          PaperTable("codec-papers", entries),
          NameTable("policies", PolicyEntries()),
          TableOfOptions("policy-options", PolicyEntries()),
          PaperTable("policy-papers", PolicyEntries()),
          NameTable("gradients", GradientEntries()),
          TableOfOptions("gradient-options", GradientEntries())};
}

}  // namespace legacy
