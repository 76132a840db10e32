// Reader of node-link JSON, which networkx (node_link_data) and topohub write: lists of nodes and
// of links, whose attributes are keys next to "id", "source" and "target". JSON is parsed as YAML,
// of which it is a subset, because YAML's parser knows the lines of values.
#include "base/error.h"
#include "base/files/text_file.h"
#include "base/files/yaml_text.h"
#include "base/words.h"
#include "network-map.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <yaml-cpp/yaml.h>

namespace legacy::fabric
{

namespace
{

class NodeLinkFile
{
  public:
    explicit NodeLinkFile(const std::string& path)
    {
        m_graph.path = path;
        std::string text = ReadText(path);
        // JSON texts contain no tabs, and YAML allows none before a value.
        std::replace(text.begin(), text.end(), '\t', ' ');
        try
        {
            Read(LoadYaml(text));
        }
        catch (const YAML::Exception& error)
        {
            throw Error(At(error.mark) + ": " + OneLine(error.msg));
        }
    }

    RawGraph Take()
    {
        return std::move(m_graph);
    }

  private:
    std::string At(const YAML::Mark& mark) const
    {
        return m_graph.path + ":" + std::to_string(std::max(mark.line, 0) + 1);
    }

    void Read(const YAML::Node& root)
    {
        const bool map = root.IsMap();
        std::set<std::string> keys;
        for (auto entry = root.begin(); map && entry != root.end(); ++entry)
        {
            const std::string key = Text(entry->first);
            if (!keys.insert(key).second)
            {
                throw Error(At(entry->first.Mark()) + ": key", Shown(key), "each key once");
            }
        }
        const YAML::Node nodes = map ? root["nodes"] : YAML::Node();
        const YAML::Node links = map ? root["links"] : YAML::Node();
        const YAML::Node edges = map ? root["edges"] : YAML::Node();
        if (!nodes.IsDefined() || links.IsDefined() == edges.IsDefined())
        {
            throw Error(
                m_graph.path + ":1: JSON",
                "no graph",
                R"({"nodes": [{"id": 0}, ...], "links": [{"source": 0, "target": 1}, ...]},)"
                R"( or "edges" in the place of "links")");
        }
        m_graph.line = nodes.Mark().line + 1;
        ReadOwn(root);
        bool directed = false;
        if (const YAML::Node value = root["directed"];
            value && !YAML::convert<bool>::decode(value, directed))
        {
            throw Error(At(value.Mark()) + ": directed", Shown(Text(value)), "true, false");
        }
        for (const YAML::Node& node : List(nodes, "nodes"))
        {
            RawGraph::Node read;
            static_cast<RawAttributes&>(read) = Values(node, "a node");
            read.id = End(node, "id", "a node");
            m_graph.nodes.push_back(std::move(read));
        }
        for (const YAML::Node& link : List(links.IsDefined() ? links : edges, "links"))
        {
            RawGraph::Edge read;
            static_cast<RawAttributes&>(read) = Values(link, "a link");
            read.source = End(link, "source", "a link");
            read.target = End(link, "target", "a link");
            read.values.erase("source");
            read.values.erase("target");
            read.directed = directed;
            m_graph.edges.push_back(std::move(read));
        }
    }

    /// Reads the keys next to the nodes and links, and those in "graph", where networkx writes
    /// them.
    void ReadOwn(const YAML::Node& root)
    {
        m_graph.own = Values(root, "JSON");
        for (const char* read : {"nodes", "links", "edges", "directed", "multigraph"})
        {
            m_graph.own.values.erase(read);
        }
        const YAML::Node graph = root["graph"];
        if (graph && (graph.IsMap() || (graph.IsSequence() && graph.size() == 0)))
        {
            m_graph.own.values.erase("graph");
        }
        if (graph && graph.IsMap())
        {
            m_graph.own.values.merge(Values(graph, "graph").values);
        }
    }

    static std::string Text(const YAML::Node& node)
    {
        return node.IsScalar() ? node.Scalar() : node.IsMap() ? "{...}" : "[...]";
    }

    const YAML::Node& List(const YAML::Node& node, const char* what) const
    {
        if (!node.IsSequence())
        {
            throw Error(At(node.Mark()) + ": " + what, Shown(Text(node)), "a list");
        }
        return node;
    }

    /// Returns the id of a node, or the one that an end of a link names.
    std::string End(const YAML::Node& node, const char* key, const char* of) const
    {
        const YAML::Node value = node[key];
        if (!value || !value.IsScalar())
        {
            throw Error(At(value ? value.Mark() : node.Mark()) + ": " + key + " of " + of,
                        value ? Shown(Text(value)) : "none",
                        "a number or a text");
        }
        return value.Scalar();
    }

    /// Returns the attributes, without those that are null. Of lists, only the names are kept.
    RawAttributes Values(const YAML::Node& node, const char* what) const
    {
        if (!node.IsMap())
        {
            throw Error(At(node.Mark()) + ": " + what, Shown(Text(node)), "{...}");
        }
        RawAttributes read;
        read.line = node.Mark().line + 1;
        for (const auto& entry : node)
        {
            const YAML::Node& value = entry.second;
            const std::string key = Text(entry.first);
            if (value.IsNull())
            {
                continue;
            }
            if (!value.IsScalar())
            {
                read.several.insert(key);
            }
            if (!read.values.emplace(key, value.IsScalar() ? value.Scalar() : "").second)
            {
                throw Error(At(entry.first.Mark()) + ": key", Shown(key), "each key once");
            }
        }
        return read;
    }

    RawGraph m_graph;
};

} // namespace

RawGraph ReadRawNodeLink(const std::string& path)
{
    return NodeLinkFile(path).Take();
}

} // namespace legacy::fabric
