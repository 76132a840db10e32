// Reader of the topology text of the HPCC simulator, and of the formats derived from it, line by
// line. Nodes are made after all links have been read and each host has one. The cost of a file is
// therefore proportional to its length, whatever numbers its first line announces.
#include "base/error.h"
#include "base/units.h"
#include "base/words.h"
#include "data-centre.h"
#include "fabric/topology/graph.h"
#include "fabric/topology/types.h"

#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace legacy::fabric
{

namespace
{

constexpr int kMaxHpccNodes = 1 << 20;
constexpr size_t kLinkWords = 5;

/// Reads a rate as ns-3's DataRate does: a plain number is in bit/s, "Gb/s" is "Gbps", a capital B
/// counts bytes, and an i after the prefix means powers of 1024. Throws Error as ParseRate does.
int64_t NsRate(const std::string& text, const std::string& where)
{
    double number = 0;
    const char* end = text.data() + text.size();
    std::string_view unit(std::from_chars(text.data(), end, number).ptr, 0);
    unit = std::string_view(unit.data(), static_cast<size_t>(end - unit.data()));
    constexpr std::string_view kPrefixes = "kMGT";
    if (!unit.empty())
    {
        const size_t prefix = kPrefixes.find(unit[0] == 'K' ? 'k' : unit[0]);
        const size_t power = prefix == std::string_view::npos ? 0 : prefix + 1;
        unit.remove_prefix(power > 0 ? 1 : 0);
        const bool binary = power > 0 && !unit.empty() && unit[0] == 'i';
        unit.remove_prefix(binary ? 1 : 0);
        number *= std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power));
        number *= !unit.empty() && unit[0] == 'B' ? 8 : 1;
        if (unit != "bps" && unit != "b/s" && unit != "Bps" && unit != "B/s")
        {
            number = 0;
        }
    }
    return number >= 1 && number <= static_cast<double>(kMostRate) ? std::llround(number)
                                                                   : ParseRate(text, where);
}

/// Reads a time as ns-3's Time does: a plain number is in seconds.
TimeNs NsTime(const std::string& text, const std::string& where)
{
    const bool bare = !text.empty() && text.find_first_not_of("0123456789.eE+-") == text.npos;
    return ParseTime(bare ? text + "s" : text, where);
}

class HpccFile
{
  public:
    HpccFile(const std::string& path, std::string text)
        : m_path(path),
          m_lines(path, std::move(text))
    {
    }

    ImportedTopology Read()
    {
        ReadCounts();
        for (int i = 0; i < m_linkCount; ++i)
        {
            m_lines.Next("link " + std::to_string(i + 1) + " of " + std::to_string(m_linkCount) +
                             " as source, destination, rate, delay and error rate",
                         kLinkWords);
            ReadLink();
        }
        // These simulators read as many links as the first line announces, and ignore the rest.
        int64_t rest = 0;
        while (m_lines.Advance())
        {
            ++rest;
        }
        m_result.report.Skip("the file",
                             "lines after the " + CountOf(m_linkCount, "link", "links") +
                                 " announced",
                             rest);
        CheckHosts();
        AddNodes();
        for (const auto& [link, location] : m_links)
        {
            AddLink(link, location);
        }
        m_result.topology = m_builder.Finish(m_path);
        m_result.channels = m_result.server;
        return std::move(m_result);
    }

  private:
    bool Numbers() const
    {
        double number = 0;
        for (size_t word = 0; word < m_lines.Count(); ++word)
        {
            if (!m_lines.Parse(word, number))
            {
                return false;
            }
        }
        return true;
    }

