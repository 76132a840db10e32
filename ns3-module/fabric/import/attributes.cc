#include "attributes.h"

#include "base/error.h"
#include "base/words.h"
#include "label-rate.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

namespace legacy::fabric
{

namespace
{

struct UnitName
{
    MapQuantity quantity;
    std::string_view name; ///< in lower case
    double scale;
};

// Units of times, lengths and shares in texts, and of all quantities in the names of attributes.
constexpr UnitName kUnits[] = {
    {MapQuantity::Rate, "bps", 1},           {MapQuantity::Rate, "kbps", 1e3},
    {MapQuantity::Rate, "mbps", 1e6},        {MapQuantity::Rate, "gbps", 1e9},
    {MapQuantity::Rate, "tbps", 1e12},       {MapQuantity::Rate, "kbit", 1e3},
    {MapQuantity::Rate, "mbit", 1e6},        {MapQuantity::Rate, "gbit", 1e9},
    {MapQuantity::Rate, "kbits", 1e3},       {MapQuantity::Rate, "mbits", 1e6},
    {MapQuantity::Rate, "gbits", 1e9},       {MapQuantity::Time, "ns", 1},
    {MapQuantity::Time, "nanosecond", 1},    {MapQuantity::Time, "nanoseconds", 1},
    {MapQuantity::Time, "us", 1e3},          {MapQuantity::Time, "usec", 1e3},
    {MapQuantity::Time, "microsecond", 1e3}, {MapQuantity::Time, "microseconds", 1e3},
    {MapQuantity::Time, "ms", 1e6},          {MapQuantity::Time, "msec", 1e6},
    {MapQuantity::Time, "millisecond", 1e6}, {MapQuantity::Time, "milliseconds", 1e6},
    {MapQuantity::Time, "s", 1e9},           {MapQuantity::Time, "sec", 1e9},
    {MapQuantity::Time, "second", 1e9},      {MapQuantity::Time, "seconds", 1e9},
    {MapQuantity::Length, "km", 1},          {MapQuantity::Length, "kilometers", 1},
    {MapQuantity::Length, "kilometres", 1},  {MapQuantity::Length, "m", 1e-3},
    {MapQuantity::Length, "meters", 1e-3},   {MapQuantity::Length, "metres", 1e-3},
    {MapQuantity::Length, "mi", 1.609344},   {MapQuantity::Length, "miles", 1.609344},
    {MapQuantity::Share, "%", 0.01},         {MapQuantity::Share, "percent", 0.01},
    {MapQuantity::Share, "pct", 0.01},
};

std::string Lower(std::string_view text)
{
    std::string lower(text);
    std::transform(lower.begin(),
                   lower.end(),
                   lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

/// Returns the scale of a unit, or 0.
double ScaleOf(std::string_view unit, MapQuantity quantity)
{
    for (const UnitName& known : kUnits)
    {
        if (known.quantity == quantity && known.name == unit)
        {
            return known.scale;
        }
    }
    return 0;
}

/// Returns the words of a name in lower case: "LinkDelayNs" and "link_delay_ns" have three words.
std::vector<std::string> WordsOf(std::string_view name)
{
    std::vector<std::string> words;
    bool open = false;
    char last = 0;
    for (const char c : name)
    {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) == 0)
        {
            open = false;
            continue;
        }
        const bool capital =
            std::isupper(byte) != 0 && std::islower(static_cast<unsigned char>(last)) != 0;
        if (!open || capital)
        {
            words.emplace_back();
            open = true;
        }
        words.back() += static_cast<char>(std::tolower(byte));
        last = c;
    }
    return words;
}

std::string Joined(const std::vector<std::string>& words, size_t count)
{
    std::string joined;
    for (size_t i = 0; i < count; ++i)
    {
        joined += words[i];
    }
    return joined;
}

/// Returns the scale of the unit in a name: 0 if it is one of `names` without a unit, nothing if it
/// is another name.
std::optional<double> UnitInName(const std::vector<std::string>& words,
                                 const std::vector<std::string_view>& names,
                                 MapQuantity quantity)
{
    const auto known = [&names](std::string_view name)
    { return std::find(names.begin(), names.end(), name) != names.end(); };
    const std::string whole = Joined(words, words.size());
    if (known(whole))
    {
        return 0;
    }
    if (words.size() > 1 && known(Joined(words, words.size() - 1)))
    {
        const double scale = ScaleOf(words.back(), quantity);
        return scale > 0 ? std::optional(scale) : std::nullopt;
    }
    for (const UnitName& unit : kUnits)
    {
        // A unit of one letter could be the end of a word.
        const bool ends =
            unit.quantity == quantity && unit.name.size() > 1 && whole.size() > unit.name.size() &&
            whole.compare(whole.size() - unit.name.size(), whole.npos, unit.name) == 0;
        if (ends && known(whole.substr(0, whole.size() - unit.name.size())))
        {
            return unit.scale;
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<double> ValueOf(std::string_view text, MapQuantity quantity, double bare)
{
    const std::string line = OneLine(text);
    double number = 0;
    const char* end = line.data() + line.size();
    const auto [rest, error] = std::from_chars(line.data(), end, number);
    if (error != std::errc() || !std::isfinite(number))
    {
        const int64_t rate = quantity == MapQuantity::Rate ? RateOfLabel(line) : 0;
        return rate > 0 ? std::optional(static_cast<double>(rate)) : std::nullopt;
    }
    const std::string unit =
        Lower(OneLine(std::string_view(rest, static_cast<size_t>(end - rest))));
    if (unit.empty())
    {
        return number * bare;
    }
    if (quantity == MapQuantity::Rate && number < 0)
    {
        return std::nullopt;
    }
    if (quantity == MapQuantity::Rate)
    {
        constexpr std::string_view kPrefixes = "kmgt";
        const size_t prefix = unit.size() == 1 ? kPrefixes.find(unit[0]) : kPrefixes.npos;
        const auto rate = static_cast<double>(RateOfLabel(line));
        return prefix != kPrefixes.npos
                   ? std::optional(number * std::pow(1000.0, static_cast<double>(prefix + 1)))
               : rate > 0 ? std::optional(rate)
                          : std::nullopt;
    }
    const double scale = unit == "\xC2\xB5s" || unit == "\xCE\xBCs" ? ScaleOf("us", quantity)
                                                                    : ScaleOf(unit, quantity);
    return scale > 0 ? std::optional(number * scale) : std::nullopt;
}

Attributes::Attributes(const RawAttributes& raw, const std::string& where) : m_where(where)
{
    for (const auto& [name, text] : raw.values)
    {
        m_all.push_back(One{name, WordsOf(name), text, raw.several.count(name) > 0, false, ""});
    }
}

const std::string& Attributes::Use(One& one) const
{
    if (one.several)
    {
        throw Error(m_where + ": " + Shown(one.name), Shown(one.text), "each key once");
    }
    one.used = true;
    return one.text;
}

const std::string* Attributes::Take(std::string_view name)
{
    for (One& one : m_all)
    {
        if (one.name == name)
        {
            return &Use(one);
        }
    }
    return nullptr;
}

const std::string* Attributes::TakeAny(const std::vector<std::string_view>& names,
                                       std::string* called)
{
    for (const std::string_view name : names)
    {
        for (One& one : m_all)
        {
            if (!one.used && Joined(one.words, one.words.size()) == name)
            {
                *called = one.name;
                return &Use(one);
            }
        }
    }
    return nullptr;
}

void Attributes::Leave(std::string_view name, const std::string& why)
{
    for (One& one : m_all)
    {
        if (one.name == name)
        {
            one.used = false;
            one.why = why;
        }
    }
}

std::optional<double> Attributes::Find(const std::vector<std::string_view>& names,
                                       const Range& range,
                                       std::optional<double> known)
{
    constexpr double kSame = 1e-6;
    for (One& one : m_all)
    {
        const auto unit = UnitInName(one.words, names, range.quantity);
        if (!unit || one.used)
        {
            continue;
        }
        const double scale = *unit > 0 ? *unit : range.bare;
        const auto value = one.several ? std::nullopt : ValueOf(one.text, range.quantity, scale);
        const bool bare = scale == 0 && ValueOf(one.text, range.quantity, 1) != value;
        if (!value || bare || !(*value >= range.least && *value <= range.most))
        {
            one.why = bare ? "numbers without a unit" : "no such quantity";
        }
        else if (known && std::abs(*known - *value) > kSame * *known)
        {
            one.why = "another value is used";
        }
        else
        {
            known = known ? known : value;
            one.used = true;
        }
    }
    return known;
}

void Attributes::Report(const std::string& of, ImportReport& report) const
{
    for (const One& one : m_all)
    {
        if (!one.used)
        {
            report.Skip(of, Shown(one.name), 1, one.why);
        }
    }
}

} // namespace legacy::fabric
