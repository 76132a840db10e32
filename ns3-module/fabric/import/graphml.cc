// Reader of GraphML (Brandes et al., graphml.graphdrawing.org): one flat graph of nodes and edges,
// whose data have the names that the keys give them.
#include "base/error.h"
#include "base/words.h"
#include "network-map.h"
#include "xml.h"

#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace legacy::fabric
{

namespace
{

class GraphmlFile
{
  public:
    explicit GraphmlFile(const std::string& path) : m_file(path)
    {
        m_graph.path = path;
    }

    RawGraph Read()
    {
        const pugi::xml_node root = m_file.Root("graphml");
        for (const pugi::xml_node key : root.children("key"))
        {
            ReadKey(key);
        }
        const pugi::xml_node graph = root.child("graph");
        if (!graph)
        {
            throw Error(m_file.At(root) + ": graphs", "none", "one");
        }
        if (const pugi::xml_node second = graph.next_sibling("graph"))
        {
            throw Error(m_file.At(second) + ": graphs", "a second one", "one");
        }
        m_graph.line = m_file.Line(graph);
        m_directed = ReadDirected(graph.attribute("edgedefault"), graph, false);
        for (const pugi::xml_node child : graph.children())
        {
            if (child.type() != pugi::node_element)
            {
                continue;
            }
            const char* name = child.name();
            if (std::strcmp(name, "node") == 0)
            {
                ReadNode(child);
            }
            else if (std::strcmp(name, "edge") == 0)
            {
                ReadEdge(child);
            }
            else if (std::strcmp(name, "data") != 0 && std::strcmp(name, "desc") != 0)
            {
                throw Error(
                    m_file.At(child) + ": element of a graph", Shown(name), "node, edge, data");
            }
        }
        m_graph.own = Values(graph, "graph", {"id", "edgedefault"});
        m_graph.own.values.erase("node");
        m_graph.own.values.erase("edge");
        return std::move(m_graph);
    }

  private:
    struct Key
    {
        std::string name;
        std::string domain; ///< "node", "edge", "all" or others
        std::string fallback;
        bool hasFallback = false;
    };

    std::string Attribute(pugi::xml_node node, const char* name) const
    {
        const pugi::xml_attribute attribute = node.attribute(name);
        if (!attribute || *attribute.value() == 0)
        {
            throw Error(
                m_file.At(node) + ": " + name + " of this " + Shown(node.name()), "none", "one");
        }
        return attribute.value();
    }

    bool ReadDirected(pugi::xml_attribute attribute, pugi::xml_node node, bool fallback) const
    {
        const std::string text = attribute.value();
        if (text == "directed" || text == "true")
        {
            return true;
        }
        if (text == "undirected" || text == "false")
        {
            return false;
        }
        if (attribute)
        {
            throw Error(
                m_file.At(node) + ": " + attribute.name(), Shown(text), "directed, undirected");
        }
        return fallback;
    }

    void ReadKey(pugi::xml_node node)
    {
        Key key;
        const std::string id = Attribute(node, "id");
        key.name = node.attribute("attr.name").as_string(id.c_str());
        key.domain = node.attribute("for").as_string("all");
        if (const pugi::xml_node fallback = node.child("default"))
        {
            key.hasFallback = true;
            key.fallback = fallback.child_value();
        }
        if (!m_keys.emplace(id, key).second)
        {
            throw Error(m_file.At(node) + ": key", Shown(id), "each id once");
        }
    }

    /// Returns the data of an element, and all its attributes except those that are read
    /// `elsewhere`.
    RawAttributes Values(pugi::xml_node node,
                         const char* domain,
                         const std::set<std::string_view>& elsewhere) const
    {
        RawAttributes read;
        read.line = m_file.Line(node);
        std::map<std::string, std::string>& values = read.values;
        for (const pugi::xml_node data : node.children())
        {
            if (std::strcmp(data.name(), "data") != 0)
            {
                if (data.type() == pugi::node_element)
                {
                    values.emplace(data.name(), "");
                    read.several.insert(data.name());
                }
                continue;
            }
            const std::string id = Attribute(data, "key");
            const auto key = m_keys.find(id);
            if (key == m_keys.end())
            {
                throw Error(
                    m_file.At(data) + ": key", Shown(id), "one that a key element declares");
            }
            if (!values.emplace(key->second.name, data.child_value()).second)
            {
                throw Error(m_file.At(data) + ": key", Shown(key->second.name), "each key once");
            }
            if (data.find_child([](pugi::xml_node child)
                                { return child.type() == pugi::node_element; }))
            {
                read.several.insert(key->second.name);
            }
        }
        for (const pugi::xml_attribute attribute : node.attributes())
        {
            if (elsewhere.count(attribute.name()) == 0)
            {
                values.emplace(attribute.name(), attribute.value());
            }
        }
        const bool element =
            std::strcmp(domain, "graph") != 0; // "all" applies to both nodes and edges
        for (const auto& [id, key] : m_keys)
        {
            if (key.hasFallback && (key.domain == domain || (element && key.domain == "all")))
            {
                values.emplace(key.name, key.fallback);
            }
        }
        return read;
    }

    void Refuse(pugi::xml_node node, const char* child, const char* instead) const
    {
        if (const pugi::xml_node found = node.child(child))
        {
            throw Error(m_file.At(found) + ": element of a " + node.name(), child, instead);
        }
    }

    void ReadNode(pugi::xml_node node)
    {
        Refuse(node, "graph", "no graph inside a node");
        RawGraph::Node read;
        static_cast<RawAttributes&>(read) = Values(node, "node", {"id"});
        read.id = Attribute(node, "id");
        m_graph.nodes.push_back(std::move(read));
    }

    void ReadEdge(pugi::xml_node node)
    {
        RawGraph::Edge read;
        static_cast<RawAttributes&>(read) =
            Values(node, "edge", {"id", "source", "target", "directed"});
        read.source = Attribute(node, "source");
        read.target = Attribute(node, "target");
        read.directed = ReadDirected(node.attribute("directed"), node, m_directed);
        m_graph.edges.push_back(std::move(read));
    }

    XmlFile m_file;
    std::map<std::string, Key> m_keys;
    bool m_directed = false;
    RawGraph m_graph;
};

} // namespace

RawGraph ReadRawGraphml(const std::string& path)
{
    return GraphmlFile(path).Read();
}

} // namespace legacy::fabric
