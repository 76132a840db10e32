#include "file.h"
#include "changes.h"

#include "base/error.h"
#include "base/files/text_file.h"
#include "base/files/yaml_text.h"
#include "base/words.h"
#include "fabric/schedule/link-trace.h"
#include "graph.h"

#include <filesystem>
#include <map>
#include <utility>
#include <yaml-cpp/yaml.h>

namespace legacy::fabric
{

namespace
{

constexpr int kMostDeclaredNodes = 65536; ///< limit for hosts, and for switches
constexpr int kMostParallelLinks = 1024;
constexpr int kMostWeight = 1'000'000'000;

std::string KeyOf(const std::string& path, const YAML::Node& key)
{
    if (!key.IsScalar())
    {
        throw Error(MarkLocation(path, key.Mark()) + ": a key must be a plain word");
    }
    return key.Scalar();
}

/// Adds every scalar below `map` to the settings, its key preceded by `prefix`.
void Flatten(const std::string& path,
             const YAML::Node& map,
             const std::string& prefix,
             Settings& settings)
{
    for (const auto& entry : map)
    {
        const std::string where = MarkLocation(path, entry.first.Mark());
        const std::string key = prefix + KeyOf(path, entry.first);
        if (entry.second.IsMap() && prefix.empty())
        {
            Flatten(path, entry.second, key + ".", settings);
        }
        else if (entry.second.IsScalar())
        {
            settings.Set(key, entry.second.Scalar(), where);
        }
        else
        {
            throw Error(where + ": " + key,
                        entry.second.IsNull() ? "nothing" : "a list or a map",
                        prefix.empty() ? "one value, or the rate, delay and queue of a tier"
                                       : "one value");
        }
    }
}

/// Reads a file of `type: links`.
class LinksFile
{
  public:
    LinksFile(const std::string& path, const YAML::Node& root, const LinkDefaults& defaults)
        : m_path(path),
          m_root(root),
          m_settings(MarkLocation(path, root["type"].Mark()), "links"),
          m_defaults(defaults)
    {
    }

    Topology Read()
    {
        for (const auto& entry : m_root)
        {
            const std::string key = KeyOf(m_path, entry.first);
            const bool plain = entry.second.IsScalar();
            m_settings.Set(key,
                           plain ? entry.second.Scalar() : "a list",
                           MarkLocation(m_path, entry.first.Mark()));
        }
        m_settings.Text("type", "");
        m_defaults.rateBps = m_settings.Rate("rate", m_defaults.rateBps);
        m_defaults.delay = m_settings.Time("delay", m_defaults.delay);
        m_defaults.queueBytes = m_settings.Bytes("queue", m_defaults.queueBytes);
        const std::string name = m_settings.Text("name", "");
        AddNodes("hosts", "host", true);
        AddNodes("switches", "switch", false);
        AddLinks();
        AddRoutes();
        const std::vector<std::string> changes = Changes();
        m_settings.RejectUnread();
        Topology topology = m_builder.Finish(m_path);
        for (const std::string& change : changes)
        {
            ApplyChange(change, m_settings.Location("changes"), topology, Folder());
        }
        if (!name.empty())
        {
            topology.SetName(name);
        }
        return topology;
    }

  private:
    std::string Folder() const
    {
        return std::filesystem::path(m_path).parent_path().string();
    }

    /// Returns the changes, given as a list of texts or as one text.
    std::vector<std::string> Changes()
    {
        const YAML::Node changes = std::as_const(m_root)["changes"];
        const std::string given = m_settings.Text("changes", "");
        if (!changes || changes.IsScalar())
        {
            return SplitChanges(given);
        }
        std::vector<std::string> texts;
        for (const YAML::Node& change : changes)
        {
            if (!changes.IsSequence() || !change.IsScalar())
            {
                throw Error(MarkLocation(m_path, change.Mark()) + ": changes",
                            "no text",
                            "texts such as \"a<>b@outage:from=1s,for=2s\"");
            }
            texts.push_back(change.Scalar());
        }
        return texts;
    }

    void AddNode(bool host, const std::string& name, const std::string& location)
    {
        host ? m_builder.AddHost(name, location) : m_builder.AddSwitch(name, location);
    }

    /// Adds nodes from a list of names, or from their number.
    void AddNodes(const std::string& key, const std::string& prefix, bool hosts)
    {
        const YAML::Node nodes = std::as_const(m_root)[key];
        if (!nodes || !nodes.IsSequence())
        {
            const int count = m_settings.Int(key, 0, hosts ? 1 : 0, kMostDeclaredNodes);
            for (int i = 0; i < count; ++i)
            {
                AddNode(hosts, prefix + std::to_string(i), MarkLocation(m_path, nodes.Mark()));
            }
            return;
        }
        m_settings.Text(key, ""); // it is read here
        for (const YAML::Node& node : nodes)
        {
            const std::string location = MarkLocation(m_path, node.Mark());
            if (!node.IsScalar() || node.Scalar().empty())
            {
                throw Error(location + ": " + key, "no name", "a number, or a list of names");
            }
            AddNode(hosts, node.Scalar(), location);
        }
    }

    void AddLinks()
    {
        const YAML::Node links = std::as_const(m_root)["links"];
        const std::string given = m_settings.Text("links", "nothing");
        if (!links || !links.IsSequence())
        {
            throw Error(
                m_settings.Location("links"), given, "a list of links such as {a: x, b: y}");
        }
        for (const YAML::Node& link : links)
        {
            AddLink(link);
        }
    }

