#include "make.h"

#include "base/error.h"
#include "base/files/text_file.h"
#include "data-centre.h"
#include "fabric/topology/changes.h"
#include "fabric/topology/file.h"
#include "fabric/topology/types.h"
#include "network-map.h"
#include "regions.h"
#include "rtt-matrix.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <utility>
#include <variant>

namespace legacy::fabric
{

namespace
{

bool EndsWith(const std::string& text, const std::string& end)
{
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool StartsWith(const std::string& text, const std::string& start)
{
    return text.compare(0, start.size(), start) == 0;
}

/// A NamedFile has the file that a request names, and its options.
struct NamedFile
{
    std::string path;
    Settings options;
};

Topology MakeNamed(Settings settings, const TopologyRequest& request)
{
    TopologyBuild build{std::move(settings), request.hostsNeeded, {}};
    build.common.rateBps = build.settings.Rate("rate", request.rateBps);
    build.common.delay = build.settings.Time("delay", request.delay);
    build.common.queueBytes = build.settings.Bytes("queue", request.queueBytes);
    const std::string name = build.settings.Text("name", build.settings.Type());
    const std::string changes = build.settings.Text("changes", "");
    Topology topology = MakeByType(build);
    build.settings.RejectUnread();
    topology.SetName(name);
    for (const std::string& change : SplitChanges(changes))
    {
        ApplyChange(change, build.settings.Location("changes"), topology);
    }
    return topology;
}

ImportedTopology Plain(Topology topology)
{
    ImportedTopology imported;
    imported.topology = std::move(topology);
    return imported;
}

LinkDefaults DefaultsOf(const TopologyRequest& request)
{
    return {request.rateBps, request.delay, request.queueBytes};
}

/// Throws Error on YAML files of other formats, which need a prefix.
void CheckOwnYaml(const std::string& path)
{
    struct Sign
    {
        const char* key;
        const char* prefix;
        const char* what;
    };
    constexpr Sign kSigns[] = {{"npus_count", "astra-sim", "a network file of ASTRA-sim"},
                               {"matrix", "regions", "a file of regions of clouds"}};
    const std::string text = "\n" + ReadText(path);
    for (const Sign& sign : kSigns)
    {
        if (text.find(std::string("\n") + sign.key + ":") != text.npos)
        {
            throw Error(path + ":1", sign.what, std::string(sign.prefix) + ":" + path);
        }
    }
}

ImportedTopology FromYaml(NamedFile& file, const TopologyRequest& request)
{
    CheckOwnYaml(file.path);
    auto content = ReadYamlFile(file.path, DefaultsOf(request));
    if (auto* settings = std::get_if<Settings>(&content))
    {
        return Plain(MakeNamed(std::move(*settings), request));
    }
    return Plain(std::get<Topology>(std::move(content)));
}

template <RawGraph (*Read)(const std::string& path)>
ImportedTopology FromGraph(NamedFile& file, const TopologyRequest& request)
{
    return BuildMap(MapOfGraph(Read(file.path), file.options), file.options, DefaultsOf(request));
}

ImportedTopology FromSndlib(NamedFile& file, const TopologyRequest& request)
{
    const int64_t unit = file.options.Rate("unit", 0);
    const bool native = StartsWith(ReadText(file.path), "?SNDlib");
    return BuildMap(native ? ReadSndlibNative(file.path, unit) : ReadSndlibXml(file.path, unit),
                    file.options,
                    DefaultsOf(request));
}

ImportedTopology FromRegions(NamedFile& file, const TopologyRequest& request)
{
    return ReadRegions(file.path, file.options, DefaultsOf(request));
}

ImportedTopology FromHtsim(NamedFile& file, const TopologyRequest& request)
{
    return ReadHtsimFile(file.path, DefaultsOf(request));
}

ImportedTopology FromAstraSim(NamedFile& file, const TopologyRequest& request)
{
    return ReadAstraSimFile(file.path, file.options, DefaultsOf(request));
}

ImportedTopology FromRttMatrix(NamedFile& file, const TopologyRequest& request)
{
    return ReadRttMatrix(file.path, file.options, DefaultsOf(request));
}

/// Reads the text formats that share extensions, whose first words differ.
ImportedTopology FromText(NamedFile& file, const TopologyRequest& request)
{
    std::string text = ReadText(file.path);
    if (StartsWith(text, "?SNDlib"))
    {
        return FromSndlib(file, request);
    }
    if (IsHtsimText(text))
    {
        return ReadHtsimFile(file.path, DefaultsOf(request));
    }
    return ReadHpccText(file.path, std::move(text));
}

/// A SourceEntry describes a file format.
struct SourceEntry
{
    std::string prefix;                  ///< "gml" in "gml:PATH"
    std::vector<std::string> extensions; ///< ".gml"; each also with ".gz"; may be empty
    ImportedTopology (*read)(NamedFile& file, const TopologyRequest& request);
};

const std::vector<SourceEntry>& SourceEntries()
{
    static const std::vector<SourceEntry> entries{
        {"yaml", {".yaml", ".yml"}, FromYaml},
        {"hpcc", {".txt", ".topo"}, FromText},
        {"htsim", {".topo"}, FromHtsim},
        {"astra-sim", {}, FromAstraSim},
        {"graphml", {".graphml"}, FromGraph<ReadRawGraphml>},
        {"gml", {".gml"}, FromGraph<ReadRawGml>},
        {"node-link", {".json"}, FromGraph<ReadRawNodeLink>},
        {"sndlib", {".xml", ".txt"}, FromSndlib},
        {"regions", {}, FromRegions},
        {"rtt-matrix", {}, FromRttMatrix},
    };
    return entries;
}

const SourceEntry* FindPrefix(const std::string& text)
{
    for (const SourceEntry& entry : SourceEntries())
    {
        const std::string prefix = entry.prefix + ":";
        if (StartsWith(text, prefix))
        {
            return &entry;
        }
    }
    return nullptr;
}

const SourceEntry* FindExtension(std::string path)
{
    if (EndsWith(path, ".gz"))
    {
        path.resize(path.size() - 3);
    }
    for (const SourceEntry& entry : SourceEntries())
    {
        for (const std::string& extension : entry.extensions)
        {
            if (EndsWith(path, extension))
            {
                return &entry;
            }
        }
    }
    return nullptr;
}

/// Returns where the options after a path begin: at the first comma that is followed by a key and
/// '='.
size_t EndOfPath(const std::string& text)
{
    for (size_t comma = text.find(','); comma != std::string::npos;
         comma = text.find(',', comma + 1))
    {
        size_t end = comma + 1;
        while (end < text.size() &&
               (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
        {
            ++end;
        }
        if (end > comma + 1 && end < text.size() && text[end] == '=')
        {
            return comma;
        }
    }
    return text.size();
}

/// Returns the format of the file that a text names, or nullptr. A text without a known prefix or
/// extension names a file if it contains a '/' that does not belong to a rate in a parameter.
const SourceEntry* SourceOf(const std::string& text)
{
    if (const SourceEntry* entry = FindPrefix(text))
    {
        return entry;
    }
    if (const SourceEntry* entry = FindExtension(text.substr(0, EndOfPath(text))))
    {
        return entry;
    }
    return text.find('/') < text.find('=') ? &SourceEntries().front() : nullptr;
}

NamedFile FileOf(const std::string& text, const SourceEntry& entry)
{
    const size_t begin = FindPrefix(text) == &entry ? entry.prefix.size() + 1 : 0;
    const size_t end = EndOfPath(text);
    // The parser of named types reads the options, and reports what is wrong with them.
    const std::string options = end < text.size() ? ":" + text.substr(end + 1) : "";
    return {text.substr(begin, end - begin),
            Settings::FromText(entry.prefix + options, "topology")};
}

ImportedTopology FromSource(const TopologyRequest& request)
{
    const SourceEntry* entry = SourceOf(request.text);
    if (!entry)
    {
        return Plain(MakeNamed(Settings::FromText(request.text, "topology"), request));
    }
    NamedFile file = FileOf(request.text, *entry);
    ImportedTopology imported = entry->read(file, request);
    file.options.RejectUnread();
    return imported;
}

/// Numbers hosts by their names if all are called host0, host7 and so on, as in files that were
/// converted from a format with numbers.
void NumberByNames(ImportedTopology& imported)
{
    const std::string prefix = "host";
    std::map<int64_t, int> numbers;
    for (const int host : imported.topology.Hosts())
    {
        const std::string& name = imported.topology.NodeName(host);
        const char* end = name.data() + name.size();
        int64_t number = 0;
        if (!StartsWith(name, prefix) || !imported.numbers.empty())
        {
            return;
        }
        const auto [rest, error] = std::from_chars(name.data() + prefix.size(), end, number);
        if (error != std::errc() || rest != end || !numbers.emplace(number, host).second)
        {
            return;
        }
    }
    imported.numbers = std::move(numbers);
}

void CheckSize(const Topology& topology, const TopologyRequest& request)
{
    const auto hosts = static_cast<int>(topology.Hosts().size());
    if (hosts < request.hostsNeeded)
    {
        throw Error("topology",
                    request.text + " with " + std::to_string(hosts) + " hosts",
                    "at least " + std::to_string(request.hostsNeeded) + " hosts");
    }
}

} // namespace

bool NamesTopologyFile(const std::string& text)
{
    return SourceOf(text) != nullptr;
}

ImportedTopology ImportTopology(const TopologyRequest& request)
{
    ImportedTopology imported = FromSource(request);
    NumberByNames(imported);
    CheckSize(imported.topology, request);
    imported.topology.SetEcmpSeed(request.ecmpSeed);
    imported.topology.SetMultipath(request.multipath);
    for (const std::string& change : SplitChanges(request.changes))
    {
        ApplyChange(change, request.changesOption, imported.topology);
    }
    return imported;
}

Topology MakeTopology(const TopologyRequest& request)
{
    return ImportTopology(request).topology;
}

} // namespace legacy::fabric
