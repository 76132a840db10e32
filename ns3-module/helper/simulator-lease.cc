/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "simulator-lease.h"

#include "base/error.h"
#include "model/roce/roce-simulator.h"

#include "ns3/node-list.h"
#include "ns3/simulator.h"

namespace legacy
{
namespace packet
{

SimulatorLease::SimulatorLease(bool roce)
{
    if (ns3::NodeList::GetNNodes() > 0 || ns3::Simulator::GetEventCount() > 0)
    {
        throw Error("another ns-3 simulation is alive in this process, and ns-3 has one "
                    "simulator: destroy that engine first, or use another process");
    }
    if (roce)
    {
        RoceSimulator::Install();
    }
}

SimulatorLease::~SimulatorLease()
{
    ns3::Simulator::Destroy();
}

} // namespace packet
} // namespace legacy
