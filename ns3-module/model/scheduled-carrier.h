/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LEGACY_SCHEDULED_CARRIER_H
#define LEGACY_SCHEDULED_CARRIER_H

#include "carrier.h"
#include "link-scheduler.h"

#include <functional>
#include <optional>

namespace legacy
{
namespace packet
{

/**
 * \ingroup legacy
 * A Carrier whose links follow schedules of rates and failures. A run ends with an error where a
 * message waits for a link that stops for ever.
 */
class ScheduledCarrier : public Carrier
{
  public:
    ~ScheduledCarrier() override;

    // Inherited from Carrier.
    void Dispose() override;
    void SetScheduleTime(TimeNs time) override;
    TimeNs GetScheduleTime() const override;
    TimeNs GetOutTime() const override;
    bool AnyDead() const override;
    std::optional<fabric::DeadLink> FindDead() const override;
    void AddCounters(fabric::EngineCounters& counters) const override;

  protected:
    using IsDead = std::function<bool(fabric::DirectedLink)>;

    /// \param listener outlives this object
    explicit ScheduledCarrier(CarrierListener* listener);
    /**
     * Follows the schedules of the topology's links, from now on.
     * \param topology outlives this object
     * \param frameBytes bytes of a full frame
     * \param setRate called for each link with a schedule, now and at each change
     */
    void
    Follow(const fabric::Topology* topology, int64_t frameBytes, LinkScheduler::SetRate setRate);
    /// Returns the first dead link on the path of a message, with a sentence; nothing if there is
    /// none.
    virtual std::optional<fabric::DeadLink> FindWaiting(const IsDead& isDead) const = 0;

    CarrierListener* m_listener; //!< listener to which messages are reported

  private:
    ns3::Ptr<LinkScheduler> m_scheduler; //!< rates over time
};

} // namespace packet
} // namespace legacy

#endif // LEGACY_SCHEDULED_CARRIER_H
