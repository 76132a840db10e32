#include "base/error.h"
#include "base/files/csv_file.h"
#include "base/files/text_file.h"
#include "base/files/yaml_text.h"
#include "base/words.h"
#include "population.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fnmatch.h>
#include <utility>
#include <yaml-cpp/yaml.h>

namespace legacy::fabric
{

namespace
{

constexpr int64_t kMostClients = INT32_MAX;
constexpr double kLeastRate = 1;
constexpr double kMostRateOfLine = 1e15;
constexpr double kMostDelay = 3600e9;
constexpr double kMostSlowdown = 1e6;
constexpr double kMostUsdPerHour = 1e6;
constexpr double kMostSamples = 1e12;

// Geometric means, which are the medians of lognormal distributions, and deviations of the natural
// logarithm: of the mean link speeds of 19 phones, and of the scores of 333.
constexpr double kPhoneDown = 41.4e6;
constexpr double kPhoneDownSigma = .471;
constexpr double kPhoneUp = 24.8e6;
constexpr double kPhoneUpSigma = .682;
constexpr double kPhoneSlowdownSigma = 1.361;
// No source has the delays of these phones; the values are assumed.
constexpr double kPhoneDelay = 25e6;
constexpr double kPhoneDelaySigma = .4;

constexpr int64_t kBroadbandDown = 100'000'000;
constexpr int64_t kBroadbandUp = 20'000'000;
constexpr TimeNs kBroadbandDelay = 20'000'000;

/// Returns the files that a pattern names, in the order of their names. "*" and "?" stand for
/// characters of a file's name, not of a folder's.
std::vector<std::string> FilesOf(const std::string& pattern, const std::string& location)
{
    const std::filesystem::path path(pattern);
    const std::string name = path.filename().string();
    if (name.find_first_of("*?[") == std::string::npos)
    {
        return {pattern};
    }
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    std::vector<std::string> files;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    {
        if (fnmatch(name.c_str(), entry.path().filename().c_str(), 0) == 0)
        {
            files.push_back(entry.path().string());
        }
    }
    if (files.empty())
    {
        throw Error(location, pattern, "a file, or a pattern such as lte/*.csv that names some");
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// Returns a path as seen from the folder of `file`.
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
        m_words.Text(key, ""); // it has been asked for
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
    Settings m_words; ///< all keys, for plain values and for unknown ones
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

/// Makes the population, with the request's trace for groups without one.
Population
Finish(std::vector<Group> groups, const ServerSite& server, const PopulationRequest& request)
{
    for (Group& group : groups)
    {
        if (!group.trace)
        {
            group.trace = request.trace;
        }
    }
    return Population(std::move(groups), server, request.seed);
}

Population ReadYaml(const PopulationRequest& request)
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
    Population population = Finish(std::move(groups), server, request);
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

Population ReadSilos(const std::string& path, const PopulationRequest& request)
{
    CsvFile file(path, request.option);
    const size_t name = file.Column("name");
    const size_t region = file.Column("region");
    const size_t down = file.Column("down");
    const size_t up = file.Column("up");
    std::vector<Group> groups;
    while (file.Next())
    {
        const auto rate = [&](size_t column) {
            return static_cast<double>(
                ParseRate(std::string(file.Text(column)), file.Where(column)));
        };
        const auto number = [&](const char* column, double fallback, double least, double most)
        {
            return DrawnNumber(file.Has(column) ? file.Number(file.Column(column), least, most)
                                                : fallback);
        };
        Group group;
        group.name = file.Text(name);
        group.at = DrawnWord(std::string(file.Text(region)));
        group.down = DrawnNumber(rate(down));
        group.up = DrawnNumber(rate(up));
        group.slowdown = number("slowdown", 1, 1e-6, kMostSlowdown);
        group.priceHour = number("price_hour", 0, 0, kMostUsdPerHour);
        group.samples = number("samples", 1, 1, kMostSamples);
        if (file.Has("delay"))
        {
            const size_t delay = file.Column("delay");
            group.delay = DrawnNumber(
                static_cast<double>(ParseTime(std::string(file.Text(delay)), file.Where(delay))));
        }
        if (file.Has("profile"))
        {
            group.profile = DrawnWord(std::string(file.Text(file.Column("profile"))));
        }
        groups.push_back(std::move(group));
    }
    if (groups.empty())
    {
        throw Error(path + ": no rows");
    }
    return Finish(std::move(groups), ServerSite{}, request);
}

Population MakePreset(const PopulationRequest& request)
{
    Settings settings = Settings::FromText(request.text, request.option);
    const bool phones = settings.Type() == "phones";
    if (!phones && settings.Type() != "broadband")
    {
        throw Error(request.option, request.text, "broadband, phones, silos:FILE, FILE.yaml");
    }
    Group group;
    group.name = settings.Type();
    group.count = request.clients.value_or(100);
    group.down =
        phones ? DrawnNumber::Lognormal(kPhoneDown, kPhoneDownSigma) : DrawnNumber(kBroadbandDown);
    group.up = phones ? DrawnNumber::Lognormal(kPhoneUp, kPhoneUpSigma) : DrawnNumber(kBroadbandUp);
    group.delay = phones ? DrawnNumber::Lognormal(kPhoneDelay, kPhoneDelaySigma)
                         : DrawnNumber(static_cast<double>(kBroadbandDelay));
    group.slowdown = phones ? DrawnNumber::Lognormal(1, kPhoneSlowdownSigma) : DrawnNumber(1);
    group.profile = DrawnWord(phones ? "phone-assumed" : "");
    group.samples = DrawnNumber(1);
    for (auto [key, value] : {std::pair<const char*, DrawnNumber*>{"down", &group.down},
                              std::pair<const char*, DrawnNumber*>{"up", &group.up}})
    {
        if (settings.Has(key))
        {
            *value = DrawnNumber(static_cast<double>(settings.Rate(key, 0)));
        }
        settings.Text(key, "");
    }
    if (settings.Has("delay"))
    {
        group.delay = DrawnNumber(static_cast<double>(settings.Time("delay", 0)));
    }
    settings.Text("delay", "");
    settings.RejectUnread();
    group.usdPerGb = request.usdPerGb.value_or(group.usdPerGb);
    return Finish({std::move(group)}, ServerSite{}, request);
}

} // namespace

DrawnTrace ReadDrawnTrace(Settings& settings)
{
    DrawnTrace drawn;
    TraceRequest request = TraceRequestOf(settings);
    ScheduleSpec scaling;
    SetScaling(settings, scaling);
    drawn.toMean = scaling.toMean;
    drawn.scale = scaling.scale;
    const std::string direction = settings.Text("direction", "both");
    const std::string upColumn = settings.Text("up_column", request.column);
    if (direction != "both" && direction != "down" && direction != "up")
    {
        throw Error(settings.Location("direction"), direction, "both, down, up");
    }
    if (settings.Has("offset"))
    {
        throw Error(settings.Location("offset"),
                    settings.Text("offset", ""),
                    "nothing: each client draws its own");
    }
    drawn.drivesDown = direction != "up";
    drawn.drivesUp = direction != "down";
    settings.RejectUnread();
    for (const std::string& file : FilesOf(request.file, settings.Location("file")))
    {
        request.file = file;
        std::vector<Trace> traces = ReadTraces(request);
        TraceRequest up = request;
        up.column = upColumn;
        std::vector<Trace> upTraces = upColumn == request.column ? traces : ReadTraces(up);
        std::move(traces.begin(), traces.end(), std::back_inserter(drawn.down));
        std::move(upTraces.begin(), upTraces.end(), std::back_inserter(drawn.up));
    }
    return drawn;
}

Population MakePopulation(const PopulationRequest& request)
{
    const auto ends = [&](const std::string& suffix)
    {
        return request.text.size() > suffix.size() &&
               request.text.compare(request.text.size() - suffix.size(), suffix.size(), suffix) ==
                   0;
    };
    const std::string silos = "silos:";
    if (request.clients && (*request.clients < 1 || *request.clients > kMostClients))
    {
        throw Error("clients", std::to_string(*request.clients), "1 to 2147483647");
    }
    const bool file = ends(".yaml") || ends(".yml");
    if (!file && request.text.compare(0, silos.size(), silos) != 0)
    {
        return MakePreset(request);
    }
    Population population =
        file ? ReadYaml(request) : ReadSilos(request.text.substr(silos.size()), request);
    if (request.usdPerGb)
    {
        throw Error("price", "a price", "none: groups of a file have their own");
    }
    if (request.clients && *request.clients != population.Clients())
    {
        throw Error("clients",
                    std::to_string(*request.clients),
                    std::to_string(population.Clients()) + ", as " + request.text + " has");
    }
    return population;
}

} // namespace legacy::fabric
