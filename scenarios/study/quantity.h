// Quantities are numbers with units as options write them, and steps between two of them. The text
// is the value: what is rounded here is rounded for good.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/options/scenario.h"

namespace legacy {

// Returns "bit/s", "s", "B" or "fraction"; "" for plain numbers.
std::string UnitOf(OptionKind kind);

// Returns the number that `text` stands for, in that unit; nothing where it is none of that kind,
// and for kText.
std::optional<double> QuantityOf(OptionKind kind, const std::string& text);

// Returns a text for people that is exact: QuantityOf of it gives `value` back wherever the kind
// can hold it.
std::string QuantityText(OptionKind kind, double value);

// Returns `points` texts from `from` to `to` in equal steps of the logarithm. Both ends are as
// given; between them numbers are rounded to three digits, integers to the nearest. Throws Error
// naming what cannot be.
std::vector<std::string> LogSteps(OptionKind kind, const std::string& from, const std::string& to,
                                  int64_t points);

// Returns from, from + step, ..., to. Throws Error where `to` is not met.
std::vector<std::string> LinearSteps(OptionKind kind, const std::string& from,
                                     const std::string& to, const std::string& step);

}  // namespace legacy
