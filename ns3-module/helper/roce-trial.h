/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_ROCE_TRIAL_H
#define LEGACY_ROCE_TRIAL_H

#include "fabric/engine/engine.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

// This header includes no ns-3 headers, because the rest of the project is C++20, and the headers
// of ns-3 3.37 are not.

namespace legacy
{
namespace fabric
{

/**
 * \ingroup legacy
 * Simulates flows over RoCEv2 at packet fidelity, for comparisons with what can be computed.
 * Endpoints are the hosts of the topology in their order. A process has one such object at a time,
 * as ns-3 has one simulator.
 */
class RoceTrial
{
  public:
    /**
     * Throws Error on texts that are not RoCEv2, or if the topology does not match them.
     * \param topology is copied
     * \param transport "roce" or "roce:key=value,..."
     * \param seed of marks and losses
     */
    RoceTrial(const Topology& topology, const std::string& transport, uint64_t seed = 1);
    ~RoceTrial();
    RoceTrial(const RoceTrial&) = delete;
    RoceTrial& operator=(const RoceTrial&) = delete;

    /**
     * Sends a flow. All flows must be sent before the first call of RunUntil.
     * \param flow to send
     * \param start time at which it is sent
     */
    void Send(const Flow& flow, TimeNs start = 0);
    /**
     * Throws Error where the run cannot continue.
     * \param until time at which the run stops
     * \return true if all flows have arrived
     */
    bool RunUntil(TimeNs until = kNever);
    /// Runs for at most `time` longer, so that what is in flight arrives and timers end.
    void Drain(TimeNs time = 10'000'000);

    /**
     * \return the time at which each flow has arrived, in the order of Send; -1: it has not
     */
    const std::vector<TimeNs>& Arrived() const;
    /**
     * \return the time at which the last flow has arrived, if all have
     */
    TimeNs Last() const;
    const Transport& GetTransport() const;
    EngineCounters Counters() const;
    std::vector<LinkCounters> Links() const;
    std::vector<LinkActivity> Activity() const;
    /// Returns the sum of a counter over all links.
    int64_t Sum(int64_t LinkCounters::*counter) const;
    /// Returns the directed link of the given name, "a>b". Throws Error if there is none.
    DirectedLink Link(const std::string& name) const;

    /// A Balance has numbers that must be 0, or equal, once everything has ended.
    struct Balance
    {
        int64_t frames = 0;   ///< frames that still exist somewhere
        int64_t buffered = 0; ///< bytes in buffers of switches
        uint64_t pauses = 0;  ///< pauses that began
        uint64_t resumed = 0; ///< pauses that a RESUME ended
        uint64_t expired = 0; ///< pauses that ended by themselves

        bool Holds() const
        {
            return frames == 0 && buffered == 0 && pauses == resumed + expired;
        }
    };

    Balance GetBalance() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

/**
 * \param hosts number of hosts "host0", "host1", ..., each with a link to one switch
 * \param rate of each link, bit/s
 * \param delay of each link
 * \return the topology
 */
Topology RoceStar(int hosts, int64_t rate, TimeNs delay);
/**
 * \param left number of hosts "h0", "h1", ... at the switch "left"
 * \param right number of further hosts at the switch "right"
 * \param rate of their links, bit/s
 * \param trunk rate of the link between the switches, bit/s
 * \param delay of each link
 * \return the topology
 */
Topology RoceTrunk(int left, int right, int64_t rate, int64_t trunk, TimeNs delay);

/// A RandomRoceCase is a random small fabric with random incasts, rates, delays and buffers.
struct RandomRoceCase
{
    /// Returns a number from `least` to `most`.
    using Draw = std::function<uint64_t(uint64_t least, uint64_t most)>;

    /// Draws by a hash of the seed.
    explicit RandomRoceCase(uint64_t seed);
    explicit RandomRoceCase(const Draw& draw);

    /**
     * \param options of roce without "roce:"; empty: those of the headroom's worst case, without
     * congestion control or marks
     * \param lessHeadroom bytes below the computed headroom; 0: the computed one
     * \return the transport with a buffer that leaves `extra` bytes to share at the largest switch
     */
    std::string Transport(int64_t lessHeadroom = 0, const std::string& options = "") const;

    Topology topology;
    std::vector<Flow> flows;
    int mtu = 0;
    std::string alpha;
    int64_t extra = 0;

  private:
    void Make(const Draw& draw);
};

} // namespace fabric
} // namespace legacy

#endif // LEGACY_ROCE_TRIAL_H
