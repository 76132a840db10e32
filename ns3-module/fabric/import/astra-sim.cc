#include "data-centre.h"

#include "base/error.h"
#include "base/files/text_file.h"
#include "base/files/yaml_text.h"
#include "base/words.h"
#include "fabric/topology/types.h"

#include <cmath>
#include <filesystem>
#include <map>
#include <vector>
#include <yaml-cpp/yaml.h>

namespace legacy::fabric
{

namespace
{

constexpr size_t kMostDimensions = 8;

enum class AstraBlock
{
    Ring,
    FullyConnected,
    Switch,
};

/// An AstraDimension is one entry of the file's lists.
struct AstraDimension
{
    AstraBlock block = AstraBlock::Ring;
    int npus = 0;
    int64_t rateBps = 0;
    TimeNs latency = 0;
};

class AstraSimFile
{
  public:
    AstraSimFile(const std::string& path, Settings& options, const LinkDefaults& defaults)
        : m_path(path),
          m_defaults(defaults)
    {
        const std::string unit = options.Text("unit", "GB");
        if (unit != "GB" && unit != "GiB")
        {
            throw Error(options.Location("unit"), Shown(unit), "GB, GiB");
        }
        m_byte = unit == "GB" ? 1e9 : 0x1p30;
        try
        {
            Parse(LoadYaml(ReadText(path)));
        }
        catch (const YAML::Exception& error)
        {
            throw Error(Place(error.mark) + ": " + OneLine(error.msg));
        }
    }

    ImportedTopology Read()
    {
        AddNpus();
        int64_t step = 1; // distance of neighbours in the dimension
        for (const AstraDimension& dimension : m_dimensions)
        {
            AddDimension(dimension, static_cast<int>(step));
            step *= dimension.npus;
        }
        m_result.server = m_dimensions.size() > 1 ? m_dimensions[0].npus : 0;
        m_result.topology.SetName(OneLine(std::filesystem::path(m_path).stem().string()));
        return std::move(m_result);
    }

  private:
    std::string Place(const YAML::Mark& mark) const
    {
        return MarkLocation(m_path, mark);
    }

    /// Returns the entries of a list. A single value is a list with one entry.
    std::vector<YAML::Node> List(const YAML::Node& root, const char* key) const
    {
        const YAML::Node node = root[key];
        if (!node)
        {
            throw Error(m_path + ":1: " + key, "none", "a list, an entry for each dimension");
        }
        std::vector<YAML::Node> entries;
        if (node.IsScalar())
        {
            entries.push_back(node);
        }
        for (const YAML::Node& entry : node.IsSequence() ? node : YAML::Node())
        {
            if (!entry.IsScalar())
            {
                throw Error(Place(entry.Mark()) + ": " + key, "no value", "one value");
            }
            entries.push_back(entry);
        }
        if (entries.empty() || entries.size() > kMostDimensions)
        {
            throw Error(Place(node.Mark()) + ": " + key,
                        std::to_string(entries.size()) + " entries",
                        "1 to " + std::to_string(kMostDimensions));
        }
        return entries;
    }

    void Parse(const YAML::Node& root)
    {
        if (!root.IsMap())
        {
            throw Error(Place(root.Mark()), "no map", "topology, npus_count, bandwidth, latency");
        }
        for (const auto& entry : root)
        {
            const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
            if (key != "topology" && key != "npus_count" && key != "bandwidth" && key != "latency")
            {
                throw Error(Place(entry.first.Mark()) + ": key",
                            Shown(key),
                            "topology, npus_count, bandwidth, latency");
            }
        }
        const std::vector<YAML::Node> blocks = List(root, "topology");
        const std::map<std::string, std::vector<YAML::Node>> numbers{
            {"npus_count", List(root, "npus_count")},
            {"bandwidth", List(root, "bandwidth")},
            {"latency", List(root, "latency")}};
        for (const auto& [key, list] : numbers)
        {
            if (list.size() != blocks.size())
            {
                throw Error(Place(list[0].Mark()) + ": " + key,
                            std::to_string(list.size()) + " entries",
                            std::to_string(blocks.size()) + ", as topology has");
            }
        }
        for (size_t i = 0; i < blocks.size(); ++i)
        {
            AddDimension(blocks[i],
                         numbers.at("npus_count")[i],
                         numbers.at("bandwidth")[i],
                         numbers.at("latency")[i]);
        }
        m_links = 0;
        for (const AstraDimension& dimension : m_dimensions)
        {
            m_links += LinksOf(dimension) * (m_npus / dimension.npus);
        }
        if (m_links > TopologyBuild::kMaxLinks)
        {
            throw Error(Place(blocks[0].Mark()) + ": topology",
                        std::to_string(m_links) + " links",
                        "at most " + std::to_string(TopologyBuild::kMaxLinks));
        }
    }