    /// Reads the first line and the numbers of the switches. The line has
    /// * three words in HPCC: nodes, switches, links;
    /// * four or six numbers in ns3-datacenter: nodes, switches, those of them that are ToRs,
    ///   links, and the rates of leaves and spines, which each link states again;
    /// * four numbers with optical switches: nodes, electric and optical switches, links;
    /// * six words in SimAI: nodes, GPUs of a server, NVSwitches, other switches, links, and the
    ///   GPU's type. The NVSwitches are the first of the switches that follow.
    void ReadCounts()
    {
        constexpr size_t kHpccWords = 3;
        constexpr size_t kTorWords = 4;
        constexpr size_t kRateWords = 6;
        const bool any = m_lines.Advance();
        const bool tors =
            any && Numbers() && (m_lines.Count() == kTorWords || m_lines.Count() == kRateWords);
        const bool simAi = any && !Numbers() && m_lines.Count() == kRateWords;
        if (!tors && !simAi)
        {
            m_lines.Again();
            m_lines.Next("the numbers of nodes, switches and links", kHpccWords);
        }
        m_nodes = m_lines.Integer(0, "nodes", 1, kMaxHpccNodes);
        const auto switches = [this](size_t word, const char* what, int others = 0)
        { return m_lines.Integer(word, what, 0, m_nodes - 1 - others); };
        const auto links = [this](size_t word)
        { m_linkCount = m_lines.Integer(word, "links", 0, TopologyBuild::kMaxLinks); };
        if (simAi)
        {
            m_result.server = m_lines.Integer(1, "GPUs of a server", 1, m_nodes);
            const int nvSwitches = switches(2, "NVSwitches");
            const int others = switches(3, "switches", nvSwitches);
            links(4);
            m_result.report.Skip("the file", "type of GPU");
            ReadSwitches(nvSwitches + others);
            return;
        }
        const int count = switches(1, "switches");
        if (!tors)
        {
            links(2);
            ReadSwitches(count);
            return;
        }
        const int second = switches(2, "ToRs or optical switches");
        links(3);
        const bool rates = m_lines.Count() == kRateWords;
        const bool optical = !rates && SwitchesListed() == count + second;
        m_result.report.Skip("the file", optical ? "kind of switches" : "number of ToRs");
        m_result.report.Skip("the file", "rates of leaves and spines", rates ? 1 : 0);
        if (count + second >= m_nodes && optical)
        {
            throw Error(m_path + ":1: switches",
                        std::to_string(count + second),
                        "fewer than the " + CountOf(m_nodes, "node", "nodes"));
        }
        ReadSwitches(optical ? count + second : count);
    }

    /// Returns the number of words in the line of switches, which the next call reads again.
    int SwitchesListed()
    {
        const int words = m_lines.Advance() ? static_cast<int>(m_lines.Count()) : 0;
        m_lines.Again();
        return words;
    }

    /// Reads the numbers of the switches, usually all in one line.
    void ReadSwitches(int count)
    {
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

    /// Throws Error if a host has no link. Finish would throw it too, but only after making all the
    /// nodes that the first line announced.
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
        for (int i = 0; i < m_nodes; ++i)
        {
            m_result.numbers.emplace(i, m_node[i]);
        }
    }

    /// Reads a link, whose ends are node numbers of the file.
    void ReadLink()
    {
        const int a = m_lines.Integer(0, "source", 0, m_nodes - 1);
        const int b = m_lines.Integer(1, "destination", 0, m_nodes - 1);
        Port both;
        both.rateBps = NsRate(Shown(m_lines.Word(2)), m_lines.Location(2) + ": rate");
        const TimeNs delay = NsTime(Shown(m_lines.Word(3)), m_lines.Location(3) + ": delay");
        // The condition is negated so that NaN fails.
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
    std::map<int, std::string> m_switchLocations;      ///< locations by number in the file
    std::vector<std::pair<Link, std::string>> m_links; ///< links with their locations
    std::vector<int> m_node; ///< nodes of the topology, by number in the file
    GraphBuilder m_builder;
    ImportedTopology m_result;
};

} // namespace

ImportedTopology ReadHpccText(const std::string& path, std::string text)
{
    return HpccFile(path, std::move(text)).Read();
}

} // namespace legacy::fabric
