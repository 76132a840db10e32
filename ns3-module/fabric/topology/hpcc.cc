// Reader of the HPCC simulator's topology text, line by line. Nodes are made once all links are
// read and each host has one. The cost of a file is therefore proportional to its length, whatever
// its first line announces.
#include "fabric/base/error.h"
#include "fabric/base/text-file.h"
#include "fabric/base/units.h"
#include "file.h"
#include "graph.h"
#include "types.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace legacy::fabric
{

namespace
{

constexpr int kMaxHpccNodes = 1 << 20;
constexpr size_t kLinkWords = 5;

class HpccFile
{
  public:
    HpccFile(const std::string& path, std::string text)
        : m_path(path),
          m_lines(path, std::move(text))
    {
    }

    Topology Read()
    {
        ReadCounts();
        for (int i = 0; i < m_linkCount; ++i)
        {
            m_lines.Next("link " + std::to_string(i + 1) + " of " + std::to_string(m_linkCount) +
                             " as source, destination, rate, delay and error rate",
                         kLinkWords);
            ReadLink();
        }
        if (m_lines.Advance())
        {
            throw Error(m_lines.Location(0) + ": after the " + std::to_string(m_linkCount) +
                            " links that the first line announces",
                        m_lines.Line(),
                        "nothing");
        }
        CheckHosts();
        AddNodes();
        for (const auto& [link, location] : m_links)
        {
            AddLink(link, location);
        }
        return m_builder.Finish(m_path);
    }

    /// Returns the GPUs of a server, 0 where the header does not say.
    int Server() const
    {
        return m_server;
    }

  private:
    /// Reads the first line, HPCC's or SimAI's, and the numbers of the switches. SimAI's has six
    /// words: nodes, GPUs of a server, NVSwitches, other switches, links, and the GPU's type. The
    /// NVSwitches are the first of the switches that the second line lists.
    void ReadCounts()
    {
        constexpr size_t kHpccWords = 3;
        constexpr size_t kSimAiWords = 6;
        if (!m_lines.Advance() || m_lines.Count() != kSimAiWords)
        {
            m_lines.Again();
            m_lines.Next("the numbers of nodes, switches and links", kHpccWords);
            m_nodes = m_lines.Integer(0, "nodes", 1, kMaxHpccNodes);
            ReadSwitches(m_lines.Integer(1, "switches", 0, m_nodes - 1),
                         m_lines.Integer(2, "links", 0, TopologyBuild::kMaxLinks));
            return;
        }
        m_nodes = m_lines.Integer(0, "nodes", 1, kMaxHpccNodes);
        m_server = m_lines.Integer(1, "GPUs of a server", 1, m_nodes);
        const int nvSwitches = m_lines.Integer(2, "NVSwitches", 0, m_nodes - 1);
        const int switches = m_lines.Integer(3, "switches", 0, m_nodes - 1 - nvSwitches);
        ReadSwitches(nvSwitches + switches,
                     m_lines.Integer(4, "links", 0, TopologyBuild::kMaxLinks));
    }

    /// Reads the numbers of the switches, usually all in one line.
    void ReadSwitches(int count, int links)
    {
        m_linkCount = links;
        for (int read = 0; read < count;)
        {
            if (!m_lines.Advance())
            {
                throw Error(
                    m_lines.End(), "the end of the file", std::to_string(count) + " switches");
            }
            for (size_t word = 0; word < m_lines.Count(); ++word, ++read)
            {
                if (read == count)
                {
                    throw Error(m_lines.Location(word) + ": switches",
                                Shown(m_lines.Word(word)),
                                std::to_string(count) + " of them, as the first line says");
                }
                const int node = m_lines.Integer(word, "switch", 0, m_nodes - 1);
                if (!m_switchLocations.emplace(node, m_lines.Location(word)).second)
                {
                    throw Error(m_lines.Location(word) + ": switch",
                                Shown(m_lines.Word(word)),
                                "each switch once");
                }
            }
        }
    }

    /// Throws Error where a host has no link. Finish would throw it too, but only after all nodes
    /// that the first line announces had been made.
    void CheckHosts() const
    {
        std::set<int> linked;
        for (const auto& [link, location] : m_links)
        {
            linked.insert({link.a, link.b});
        }
        for (int i = 0; i < m_nodes; ++i)
        {
            if (m_switchLocations.count(i) == 0 && linked.count(i) == 0)
            {
                throw Error(m_path + ":1: links of host" + std::to_string(i),
                            "none",
                            "at least one for each host");
            }
        }
    }

    void AddNodes()
    {
        m_node.resize(m_nodes);
        for (int i = 0; i < m_nodes; ++i)
        {
            if (m_switchLocations.count(i) == 0)
            {
                m_node[i] = m_builder.AddHost("host" + std::to_string(i), m_path);
            }
        }
        for (const auto& [node, location] : m_switchLocations)
        {
            m_node[node] = m_builder.AddSwitch("switch" + std::to_string(node), location);
        }
    }

    /// Reads a link, whose ends are numbers of the file.
    void ReadLink()
    {
        const int a = m_lines.Integer(0, "source", 0, m_nodes - 1);
        const int b = m_lines.Integer(1, "destination", 0, m_nodes - 1);
        Port both;
        both.rateBps = ParseRate(Shown(m_lines.Word(2)), m_lines.Location(2) + ": rate");
        const TimeNs delay = ParseTime(Shown(m_lines.Word(3)), m_lines.Location(3) + ": delay");
        // Negated, so that NaN fails.
        if (!m_lines.Parse(4, both.errorRate) || !(both.errorRate >= 0 && both.errorRate < 1))
        {
            throw Error(
                m_lines.Location(4) + ": error rate", Shown(m_lines.Word(4)), "0 to below 1");
        }
        m_links.emplace_back(Link(a, b, delay, both), m_lines.Location(0));
    }

    void AddLink(Link link, const std::string& location)
    {
        link.a = m_node[link.a];
        link.b = m_node[link.b];
        m_builder.AddLink(link, 0, location);
    }

    std::string m_path;
    WordLines m_lines;
    int m_nodes = 0;
    int m_linkCount = 0;
    int m_server = 0;
    std::map<int, std::string> m_switchLocations;      ///< locations by number in the file
    std::vector<std::pair<Link, std::string>> m_links; ///< links with their locations
    std::vector<int> m_node;                           ///< nodes by number in the file
    GraphBuilder m_builder;
};

} // namespace

Topology ReadHpccFile(const std::string& path)
{
    return ReadHpccText(path, ReadText(path));
}

Topology ReadHpccText(const std::string& path, std::string text, int* server)
{
    HpccFile file(path, std::move(text));
    Topology topology = file.Read();
    if (server != nullptr)
    {
        *server = file.Server();
    }
    return topology;
}

} // namespace legacy::fabric
