#include "plan-graph.h"

#include "base/error.h"
#include "fabric/collective/base.h"
#include "plan-devices.h"
#include "plan-index.h"

#include <algorithm>
#include <cassert>

namespace legacy::fabric
{

namespace
{

/// Operations that end at once let others begin, within one call; from this depth on, these wait
/// until the calls have returned.
constexpr int kDeepest = 200;

constexpr size_t kMostCollectives = kMostTagBases - 1; ///< one is for messages

const StepPlan& Checked(const StepPlan& plan, bool check)
{
    if (plan.collectives.size() > kMostCollectives)
    {
        throw Error("step: collectives",
                    std::to_string(plan.collectives.size()),
                    "at most " + std::to_string(kMostCollectives) + " in a step");
    }
    if (check)
    {
        CheckValues(plan);
    }
    return plan;
}

} // namespace

// A collective has its number in the plan as the tag base of its flows, and all messages have the
// number after the last one, with the send's instance as mark. An instance is also the token of its
// wake-ups: before it begins they mean that its earliest time has come, and then that it ends.
struct PlanGraph::Impl
{
    Impl(StepPlan given, bool check);

    /// The progress of a rank's host.
    struct Host
    {
        int issued = 0;
        int ended = 0;
    };

    OperationTiming& TimingAt(const PlanPlace& place)
    {
        return timing.roles[place.role][place.operation];
    }

    /// Returns the device on which a segment runs.
    int DeviceOf(const PlanPlace& place) const
    {
        return plan.streams[index.OperationAt(place).stream].device;
    }

    /// Returns the time since the step's start.
    TimeNs Now(const FlowSink& sink) const
    {
        return sink.Now() - start;
    }

    void Satisfy(Instance instance)
    {
        if (--needs[instance] == 0)
        {
            ready.push_back(instance);
        }
    }

    void Start(FlowSink& sink);
    void Issue(int rank);
    void BeginReady(FlowSink& sink);
    void Begin(Instance instance, FlowSink& sink);
    void BeginSegment(const PlanPlace& place, Instance instance, FlowSink& sink);
    void BeginSend(const PlanPlace& place, Instance instance, FlowSink& sink);
    void EndSegment(const PlanPlace& place, Instance instance, FlowSink& sink);
    void EndCollective(int collective, int rank, FlowSink& sink);
    void EndCarried(const PlanPlace& place, FlowSink& sink);
    void Deliver(Instance send, FlowSink& sink);
    void End(const PlanPlace& place, TimeNs when);

