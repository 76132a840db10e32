#include "base/error.h"
#include "file.h"
#include "write-formats.h"

#include <algorithm>
#include <charconv>
#include <ostream>
#include <set>
#include <utility>

namespace legacy::fabric
{

namespace
{

/// Returns `value` in the largest unit that divides it.
std::string
Exact(int64_t value, const std::vector<std::pair<int64_t, const char*>>& units, const char* base)
{
    for (const auto& [scale, unit] : units)
    {
        if (value != 0 && value % scale == 0)
        {
            return std::to_string(value / scale) + unit;
        }
    }
    return std::to_string(value) + base;
}

/// Throws Error on a link that has something the format hpcc cannot express.
void CheckHpcc(const Topology& topology, const Link& link)
{
    const std::string ends = topology.NodeName(link.a) + " - " + topology.NodeName(link.b);
    const auto refuse = [&](const std::string& what, const std::string& value)
    {
        throw Error(
            what + " of " + ends, value, "none in the format hpcc, which cannot say it; use yaml");
    };
    for (const Port& port : link.ports)
    {
        if (port.schedule)
        {
            refuse("schedule", FormatRate(port.rateBps) + " at most");
        }
        if (port.queueBytes != 0)
        {
            refuse("queue", FormatBytes(port.queueBytes));
        }
        if (port.usdPerGb > 0)
        {
            refuse("price", ExactReal(port.usdPerGb));
        }
        if (port.burstBytes > 0)
        {
            refuse("burst", FormatBytes(port.burstBytes));
        }
    }
    if (link.weight != 1)
    {
        refuse("weight", std::to_string(link.weight));
    }
    if (!link.Symmetric())
    {
        throw Error("link " + ends,
                    FormatRate(link.ports[0].rateBps) + " there, " +
                        FormatRate(link.ports[1].rateBps) + " back",
                    "the same rate and loss each way in the format hpcc; use yaml");
    }
}

void WriteHpcc(const Topology& topology, std::ostream& stream)
{
    for (const Link& link : topology.Links())
    {
        CheckHpcc(topology, link);
    }
    CheckRouting(topology, "hpcc");
    const std::vector<int> switches = SwitchNodesOf(topology);
    stream << topology.NodeCount() << " " << switches.size() << " " << topology.Links().size()
           << "\n";
    for (size_t i = 0; i < switches.size(); ++i)
    {
        stream << (i ? " " : "") << switches[i];
    }
    stream << "\n";
    for (const Link& link : topology.Links())
    {
        // Delays are in nanoseconds, as in the files of the HPCC simulator.
        stream << link.a << " " << link.b << " " << ExactRate(link.ports[0].rateBps) << " "
               << link.delay << "ns " << ExactReal(link.ports[0].errorRate) << "\n";
    }
}

void WriteDot(const Topology& topology, std::ostream& stream)
{
    stream << "graph " << Quoted(topology.Name()) << " {\n";
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        stream << "  n" << node << " [label=" << Quoted(topology.NodeName(node))
               << (topology.IsHost(node) ? ", shape=ellipse" : ", shape=box") << "];\n";
    }
    for (const Link& link : topology.Links())
    {
        stream << "  n" << link.a << " -- n" << link.b << " [label=\""
               << EachWay(link, [](const Port& port) { return FormatRate(port.rateBps); }) << ", "
               << FormatTime(link.delay)
               << (link.weight != 1 ? ", weight " + std::to_string(link.weight) : "") << "\"];\n";
    }
    stream << "}\n";
}

} // namespace

std::string ExactRate(int64_t bitsPerSecond)
{
    return Exact(
        bitsPerSecond, {{1'000'000'000, "Gbps"}, {1'000'000, "Mbps"}, {1'000, "kbps"}}, "bps");
}

std::string ExactTime(TimeNs time)
{
    return Exact(time, {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}}, "ns");
}

std::string ExactReal(double value)
{
    char buffer[32];
    return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

std::string Quoted(const std::string& text)
{
    std::string quoted = "\"";
    for (char c : text)
    {
        if (c == '"' || c == '\\')
        {
            quoted += '\\';
        }
        quoted += c;
    }
    return quoted + "\"";
}

std::vector<int> SwitchNodesOf(const Topology& topology)
{
    std::vector<int> switches;
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        if (!topology.IsHost(node))
        {
            switches.push_back(node);
        }
    }
    return switches;
}

void CheckRouting(const Topology& topology, const std::string& format)
{
    std::set<std::pair<int, int>> linked;
    for (const Link& link : topology.Links())
    {
        if (!linked.insert(std::minmax({link.a, link.b})).second)
        {
            throw Error("links between " + topology.NodeName(link.a) + " and " +
                            topology.NodeName(link.b),
                        "several",
                        "one in the format " + format + "; use yaml");
        }
    }
    if (!topology.Routes().empty())
    {
        throw Error("explicit routes",
                    std::to_string(topology.Routes().size()),
                    "none in the format " + format + ", which cannot say them; use yaml");
    }
}

TopologyFormat ParseTopologyFormat(const std::string& text)
{
    if (text == "yaml")
    {
        return TopologyFormat::Yaml;
    }
    if (text == "hpcc")
    {
        return TopologyFormat::Hpcc;
    }
    if (text == "graphml")
    {
        return TopologyFormat::Graphml;
    }
    if (text == "dot")
    {
        return TopologyFormat::Dot;
    }
    throw Error("topology format", text, "yaml, hpcc, graphml, dot");
}

void WriteTopology(const Topology& topology, TopologyFormat format, std::ostream& stream)
{
    switch (format)
    {
    case TopologyFormat::Yaml:
        WriteYaml(topology, stream);
        break;
    case TopologyFormat::Hpcc:
        WriteHpcc(topology, stream);
        break;
    case TopologyFormat::Graphml:
        WriteGraphml(topology, stream);
        break;
    case TopologyFormat::Dot:
        WriteDot(topology, stream);
        break;
    }
}

} // namespace legacy::fabric
