#include "max-min-state.h"

#include <algorithm>
#include <cassert>

namespace legacy::fabric
{

MaxMinState::MaxMinState(const std::vector<double>& capacities, int many)
    : links(capacities.size()),
      m_many(many)
{
    for (size_t i = 0; i < capacities.size(); ++i)
    {
        assert(capacities[i] >= 0);
        links[i].capacity = capacities[i];
    }
}

int MaxMinState::Add(const std::vector<Use>& uses, double limit)
{
    assert(limit > 0);
    Connection connection;
    connection.firstHop = static_cast<int>(hops.size());
    connection.hops = static_cast<int>(uses.size());
    ownLimits.push_back(limit);
    for (const Use& use : uses)
    {
        hops.push_back(Hop{use.link, kNone, use.share});
    }
    connections.push_back(connection);
    rated.emplace_back();
    return static_cast<int>(connections.size()) - 1;
}

void MaxMinState::FindLimit(int number)
{
    Connection& connection = connections[number];
    connection.limit = ownLimits[number];
    for (int h = connection.firstHop; h < connection.EndHop(); ++h)
    {
        if (hops[h].place == kNone)
        {
            connection.limit =
                std::min(connection.limit, links[hops[h].link].capacity / hops[h].share);
        }
    }
}

} // namespace legacy::fabric
