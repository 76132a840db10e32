// Quantities are numbers with units, as in texts of options, and steps between two of them. The
// text is the value: the runs use the rounded number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/options/scenario.h"

namespace legacy {

// Returns "bit/s", "s", "B" or "fraction"; "" for plain numbers.
std::string UnitOf(OptionKind kind);

// Returns the number in `text`, in that unit; nothing where it is not a number of that kind, and
// for kText.
std::optional<double> QuantityOf(OptionKind kind, const std::string& text);

// Returns an exact text for people: QuantityOf returns `value` again wherever the kind can
// represent it.
std::string QuantityText(OptionKind kind, double value);

// Returns `points` texts from `from` to `to` in equal steps of the logarithm. Both ends are as
// given; between them numbers are rounded to three digits, integers to the nearest. Throws Error
// naming the argument that is wrong.
std::vector<std::string> LogSteps(OptionKind kind, const std::string& from, const std::string& to,
                                  int64_t points);

// Returns from, from + step, ..., to. Throws Error where the steps miss `to`.
std::vector<std::string> LinearSteps(OptionKind kind, const std::string& from,
                                     const std::string& to, const std::string& step);

}  // namespace legacy
