// The algorithms of collectives share the tags of flows, and the record of workers that have
// started and are done. Internal to fabric/.
#pragma once

#include "collective.h"

#include <utility>

namespace legacy::fabric
{

/// A token of a wake-up has this bit, 24 bits with the collective's base, and 38 with its own mark.
inline constexpr uint64_t kWakeBit = uint64_t{1} << 62;
inline constexpr int kWakeShift = 38;

/// Returns the collective's own mark of a flow.
inline uint64_t MarkOf(const Flow& flow)
{
    return flow.tag & ((uint64_t{1} << kTagShift) - 1);
}

/// CollectiveBase records which workers have started and which are done. A collective of one worker
/// is done when it starts.
class CollectiveBase : public Collective
{
  public:
    CollectiveBase(int workers, uint32_t tagBase, DoneCallback done)
        : m_workers(workers),
          m_tag(static_cast<uint64_t>(tagBase) << kTagShift),
          m_done(std::move(done)),
          m_started(workers, false)
    {
    }

    void Start(int worker, FlowSink& sink) final
    {
        m_started[worker] = true;
        if (m_workers == 1)
        {
            Finish(worker, sink);
            return;
        }
        OnStarted(worker, sink);
    }

    bool Done() const final
    {
        return m_finished == m_workers;
    }

  protected:
    virtual void OnStarted(int worker, FlowSink& sink) = 0;

    void Finish(int worker, FlowSink& sink)
    {
        ++m_finished;
        m_done(worker, sink);
    }

    void Send(int source,
              int destination,
              int64_t bytes,
              uint64_t mark,
              FlowSink& sink,
              bool more = false) const
    {
        sink.Send(FlowOf(source, destination, bytes, mark, more));
    }

    Flow FlowOf(int source,
                int destination,
                int64_t bytes,
                uint64_t mark,
                bool more,
                uint16_t lane = 0) const
    {
        return Flow{source, destination, bytes, m_tag | mark, more, lane};
    }

    /// Asks for OnWake(mark) after `delay`. A mark has 38 bits.
    void Wake(TimeNs delay, uint64_t mark, FlowSink& sink) const
    {
        sink.Wake(delay, kWakeBit | m_tag >> kTagShift << kWakeShift | mark);
    }

    bool Started(int worker) const
    {
        return m_started[worker];
    }

    const int m_workers;

  private:
    const uint64_t m_tag;
    const DoneCallback m_done;
    std::vector<bool> m_started;
    int m_finished = 0;
};

/// Returns the size of block `index` of `parts` blocks of `total` that differ by at most one byte,
/// the larger ones first.
inline int64_t BalancedBlock(int64_t total, int64_t parts, int64_t index)
{
    return total / parts + (index < total % parts ? 1 : 0);
}

/// Returns the sizes of all `parts` blocks.
std::vector<int64_t> Balanced(int64_t total, int parts);

} // namespace legacy::fabric
