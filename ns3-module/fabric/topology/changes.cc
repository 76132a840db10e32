#include "changes.h"

#include "base/error.h"
#include "base/words.h"
#include "fabric/schedule/link-trace.h"

#include <fnmatch.h>

namespace legacy::fabric
{

namespace
{

constexpr const char* kForm = "A>B@SCHEDULE, A<>B@SCHEDULE or NODE@outage:from=TIME[,for=TIME]";

/// A Pattern says which links or nodes a change applies to.
struct Pattern
{
    std::string from; ///< or the pattern of the nodes
    std::string to;   ///< "": the change applies to nodes
    bool both = false;
};

Pattern ParsePattern(const std::string& text)
{
    const size_t arrow = text.find('>');
    if (arrow == std::string::npos)
    {
        return {text, "", false};
    }
    const bool both = arrow > 0 && text[arrow - 1] == '<';
    const std::string_view view(text);
    return {std::string(Trimmed(view.substr(0, arrow - (both ? 1 : 0)))),
            std::string(Trimmed(view.substr(arrow + 1))),
            both};
}

bool Matches(const std::string& pattern, const std::string& name)
{
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

/// Returns the directed links that match a pattern.
std::vector<DirectedLink> LinksOf(const Pattern& pattern, const Topology& topology)
{
    std::vector<DirectedLink> links;
    const auto all = static_cast<DirectedLink>(2 * topology.Links().size());
    for (DirectedLink link = 0; link < all; ++link)
    {
        const std::string& from = topology.NodeName(topology.From(link));
        const std::string& to = topology.NodeName(topology.To(link));
        if ((Matches(pattern.from, from) && Matches(pattern.to, to)) ||
            (pattern.both && Matches(pattern.from, to) && Matches(pattern.to, from)))
        {
            links.push_back(link);
        }
    }
    return links;
}

std::vector<int> NodesOf(const Pattern& pattern, const Topology& topology)
{
    std::vector<int> nodes;
    for (int node = 0; node < topology.NodeCount(); ++node)
    {
        if (Matches(pattern.from, topology.NodeName(node)))
        {
            nodes.push_back(node);
        }
    }
    return nodes;
}

/// Returns a link's rate under the spec. An outage is added to the schedule that the link has.
LinkSchedule RateOver(const ScheduleSpec& spec, const Port& port)
{
    if (spec.curve || !port.schedule)
    {
        return spec.For(port.rateBps);
    }
    LinkSchedule rates = *port.schedule;
    for (const Outage& outage : spec.outages)
    {
        rates = rates.Without(outage);
    }
    return rates;
}

} // namespace

std::vector<std::string> SplitChanges(const std::string& text)
{
    std::vector<std::string> changes;
    for (size_t at = 0; at < text.size();)
    {
        const size_t bar = std::min(text.find('|', at), text.size());
        changes.emplace_back(Trimmed(std::string_view(text).substr(at, bar - at)));
        at = bar + 1;
    }
    return changes;
}

namespace
{

/// Makes nodes fail at the outages that a text gives.
void FailNodes(const std::string& change,
               const std::string& where,
               const Pattern& pattern,
               const std::string& text,
               Topology& topology)
{
    const ScheduleSpec spec = ParseSchedule(text, where);
    const std::vector<int> nodes = NodesOf(pattern, topology);
    if (spec.curve || spec.outages.empty())
    {
        throw Error(where,
                    change,
                    "outage:from=TIME[,for=TIME] for nodes; " + pattern.from +
                        "<>* are the links of one");
    }
    if (nodes.empty())
    {
        throw Error(where, pattern.from, "a name of a node, such as " + topology.NodeName(0));
    }
    for (int node : nodes)
    {
        for (const Outage& outage : spec.outages)
        {
            topology.AddFailure(node, outage);
        }
    }
}

/// Returns the links that match a pattern. Throws Error if there are none.
std::vector<DirectedLink> SomeLinksOf(const std::string& ends,
                                      const std::string& where,
                                      const Pattern& pattern,
                                      const Topology& topology)
{
    std::vector<DirectedLink> links = LinksOf(pattern, topology);
    if (links.empty())
    {
        const std::string first =
            topology.Links().empty()
                ? "A<>B"
                : topology.NodeName(topology.From(0)) + "<>" + topology.NodeName(topology.To(0));
        throw Error(where, ends, "names of two ends of a link, such as " + first);
    }
    return links;
}

} // namespace

void ApplyChange(const std::string& change,
                 const std::string& where,
                 Topology& topology,
                 const std::string& folder)
{
    const size_t at = change.find('@');
    const Pattern pattern = ParsePattern(std::string(Trimmed(change.substr(0, at))));
    if (at == std::string::npos || pattern.from.empty())
    {
        throw Error(where, change, kForm);
    }
    const std::string text(Trimmed(change.substr(at + 1)));
    if (pattern.to.empty())
    {
        FailNodes(change, where, pattern, text, topology);
        return;
    }
    const std::vector<DirectedLink> links =
        SomeLinksOf(change.substr(0, at), where, pattern, topology);
    const std::vector<ScheduleSpec> specs = ParseSchedules(text, where, folder);
    std::vector<const ScheduleSpec*> of(2 * topology.Links().size(), nullptr);
    for (size_t i = 0; i < links.size(); ++i)
    {
        of[links[i]] = &specs[i % specs.size()];
    }
    topology = topology.WithLinks(
        [&](int index, Link& link)
        {
            for (int way = 0; way < 2; ++way)
            {
                if (const ScheduleSpec* spec = of[2 * index + way])
                {
                    Port& port = link.ports[way];
                    port.schedule = std::make_shared<LinkSchedule>(RateOver(*spec, port));
                }
            }
        });
}

} // namespace legacy::fabric