    const StepPlan plan;
    const PlanIndex index;
    PlanDevices devices;
    std::vector<std::unique_ptr<Collective>> collectives;
    std::vector<int> needs; ///< what each instance still waits for
    std::vector<Instance> ready;
    size_t nextReady = 0; ///< those of `ready` before it have begun
    int depth = 0;
    std::vector<Host> hosts;   ///< by rank; empty without a limit
    std::vector<bool> arrived; ///< messages, by receive; empty where there are none
    Instance remaining = 0;    ///< number of instances that have not ended
    bool started = false;
    bool starting = false; ///< within OnStart
    TimeNs start = 0;
    PlanTiming timing;
};

PlanGraph::Impl::Impl(StepPlan given, bool check)
    : plan(std::move(given)),
      index(Checked(plan, check)),
      devices(plan),
      needs(index.Count()),
      hosts(plan.hostLimit > 0 ? plan.ranks : 0),
      remaining(index.Count())
{
    if (check)
    {
        CheckLinks(index);
    }
    for (size_t c = 0; c < plan.collectives.size(); ++c)
    {
        const int number = static_cast<int>(c);
        collectives.push_back(MakeCollective(plan.collectives[c],
                                             static_cast<uint32_t>(c),
                                             [this, number](int rank, FlowSink& sink)
                                             { EndCollective(number, rank, sink); }));
    }
    timing.finish.assign(plan.ranks, 0);
    for (const StepRole& role : plan.roles)
    {
        timing.roles.emplace_back(role.operations.size());
    }
    index.ForEachOperation(
        [&](PlanPlace place, int ranks)
        {
            TimingAt(place) = {std::vector<TimeNs>(ranks), std::vector<TimeNs>(ranks)};
            std::fill_n(needs.begin() + index.Number(place), ranks, index.Needs(place));
            if (index.OperationAt(place).kind == OperationKind::Receive)
            {
                arrived.resize(index.Count());
            }
        });
}

void PlanGraph::Impl::Start(FlowSink& sink)
{
    start = sink.Now();
    started = true;
    starting = true;
    index.ForEachOperation(
        [&](PlanPlace place, int ranks)
        {
            const std::vector<TimeNs>& earliest = index.OperationAt(place).earliest;
            for (; place.position < ranks; ++place.position)
            {
                const Instance instance = index.Number(place);
                if (!earliest.empty())
                {
                    sink.Wake(ByRank(earliest, place.position, TimeNs{0}),
                              static_cast<uint64_t>(instance));
                }
                else if (needs[instance] == 0)
                {
                    ready.push_back(instance);
                }
            }
        });
    for (int rank = 0; rank < static_cast<int>(hosts.size()); ++rank)
    {
        Issue(rank);
    }
    BeginReady(sink);
    starting = false;
}

/// Issues operations of a rank until the host limit is reached.
void PlanGraph::Impl::Issue(int rank)
{
    Host& host = hosts[rank];
    const int count = static_cast<int>(plan.roles[index.RoleOf(rank)].operations.size());
    while (host.issued < count && host.issued - host.ended < plan.hostLimit)
    {
        Satisfy(index.Number(index.At(rank, host.issued++)));
    }
}

/// Begins what is ready, and what becomes ready by that.
void PlanGraph::Impl::BeginReady(FlowSink& sink)
{
    if (depth == kDeepest)
    {
        return;
    }
    ++depth;
    while (nextReady < ready.size())
    {
        Begin(ready[nextReady++], sink);
    }
    ready.clear();
    nextReady = 0;
    --depth;
}

void PlanGraph::Impl::Begin(Instance instance, FlowSink& sink)
{
    const PlanPlace place = index.PlaceOf(instance);
    const StepOperation& operation = index.OperationAt(place);
    const int rank = index.RankAt(place);
    TimingAt(place).begin[place.position] = Now(sink);
    switch (operation.kind)
    {
    case OperationKind::Segment:
        BeginSegment(place, instance, sink);
        return;
    case OperationKind::Collective:
        if (devices.Shared())
        {
            devices.Count(rank, 1, sink);
        }
        collectives[ByRank(operation.collective, place.position, -1)]->Start(rank, sink);
        return;
    case OperationKind::Send:
        BeginSend(place, instance, sink);
        return;
    case OperationKind::Receive:
        if (arrived[instance])
        {
            End(place, Now(sink));
        }
        arrived[instance] = true; // the first of two, if the message is still on its way
        return;
    case OperationKind::Transfer:
        if (devices.Shared())
        {
            devices.Count(rank, 1, sink);
        }
        sink.Wake(ByRank(operation.duration, place.position, TimeNs{0}),
                  static_cast<uint64_t>(instance));
        return;
    case OperationKind::Barrier:
        End(place, Now(sink));
        return;
    }
}

void PlanGraph::Impl::BeginSegment(const PlanPlace& place, Instance instance, FlowSink& sink)
{
    const TimeNs now = Now(sink);
    const TimeNs duration = ByRank(index.OperationAt(place).duration, place.position, TimeNs{0});
    if (duration == 0)
    {
        End(place, now);
        return;
    }
    const int rank = index.RankAt(place);
    const int device = DeviceOf(place);
    if (devices.Shared(device))
    {
        devices.Add(rank, instance, duration, sink);
        return;
    }
    const TimeNs end = devices.Take(rank, device, now, duration);
    TimingAt(place).begin[place.position] = end - duration;
    if (starting && index.Following(place).empty() && hosts.empty())
    {
        End(place, end); // nothing waits for this end, which is known from the start
        return;
    }
    sink.Wake(end - now, static_cast<uint64_t>(instance));
}

void PlanGraph::Impl::EndSegment(const PlanPlace& place, Instance instance, FlowSink& sink)
{
    const int rank = index.RankAt(place);
    if (devices.Shared(DeviceOf(place)))
    {
        if (!devices.Ends(rank, instance, sink.Now()))
        {
            return;
        }
        if (const Instance next = devices.Next(rank, sink); next != kNoInstance)
        {
            const PlanPlace begins = index.PlaceOf(next);
            TimingAt(begins).begin[begins.position] = Now(sink);
        }
    }
    End(place, Now(sink));
    BeginReady(sink);
}

void PlanGraph::Impl::EndCollective(int collective, int rank, FlowSink& sink)
{
    const int role = index.RoleOf(rank);
    EndCarried(index.At(rank, index.OperationIn(collective, role)), sink);
}

/// Ends what was carried beside the segments of a rank.
void PlanGraph::Impl::EndCarried(const PlanPlace& place, FlowSink& sink)
{
    if (devices.Shared())
    {
        devices.Count(index.RankAt(place), -1, sink);
    }
    End(place, Now(sink));
    BeginReady(sink);
}

void PlanGraph::Impl::BeginSend(const PlanPlace& place, Instance instance, FlowSink& sink)
{
    const StepOperation& operation = index.OperationAt(place);
    if (!operation.duration.empty())
    {
        sink.Wake(ByRank(operation.duration, place.position, TimeNs{0}),
                  static_cast<uint64_t>(instance));
        return;
    }
    const uint64_t tag =
        static_cast<uint64_t>(collectives.size()) << kTagShift | static_cast<uint64_t>(instance);
    sink.Send(
        Flow{index.RankAt(place), ByRank(operation.peer, place.position, 0), operation.bytes, tag});
}

/// Ends a send whose message has arrived, and its receive if that has begun.
void PlanGraph::Impl::Deliver(Instance send, FlowSink& sink)
{
    End(index.PlaceOf(send), Now(sink));
    const Instance receive = index.ReceiveOf(send);
    if (arrived[receive])
    {
        End(index.PlaceOf(receive), Now(sink));
    }
    arrived[receive] = true;
    BeginReady(sink);
}

void PlanGraph::Impl::End(const PlanPlace& place, TimeNs when)
{
    TimingAt(place).end[place.position] = when;
    const int rank = index.RankAt(place);
    timing.finish[rank] = std::max(timing.finish[rank], when);
    timing.total = std::max(timing.total, when);
    --remaining;
    for (int next : index.Following(place))
    {
        Satisfy(index.Number({place.role, next, place.position}));
    }
    if (!hosts.empty())
    {
        ++hosts[rank].ended;
        Issue(rank);
    }
}

PlanGraph::PlanGraph(StepPlan plan) : PlanGraph(std::move(plan), Trust::Check)
{
}

PlanGraph::PlanGraph(StepPlan plan, Trust trust)
    : m_impl(std::make_unique<Impl>(std::move(plan), trust == Trust::Check))
{
}

PlanGraph::~PlanGraph() = default;

void PlanGraph::OnStart(FlowSink& sink)
{
    m_impl->Start(sink);
}

void PlanGraph::OnDelivered(const Flow& flow, FlowSink& sink)
{
    const size_t base = flow.tag >> kTagShift;
    if (base < m_impl->collectives.size())
    {
        m_impl->collectives[base]->OnDelivered(flow, sink);
        return;
    }
    m_impl->Deliver(static_cast<Instance>(flow.tag & ((uint64_t{1} << kTagShift) - 1)), sink);
}

void PlanGraph::OnWake(uint64_t token, FlowSink& sink)
{
    if (const std::optional<WakeOf> wake = CollectiveOfWake(token))
    {
        m_impl->collectives[wake->tagBase]->OnWake(wake->mark, sink);
        return;
    }
    const auto instance = static_cast<Instance>(token);
    if (m_impl->needs[instance] > 0)
    {
        m_impl->Satisfy(instance);
        m_impl->BeginReady(sink);
        return;
    }
    const PlanPlace place = m_impl->index.PlaceOf(instance);
    switch (m_impl->index.OperationAt(place).kind)
    {
    case OperationKind::Send:
        m_impl->Deliver(instance, sink);
        return;
    case OperationKind::Transfer:
        m_impl->EndCarried(place, sink);
        return;
    default:
        m_impl->EndSegment(place, instance, sink);
        return;
    }
}

bool PlanGraph::Done() const
{
    return m_impl->started && m_impl->remaining == 0;
}

const PlanTiming& PlanGraph::Times() const
{
    assert(Done());
    return m_impl->timing;
}

const StepPlan& PlanGraph::Plan() const
{
    return m_impl->plan;
}

} // namespace legacy::fabric
