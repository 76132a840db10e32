#include "client-network.h"

#include "base/error.h"

#include <map>
#include <string>

namespace legacy::fabric
{

namespace
{

/// Finds switches of the core by name.
class Places
{
  public:
    Places(const Topology& topology, bool star) : m_topology(topology), m_star(star)
    {
        for (int node = 0; node < topology.NodeCount(); ++node)
        {
            m_nodes.emplace(topology.NodeName(node), node);
        }
    }

    int Find(const std::string& name, const std::string& who) const
    {
        if (m_star)
        {
            if (!name.empty())
            {
                throw Error(who + ": at",
                            name,
                            "no place: the lines meet in one switch, as no "
                            "topology was given");
            }
            return 0;
        }
        const auto found = m_nodes.find(name);
        if (found == m_nodes.end() || m_topology.IsHost(found->second))
        {
            std::string known;
            int listed = 0;
            for (const auto& [node, number] : m_nodes)
            {
                if (!m_topology.IsHost(number) && ++listed <= 8)
                {
                    known += (known.empty() ? "" : ", ") + node;
                }
            }
            throw Error(who + ": at",
                        name.empty() ? "nothing" : name,
                        "a switch of the topology: " + known + (listed > 8 ? ", ..." : ""));
        }
        return found->second;
    }

  private:
    const Topology& m_topology;
    bool m_star;
    std::map<std::string, int> m_nodes;
};

} // namespace

void CheckPlaces(const Population& population, const Topology* core, bool server)
{
    const Topology none;
    const Places places(core ? *core : none, !core);
    if (server)
    {
        places.Find(population.Server().at, "server");
    }
    for (const Group& group : population.Groups())
    {
        for (const std::string& name : group.at.Words())
        {
            places.Find(name, "group " + group.name);
        }
    }
}

namespace
{

/// Adds the server with its line.
void AddServer(const ServerSite& site, const Places& places, ClientNetwork& network)
{
    Link line;
    line.a = network.topology.AddHost("server");
    line.b = places.Find(site.at, "server");
    line.delay = site.delay;
    for (int way = 0; way < 2; ++way)
    {
        line.ports[way].rateBps = site.rateBps;
        line.ports[way].usdPerGb = site.usdPerGb[way];
    }
    network.placement.servers.push_back(line.a);
    network.serverLink = 2 * network.topology.AddLink(line);
}

/// Homes are the switches at the ends of lines that several clients share, with these lines, by the
/// number of the line.
using Homes = std::map<int64_t, std::pair<int, DirectedLink>>;

/// Adds a client with its access line, or with a link to its home.
void AddClient(const Population& population,
               const Client& client,
               const Places& places,
               Homes& homes,
               ClientNetwork& network)
{
    Topology& topology = network.topology;
    const Group& group = population.Groups()[client.group];
    const int host = topology.AddHost("client" + std::to_string(client.number));
    network.placement.hosts.push_back(host);
    Link access;
    access.a = places.Find(*client.region, "group " + group.name);
    access.b = host;
    access.delay = client.delay;
    access.ports = {client.down, client.up};
    if (group.perLine == 1)
    {
        network.accessLinks.push_back(2 * topology.AddLink(access));
        return;
    }
    const auto [home, fresh] = homes.try_emplace(client.line);
    if (fresh)
    {
        access.b = topology.AddSwitch("line" + std::to_string(client.line));
        home->second = {access.b, 2 * topology.AddLink(access)};
    }
    // Inside a home nothing is slower than the line itself.
    Link inside;
    inside.a = home->second.first;
    inside.b = host;
    inside.ports[0].rateBps = client.down.rateBps;
    inside.ports[1].rateBps = client.up.rateBps;
    topology.AddLink(inside);
    network.accessLinks.push_back(home->second.second);
}

} // namespace

ClientNetwork MakeClientNetwork(const Population& population,
                                const std::vector<int64_t>* clients,
                                const Topology* core,
                                bool server)
{
    ClientNetwork network;
    Topology& topology = network.topology;
    if (core)
    {
        topology = *core;
    }
    else
    {
        topology.SetName("star of clients");
        topology.AddSwitch("core");
    }
    for (size_t i = 0; i < topology.Links().size(); ++i)
    {
        network.coreLinks.push_back(2 * static_cast<DirectedLink>(i));
    }
    const Places places(core ? *core : topology, !core);
    network.serverLink = -1;
    if (server)
    {
        AddServer(population.Server(), places, network);
    }
    Homes homes;
    const int64_t count = clients ? static_cast<int64_t>(clients->size()) : population.Clients();
    for (int64_t i = 0; i < count; ++i)
    {
        AddClient(population, population.At(clients ? (*clients)[i] : i), places, homes, network);
    }
    network.placement.description = server ? "clients and a server" : "clients";
    network.serverEndpoint = server ? network.placement.Workers() : -1;
    return network;
}

} // namespace legacy::fabric
