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
 * The process's one simulator for as long as this object lives: it must be fresh, and is again at
 * the end.
 */
class SimulatorLease
{
  public:
    /// Throws fabric::Error while another simulation is alive.
    SimulatorLease();
    ~SimulatorLease();
    SimulatorLease(const SimulatorLease&) = delete;
    SimulatorLease& operator=(const SimulatorLease&) = delete;
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_SIMULATOR_LEASE_H
