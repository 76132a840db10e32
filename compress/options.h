// Codecs, schemes and policies are written as stages with options: "topk:index=u32+rbf:bits=10" or
// "gravac:eps=0.7,window=100". '+' separates stages, ':' a stage from its options, ',' the options.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace legacy {

// A method's name and its given options.
struct Stage {
  std::string name;
  std::map<std::string, std::string> options = {};
};

// Reads stages from text. Throws Error for empty names, options without a value and options that
// are given twice.
std::vector<Stage> ParseStages(std::string_view text);
// Reads one stage, in whose options '+' has no meaning, so that they may be paths. Throws as
// ParseStages.
Stage ParseOneStage(std::string_view text);
// Writes stages as ParseStages reads them, options in alphabetical order.
std::string FormatStages(std::span<const Stage> stages);

// The largest number of steps that options take.
inline constexpr int64_t kMostSteps = int64_t{1} << 53;

// The description of an option of a stage, for reading it and for lists.
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
  // Throws Error, listing `specs`, for an option that is not in `specs`. `stage` and `specs` must
  // outlive this object.
  OptionReader(const Stage& stage, std::span<const OptionSpec> specs);

  // Returns the option's text, or its default.
  const std::string& Text(std::string_view name) const;
  // Return the option's number within the bounds. Number takes "1%" for 0.01.
  double Number(std::string_view name, double minimum, double maximum) const;
  int64_t Integer(std::string_view name, int64_t minimum, int64_t maximum) const;
  // Returns a number of steps, written as a whole number from `minimum` to kMostSteps, or as "5%":
  // that part of a run of `total_steps` steps, rounded, at least 1.
  int64_t Steps(std::string_view name, int64_t minimum, int64_t total_steps) const;
  // Returns true if the option is given as a part: "5%".
  bool IsPart(std::string_view name) const { return Text(name).ends_with('%'); }
  // Returns true for "on" and false for "off".
  bool Switch(std::string_view name) const;
  // Returns the position of the text in `choices`.
  size_t Choice(std::string_view name, std::span<const std::string_view> choices) const;

 private:
  [[noreturn]] void Refuse(std::string_view name, const std::string& allowed) const;

  const Stage& stage_;
  std::span<const OptionSpec> specs_;
};

// Information about a method for lists (legacy-codec list, docs/compressors.md).
struct MethodInfo {
  std::string name;
  std::string help;   // one line
  std::string paper;  // authors, title, venue and year
  std::vector<OptionSpec> options = {};
};

// FindRow returns the entry of that name in a table whose rows have a MethodInfo `info`. If there
// is none, it throws Error naming `what`, with the list of names; ThrowUnknown throws that error.
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