    void AddLink(const YAML::Node& map)
    {
        const std::string location = MarkLocation(m_path, map.Mark());
        if (!map.IsMap())
        {
            throw Error(location + ": links",
                        map.IsScalar() ? map.Scalar() : "a list",
                        "maps such as {a: x, b: y}");
        }
        Settings settings(location, "a link");
        for (const auto& entry : map)
        {
            const std::string key = KeyOf(m_path, entry.first);
            if (!entry.second.IsScalar())
            {
                throw Error(
                    MarkLocation(m_path, entry.first.Mark()) + ": " + key, "no value", "one value");
            }
            settings.Set(key, entry.second.Scalar(), MarkLocation(m_path, entry.first.Mark()));
        }
        Link link;
        link.a = End("a", settings);
        link.b = End("b", settings);
        link.delay = settings.Time("delay", m_defaults.delay);
        const auto rates = settings.Rates("rate", m_defaults.rateBps);
        const auto queues = settings.Sizes("queue", m_defaults.queueBytes);
        const auto errors = settings.Reals("error", 0, 0, kMostErrorRate);
        const auto prices = settings.Prices("price");
        const auto bursts = settings.Sizes("burst", 0);
        const std::string both = settings.Text("schedule", "");
        const std::string schedules[] = {both, settings.Text("schedule_back", both)};
        for (size_t way = 0; way < link.ports.size(); ++way)
        {
            Port& port = link.ports[way];
            port = Port{rates[way], queues[way], errors[way], prices[way]};
            port.burstBytes = bursts[way];
            if (!schedules[way].empty())
            {
                const bool back = way == 1 && settings.Has("schedule_back");
                const auto specs =
                    ParseSchedules(schedules[way],
                                   settings.Location(back ? "schedule_back" : "schedule"),
                                   Folder());
                port.schedule = std::make_shared<LinkSchedule>(specs.front().For(port.rateBps));
            }
        }
        link.weight = settings.Int("weight", 1, 1, kMostWeight);
        const int count = settings.Int("count", 0, 1, kMostParallelLinks);
        settings.RejectUnread();
        m_builder.AddLink(link, count, location);
    }

    void AddRoutes()
    {
        const YAML::Node routes = std::as_const(m_root)["routes"];
        const std::string given = m_settings.Text("routes", "");
        if (!routes)
        {
            return;
        }
        if (!routes.IsSequence())
        {
            throw Error(m_settings.Location("routes"),
                        given,
                        "a list of routes such as {from: x, to: y, via: [s]}");
        }
        for (const YAML::Node& route : routes)
        {
            AddRoute(route);
        }
    }

    void AddRoute(const YAML::Node& map)
    {
        const std::string location = MarkLocation(m_path, map.Mark());
        const auto refuse = [&](const std::string& key, const std::string& value)
        {
            throw Error(location + ": " + key,
                        value,
                        "two hosts, and the switches between them: {from: x, to: y, via: [s]}");
        };
        if (!map.IsMap())
        {
            refuse("routes", map.IsScalar() ? map.Scalar() : "a list");
        }
        std::map<std::string, std::string> ends;
        std::vector<std::string> via;
        for (const auto& entry : map)
        {
            const std::string key = KeyOf(m_path, entry.first);
            if ((key == "from" || key == "to") && entry.second.IsScalar())
            {
                ends[key] = entry.second.Scalar();
            }
            else if (key != "via" || !entry.second.IsSequence())
            {
                refuse(key, entry.second.IsScalar() ? entry.second.Scalar() : "no name");
            }
            for (const YAML::Node& node : key == "via" ? entry.second : YAML::Node())
            {
                if (!node.IsScalar())
                {
                    refuse("via", "no name");
                }
                via.push_back(node.Scalar());
            }
        }
        m_builder.AddRoute(ends["from"], ends["to"], via, location);
    }

    int End(const std::string& key, Settings& link) const
    {
        const std::string name = link.Text(key, "");
        const int* node = m_builder.Find(name);
        if (!node)
        {
            throw Error(link.Location(key), name, "a name that hosts or switches declares");
        }
        return *node;
    }

    std::string m_path;
    YAML::Node m_root;
    Settings m_settings;
    LinkDefaults m_defaults;
    GraphBuilder m_builder;
};

} // namespace

std::variant<Settings, Topology> ReadYamlFile(const std::string& path, const LinkDefaults& defaults)
{
    const std::string text = ReadText(path);
    try
    {
        const YAML::Node root = LoadYaml(text);
        if (!root.IsMap() || !root["type"] || !root["type"].IsScalar())
        {
            throw Error(MarkLocation(path, root.Mark()) +
                        ": a topology file is a map with the key 'type'");
        }
        const YAML::Node type = root["type"];
        if (type.Scalar() == "links")
        {
            return LinksFile(path, root, defaults).Read();
        }
        Settings settings(MarkLocation(path, type.Mark()), type.Scalar());
        Flatten(path, root, "", settings);
        settings.Text("type", ""); // it is read here
        return settings;
    }
    catch (const YAML::Exception& error)
    {
        throw Error(MarkLocation(path, error.mark) + ": " + OneLine(error.msg));
    }
}

} // namespace legacy::fabric
