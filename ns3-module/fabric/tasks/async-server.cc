#include "server.h"

#include "base/error.h"

#include <algorithm>
#include <deque>
#include <optional>

namespace legacy::fabric
{

namespace
{

/// An AsyncServer keeps `concurrency` tasks in flight, and makes a version of every `buffer`
/// updates (FedBuff: Nguyen et al., AISTATS 2022). All arrivals of one instant are counted, in the
/// order of clients, before anything is dispatched.
class AsyncServer : public ServerBase
{
  public:
    AsyncServer(const AsyncOptions& options,
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
        m_row.wanted = m_options.buffer;
        Fill(sink);
    }

    void OnEnd(uint64_t task, TaskEnd end, const TaskTimes& times, TaskSink& sink) override
    {
        m_ended.push_back(Ended{task, end, times});
        Settle(sink);
    }

    void OnWake(uint64_t token, TaskSink& sink) override
    {
        if (m_stopped)
        {
            return;
        }
        if (token != kSettle)
        {
            if (sink.Now() == m_retryAt)
            {
                m_retryAt = kNever;
            }
            Fill(sink);
        }
        else if (Settled(sink))
        {
            std::sort(m_ended.begin(),
                      m_ended.end(),
                      [&](const Ended& a, const Ended& b)
                      { return m_live.at(a.task).row.client < m_live.at(b.task).row.client; });
            Count(sink);
        }
    }

    /// Called when a version was made.
    void OnContinue(TaskSink& sink) override
    {
        if (Version() == m_versions)
        {
            m_stop = "";
        }
        else if (m_listener.Stop())
        {
            m_stop = "interrupted";
        }
        else
        {
            CheckTasks();
        }
        Count(sink);
    }

  private:
    enum Token : uint64_t
    {
        kRetry = 1,
    };

    struct Ended
    {
        uint64_t task = 0;
        TaskEnd end = TaskEnd::Uploaded;
        TaskTimes times;
    };

    /// Counts the tasks that ended at this instant, up to the version that they make, and then
    /// dispatches.
    void Count(TaskSink& sink)
    {
        while (!m_ended.empty())
        {
            const Ended one = m_ended.front();
            m_ended.pop_front();
            if (m_stop)
            {
                Close(one.task, TaskFate::Cancelled, one.times);
            }
            else if (CountOne(one, sink))
            {
                return; // OnContinue counts the rest
            }
        }
        if (!m_stop && GivesUp(m_options.buffer))
        {
            m_stop = WhyGivenUp();
        }
        if (m_stop)
        {
            Stop(*m_stop, sink);
        }
        else
        {
            Fill(sink);
        }
    }

    /// Counts the end of a task. Returns whether it made a version.
    bool CountOne(const Ended& one, TaskSink& sink)
    {
        ++m_tasksEnded;
        if (one.end == TaskEnd::Uploaded)
        {
            Take(one);
        }
        else
        {
            Close(one.task,
                  one.end == TaskEnd::Lost ? TaskFate::Lost : TaskFate::Interrupted,
                  one.times);
        }
        if (m_buffered < m_options.buffer)
        {
            CheckTasks();
            return false;
        }
        m_row.stalenessMean =
            m_stalenessSum / static_cast<double>(m_row.fates[0]); // number of counted tasks
        m_row.unavailable = m_candidates.Unavailable();
        m_buffered = 0;
        m_stalenessSum = 0;
        EndRow(true, sink);
        m_row.wanted = m_options.buffer;
        return true;
    }

    /// Ends the run if the requested number of tasks has ended.
    void CheckTasks()
    {
        if (m_options.tasks > 0 && m_tasksEnded >= m_options.tasks)
        {
            m_stop = "";
        }
    }

    /// Takes an update into the buffer unless it is too old.
    void Take(const Ended& one)
    {
        const Live& live = m_live.at(one.task);
        const int64_t staleness = Version() - live.row.baseVersion;
        const bool stale = m_options.maxStaleness > 0 && staleness > m_options.maxStaleness;
        const int drawn = live.times;
        const TaskRow row =
            Close(one.task, stale ? TaskFate::Stale : TaskFate::Counted, one.times, staleness);
        if (!stale)
        {
            m_buffered += drawn;
            m_stalenessSum += static_cast<double>(staleness);
            m_row.stalenessMax = std::max(m_row.stalenessMax, staleness);
            m_row.critical = row;
        }
    }

    /// Dispatches tasks up to the concurrency.
    void Fill(TaskSink& sink)
    {
        // Tasks that end later at this instant make room for tasks with the newest version.
        if (Settling())
        {
            return;
        }
        m_candidates.Advance(sink.Now());
        int64_t refusals = 0;
        while (static_cast<int64_t>(m_live.size()) < m_options.concurrency)
        {
            const std::vector<Pick> picks = m_selection.Select(m_choice++, 1, m_candidates);
            if (!picks.empty())
            {
                refusals = 0;
                Start(picks.front(), std::nullopt, sink);
            }
            else if (m_candidates.Count() == 0 || ++refusals >= kTasksWithoutVersion)
            {
                WaitForClients(sink);
                return;
            }
        }
    }

    void WaitForClients(TaskSink& sink)
    {
        const TimeNs next = m_candidates.NextChange();
        if (next == kNever && m_live.empty())
        {
            Stop("no client is available at " + FormatTime(sink.Now()) + ", and none will be again",
                 sink);
        }
        else if (next != kNever && next < m_retryAt)
        {
            m_retryAt = next;
            sink.Wake(next - sink.Now(), kRetry);
        }
    }

    const AsyncOptions m_options;
    std::deque<Ended> m_ended;         ///< at this instant, not yet counted
    std::optional<std::string> m_stop; ///< why the run is over; "": it ended as requested
    uint64_t m_choice = 0;
    int64_t m_buffered = 0;
    int64_t m_tasksEnded = 0;
    double m_stalenessSum = 0;
    TimeNs m_retryAt = kNever;
};

} // namespace

std::unique_ptr<ServerBase> MakeAsyncServer(const AsyncOptions& options,
                                            Candidates& candidates,
                                            Selection& selection,
                                            TaskWorks& works,
                                            TaskListener& listener)
{
    if (options.concurrency < 1 || options.concurrency > candidates.Clients())
    {
        throw Error("concurrency",
                    std::to_string(options.concurrency),
                    "1 to " + std::to_string(candidates.Clients()) + ", the number of clients");
    }
    if (options.buffer < 1 || options.buffer > 1'000'000)
    {
        throw Error("buffer", std::to_string(options.buffer), "1 to 1000000");
    }
    return std::make_unique<AsyncServer>(options, candidates, selection, works, listener);
}

} // namespace legacy::fabric
