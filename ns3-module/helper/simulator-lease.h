/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_SIMULATOR_LEASE_H
#define LEGACY_SIMULATOR_LEASE_H

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * Holds the process's one simulator for as long as this object lives. The simulator must be fresh
 * at the start; the destructor makes it fresh again.
 */
class SimulatorLease
{
  public:
    /**
     * \param roce true for a simulation of RoCEv2, which gets a RoceSimulator
     * Throws Error while another simulation is alive.
     */
    explicit SimulatorLease(bool roce);
    ~SimulatorLease();
    SimulatorLease(const SimulatorLease&) = delete;
    SimulatorLease& operator=(const SimulatorLease&) = delete;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_SIMULATOR_LEASE_H
