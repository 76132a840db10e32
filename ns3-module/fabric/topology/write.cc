#include "base/error.h"
#include "file.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
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

std::string ExactRate(int64_t bitsPerSecond)
{
    return Exact(
        bitsPerSecond, {{1'000'000'000, "Gbps"}, {1'000'000, "Mbps"}, {1'000, "kbps"}}, "bps");
}

std::string ExactTime(TimeNs time)
{
    return Exact(time, {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}}, "ns");
}

/// Returns the shortest text that reads back as `value`.
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

/// Returns a name as YAML, in quotes where it could be read as something else.
std::string YamlName(const std::string& name)
{
    bool plain = !name.empty() && std::isalpha(static_cast<unsigned char>(name[0]));
    for (char c : name)
    {
        plain = plain && (std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-');
    }
    return plain && name != "null" && name != "Null" && name != "NULL" ? name : Quoted(name);
}

/// Writes the number of nodes where they are called <prefix>0, <prefix>1 and so on, else the list
/// of their names.
void WriteYamlNodes(const Topology& topology,
                    const std::vector<int>& nodes,
                    const std::string& key,
                    const std::string& prefix,
                    std::ostream& stream)
{
    constexpr size_t kPerLine = 12;
    bool counted = true;
    for (size_t i = 0; i < nodes.size(); ++i)
    {
        counted = counted && topology.NodeName(nodes[i]) == prefix + std::to_string(i);
    }
    stream << key << ": ";
    if (counted)
    {
        stream << nodes.size() << "\n";
        return;
    }
    for (size_t i = 0; i < nodes.size(); ++i)
    {
        stream << (i == 0              ? "["
                   : i % kPerLine == 0 ? ",\n  "
                                       : ", ")
               << YamlName(topology.NodeName(nodes[i]));
    }
    stream << "]\n";
}

std::vector<int> Switches(const Topology& topology)
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

/// Returns the text of both directions: one where they are equal, else "there/back".
template <typename Text>
std::string EachWay(const Link& link, Text text)
{
    const std::string there = text(link.ports[0]);
    const std::string back = text(link.ports[1]);
    return there == back ? there : there + "/" + back;
}

/// Throws Error on a link that has what the format hpcc cannot say.
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

/// Throws Error on links in parallel and explicit routes, which no format but yaml can say.
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

/// True where two links have the same text.
bool Equal(const Link& one, const Link& other)
{
    const auto same = [](const Port& a, const Port& b)
    {
        return a.rateBps == b.rateBps && a.queueBytes == b.queueBytes &&
               a.errorRate == b.errorRate && a.usdPerGb == b.usdPerGb &&
               a.burstBytes == b.burstBytes;
    };
    return one.a == other.a && one.b == other.b && one.delay == other.delay &&
           one.weight == other.weight && same(one.ports[0], other.ports[0]) &&
           same(one.ports[1], other.ports[1]);
}

void WriteYaml(const Topology& topology, std::ostream& stream)
{
    if (topology.HasSchedules())
    {
        throw Error("topology " + topology.Name(),
                    "rates that change over time",
                    "constant rates in files that are written: add `changes` to them by hand");
    }
    stream << "type: links\nname: " << YamlName(topology.Name()) << "\n";
    WriteYamlNodes(topology, topology.Hosts(), "hosts", "host", stream);
    WriteYamlNodes(topology, Switches(topology), "switches", "switch", stream);
    stream << "queue: 0\nlinks:\n";
    const std::vector<Link>& links = topology.Links();
    std::map<std::pair<int, int>, int> linked; // links between two nodes
    for (const Link& link : links)
    {
        ++linked[std::minmax({link.a, link.b})];
    }
    size_t count = 0;
    for (size_t i = 0; i < links.size(); i += count)
    {
        const Link& link = links[i];
        for (count = 1; i + count < links.size() && Equal(link, links[i + count]);)
        {
            ++count;
        }
        stream << "  - {a: " << YamlName(topology.NodeName(link.a))
               << ", b: " << YamlName(topology.NodeName(link.b)) << ", rate: "
               << EachWay(link, [](const Port& port) { return ExactRate(port.rateBps); })
               << ", delay: " << ExactTime(link.delay);
        const auto [there, back] = link.ports;
        if (there.queueBytes > 0 || back.queueBytes > 0)
        {
            stream << ", queue: "
                   << EachWay(link,
                              [](const Port& port) { return std::to_string(port.queueBytes); });
        }
        if (there.errorRate > 0 || back.errorRate > 0)
        {
            stream << ", error: "
                   << EachWay(link, [](const Port& port) { return ExactReal(port.errorRate); });
        }
        if (there.usdPerGb > 0 || back.usdPerGb > 0)
        {
            stream << ", price: "
                   << EachWay(link, [](const Port& port) { return ExactReal(port.usdPerGb); });
        }
        if (there.burstBytes > 0 || back.burstBytes > 0)
        {
            stream << ", burst: "
                   << EachWay(link,
                              [](const Port& port) { return std::to_string(port.burstBytes); });
        }
        if (linked[std::minmax({link.a, link.b})] > 1)
        {
            stream << ", count: " << count;
        }
        if (link.weight != 1)
        {
            stream << ", weight: " << link.weight;
        }
        stream << "}\n";
    }
    if (!topology.Routes().empty())
    {
        stream << "routes:\n";
    }
    for (const auto& [ends, via] : topology.Routes())
    {
        stream << "  - {from: " << YamlName(topology.NodeName(ends.first))
               << ", to: " << YamlName(topology.NodeName(ends.second)) << ", via: [";
        for (size_t i = 0; i < via.size(); ++i)
        {
            stream << (i > 0 ? ", " : "") << YamlName(topology.NodeName(via[i]));
        }
        stream << "]}\n";
    }
}

void WriteHpcc(const Topology& topology, std::ostream& stream)
{
    for (const Link& link : topology.Links())
    {
        CheckHpcc(topology, link);
    }
    CheckRouting(topology, "hpcc");
    const std::vector<int> switches = Switches(topology);
    stream << topology.NodeCount() << " " << switches.size() << " " << topology.Links().size()
           << "\n";
    for (size_t i = 0; i < switches.size(); ++i)
    {
        stream << (i ? " " : "") << switches[i];
    }
    stream << "\n";
    for (const Link& link : topology.Links())
    {
        // Nanoseconds, as in the files of the HPCC simulator.
        stream << link.a << " " << link.b << " " << ExactRate(link.ports[0].rateBps) << " "
               << link.delay << "ns " << ExactReal(link.ports[0].errorRate) << "\n";
    }
}

/// Returns the text as content of an XML element.
std::string XmlText(const std::string& text)
{
    std::string escaped;
    for (const char c : text)
    {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
        {
            throw Error(
                "name of a node in the format graphml", "a control character", "none; use yaml");
        }
        escaped += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
    }
    return escaped;
}

void WriteGraphml(const Topology& topology, std::ostream& stream)
{
    struct Key
    {
        const char* name;
        const char* domain;
        const char* type;
    };
    constexpr Key kKeys[] = {{"label", "node", "string"},
                             {"NodeKind", "node", "string"},
                             {"LinkDelayNs", "edge", "long"},
                             {"LinkSpeedRaw", "edge", "long"},
                             {"LinkSpeedRawBack", "edge", "long"},
                             {"LinkQueueBytes", "edge", "long"},
                             {"LinkQueueBytesBack", "edge", "long"},
                             {"LinkErrorRate", "edge", "double"},
                             {"LinkErrorRateBack", "edge", "double"},
                             {"LinkUsdPerGb", "edge", "double"},
                             {"LinkUsdPerGbBack", "edge", "double"}};
    CheckRouting(topology, "graphml");
    stream << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
              "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
    for (const Key& key : kKeys)
    {
        stream << "  <key id=\"" << key.name << "\" for=\"" << key.domain << "\" attr.name=\""
               << key.name << "\" attr.type=\"" << key.type << "\"/>\n";
    }
    const auto data = [&stream](const std::string& key, const std::string& value)
    { stream << "<data key=\"" << key << "\">" << value << "</data>"; };
    stream << "  <graph edgedefault=\"undirected\">\n";
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        stream << "    <node id=\"n" << node << "\">";
        data("label", XmlText(topology.NodeName(node)));
        data("NodeKind", topology.IsHost(node) ? "host" : "switch");
        stream << "</node>\n";
    }
    for (const Link& link : topology.Links())
    {
        stream << "    <edge source=\"n" << link.a << "\" target=\"n" << link.b << "\">";
        if (link.weight != 1)
        {
            throw Error("weight of " + topology.NodeName(link.a) + " - " +
                            topology.NodeName(link.b),
                        std::to_string(link.weight),
                        "none in the format graphml, which cannot say it; use yaml");
        }
        data("LinkDelayNs", std::to_string(link.delay));
        for (int way = 0; way < 2; ++way)
        {
            const Port& port = link.ports[way];
            const std::string back = way == 0 ? "" : "Back";
            if (port.schedule)
            {
                throw Error("schedule of " + topology.NodeName(link.a) + " - " +
                                topology.NodeName(link.b),
                            FormatRate(port.rateBps) + " at most",
                            "none in the format graphml, which cannot say it; use yaml");
            }
            if (port.burstBytes > 0)
            {
                throw Error("burst of " + topology.NodeName(link.a) + " - " +
                                topology.NodeName(link.b),
                            FormatBytes(port.burstBytes),
                            "none in the format graphml, which cannot say it; use yaml");
            }
            data("LinkSpeedRaw" + back, std::to_string(port.rateBps));
            data("LinkQueueBytes" + back, std::to_string(port.queueBytes));
            if (port.errorRate > 0)
            {
                data("LinkErrorRate" + back, ExactReal(port.errorRate));
            }
            if (port.usdPerGb > 0)
            {
                data("LinkUsdPerGb" + back, ExactReal(port.usdPerGb));
            }
        }
        stream << "</edge>\n";
    }
    stream << "  </graph>\n</graphml>\n";
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
