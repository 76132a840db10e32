// The devices of a step plan's ranks. Internal to fabric/.
#pragma once

#include "fabric/engine/flow-graph.h"
#include "plan-index.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

namespace legacy::fabric
{

/// PlanDevices run the segments of each rank, first come first served on each of its devices. Where
/// collectives do not slow segments, a segment's end is known when it comes. Where they do, the end
/// of the one that runs on device 0 moves whenever its rank's first collective begins or the last
/// one ends. Times are those of the sink's clock.
class PlanDevices
{
  public:
    explicit PlanDevices(const StepPlan& plan)
        : m_slowdown(1 + plan.contention),
          m_devices(DevicesOf(plan)),
          m_free(static_cast<size_t>(plan.ranks) * m_devices, 0),
          m_shared(Shared() ? plan.ranks : 0)
    {
    }

    /// True where collectives slow segments of device 0.
    bool Shared() const
    {
        return m_slowdown > 1;
    }

    /// True where collectives slow segments of that device.
    bool Shared(int device) const
    {
        return device == 0 && Shared();
    }

    /// Returns when a segment of a duration ends, and takes the device until then; not Shared.
    TimeNs Take(int rank, int device, TimeNs now, TimeNs duration)
    {
        TimeNs& free = m_free[static_cast<size_t>(rank) * m_devices + device];
        free = Later(std::max(now, free), duration);
        return free;
    }

    /// Adds a segment to the queue of a shared device. It begins now if it is the only one.
    void Add(int rank, Instance instance, TimeNs duration, FlowSink& sink)
    {
        Device& device = m_shared[rank];
        device.queue.push_back({instance, duration});
        if (device.queue.size() == 1)
        {
            BeginFirst(device, sink);
        }
    }

    /// Says whether the wake-up of a shared device's segment is its end. Others are those of ends
    /// that have moved.
    bool Ends(int rank, Instance instance, TimeNs now) const
    {
        const Device& device = m_shared[rank];
        return !device.queue.empty() && device.queue.front().instance == instance &&
               device.due == now;
    }

    /// Takes the segment that has ended from the queue of a shared device. Returns the one that
    /// begins, kNoInstance if none does.
    Instance Next(int rank, FlowSink& sink)
    {
        Device& device = m_shared[rank];
        device.queue.pop_front();
        if (device.queue.empty())
        {
            return kNoInstance;
        }
        BeginFirst(device, sink);
        return device.queue.front().instance;
    }

    /// Tells a shared device that one collective more, or less, of its rank runs.
    void Count(int rank, int more, FlowSink& sink)
    {
        Device& device = m_shared[rank];
        const double before = Slowdown(device);
        device.collectives += more;
        if (before == Slowdown(device) || device.queue.empty())
        {
            return;
        }
        device.left -= static_cast<double>(sink.Now() - device.since) / before;
        Wait(device, sink);
    }

  private:
    struct Segment
    {
        Instance instance;
        TimeNs duration;
    };

    struct Device
    {
        std::deque<Segment> queue; ///< the first one runs
        double left = 0;           ///< time that the first one needed alone at `since`
        TimeNs since = 0;
        TimeNs due = 0; ///< when it ends, if nothing changes
        int collectives = 0;
    };

    static int DevicesOf(const StepPlan& plan)
    {
        int devices = 1;
        for (const StepStream& stream : plan.streams)
        {
            devices = std::max(devices, stream.device + 1);
        }
        return devices;
    }

    double Slowdown(const Device& device) const
    {
        return device.collectives > 0 ? m_slowdown : 1;
    }

    void BeginFirst(Device& device, FlowSink& sink)
    {
        device.left = static_cast<double>(device.queue.front().duration);
        Wait(device, sink);
    }

    /// Asks for a wake-up at the end of the first segment, rounded to a nanosecond.
    void Wait(Device& device, FlowSink& sink)
    {
        device.since = sink.Now();
        const TimeNs delay = std::max<TimeNs>(0, std::llround(device.left * Slowdown(device)));
        device.due = Later(device.since, delay);
        sink.Wake(delay, static_cast<uint64_t>(device.queue.front().instance));
    }

    const double m_slowdown;
    const int m_devices;          ///< of each rank
    std::vector<TimeNs> m_free;   ///< by rank and device
    std::vector<Device> m_shared; ///< by rank; empty where they are not
};

} // namespace legacy::fabric
