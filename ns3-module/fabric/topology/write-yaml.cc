// Topologies as the project's own YAML, which can express all of them except for changes over time.
#include "base/error.h"
#include "write-formats.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <ostream>
#include <utility>

namespace legacy::fabric
{

namespace
{

/// Returns a name as YAML, in quotes if it could be read as something else.
std::string YamlName(const std::string& name)
{
    bool plain = !name.empty() && std::isalpha(static_cast<unsigned char>(name[0]));
    for (char c : name)
    {
        plain = plain && (std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-');
    }
    return plain && name != "null" && name != "Null" && name != "NULL" ? name : Quoted(name);
}

/// Writes the number of nodes if they are called <prefix>0, <prefix>1 and so on, else the list of
/// their names.
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

/// True where two links have the same text.
bool HaveSameText(const Link& one, const Link& other)
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

/// Writes a link up to its number and weight.
void WriteYamlLink(const Topology& topology, const Link& link, std::ostream& stream)
{
    stream << "  - {a: " << YamlName(topology.NodeName(link.a))
           << ", b: " << YamlName(topology.NodeName(link.b))
           << ", rate: " << EachWay(link, [](const Port& port) { return ExactRate(port.rateBps); })
           << ", delay: " << ExactTime(link.delay);
    const auto [there, back] = link.ports;
    if (there.queueBytes > 0 || back.queueBytes > 0)
    {
        stream << ", queue: "
               << EachWay(link, [](const Port& port) { return std::to_string(port.queueBytes); });
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
               << EachWay(link, [](const Port& port) { return std::to_string(port.burstBytes); });
    }
}

void WriteYamlRoutes(const Topology& topology, std::ostream& stream)
{
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

} // namespace

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
    WriteYamlNodes(topology, SwitchNodesOf(topology), "switches", "switch", stream);
    stream << "queue: 0\nlinks:\n";
    const std::vector<Link>& links = topology.Links();
    std::map<std::pair<int, int>, int> linked; // number of links between two nodes
    for (const Link& link : links)
    {
        ++linked[std::minmax({link.a, link.b})];
    }
    size_t count = 0;
    for (size_t i = 0; i < links.size(); i += count)
    {
        const Link& link = links[i];
        for (count = 1; i + count < links.size() && HaveSameText(link, links[i + count]);)
        {
            ++count;
        }
        WriteYamlLink(topology, link, stream);
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
    WriteYamlRoutes(topology, stream);
}

} // namespace legacy::fabric
