// MakeTopology makes a topology from a request's text, or from the file that it names.
#include "fabric/base/error.h"
#include "file.h"
#include "types.h"

#include <utility>
#include <variant>

namespace legacy::fabric
{

namespace
{

enum class Source
{
    Named,    ///< type:key=value,...
    YamlFile, ///< a named type's parameters, or links
    HpccFile,
};

constexpr const char* kHpccPrefix = "hpcc:";

bool EndsWith(const std::string& text, const std::string& end)
{
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// A path has an extension that we know, or a '/' which is not that of a rate in a parameter.
Source SourceOf(const std::string& text)
{
    if (text.rfind(kHpccPrefix, 0) == 0 || EndsWith(text, ".txt") || EndsWith(text, ".topo"))
    {
        return Source::HpccFile;
    }
    const bool folder = text.find('/') < text.find('=');
    const bool yaml = EndsWith(text, ".yaml") || EndsWith(text, ".yml");
    return folder || yaml ? Source::YamlFile : Source::Named;
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

Topology MakeNamed(Settings settings, const TopologyRequest& request)
{
    TopologyBuild build{std::move(settings), request.hostsNeeded, {}};
    build.common.rateBps = build.settings.Rate("rate", request.rateBps);
    build.common.delay = build.settings.Time("delay", request.delay);
    build.common.queueBytes = build.settings.Bytes("queue", request.queueBytes);
    const std::string name = build.settings.Text("name", build.settings.Type());
    Topology topology = MakeByType(build);
    build.settings.RejectUnread();
    topology.SetName(name);
    return topology;
}

Topology MakeFromSource(const TopologyRequest& request)
{
    const std::string& text = request.text;
    switch (SourceOf(text))
    {
    case Source::Named:
        return MakeNamed(Settings::FromText(text, "topology"), request);
    case Source::HpccFile:
        return ReadHpccFile(
            text.rfind(kHpccPrefix, 0) == 0 ? text.substr(std::string(kHpccPrefix).size()) : text);
    case Source::YamlFile:
        break;
    }
    auto content = ReadYamlFile(text, {request.rateBps, request.delay, request.queueBytes});
    if (auto* settings = std::get_if<Settings>(&content))
    {
        return MakeNamed(std::move(*settings), request);
    }
    return std::get<Topology>(std::move(content));
}

} // namespace

bool NamesTopologyFile(const std::string& text)
{
    return SourceOf(text) != Source::Named;
}

Topology MakeTopology(const TopologyRequest& request)
{
    Topology topology = MakeFromSource(request);
    CheckSize(topology, request);
    topology.SetEcmpSeed(request.ecmpSeed);
    topology.SetMultipath(request.multipath);
    return topology;
}

} // namespace legacy::fabric
