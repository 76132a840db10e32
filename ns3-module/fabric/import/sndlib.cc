#include "sndlib.h"

#include "base/error.h"
#include "base/words.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace legacy::fabric
{

SndlibNetwork::SndlibNetwork(const std::string& path, int64_t unitBps)
    : m_given(unitBps > 0),
      m_unitBps(static_cast<double>(unitBps))
{
    m_map.path = path;
}

void SndlibNetwork::SetUnit(const std::string& unit, const std::string& where)
{
    if (m_given)
    {
        return;
    }
    constexpr std::pair<std::string_view, double> kPrefixes[] = {
        {"", 1}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}};
    for (const auto& [prefix, bitsPerSecond] : kPrefixes)
    {
        for (const std::string_view bits : {"BITPERSEC", "BITSPERSEC"})
        {
            if (unit == std::string(prefix) + std::string(bits))
            {
                m_unitBps = bitsPerSecond;
                return;
            }
        }
    }
    throw Error(where + ": unit",
                Shown(unit),
                "BITPERSEC or BITSPERSEC, alone or after K, M, G or T; or unit=1Mbps after the "
                "path");
}

void SndlibNetwork::Skip(const std::string& of, const std::string& name, int64_t count)
{
    m_map.report.Skip(of, name, count);
}

void SndlibNetwork::AddNode(const std::string& name,
                            double x,
                            double y,
                            bool geographical,
                            int line)
{
    MapNode node;
    node.name = OneLine(name);
    node.id = node.name;
    node.line = line;
    node.place = Place{y, x};
    m_geographical = m_geographical && geographical && std::abs(y) <= 90 && std::abs(x) <= 180;
    if (!m_nodes.emplace(name, static_cast<int>(m_map.nodes.size())).second)
    {
        throw Error(
            m_map.path + ":" + std::to_string(line) + ": node", Shown(name), "each node once");
    }
    m_map.nodes.push_back(std::move(node));
}

int SndlibNetwork::Find(const std::string& name, const char* what, const std::string& where) const
{
    const auto found = m_nodes.find(name);
    if (found == m_nodes.end())
    {
        throw Error(where + ": " + what, Shown(name), "a node of the file");
    }
    return found->second;
}

void SndlibNetwork::AddLine(const std::string& source,
                            const std::string& target,
                            double installed,
                            const std::vector<double>& modules,
                            const std::string& where,
                            int line)
{
    MapLine added;
    added.a = Find(source, "source of a link", where);
    added.b = Find(target, "target of a link", where);
    added.line = line;
    // A file lists both directions of a line, or only one that stands for both.
    added.directed = true;
    Capacity capacity{installed, where};
    if (installed == 0)
    {
        double smallest = INFINITY;
        for (const double module : modules)
        {
            smallest = module > 0 ? std::min(smallest, module) : smallest;
        }
        capacity.value = std::isfinite(smallest) ? smallest : 0;
        added.rateSource = capacity.value > 0 ? Assumed::ModuleSpeed : Assumed::Speed;
    }
    m_map.lines.push_back(added);
    m_capacities.push_back(std::move(capacity));
}

void SndlibNetwork::AddDemand(const std::string& source,
                              const std::string& target,
                              double value,
                              const std::string& where)
{
    m_map.demands.push_back(MapDemand{Find(source, "source of a demand", where),
                                      Find(target, "target of a demand", where),
                                      value});
}

NetworkMap SndlibNetwork::Finish()
{
    for (size_t i = 0; i < m_map.lines.size(); ++i)
    {
        const auto& [value, where] = m_capacities[i];
        if (value == 0)
        {
            continue;
        }
        if (m_unitBps == 0)
        {
            throw Error(where + ": capacity",
                        "a number of a unit that the file does not name",
                        "a unit in its META section, or unit=1Mbps after the path");
        }
        const double rate = value * m_unitBps;
        if (!(rate >= 1 && rate <= static_cast<double>(kMostRate)))
        {
            throw Error(where + ": capacity", "a rate beyond what links have", "1bps to 1000Tbps");
        }
        m_map.lines[i].rateBps.fill(std::llround(rate));
    }
    if (m_unitBps == 0 && !m_map.demands.empty())
    {
        throw Error(m_map.path + ":1: demands",
                    "a unit that the file does not name",
                    "a unit in its META section, or unit=1Mbps after the path");
    }
    for (MapDemand& demand : m_map.demands)
    {
        demand.bitsPerSecond *= m_unitBps;
    }
    if (!m_geographical)
    {
        for (MapNode& node : m_map.nodes)
        {
            node.place.reset();
        }
    }
    return std::move(m_map);
}

} // namespace legacy::fabric
