// Option forms make rows of tables of options (options.h) from members of the struct that has the
// values. The class of the member says which struct that is, and its type how text is read. Only
// the files that list options include this.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/options.h"
#include "base/parse.h"
#include "base/parsed.h"

namespace legacy {

// Metavar of options that are on or off.
inline constexpr const char* kSwitch = "on|off";

// kKindOf says which numbers the texts of a type are. Other files add their types.
template <class Type>
inline constexpr OptionKind kKindOf = OptionKind::kText;
template <>
inline constexpr OptionKind kKindOf<Rate> = OptionKind::kRate;
template <>
inline constexpr OptionKind kKindOf<Time> = OptionKind::kTime;
template <>
inline constexpr OptionKind kKindOf<Size> = OptionKind::kBytes;
template <>
inline constexpr OptionKind kKindOf<GivenRate> = OptionKind::kRate;
template <>
inline constexpr OptionKind kKindOf<GivenTime> = OptionKind::kTime;
template <>
inline constexpr OptionKind kKindOf<GivenSize> = OptionKind::kBytes;

namespace option_forms {

inline constexpr int64_t kMany = std::numeric_limits<int64_t>::max();

template <class Type>
struct MemberOf;
template <class Class, class Member>
struct MemberOf<Member Class::*> {
  using Struct = Class;
  using Type = Member;
};
template <auto Field>
using StructOf = typename MemberOf<decltype(Field)>::Struct;
template <auto Field>
using TypeOf = typename MemberOf<decltype(Field)>::Type;

template <class Type>
struct Unwrapped {
  static constexpr bool kOptional = false;
  using Value = Type;
};
template <class Type>
struct Unwrapped<std::optional<Type>> {
  static constexpr bool kOptional = true;
  using Value = Type;
};

// Makes an option: `parse(text, key)` returns its value, and `print(value)` its text. Where the
// member is optional, the text of nothing is "".
template <auto Field, class Parse, class Print>
Option<StructOf<Field>> Printed(std::string key, std::string flag, std::string metavar,
                                std::string help, OptionKind kind, Parse parse, Print print) {
  using Struct = StructOf<Field>;
  using Type = TypeOf<Field>;
  return {.key = std::move(key),
          .flag = std::move(flag),
          .metavar = std::move(metavar),
          .help = std::move(help),
          .set =
              [parse](Struct& s, const std::string& k, const std::string& text) {
                if constexpr (Unwrapped<Type>::kOptional) {
                  if (text.empty()) {
                    (s.*Field).reset();
                    return;
                  }
                }
                s.*Field = static_cast<typename Unwrapped<Type>::Value>(parse(text, k));
              },
          .get = [print](const Struct& s) -> std::string {
            if constexpr (Unwrapped<Type>::kOptional) {
              return s.*Field ? print(*(s.*Field)) : "";
            } else {
              return print(s.*Field);
            }
          },
          .kind = kind};
}

template <auto Field, int64_t Minimum, int64_t Maximum = kMany>
Option<StructOf<Field>> Integer(std::string key, std::string flag, std::string help) {
  using Value = typename Unwrapped<TypeOf<Field>>::Value;
  constexpr int64_t kTop =
      std::min<int64_t>(Maximum, sizeof(Value) < 8 ? std::numeric_limits<int32_t>::max() : kMany);
  return Printed<Field>(
      std::move(key), std::move(flag), "N", std::move(help), OptionKind::kInteger,
      [](const std::string& text, const std::string& k) {
        return ParseInteger(text, k, Minimum, kTop);
      },
      [](const auto& value) { return std::to_string(value); });
}

template <auto Field>
Option<StructOf<Field>> Number(std::string key, std::string flag, std::string help, double minimum,
                               double maximum) {
  return Printed<Field>(
      std::move(key), std::move(flag), "X", std::move(help), OptionKind::kNumber,
      [minimum, maximum](const std::string& text, const std::string& k) {
        return ParseNumber(text, k, minimum, maximum);
      },
      [](double value) { return FormatNumber(value); });
}

template <auto Field>
Option<StructOf<Field>> Fraction(std::string key, std::string flag, std::string help) {
  return Printed<Field>(std::move(key), std::move(flag), "1%|0.01", std::move(help),
                        OptionKind::kFraction, ParseFraction, FormatPercent);
}

template <auto Field>
Option<StructOf<Field>> Switch(std::string key, std::string flag, std::string help) {
  return Printed<Field>(std::move(key), std::move(flag), kSwitch, std::move(help),
                        OptionKind::kText, ParseSwitch,
                        [](bool value) { return std::string(value ? "on" : "off"); });
}

// Makes the option that is on where it is given, without a text.
template <auto Field>
Option<StructOf<Field>> Flag(std::string key, std::string flag, std::string help) {
  auto option = Switch<Field>(std::move(key), std::move(flag), std::move(help));
  option.metavar = "";
  return option;
}

// Checks text that another part reads later.
using TextCheck = void (*)(const std::string& text, const std::string& key);

// Makes the option of text, or of a value that keeps its text (parsed.h).
template <auto Field, TextCheck Checked = nullptr>
Option<StructOf<Field>> Text(std::string key, std::string flag, std::string metavar,
                             std::string help) {
  using Type = TypeOf<Field>;
  constexpr bool kPlain = std::is_same_v<Type, std::string>;
  return Printed<Field>(
      std::move(key), std::move(flag), std::move(metavar), std::move(help), kKindOf<Type>,
      [](const std::string& text, const std::string& k) {
        if constexpr (Checked != nullptr) Checked(text, k);
        if constexpr (kPlain) {
          return text;
        } else {
          return Type(text, k);
        }
      },
      [](const Type& value) {
        if constexpr (kPlain) {
          return value;
        } else {
          return value.text();
        }
      });
}

// Makes the option of a list. `parse(text, key)` returns an item, and `print(item)` its text.
template <auto Field, class Parse, class Print>
Option<StructOf<Field>> Listed(std::string key, std::string flag, std::string metavar,
                               std::string help, Parse parse, Print print) {
  using Items = TypeOf<Field>;
  return Printed<Field>(
      std::move(key), std::move(flag), std::move(metavar), std::move(help), OptionKind::kText,
      [parse](const std::string& text, const std::string& k) {
        Items items;
        for (const std::string& item : SplitList(text)) items.push_back(parse(item, k));
        return items;
      },
      [print](const Items& items) {
        std::vector<std::string> texts;
        for (const auto& item : items) texts.push_back(print(item));
        return Join(texts, ",");
      });
}

// Makes the option of a list to which each text that is given adds one.
template <auto Field>
Option<StructOf<Field>> Repeated(std::string key, std::string flag, std::string metavar,
                                 std::string help) {
  using Struct = StructOf<Field>;
  return {.key = std::move(key),
          .flag = std::move(flag),
          .metavar = std::move(metavar),
          .help = std::move(help),
          .set = [](Struct& s, const std::string&,
                    const std::string& text) { (s.*Field).push_back(text); },
          .get = [](const Struct& s) { return Join(s.*Field, ","); },
          .properties = kRepeatable};
}

// Makes the option of a list of numbers from 1 on.
template <auto Field>
Option<StructOf<Field>> Integers(std::string key, std::string flag, std::string help) {
  return Listed<Field>(
      std::move(key), std::move(flag), "N,N,...", std::move(help),
      [](const std::string& item, const std::string& k) { return ParseInteger(item, k, 1, kMany); },
      [](int64_t item) { return std::to_string(item); });
}

}  // namespace option_forms
}  // namespace legacy
