#include "marking.h"

#include "base/error.h"
#include "base/units.h"

#include <algorithm>
#include <cstdlib>

namespace legacy::fabric
{

namespace
{

constexpr const char* kEcnForm =
    "kmin/kmax/pmax@rate, as 100KB/400KB/0.2@25Gbps, several with '+', or off";

/// Returns the parts of `text` between `separator`s.
std::vector<std::string> PartsOf(const std::string& text, char separator)
{
    std::vector<std::string> parts;
    size_t begin = 0;
    for (size_t end = 0; end != std::string::npos; begin = end + 1)
    {
        end = text.find(separator, begin);
        parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
    }
    return parts;
}

} // namespace

EcnProfile::Row EcnProfile::ReadRow(const std::string& text, const std::string& option)
{
    const size_t at = text.find('@');
    const std::vector<std::string> parts = PartsOf(text.substr(0, at), '/');
    if (parts.size() != 3)
    {
        throw Error(option, text, kEcnForm);
    }
    Row row;
    row.rate = at == std::string::npos
                   ? 0
                   : static_cast<double>(ParseRate(text.substr(at + 1), option + ": rate"));
    row.thresholds.leastBytes = static_cast<double>(ParseBytes(parts[0], option + ": kmin"));
    row.thresholds.mostBytes = static_cast<double>(ParseBytes(parts[1], option + ": kmax"));
    if (row.thresholds.leastBytes > row.thresholds.mostBytes)
    {
        throw Error(option + ": kmin", parts[0], "at most kmax, " + parts[1]);
    }
    char* end = nullptr;
    row.thresholds.share = std::strtod(parts[2].c_str(), &end);
    // The condition is negated so that NaN fails.
    if (parts[2].empty() || *end != '\0' ||
        !(row.thresholds.share > 0 && row.thresholds.share <= 1))
    {
        throw Error(option + ": pmax", parts[2], "a number above 0, at most 1");
    }
    return row;
}

std::optional<EcnProfile> EcnProfile::FromText(const std::string& text, const std::string& option)
{
    if (text == "off")
    {
        return std::nullopt;
    }
    EcnProfile profile;
    for (const std::string& part : PartsOf(text, '+'))
    {
        profile.m_rows.push_back(ReadRow(part, option));
    }
    std::sort(profile.m_rows.begin(),
              profile.m_rows.end(),
              [](const Row& a, const Row& b) { return a.rate < b.rate; });
    for (size_t i = 1; i < profile.m_rows.size(); ++i)
    {
        if (profile.m_rows[0].rate == 0 || profile.m_rows[i].rate == profile.m_rows[i - 1].rate)
        {
            throw Error(option, text, "a rate for each of several, and each rate once");
        }
    }
    return profile;
}

EcnThresholds EcnProfile::Of(double rate) const
{
    const Row* row = &m_rows.front();
    for (const Row& candidate : m_rows)
    {
        row = candidate.rate <= rate ? &candidate : row;
    }
    const double scale = row->rate > 0 ? rate / row->rate : 1;
    return {row->thresholds.leastBytes * scale,
            row->thresholds.mostBytes * scale,
            row->thresholds.share};
}

} // namespace legacy::fabric
