// How codecs, schemes and policies are written: stages with options, "topk:index=u32+rbf:bits=10"
// or "gravac:eps=0.7,window=100". '+' separates stages, ':' a stage from its options, ',' the
// options.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace legacy {

struct Stage {
  std::string name;
  std::map<std::string, std::string> options = {};
};

// Throws Error on empty names, options without a value and options that stand twice.
std::vector<Stage> ParseStages(std::string_view text);
std::string FormatStages(std::span<const Stage> stages);

inline constexpr int64_t kMostSteps = int64_t{1} << 53;

// An option of a stage, for reading and for lists.
struct OptionSpec {
  std::string name;
  std::string fallback;  // default, as text
  std::string allowed;   // "2 to 8", "max, l2"
  std::string help;
};

// Reads the options of one stage. Every call throws Error naming stage, option, value and what is
// allowed.
class OptionReader {
 public:
  // Throws Error, listing `specs`, on an option that is none of them. Both outlive this.
  OptionReader(const Stage& stage, std::span<const OptionSpec> specs);

  // The option's text, or its default.
  const std::string& Text(std::string_view name) const;
  // Numbers take "1%" for 0.01.
  double Number(std::string_view name, double minimum, double maximum) const;
  int64_t Integer(std::string_view name, int64_t minimum, int64_t maximum) const;
  // Steps: a whole number from `minimum` (kMostSteps at most), or "5%", that part of a run of
  // `total_steps` steps, rounded, at least 1.
  int64_t Steps(std::string_view name, int64_t minimum, int64_t total_steps) const;
  // Whether the option is given as a part: "5%".
  bool IsPart(std::string_view name) const { return Text(name).ends_with('%'); }
  bool Switch(std::string_view name) const;  // "on", "off"
  // Position of the text in `choices`.
  size_t Choice(std::string_view name, std::span<const std::string_view> choices) const;

 private:
  [[noreturn]] void Refuse(std::string_view name, const std::string& allowed) const;

  const Stage& stage_;
  std::span<const OptionSpec> specs_;
};

// What a list of methods says of one (legacy-codec list, docs/compressors.md).
struct MethodInfo {
  std::string name;
  std::string help;   // one line
  std::string paper;  // authors, title, venue and year
  std::vector<OptionSpec> options = {};
};

// The entry of that name in a table whose rows have a MethodInfo `info`. Throws Error naming
// `what`, with the list.
[[noreturn]] void ThrowUnknown(std::string_view what, std::string_view name,
                               const std::vector<std::string>& known);
template <typename Row>
const Row& FindRow(std::string_view what, std::string_view name, std::span<const Row> table) {
  std::vector<std::string> known;
  for (const Row& row : table) {
    if (row.info.name == name) return row;
    known.push_back(row.info.name);
  }
  ThrowUnknown(what, name, known);
}

}  // namespace legacy
