// Populations in YAML: groups, the server, and the longitudes of regions.
#include "population-readers.h"

#include "base/error.h"
#include "base/files/text_file.h"
#include "base/files/yaml_text.h"
#include "base/words.h"

#include <filesystem>
#include <utility>
#include <yaml-cpp/yaml.h>

namespace legacy::fabric
{

namespace
{

constexpr double kLeastRate = 1;
constexpr double kMostRateOfLine = 1e15;
constexpr double kMostDelay = 3600e9;

/// Returns a path relative to the folder of `file`.
std::string Beside(const std::string& file, const std::string& path)
{
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    return path.empty() || folder.empty() ? path : (folder / path).string();
}

/// Reads one entry of `clients`.
class GroupReader
{
  public:
    GroupReader(const std::string& path, const YAML::Node& map, const std::string& name)
        : m_path(path),
          m_map(map),
          m_words(NodeLocation(path, map), "a group of clients"),
          m_name(name)
    {
        if (!map.IsMap())
        {
            throw Error(NodeLocation(path, map) + ": a group is a map such as {count: 100, ...}");
        }
        for (const auto& entry : map)
        {
            const std::string where = NodeLocation(path, entry.first);
            if (!entry.first.IsScalar())
            {
                throw Error(where + ": a key must be a plain word");
            }
            m_words.Set(entry.first.Scalar(),
                        entry.second.IsScalar() ? entry.second.Scalar() : "a list or a map",
                        where);
        }
    }

    Group Read()
    {
        Group group;
        group.name = m_words.Text("name", m_name);
        group.count = m_words.Int("count", 1, 1, static_cast<int>(kMostClients));
        group.at = Word("at", "");
        group.down = Number("down", Quantity::Rate, kBroadbandDown, kLeastRate, kMostRateOfLine);
        group.up = Number("up", Quantity::Rate, kBroadbandUp, kLeastRate, kMostRateOfLine);
        group.delay = Number("delay", Quantity::Time, kBroadbandDelay, 0, kMostDelay);
        group.error = Number("error", Quantity::Number, 0, 0, kMostErrorRate);
        group.samples = Number("samples", Quantity::Number, 1, 1, kMostSamples);
        group.priceHour = Number("price_hour", Quantity::Number, 0, 0, kMostUsdPerHour);
        group.longitude = Number("longitude", Quantity::Number, 0, -180, 180);
        group.longitudeOfRegion = !m_words.Has("longitude");
        group.slowdown = DrawnNumber(1);
        group.usdPerGb = m_words.Prices("price");
        group.availability = m_words.Text("availability", "");
        group.perLine = m_words.Int("per_line", 1, 1, 1000);
        ReadQueue(group);
        ReadDevice(group);
        ReadTrace(group);
        m_words.RejectUnread();
        return group;
    }

  private:
    YAML::Node Find(const std::string& key)
    {
        m_words.Text(key, ""); // this marks the key as read
        return std::as_const(m_map)[key];
    }

    DrawnNumber
    Number(const std::string& key, Quantity quantity, double fallback, double least, double most)
    {
        const YAML::Node node = Find(key);
        return node ? DrawnNumber::Read(m_path, node, key, quantity, least, most)
                    : DrawnNumber(fallback);
    }

    DrawnWord Word(const std::string& key, const std::string& fallback)
    {
        const YAML::Node node = Find(key);
        return node ? DrawnWord::Read(m_path, node, key) : DrawnWord(fallback);
    }

    void ReadQueue(Group& group)
    {
        const std::string text = m_words.Text("queue", "0");
        const bool time = text.size() > 1 && text.back() == 's';
        group.queueTime = time ? m_words.Time("queue", 0) : 0;
        group.queueBytes = time ? 0 : m_words.Bytes("queue", 0);
    }

    void ReadDevice(Group& group)
    {
        const YAML::Node device = Find("device");
        if (!device)
        {
            return;
        }
        const std::string where = NodeLocation(m_path, device) + ": device";
        if (device.IsScalar())
        {
            group.profile = DrawnWord(device.Scalar());
            return;
        }
        for (const auto& entry : device)
        {
            const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
            if (key == "profile")
            {
                group.profile = DrawnWord::Read(m_path, entry.second, key);
            }
            else if (key == "slowdown")
            {
                group.slowdown = DrawnNumber::Read(
                    m_path, entry.second, key, Quantity::Number, 1e-6, kMostSlowdown);
            }
            else
            {
                throw Error(NodeLocation(m_path, entry.first) + ": unknown key of a device",
                            key,
                            "profile, slowdown");
            }
        }
    }

