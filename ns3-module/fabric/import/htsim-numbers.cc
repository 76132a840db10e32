#include "htsim-numbers.h"

#include "base/error.h"
#include "base/files/text_file.h"
#include "fabric/topology/types.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace legacy::fabric
{

/// A HtsimKey is a key of the file, with the range of its number.
struct HtsimKey
{
    const char* name; ///< in small letters
    double least;
    double most;
    bool whole;
};

namespace
{

constexpr int kMostRadix = 65536;

constexpr HtsimKey kHeaderKeys[] = {{"nodes", 1, TopologyBuild::kMaxHosts, true},
                                    {"tiers", 2, kMostHtsimTiers, true},
                                    {"podsize", 1, TopologyBuild::kMaxHosts, true}};
constexpr HtsimKey kTierKeys[] = {{"downlink_speed_gbps", 1e-9, 1e6, false},
                                  {"downlink_latency_ns", 0, 1e12, true},
                                  {"radix_down", 1, kMostRadix, true},
                                  {"radix_up", 1, kMostRadix, true},
                                  {"bundle", 1, 1024, true},
                                  {"oversubscribed", 1, kMostRadix, false},
                                  {"queue", 0, static_cast<double>(kMostBytes), true},
                                  {"queue_down", 0, static_cast<double>(kMostBytes), true},
                                  {"queue_up", 0, static_cast<double>(kMostBytes), true},
                                  {"switch_latency_ns", 0, 1e12, true}};

} // namespace

std::string LowerCase(std::string text)
{
    std::transform(text.begin(),
                   text.end(),
                   text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

HtsimNumbers::HtsimNumbers(const std::string& path)
    : m_path(path),
      m_lines(path, ReadText(path), {'#'})
{
    ReadLines();
}

void HtsimNumbers::ReadLines()
{
    int tier = -1;
    while (m_lines.Advance())
    {
        const std::string key = LowerCase(m_lines.Word(0));
        if (m_lines.Count() != 2)
        {
            throw Error(m_lines.Location(0), m_lines.Line(), "a key and a number");
        }
        if (key == "tier")
        {
            tier = m_lines.Integer(1, "tier", 0, kMostHtsimTiers - 1);
            if (!m_tierWhere[tier].empty())
            {
                throw Error(m_lines.Location(1) + ": tier", m_lines.Word(1), "each tier once");
            }
            m_tierWhere[tier] = m_lines.Location(0);
            continue;
        }
        const bool header = tier < 0;
        header ? ReadKey(key, std::begin(kHeaderKeys), std::end(kHeaderKeys), m_header)
               : ReadKey(key, std::begin(kTierKeys), std::end(kTierKeys), m_tiers[tier]);
    }
}

void HtsimNumbers::ReadKey(const std::string& key,
                           const HtsimKey* begin,
                           const HtsimKey* end,
                           Values& values)
{
    const auto* known =
        std::find_if(begin, end, [&key](const HtsimKey& one) { return key == one.name; });
    if (known == end)
    {
        std::string allowed;
        for (const HtsimKey* one = begin; one != end; ++one)
        {
            allowed += std::string(one->name) + ", ";
        }
        throw Error(m_lines.Location(0) + ": key", Shown(m_lines.Word(0)), allowed + "tier");
    }
    HtsimValue value;
    value.where = m_lines.Location(1);
    value.number =
        known->whole
            ? static_cast<double>(m_lines.Whole(
                  1, key, static_cast<int64_t>(known->least), static_cast<int64_t>(known->most)))
            : m_lines.Real(1, key, known->least, known->most);
    if (!values.emplace(key, value).second)
    {
        throw Error(m_lines.Location(0) + ": " + key, m_lines.Word(1), "each key once");
    }
}

const HtsimValue& HtsimNumbers::Header(const std::string& key) const
{
    const auto found = m_header.find(key);
    if (found == m_header.end())
    {
        throw Error(m_path + ":1: " + key, "none", "a number in front of the tiers");
    }
    return found->second;
}

HtsimValue HtsimNumbers::Of(int tier, const std::string& key, double fallback) const
{
    const auto found = m_tiers[tier].find(key);
    return found == m_tiers[tier].end() ? HtsimValue{fallback, ""} : found->second;
}

HtsimValue HtsimNumbers::Need(int tier, const std::string& key) const
{
    const HtsimValue value = Of(tier, key, 0);
    if (!value.Given())
    {
        throw Error(m_tierWhere[tier] + ": " + key + " of tier " + std::to_string(tier),
                    "none",
                    "a number");
    }
    return value;
}

} // namespace legacy::fabric
