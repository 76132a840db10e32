#include "import.h"

#include <algorithm>

namespace legacy::fabric
{

namespace
{

/// The words for what a kind counts, in singular and plural.
struct Thing
{
    const char* one;
    const char* many;
};

Thing ThingOf(Assumed kind)
{
    switch (kind)
    {
    case Assumed::Speed:
        return {"speed", "speeds"};
    case Assumed::LabelledSpeed:
        return {"speed from a label", "speeds from labels"};
    case Assumed::ModuleSpeed:
        return {"speed from a module", "speeds from modules"};
    case Assumed::Length:
        return {"delay from a length", "delays from lengths"};
    case Assumed::Distance:
        return {"delay from a distance", "delays from distances"};
    case Assumed::Place:
        return {"place", "places"};
    case Assumed::Delay:
        return {"delay", "delays"};
    case Assumed::Parallel:
        return {"parallel line", "parallel lines"};
    case Assumed::Loop:
        return {"dropped loop", "dropped loops"};
    case Assumed::Label:
        return {"changed name", "changed names"};
    case Assumed::Component:
        return {"node left out", "nodes left out"};
    case Assumed::Hyperedge:
        return {"shared medium", "shared media"};
    case Assumed::RoundTrip:
        return {"round-trip time", "round-trip times"};
    case Assumed::Price:
        return {"missing price", "missing prices"};
    case Assumed::Suspect:
        return {"suspect pair", "suspect pairs"};
    case Assumed::MissingPair:
        return {"missing pair", "missing pairs"};
    case Assumed::Latency:
        return {"switch latency", "switch latencies"};
    }
    return {"", ""};
}

} // namespace

void ImportReport::Add(Assumed kind, int64_t count, const std::string& text)
{
    if (count > 0)
    {
        m_all.push_back(Assumption{kind, count, text});
    }
}

const std::vector<Assumption>& ImportReport::All() const
{
    return m_all;
}

bool ImportReport::Empty() const
{
    return m_all.empty();
}

int64_t ImportReport::Count(Assumed kind) const
{
    int64_t count = 0;
    for (const Assumption& assumption : m_all)
    {
        count += assumption.kind == kind ? assumption.count : 0;
    }
    return count;
}

std::string ImportReport::Short() const
{
    std::string text;
    for (const Assumption& assumption : m_all)
    {
        const Thing thing = ThingOf(assumption.kind);
        text += (text.empty() ? "" : ", ") + CountOf(assumption.count, thing.one, thing.many);
    }
    return text;
}

void ImportReport::Skip(const std::string& of,
                        const std::string& name,
                        int64_t count,
                        const std::string& why)
{
    if (count <= 0)
    {
        return;
    }
    const auto [entry, added] = m_positions.emplace(std::tuple(of, name, why), m_skipped.size());
    if (added)
    {
        m_skipped.push_back(Skipped{of, name, why, 0});
    }
    m_skipped[entry->second].count += count;
}

std::string ImportReport::Unused() const
{
    std::vector<std::string> groups;
    for (const Skipped& one : m_skipped)
    {
        if (std::find(groups.begin(), groups.end(), one.of) == groups.end())
        {
            groups.push_back(one.of);
        }
    }
    std::string text;
    for (const std::string& group : groups)
    {
        text += (text.empty() ? "of " : "; of ") + group + ":";
        const char* separator = " ";
        for (const Skipped& one : m_skipped)
        {
            if (one.of != group)
            {
                continue;
            }
            text += separator + one.name + " (" + std::to_string(one.count) +
                    (one.why.empty() ? "" : ", " + one.why) + ")";
            separator = ", ";
        }
    }
    return text;
}

std::string CountOf(int64_t count, const std::string& one, const std::string& many)
{
    return std::to_string(count) + " " + (count == 1 ? one : many);
}

} // namespace legacy::fabric