    void ReadTrace(Group& group)
    {
        const YAML::Node trace = Find("trace");
        if (!trace)
        {
            return;
        }
        const std::string where = NodeLocation(m_path, trace) + ": trace";
        if (!trace.IsMap())
        {
            throw Error(
                where, "no map", "{csv: FILE, column: NAME, scale: mean}, or mahimahi: FILE");
        }
        const YAML::Node mahimahi = std::as_const(trace)["mahimahi"];
        Settings settings(where, mahimahi ? "mahimahi" : "csv");
        for (const auto& entry : trace)
        {
            const std::string place = NodeLocation(m_path, entry.first);
            if (!entry.first.IsScalar() || !entry.second.IsScalar())
            {
                throw Error(place + ": a trace's keys have one value each");
            }
            const std::string& key = entry.first.Scalar();
            const bool file = key == "csv" || key == "mahimahi" || key == "file";
            settings.Set(file ? "file" : key,
                         file ? Beside(m_path, entry.second.Scalar()) : entry.second.Scalar(),
                         place);
        }
        group.trace = ReadDrawnTrace(settings);
    }

    std::string m_path;
    YAML::Node m_map;
    Settings m_words; ///< all keys, for plain values and for finding unknown keys
    std::string m_name;
};

ServerSite ReadServer(const std::string& path, const YAML::Node& map)
{
    ServerSite server;
    Settings settings(NodeLocation(path, map), "the server");
    if (!map.IsMap())
    {
        throw Error(settings.Where() + ": server is a map such as {rate: 10Gbps}");
    }
    for (const auto& entry : map)
    {
        const std::string where = NodeLocation(path, entry.first);
        if (!entry.first.IsScalar() || !entry.second.IsScalar())
        {
            throw Error(where + ": the server's keys have one value each");
        }
        settings.Set(entry.first.Scalar(), entry.second.Scalar(), where);
    }
    server.at = settings.Text("at", "");
    server.rateBps = settings.Rate("rate", server.rateBps);
    server.delay = settings.Time("delay", server.delay);
    server.usdPerGb = settings.Prices("price");
    settings.RejectUnread();
    return server;
}

} // namespace

Population ReadPopulationYaml(const PopulationRequest& request)
{
    const std::string& path = request.text;
    const std::string text = ReadText(path, kMostTextBytes, request.option);
    YAML::Node root;
    try
    {
        root = LoadYaml(text);
    }
    catch (const YAML::Exception& error)
    {
        throw Error(MarkLocation(path, error.mark) + ": " + OneLine(error.msg));
    }
    ServerSite server;
    YAML::Node list = root;
    if (root.IsMap())
    {
        for (const auto& entry : root)
        {
            const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
            if (key != "server" && key != "clients" && key != "longitudes")
            {
                throw Error(NodeLocation(path, entry.first) + ": unknown key of a population",
                            key,
                            "server, clients, longitudes");
            }
        }
        if (const YAML::Node map = std::as_const(root)["server"])
        {
            server = ReadServer(path, map);
        }
        list.reset(root["clients"]);
    }
    if (!list.IsSequence() || list.size() == 0)
    {
        throw Error(path + ": clients", "no list", "a list of groups such as {count: 100, ...}");
    }
    std::vector<Group> groups;
    for (const YAML::Node& entry : list)
    {
        groups.push_back(GroupReader(path, entry, std::to_string(groups.size() + 1)).Read());
    }
    Population population = WithTrace(std::move(groups), server, request);
    if (const YAML::Node map = root.IsMap() ? std::as_const(root)["longitudes"] : YAML::Node())
    {
        for (const auto& entry : map)
        {
            const std::string region = entry.first.IsScalar() ? entry.first.Scalar() : "";
            const std::string where = NodeLocation(path, entry.first) + ": " + region;
            const std::string degrees = entry.second.IsScalar() ? entry.second.Scalar() : "a list";
            population.SetRegionLongitude(
                region, ParseQuantity(degrees, where, Quantity::Number, -180, 180));
        }
    }
    return population;
}

} // namespace legacy::fabric
