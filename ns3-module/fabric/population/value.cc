#include "value.h"

#include "base/draws.h"
#include "base/error.h"
#include "base/files/csv_file.h"
#include "base/files/yaml_text.h"
#include "base/hash.h"
#include "base/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

namespace legacy::fabric
{

namespace
{

std::string TextOf(const YAML::Node& node, const std::string& where)
{
    if (!node.IsScalar())
    {
        throw Error(where, node.IsNull() ? "nothing" : "a list or a map", "one value");
    }
    return node.Scalar();
}

/// Returns the only key of a map such as {lognormal: ...}, or the key `csv`.
std::string KindOf(const YAML::Node& map, const std::string& where)
{
    for (const char* kind : {"lognormal", "uniform", "choice", "csv"})
    {
        if (std::as_const(map)[kind] && (map.size() == 1 || std::string(kind) == "csv"))
        {
            return kind;
        }
    }
    throw Error(where,
                "a map",
                "one value, {lognormal: {median: , sigma: }}, {uniform: [ , ]}, {choice: [[ , "
                "weight], ...]} or {csv: FILE, column: }");
}

/// Reads a list of pairs of a value and its weight. `read` is called with each value's node.
template <typename Read>
std::vector<double>
ReadWeights(const std::string& path, const YAML::Node& list, const std::string& key, Read read)
{
    const std::string where = NodeLocation(path, list) + ": " + key;
    std::vector<double> weights;
    double sum = 0;
    if (!list.IsSequence() || list.size() == 0)
    {
        throw Error(where, "no list", "a list of [value, weight]");
    }
    for (const YAML::Node& pair : list)
    {
        if (!pair.IsSequence() || pair.size() != 2)
        {
            throw Error(NodeLocation(path, pair) + ": " + key, "no pair", "[value, weight]");
        }
        read(pair[0]);
        const std::string place = NodeLocation(path, pair[1]) + ": weight";
        sum += ParseQuantity(TextOf(pair[1], place), place, Quantity::Number, 0, 1e12);
        weights.push_back(sum);
    }
    if (!(sum > 0))
    {
        throw Error(where, "weights of 0", "one weight above 0 or more");
    }
    for (double& weight : weights)
    {
        weight /= sum;
    }
    return weights;
}

/// Returns the position of a draw in (0, 1) among cumulated weights.
size_t ChoiceOf(const std::vector<double>& weights, double draw)
{
    const auto found = std::upper_bound(weights.begin(), weights.end(), draw);
    return std::min(static_cast<size_t>(found - weights.begin()), weights.size() - 1);
}

std::string LimitsOf(Quantity quantity, double least, double most)
{
    const auto text = [&](double value) -> std::string
    {
        if (quantity == Quantity::Rate)
        {
            return FormatRate(std::llround(value));
        }
        if (quantity == Quantity::Time)
        {
            return FormatTime(std::llround(value));
        }
        char buffer[32];
        std::snprintf(buffer, sizeof buffer, "%g", value);
        return buffer;
    };
    const char* kind = quantity == Quantity::Rate   ? "a rate"
                       : quantity == Quantity::Time ? "a time"
                                                    : "a number";
    return std::string(kind) + " from " + text(least) + " to " + text(most);
}

} // namespace

std::string NodeLocation(const std::string& path, const YAML::Node& node)
{
    return MarkLocation(path, node.Mark());
}

double ParseQuantity(const std::string& text,
                     const std::string& where,
                     Quantity quantity,
                     double least,
                     double most)
{
    double value = 0;
    if (quantity == Quantity::Rate)
    {
        value = static_cast<double>(ParseRate(text, where));
    }
    else if (quantity == Quantity::Time)
    {
        value = static_cast<double>(ParseTime(text, where));
    }
    else
    {
        const char* end = text.data() + text.size();
        auto [rest, error] = std::from_chars(text.data(), end, value);
        value = error == std::errc() && rest == end ? value : std::nan("");
    }
    // The condition is negated so that NaN fails.
    if (!(value >= least && value <= most))
    {
        throw Error(where, text, LimitsOf(quantity, least, most));
    }
    return value;
}

DrawnNumber::DrawnNumber(double constant) : m_first(constant), m_least(constant), m_most(constant)
{
}

DrawnNumber DrawnNumber::Lognormal(double median, double sigma)
{
    DrawnNumber number(median);
    number.m_kind = Kind::Lognormal;
    number.m_second = sigma;
    number.m_least = 0;
    number.m_most = HUGE_VAL;
    return number;
}

double DrawnNumber::Source::Parse(const YAML::Node& value) const
{
    const std::string where = NodeLocation(path, value) + ": " + key;
    return ParseQuantity(TextOf(value, where), where, quantity, least, most);
}

DrawnNumber DrawnNumber::Read(const std::string& path,
                              const YAML::Node& node,
                              const std::string& key,
                              Quantity quantity,
                              double least,
                              double most)
{
    const std::string where = NodeLocation(path, node) + ": " + key;
    const Source source{path, key, where, quantity, least, most};
    DrawnNumber number;
    number.m_least = least;
    number.m_most = most;
    if (!node.IsMap())
    {
        number.m_first = source.Parse(node);
        return number;
    }
    const std::string kind = KindOf(node, where);
    const YAML::Node inside = std::as_const(node)[kind];
    if (kind == "lognormal")
    {
        number.ReadLognormal(source, inside);
    }
    else if (kind == "uniform")
    {
        number.ReadUniform(source, inside);
    }
    else if (kind == "choice")
    {
        number.m_kind = Kind::Choice;
        number.m_weights = ReadWeights(path,
                                       inside,
                                       key,
                                       [&](const YAML::Node& value)
                                       { number.m_values.push_back(source.Parse(value)); });
    }
    else
    {
        number.ReadColumn(source, node);
    }
    return number;
}

void DrawnNumber::ReadLognormal(const Source& source, const YAML::Node& map)
{
    constexpr double kMostSigma = 10;
    if (!map.IsMap() || map.size() != 2 || !map["median"] || !map["sigma"])
    {
        throw Error(source.where + ": lognormal", "other keys", "{median: , sigma: }");
    }
    const std::string sigma = NodeLocation(source.path, map["sigma"]) + ": sigma";
    m_kind = Kind::Lognormal;
    m_first = source.Parse(map["median"]);
    m_second = ParseQuantity(TextOf(map["sigma"], sigma), sigma, Quantity::Number, 0, kMostSigma);
}

void DrawnNumber::ReadUniform(const Source& source, const YAML::Node& pair)
{
    if (!pair.IsSequence() || pair.size() != 2)
    {
        throw Error(source.where + ": uniform", "no pair", "[least, most]");
    }
    m_kind = Kind::Uniform;
    m_first = source.Parse(pair[0]);
    m_second = source.Parse(pair[1]);
    if (m_second < m_first)
    {
        throw Error(source.where + ": uniform", pair[1].Scalar(), "not below " + pair[0].Scalar());
    }
}

void DrawnNumber::ReadColumn(const Source& source, const YAML::Node& map)
{
    Settings settings(source.where, "a column of a CSV file");
    for (const auto& entry : map)
    {
        settings.Set(TextOf(entry.first, source.where),
                     TextOf(entry.second, source.where),
                     NodeLocation(source.path, entry.first));
    }
    const std::string unit = settings.Text("unit", "1");
    const bool counted = unit[0] >= '0' && unit[0] <= '9';
    const double size =
        source.quantity == Quantity::Number && !settings.Has("unit")
            ? 1
            : ParseQuantity(
                  counted ? unit : "1" + unit, settings.Location("unit"), source.quantity, 0, 1e18);
    const std::string pick = settings.Text("pick", "draw");
    if (pick != "draw" && pick != "in-order")
    {
        throw Error(settings.Location("pick"), pick, "draw, in-order");
    }
    m_kind = pick == "draw" ? Kind::Choice : Kind::InOrder;
    CsvFile file(settings.Text("csv", ""), settings.Location("csv"));
    const size_t column = file.Column(settings.Text("column", source.key));
    settings.RejectUnread();
    while (file.Next())
    {
        m_values.push_back(file.Number(column, source.least / size, source.most / size) * size);
    }
    if (m_values.empty())
    {
        throw Error(file.Path() + ": no rows");
    }
}

double DrawnNumber::Draw(uint64_t hash, int64_t index) const
{
    switch (m_kind)
    {
    case Kind::Lognormal:
        return std::clamp(m_first * std::exp(m_second * NormalDraw(hash)), m_least, m_most);
    case Kind::Uniform:
        return m_first + (m_second - m_first) * UnitInterval(hash);
    case Kind::Choice:
        if (m_weights.empty())
        {
            return m_values[Reduce(hash, m_values.size())];
        }
        return m_values[ChoiceOf(m_weights, UnitInterval(hash))];
    case Kind::InOrder:
        return m_values[static_cast<size_t>(index) % m_values.size()];
    default:
        return m_first;
    }
}

bool DrawnNumber::Constant() const
{
    return m_kind == Kind::Constant;
}

DrawnWord::DrawnWord(std::string word) : m_words{std::move(word)}, m_weights{1}
{
}

DrawnWord DrawnWord::Read(const std::string& path, const YAML::Node& node, const std::string& key)
{
    const std::string where = NodeLocation(path, node) + ": " + key;
    if (!node.IsMap())
    {
        return DrawnWord(TextOf(node, where));
    }
    if (node.size() != 1 || !std::as_const(node)["choice"])
    {
        throw Error(where, "a map", "one word, or {choice: [[word, weight], ...]}");
    }
    DrawnWord word;
    word.m_words.clear();
    word.m_weights =
        ReadWeights(path,
                    node["choice"],
                    key,
                    [&](const YAML::Node& value) { word.m_words.push_back(TextOf(value, where)); });
    return word;
}

const std::string& DrawnWord::Draw(uint64_t hash) const
{
    return m_words[m_words.size() == 1 ? 0 : ChoiceOf(m_weights, UnitInterval(hash))];
}

const std::vector<std::string>& DrawnWord::Words() const
{
    return m_words;
}

} // namespace legacy::fabric
