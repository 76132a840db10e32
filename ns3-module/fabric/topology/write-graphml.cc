// Topologies as GraphML, with the attribute names of the Internet Topology Zoo and some of our own.
#include "base/error.h"
#include "write-formats.h"

#include <ostream>

namespace legacy::fabric
{

namespace
{

/// A GraphmlKey declares a value of nodes or edges.
struct GraphmlKey
{
    const char* name;
    const char* domain;
    const char* type;
};
constexpr GraphmlKey kGraphmlKeys[] = {{"label", "node", "string"},
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

void WriteData(std::ostream& stream, const std::string& key, const std::string& value)
{
    stream << "<data key=\"" << key << "\">" << value << "</data>";
}

/// Throws Error on a port that has something the format cannot express.
void CheckGraphmlPort(const Topology& topology, const Link& link, const Port& port)
{
    if (port.schedule)
    {
        throw Error("schedule of " + topology.NodeName(link.a) + " - " + topology.NodeName(link.b),
                    FormatRate(port.rateBps) + " at most",
                    "none in the format graphml, which cannot say it; use yaml");
    }
    if (port.burstBytes > 0)
    {
        throw Error("burst of " + topology.NodeName(link.a) + " - " + topology.NodeName(link.b),
                    FormatBytes(port.burstBytes),
                    "none in the format graphml, which cannot say it; use yaml");
    }
}

void WriteGraphmlEdge(const Topology& topology, const Link& link, std::ostream& stream)
{
    stream << "    <edge source=\"n" << link.a << "\" target=\"n" << link.b << "\">";
    if (link.weight != 1)
    {
        throw Error("weight of " + topology.NodeName(link.a) + " - " + topology.NodeName(link.b),
                    std::to_string(link.weight),
                    "none in the format graphml, which cannot say it; use yaml");
    }
    WriteData(stream, "LinkDelayNs", std::to_string(link.delay));
    for (int way = 0; way < 2; ++way)
    {
        const Port& port = link.ports[way];
        const std::string back = way == 0 ? "" : "Back";
        CheckGraphmlPort(topology, link, port);
        WriteData(stream, "LinkSpeedRaw" + back, std::to_string(port.rateBps));
        WriteData(stream, "LinkQueueBytes" + back, std::to_string(port.queueBytes));
        if (port.errorRate > 0)
        {
            WriteData(stream, "LinkErrorRate" + back, ExactReal(port.errorRate));
        }
        if (port.usdPerGb > 0)
        {
            WriteData(stream, "LinkUsdPerGb" + back, ExactReal(port.usdPerGb));
        }
    }
    stream << "</edge>\n";
}

} // namespace

void WriteGraphml(const Topology& topology, std::ostream& stream)
{
    CheckRouting(topology, "graphml");
    stream << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
              "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n";
    for (const GraphmlKey& key : kGraphmlKeys)
    {
        stream << "  <key id=\"" << key.name << "\" for=\"" << key.domain << "\" attr.name=\""
               << key.name << "\" attr.type=\"" << key.type << "\"/>\n";
    }
    stream << "  <graph edgedefault=\"undirected\">\n";
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        stream << "    <node id=\"n" << node << "\">";
        WriteData(stream, "label", XmlText(topology.NodeName(node)));
        WriteData(stream, "NodeKind", topology.IsHost(node) ? "host" : "switch");
        stream << "</node>\n";
    }
    for (const Link& link : topology.Links())
    {
        WriteGraphmlEdge(topology, link, stream);
    }
    stream << "  </graph>\n</graphml>\n";
}

} // namespace legacy::fabric
