#include "server.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>

namespace legacy::fabric
{

namespace
{

/// A SyncServer ends a round at the first of these: enough updates have arrived; every task has
/// ended; the deadline has come and at least `least` updates have arrived.
class SyncServer : public ServerBase
{
  public:
    SyncServer(const SyncOptions& options,
               Candidates& candidates,
               Selection& selection,
               TaskWorks& works,
               TaskListener& listener)
        : ServerBase(candidates, selection, works, listener, options.versions),
          m_options(options)
    {
    }

    void OnStart(TaskSink& sink) override
    {
        BeginRound(sink);
    }

    void OnEnd(uint64_t task, TaskEnd end, const TaskTimes& times, TaskSink& sink) override
    {
        if (end == TaskEnd::Uploaded)
        {
            m_arrived.push_back(Arrival{task, ClientOf(task), times});
        }
        else
        {
            Close(task, end == TaskEnd::Lost ? TaskFate::Lost : TaskFate::Interrupted, times);
        }
        Settle(sink);
    }

    void OnWake(uint64_t token, TaskSink& sink) override
    {
        if (m_stopped)
        {
            return;
        }
        if (token == kSettle)
        {
            if (Settled(sink))
            {
                Count(sink);
            }
        }
        else if (token == kRetry)
        {
            BeginRound(sink);
        }
        else if (token == kFirstDeadline + m_round && m_open)
        {
            m_due = true;
            Settle(sink); // arrivals of this instant are still in time
        }
    }

    void OnContinue(TaskSink& sink) override
    {
        if (Version() == m_versions)
        {
            Stop("", sink);
        }
        else if (m_listener.Stop())
        {
            Stop("interrupted", sink);
        }
        else if (GivesUp(m_options.perRound))
        {
            Stop(WhyGivenUp(), sink);
        }
        else
        {
            BeginRound(sink);
        }
    }

  private:
    enum Token : uint64_t
    {
        kRetry = 1,
        kFirstDeadline = 2, ///< each later round adds one
    };

    struct Arrival
    {
        uint64_t task = 0;
        int client = 0;
        TaskTimes times;
    };

    void BeginRound(TaskSink& sink)
    {
        m_candidates.Advance(sink.Now());
        const auto wanted = static_cast<int64_t>(
            std::ceil(m_options.overSelect * static_cast<double>(m_options.perRound) - 1e-9));
        const int64_t unavailable = m_candidates.Unavailable();
        const std::vector<Pick> picks = m_selection.Select(m_round, wanted, m_candidates);
        if (picks.empty())
        {
            WaitForClients(sink);
            return;
        }
        m_open = true;
        m_due = false;
        m_counted = 0;
        m_row.start = sink.Now();
        m_row.wanted = m_options.perRound;
        m_row.unavailable = unavailable;
        for (const Pick& pick : picks)
        {
            Start(pick, m_round, sink);
        }
        const TimeNs deadline = Deadline(picks);
        if (deadline != kNever)
        {
            sink.Wake(deadline, kFirstDeadline + m_round);
        }
    }

    /// Sleeps until a client's availability changes. If clients were available but a draw refused
    /// them all, the next round draws again.
    void WaitForClients(TaskSink& sink)
    {
        if (m_candidates.Count() > 0 && ++m_refusals < kTasksWithoutVersion)
        {
            ++m_round;
            sink.Wake(0, kRetry);
            return;
        }
        const TimeNs next = m_candidates.NextChange();
        if (next == kNever)
        {
            Stop(m_candidates.Count() > 0
                     ? "no client joined in " + std::to_string(kTasksWithoutVersion) + " draws"
                     : "no client is available at " + FormatTime(sink.Now()) +
                           ", and none will be again",
                 sink);
            return;
        }
        m_refusals = 0;
        sink.Wake(next - sink.Now(), kRetry);
    }

    TimeNs Deadline(const std::vector<Pick>& picks)
    {
        if (m_options.deadlineFactor <= 0)
        {
            return m_options.deadline;
        }
        std::vector<TimeNs> predicted;
        for (const Pick& pick : picks)
        {
            predicted.push_back(m_works.Predicted(pick.client));
        }
        const auto middle = predicted.begin() + static_cast<int64_t>((predicted.size() - 1) / 2);
        std::nth_element(predicted.begin(), middle, predicted.end());
        return RoundedTime(m_options.deadlineFactor * static_cast<double>(*middle));
    }

    void Count(TaskSink& sink)
    {
        std::sort(m_arrived.begin(),
                  m_arrived.end(),
                  [](const Arrival& a, const Arrival& b) { return a.client < b.client; });
        for (const Arrival& arrival : m_arrived)
        {
            if (m_counted >= m_options.perRound || (m_due && EnoughAtDeadline() && m_row.extended))
            {
                Close(arrival.task, TaskFate::Cancelled, arrival.times);
                continue;
            }
            m_counted += m_live.at(arrival.task).times;
            m_row.critical = Close(arrival.task, TaskFate::Counted, arrival.times);
        }
        m_arrived.clear();
        if (m_counted >= m_options.perRound || m_live.empty())
        {
            EndRound(TaskFate::Cancelled, sink);
        }
        else if (m_due && EnoughAtDeadline())
        {
            EndRound(TaskFate::Late, sink);
        }
        else if (m_due && m_options.skip)
        {
            EndRound(TaskFate::Late, sink, true);
        }
        else
        {
            m_row.extended = m_due;
        }
    }

    bool EnoughAtDeadline() const
    {
        return m_counted >= std::min(m_options.least, m_options.perRound);
    }

    int ClientOf(uint64_t task) const
    {
        return m_live.at(task).row.client;
    }

    void EndRound(TaskFate left, TaskSink& sink, bool skipped = false)
    {
        m_open = false;
        ++m_round;
        m_refusals = 0;
        CancelAll(left, sink);
        EndRow(m_counted > 0 && !skipped, sink);
    }

    const SyncOptions m_options;
    std::vector<Arrival> m_arrived; ///< at this instant, not yet counted
    uint64_t m_round = 0;           ///< number of rounds that have ended, with or without a version
    int64_t m_counted = 0;
    int64_t m_refusals = 0; ///< number of draws in a row that refused all clients
    bool m_open = false;    ///< true while a round lasts
    bool m_due = false;     ///< true after its deadline
};

} // namespace

std::unique_ptr<ServerBase> MakeSyncServer(const SyncOptions& options,
                                           Candidates& candidates,
                                           Selection& selection,
                                           TaskWorks& works,
                                           TaskListener& listener)
{
    if (options.perRound < 1 || options.perRound > candidates.Clients())
    {
        throw Error("per-round",
                    std::to_string(options.perRound),
                    "1 to " + std::to_string(candidates.Clients()) + ", the number of clients");
    }
    if (!(options.overSelect >= 1 && options.overSelect <= 100))
    {
        throw Error("over-select", std::to_string(options.overSelect), "1 to 100");
    }
    if (options.least < 1 || options.least > options.perRound)
    {
        throw Error("min",
                    std::to_string(options.least),
                    "1 to " + std::to_string(options.perRound) + ", the updates of a round");
    }
    return std::make_unique<SyncServer>(options, candidates, selection, works, listener);
}

} // namespace legacy::fabric
