#include "server.h"

#include <algorithm>

namespace legacy::fabric
{

const char* NameOf(TaskFate fate)
{
    constexpr std::array<const char*, kTaskFates> names{
        "counted", "late", "lost", "interrupted", "cancelled", "stale"};
    return names[static_cast<size_t>(fate)];
}

ServerBase::ServerBase(Candidates& candidates,
                       Selection& selection,
                       TaskWorks& works,
                       TaskListener& listener,
                       int64_t versions)
    : m_candidates(candidates),
      m_selection(selection),
      m_works(works),
      m_listener(listener),
      m_versions(versions)
{
    m_row.version = 1;
}

const std::string& ServerBase::StopReason() const
{
    return m_reason;
}

int64_t ServerBase::Version() const
{
    return m_version;
}

uint64_t ServerBase::TasksStarted() const
{
    return m_nextTask;
}

int64_t ServerBase::UploadBytes(uint64_t task)
{
    m_moved = true;
    int64_t& bytes = m_live.at(task).row.work.upBytes;
    if (bytes == kUnknownBytes)
    {
        bytes = m_works.UpBytesOf(task);
    }
    return bytes;
}

void ServerBase::Settle(TaskSink& sink)
{
    m_moved = true;
    if (!m_settling)
    {
        m_settling = true;
        m_moved = false;
        sink.Wake(0, kSettle);
    }
}

bool ServerBase::Settled(TaskSink& sink)
{
    m_settling = false;
    if (m_moved)
    {
        Settle(sink);
        return false;
    }
    return true;
}

bool ServerBase::Settling() const
{
    return m_settling;
}

void ServerBase::Start(const Pick& pick, std::optional<uint64_t> key, TaskSink& sink)
{
    Live live;
    live.times = pick.times;
    live.row.id = m_nextTask++;
    live.row.client = pick.client;
    live.row.baseVersion = m_version;
    live.row.times.dispatched = sink.Now();
    Task task;
    task.id = live.row.id;
    task.client = pick.client;
    task.key = key.value_or(task.id);
    live.row.work = m_works.WorkOf({task.id, pick.client, m_version, task.key, live.times});
    task.downBytes = live.row.work.downBytes;
    task.work = live.row.work.work;
    task.lanes = live.row.work.lanes;
    m_candidates.SetBusy(pick.client, true);
    m_live.emplace(task.id, live);
    ++m_row.started;
    sink.Dispatch(task);
}

TaskRow ServerBase::Close(uint64_t id, TaskFate fate, const TaskTimes& times, int64_t staleness)
{
    const auto found = m_live.find(id);
    TaskRow row = found->second.row;
    const int drawn = found->second.times;
    m_live.erase(found);
    m_candidates.SetBusy(row.client, false);
    row.times = times;
    row.fate = fate;
    row.staleness = staleness;
    ++m_row.fates[static_cast<size_t>(fate)];
    ++m_fatesSinceVersion[static_cast<size_t>(fate)];
    m_row.carriedDown += times.carriedDown;
    m_row.carriedUp += times.carriedUp;
    m_endedSinceVersion += drawn;
    m_listener.OnTask(row);
    return row;
}

void ServerBase::CancelAll(TaskFate fate, TaskSink& sink)
{
    while (!m_live.empty())
    {
        const uint64_t id = m_live.begin()->first;
        Close(id, fate, sink.Cancel(id));
    }
}

void ServerBase::EndRow(bool made, TaskSink& sink)
{
    m_row.made = made;
    m_row.end = sink.Now();
    m_version += made ? 1 : 0;
    if (made)
    {
        m_endedSinceVersion = 0;
        m_fatesSinceVersion = {};
    }
    m_listener.OnRound(m_row);
    m_row = RoundRow();
    m_row.version = m_version + 1;
    m_row.start = sink.Now();
    sink.Pause();
}

void ServerBase::Stop(const std::string& reason, TaskSink& sink)
{
    if (!m_stopped)
    {
        m_stopped = true;
        m_reason = reason;
        CancelAll(TaskFate::Cancelled, sink);
        sink.Finish();
    }
}

bool ServerBase::GivesUp(int64_t each) const
{
    return m_endedSinceVersion >= kTasksWithoutVersion * each;
}

std::string ServerBase::WhyGivenUp() const
{
    std::string fates;
    for (int fate = 0; fate < kTaskFates; ++fate)
    {
        if (m_fatesSinceVersion[fate] > 0)
        {
            fates += (fates.empty() ? "" : ", ") + std::to_string(m_fatesSinceVersion[fate]) + " " +
                     NameOf(static_cast<TaskFate>(fate));
        }
    }
    return "version " + std::to_string(m_version + 1) + " does not come: of its tasks so far " +
           fates;
}

ClientRisks::ClientRisks(const ClientAvailability& availability,
                         const Dropout& dropout,
                         TimeNs detection)
    : m_availability(availability),
      m_dropout(dropout),
      m_detection(detection)
{
}

Interruption ClientRisks::FirstAfter(const Task& task, TimeNs from) const
{
    Interruption first;
    // A client that a task is dispatched to is available, so the next change ends its availability.
    first.at = m_availability.NextChange(task.client, from);
    const TimeNs hazard = m_dropout.HazardOf(task.key, task.client);
    if (hazard != kNever && Later(from, hazard) < first.at)
    {
        first.at = Later(from, hazard);
        first.end = TaskEnd::Lost;
    }
    return first;
}

Loss ClientRisks::LossOf(const Task& task) const
{
    return m_dropout.LossOf(task.key, task.client);
}

TimeNs ClientRisks::Detection() const
{
    return m_detection;
}

} // namespace legacy::fabric
