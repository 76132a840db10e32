// Reader of the HPCC simulator's topology text, line by line. Nodes are made once all links are
// read and each host has one. The cost of a file is therefore proportional to its length, whatever
// its first line announces.
#include "fabric/base/error.h"
#include "fabric/base/units.h"
#include "file.h"
#include "graph.h"
#include "types.h"

#include <algorithm>
#include <charconv>
#include <fstream>
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
    explicit HpccFile(const std::string& path) : m_path(path), m_file(path)
    {
        if (!m_file)
        {
            throw Error("topology", path, "a readable file, or a topology's name");
        }
    }

    Topology Read()
    {
        Next("the numbers of nodes, switches and links", 3);
        const int nodes = Integer(0, "nodes", 1, kMaxHpccNodes);
        const int switches = Integer(1, "switches", 0, nodes - 1);
        const int links = Integer(2, "links", 0, TopologyBuild::kMaxLinks);
        ReadSwitches(nodes, switches);
        for (int i = 0; i < links; ++i)
        {
            Next("link " + std::to_string(i + 1) + " of " + std::to_string(links) +
                     " as source, destination, rate, delay and error rate",
                 kLinkWords);
            ReadLink(nodes);
        }
        if (Advance())
        {
            throw Error(Location(0) + ": after the " + std::to_string(links) +
                            " links that the first line announces",
                        Line(),
                        "nothing");
        }
        CheckHosts(nodes);
        AddNodes(nodes);
        for (const auto& [link, location] : m_links)
        {
            AddLink(link, location);
        }
        return m_builder.Finish(m_path);
    }

  private:
    struct Word
    {
        std::string text;
        size_t column = 0;
    };

    /// Reads the words of the next line that has any. Returns false at the end of the file.
    bool Advance()
    {
        std::string line;
        m_words.clear();
        while (m_words.empty() && std::getline(m_file, line))
        {
            ++m_line;
            const char* spaces = " \t\r";
            size_t end = 0;
            for (size_t begin = line.find_first_not_of(spaces); begin != std::string::npos;
                 begin = line.find_first_not_of(spaces, end))
            {
                end = std::min(line.find_first_of(spaces, begin), line.size());
                m_words.push_back(Word{line.substr(begin, end - begin), begin + 1});
            }
        }
        return !m_words.empty();
    }

    /// Advances to a line of `count` words.
    void Next(const std::string& what, size_t count)
    {
        if (!Advance())
        {
            throw Error(m_path + ":" + std::to_string(m_line + 1), "the end of the file", what);
        }
        if (m_words.size() != count)
        {
            throw Error(Location(std::min(count, m_words.size() - 1)), Line(), what);
        }
    }

    /// Returns the words of the line, for messages.
    std::string Line() const
    {
        constexpr size_t kLongest = 60;
        std::string line;
        for (const Word& word : m_words)
        {
            line += (line.empty() ? "" : " ") + word.text;
        }
        return line.size() <= kLongest ? line : line.substr(0, kLongest) + "...";
    }

    std::string Location(size_t word) const
    {
        return m_path + ":" + std::to_string(m_line) + ":" + std::to_string(m_words[word].column);
    }

    template <typename Number>
    bool Parse(size_t word, Number& number) const
    {
        const std::string& text = m_words[word].text;
        const char* end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, number);
        return error == std::errc() && rest == end;
    }

    int Integer(size_t word, const std::string& what, int minimum, int maximum) const
    {
        int value = 0;
        if (!Parse(word, value) || value < minimum || value > maximum)
        {
            throw Error(Location(word) + ": " + what,
                        m_words[word].text,
                        "an integer from " + std::to_string(minimum) + " to " +
                            std::to_string(maximum));
        }
        return value;
    }

    /// Reads the numbers of the switches, usually all in one line.
    void ReadSwitches(int nodes, int count)
    {
        for (int read = 0; read < count;)
        {
            if (!Advance())
            {
                throw Error(m_path + ":" + std::to_string(m_line + 1),
                            "the end of the file",
                            std::to_string(count) + " switches");
            }
            for (size_t word = 0; word < m_words.size(); ++word, ++read)
            {
                if (read == count)
                {
                    throw Error(Location(word) + ": switches",
                                m_words[word].text,
                                std::to_string(count) + " of them, as the first line says");
                }
                const int node = Integer(word, "switch", 0, nodes - 1);
                if (!m_switchLocations.emplace(node, Location(word)).second)
                {
                    throw Error(
                        Location(word) + ": switch", m_words[word].text, "each switch once");
                }
            }
        }
    }

    /// Throws Error where a host has no link. Finish would throw it too, but only after all nodes
    /// that the first line announces had been made.
    void CheckHosts(int nodes) const
    {
        std::set<int> linked;
        for (const auto& [link, location] : m_links)
        {
            linked.insert({link.a, link.b});
        }
        for (int i = 0; i < nodes; ++i)
        {
            if (m_switchLocations.count(i) == 0 && linked.count(i) == 0)
            {
                throw Error(m_path + ": links of host" + std::to_string(i),
                            "none",
                            "at least one for each host");
            }
        }
    }

    void AddNodes(int nodes)
    {
        m_node.resize(nodes);
        for (int i = 0; i < nodes; ++i)
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
    void ReadLink(int nodes)
    {
        const int a = Integer(0, "source", 0, nodes - 1);
        const int b = Integer(1, "destination", 0, nodes - 1);
        Port both;
        both.rateBps = ParseRate(m_words[2].text, Location(2) + ": rate");
        const TimeNs delay = ParseTime(m_words[3].text, Location(3) + ": delay");
        // Negated, so that NaN fails.
        if (!Parse(4, both.errorRate) || !(both.errorRate >= 0 && both.errorRate < 1))
        {
            throw Error(Location(4) + ": error rate", m_words[4].text, "0 to below 1");
        }
        m_links.emplace_back(Link(a, b, delay, both), Location(0));
    }

    void AddLink(Link link, const std::string& location)
    {
        link.a = m_node[link.a];
        link.b = m_node[link.b];
        m_builder.AddLink(link, location);
    }

    std::string m_path;
    std::ifstream m_file;
    int m_line = 0;
    std::vector<Word> m_words;                         ///< words of the line
    std::map<int, std::string> m_switchLocations;      ///< locations by number in the file
    std::vector<std::pair<Link, std::string>> m_links; ///< links with their locations
    std::vector<int> m_node;                           ///< nodes by number in the file
    GraphBuilder m_builder;
};

} // namespace

Topology ReadHpccFile(const std::string& path)
{
    return HpccFile(path).Read();
}

} // namespace legacy::fabric