    /// Adds a dimension, and its NPUs and links to the totals.
    void AddDimension(const YAML::Node& block,
                      const YAML::Node& npus,
                      const YAML::Node& bandwidth,
                      const YAML::Node& latency)
    {
        const auto real = [&](const YAML::Node& node, const char* key, double least, double most)
        { return ParseReal(node.Scalar(), Place(node.Mark()) + ": " + key, least, most); };
        AstraDimension dimension;
        dimension.block = BlockOf(block);
        dimension.npus = static_cast<int>(ParseWhole(
            npus.Scalar(), Place(npus.Mark()) + ": npus_count", 1, TopologyBuild::kMaxHosts));
        dimension.rateBps = std::llround(8 * m_byte * real(bandwidth, "bandwidth", 1e-6, 1e5));
        dimension.latency = std::llround(real(latency, "latency", 0, 1e12));
        m_npus *= dimension.npus;
        if (m_npus > TopologyBuild::kMaxHosts)
        {
            throw Error(Place(npus.Mark()) + ": npus_count",
                        std::to_string(m_npus) + " in all",
                        "at most " + std::to_string(TopologyBuild::kMaxHosts));
        }
        m_links += LinksOf(dimension);
        if (m_links > TopologyBuild::kMaxLinks)
        {
            throw Error(Place(block.Mark()) + ": topology",
                        std::to_string(m_links) + " links in all or more",
                        "at most " + std::to_string(TopologyBuild::kMaxLinks));
        }
        m_dimensions.push_back(dimension);
    }

    AstraBlock BlockOf(const YAML::Node& node) const
    {
        const std::string& text = node.Scalar();
        if (text == "Ring")
        {
            return AstraBlock::Ring;
        }
        if (text == "FullyConnected")
        {
            return AstraBlock::FullyConnected;
        }
        if (text == "Switch")
        {
            return AstraBlock::Switch;
        }
        throw Error(Place(node.Mark()) + ": topology", Shown(text), "Ring, FullyConnected, Switch");
    }

    /// Returns the number of links in one group of a dimension.
    static int64_t LinksOf(const AstraDimension& dimension)
    {
        const int64_t npus = dimension.npus;
        switch (dimension.block)
        {
        case AstraBlock::Ring:
            return npus > 2 ? npus : npus - 1;
        case AstraBlock::FullyConnected:
            return npus * (npus - 1) / 2;
        case AstraBlock::Switch:
            return npus;
        }
        return 0;
    }

    /// Returns the number of links that one NPU has in a dimension.
    static int LinksOfNpu(const AstraDimension& dimension)
    {
        switch (dimension.block)
        {
        case AstraBlock::Ring:
            return dimension.npus > 2 ? 2 : dimension.npus - 1;
        case AstraBlock::FullyConnected:
            return dimension.npus - 1;
        case AstraBlock::Switch:
            return 1;
        }
        return 0;
    }

    /// Adds hosts, and also their routers unless each host has only a line to the one switch.
    void AddNpus()
    {
        Topology& topology = m_result.topology;
        const bool routers = m_dimensions.size() > 1 || m_dimensions[0].block != AstraBlock::Switch;
        for (int npu = 0; npu < m_npus; ++npu)
        {
            topology.AddHost("npu" + std::to_string(npu));
        }
        if (!routers)
        {
            return;
        }
        Port port;
        port.queueBytes = m_defaults.queueBytes;
        for (const AstraDimension& dimension : m_dimensions)
        {
            port.rateBps += LinksOfNpu(dimension) * dimension.rateBps;
        }
        if (port.rateBps > kMostRate || port.rateBps == 0)
        {
            throw Error(m_path + ":1: bandwidth of an NPU",
                        port.rateBps == 0 ? "none" : FormatRate(port.rateBps),
                        "1bps to 1000Tbps, of two NPUs or more");
        }
        m_firstRouter = topology.NodeCount();
        for (int npu = 0; npu < m_npus; ++npu)
        {
            topology.AddSwitch("router" + std::to_string(npu));
        }
        for (int npu = 0; npu < m_npus; ++npu)
        {
            topology.AddLink(Link(npu, m_firstRouter + npu, 0, port));
        }
    }

    void Connect(int a, int b, const AstraDimension& dimension)
    {
        Port port;
        port.rateBps = dimension.rateBps;
        port.queueBytes = m_defaults.queueBytes;
        m_result.topology.AddLink(Link(a, b, dimension.latency, port));
    }

    /// Links the NPUs that differ in one coordinate only. Neighbours are `step` apart.
    void AddDimension(const AstraDimension& dimension, int step)
    {
        const int size = dimension.npus;
        for (int first = 0; first < m_npus; ++first)
        {
            if (first / step % size != 0)
            {
                continue;
            }
            const auto node = [&](int i) { return m_firstRouter + first + i * step; };
            if (dimension.block == AstraBlock::Switch)
            {
                const int number = m_switches++;
                const int above = m_result.topology.AddSwitch("switch" + std::to_string(number));
                for (int i = 0; i < size; ++i)
                {
                    Connect(node(i), above, dimension);
                }
                continue;
            }
            for (int i = 0; i < size; ++i)
            {
                const bool ring = dimension.block == AstraBlock::Ring;
                const int last = ring ? std::min(i + 1, size - 1) : size - 1;
                for (int j = i + 1; j <= last; ++j)
                {
                    Connect(node(i), node(j), dimension);
                }
            }
            if (dimension.block == AstraBlock::Ring && size > 2)
            {
                Connect(node(size - 1), node(0), dimension);
            }
        }
    }

    std::string m_path;
    LinkDefaults m_defaults;
    double m_byte = 1e9;
    std::vector<AstraDimension> m_dimensions;
    int64_t m_npus = 1;
    int64_t m_links = 0;
    int m_firstRouter = 0;
    int m_switches = 0;
    ImportedTopology m_result;
};

} // namespace

ImportedTopology
ReadAstraSimFile(const std::string& path, Settings& options, const LinkDefaults& defaults)
{
    return AstraSimFile(path, options, defaults).Read();
}

} // namespace legacy::fabric
