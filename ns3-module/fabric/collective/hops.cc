// Sums by hops, along a ring or a butterfly, or the first half of them. Slices follow one another
// on the same connections: a worker sends the first messages of all of them, and then computes with
// what arrives, one message after the other.
#include "algorithms.h"
#include "hop-plan.h"

#include <set>

namespace legacy::fabric
{

namespace
{

class HopCollective : public CollectiveBase
{
    /// A mark has the slice, and 20 bits with the number of the message.
    static constexpr int kSliceShift = 20;
    static constexpr uint64_t kNumber = (uint64_t{1} << kSliceShift) - 1;

  public:
    HopCollective(const CollectiveSpec& spec, uint32_t tagBase, DoneCallback done)
        : CollectiveBase(static_cast<int>(spec.bytes.size()), tagBase, std::move(done)),
          m_plan(spec),
          m_times(spec.hops),
          m_states(static_cast<size_t>(m_plan.Slices()) * m_workers),
          m_free(m_workers, 0),
          m_left(m_workers, m_plan.Slices())
    {
    }

    void OnDelivered(const Flow& flow, FlowSink& sink) override
    {
        const uint64_t mark = MarkOf(flow);
        const auto slice = static_cast<int>(mark >> kSliceShift);
        State& state = StateOf(slice, flow.destination);
        state.arrived.insert(static_cast<int>(mark & kNumber));
        if (state.waits)
        {
            Take(slice, flow.destination, sink);
        }
    }

    void OnWake(uint64_t mark, FlowSink& sink) override
    {
        const auto index = static_cast<int>(mark);
        Advance(index / m_workers, index % m_workers, sink);
    }

  private:
    /// A State is where a worker is in a slice.
    struct State
    {
        int step = 0;
        bool waits = false;    ///< for the message of its step
        std::set<int> arrived; ///< numbers of messages that it has not used
    };

    State& StateOf(int slice, int worker)
    {
        return m_states[static_cast<size_t>(slice) * m_workers + worker];
    }

    void OnStarted(int worker, FlowSink& sink) override
    {
        for (int slice = 0; slice < m_plan.Slices(); ++slice)
        {
            Enter(slice, worker, sink);
        }
    }

    /// Sends what the step says, and ends the steps that wait for nothing.
    void Enter(int slice, int worker, FlowSink& sink)
    {
        State& state = StateOf(slice, worker);
        for (; state.step < m_plan.Steps(); ++state.step)
        {
            const HopStep step = m_plan.StepOf(worker, state.step);
            if (step.to != HopStep::kNobody)
            {
                const uint64_t mark = static_cast<uint64_t>(slice) << kSliceShift |
                                      static_cast<uint64_t>(step.number);
                const bool more = m_plan.IsRing() && state.step + 1 < m_plan.Steps();
                Send(worker, step.to, m_plan.Bytes(slice, step.first, step.last), mark, sink, more);
            }
            if (step.from != HopStep::kNobody)
            {
                state.waits = true;
                Take(slice, worker, sink);
                return;
            }
        }
        if (--m_left[worker] == 0)
        {
            Finish(worker, sink);
        }
    }

    /// Uses the message that the worker waits for, if it is there.
    void Take(int slice, int worker, FlowSink& sink)
    {
        State& state = StateOf(slice, worker);
        const HopStep step = m_plan.StepOf(worker, state.step);
        if (state.arrived.erase(step.number) == 0)
        {
            return;
        }
        state.waits = false;
        const int64_t payload = m_plan.Payload(slice, step.addedFrom, step.addedFrom + step.added);
        const TimeNs time = HopPlan::TimeOf(m_times, worker, payload);
        if (time == 0)
        {
            Advance(slice, worker, sink);
            return;
        }
        m_free[worker] = std::max(m_free[worker], sink.Now()) + time;
        Wake(m_free[worker] - sink.Now(),
             static_cast<uint64_t>(slice) * static_cast<uint64_t>(m_workers) +
                 static_cast<uint64_t>(worker),
             sink);
    }

    void Advance(int slice, int worker, FlowSink& sink)
    {
        ++StateOf(slice, worker).step;
        Enter(slice, worker, sink);
    }

    const HopPlan m_plan;
    const HopTimes m_times;
    std::vector<State> m_states; ///< by slice and worker
    std::vector<TimeNs> m_free;  ///< when each worker has computed all that has arrived
    std::vector<int> m_left;     ///< number of slices that each worker has not ended
};

} // namespace

std::unique_ptr<Collective>
MakeHops(const CollectiveSpec& spec, uint32_t tagBase, Collective::DoneCallback done)
{
    return std::make_unique<HopCollective>(spec, tagBase, std::move(done));
}

void MeterHops(const CollectiveSpec& spec, CollectiveTraffic& traffic)
{
    const HopPlan plan(spec);
    for (int worker = 0; worker < plan.Workers(); ++worker)
    {
        for (int number = 0; number < plan.Steps(); ++number)
        {
            const HopStep step = plan.StepOf(worker, number);
            for (int slice = 0; slice < plan.Slices() && step.to != HopStep::kNobody; ++slice)
            {
                const int64_t bytes = plan.Bytes(slice, step.first, step.last);
                traffic.sent[worker] += bytes;
                traffic.received[step.to] += bytes;
            }
        }
    }
}

} // namespace legacy::fabric
