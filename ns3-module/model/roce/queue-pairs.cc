/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "queue-pairs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

namespace legacy
{
namespace packet
{

using fabric::kPicosecondsPerNs;
using fabric::kPicosecondsPerSecond;

namespace
{

/// Number of messages that a description names.
constexpr std::size_t kNamedMessages = 8;

/// Whether both are one message of a graph and connection.
bool IsSame(const fabric::Flow& a, const fabric::Flow& b)
{
    return a.tag == b.tag && a.source == b.source && a.destination == b.destination;
}

} // namespace

QueuePairs::QueuePairs(const fabric::Topology* topology,
                       const fabric::RoceSettings* settings,
                       const fabric::RoceControl* control,
                       RoceNetwork* network)
    : m_topology(topology),
      m_settings(settings),
      m_control(control),
      m_network(network),
      m_headerBytes(settings->headerBytes +
                    (control->Traits().telemetry ? fabric::kIntHeaderBytes : 0)),
      m_sprays(topology->GetMultipath() == fabric::Multipath::Spray)
{
}

uint32_t QueuePairs::Open(const fabric::ConnectionName& connection)
{
    const auto first = static_cast<uint32_t>(m_pairs.size());
    const auto [entry, added] = m_named.try_emplace(connection, Named{first, 0});
    if (added)
    {
        entry->second.number = m_opened[{connection.source, connection.destination}]++;
        for (int i = 0; i < m_settings->qps; ++i)
        {
            m_pairs.push_back(Make(connection, static_cast<uint32_t>(i)));
            m_pairs.back()->group = first / static_cast<uint32_t>(m_settings->qps);
        }
        if (m_settings->qps > 1)
        {
            m_groups.emplace_back();
        }
    }
    return entry->second.first;
}

std::unique_ptr<QueuePair> QueuePairs::Make(const fabric::ConnectionName& connection,
                                            uint32_t channel)
{
    const auto [source, destination, id] = connection.OfChannel(channel);
    auto pair = std::make_unique<QueuePair>();
    pair->source = source;
    pair->destination = destination;
    pair->id = id;
    pair->channel = channel;
    const std::vector<DirectedLink> forth = m_topology->Route(source, destination, id);
    const std::vector<DirectedLink> back = m_topology->Route(destination, source, id);
    pair->way.Set(forth, back);
    pair->course = &*m_courses.insert(CourseOf(forth, back)).first;
    if (m_settings->recovery == fabric::RoceRecovery::Selective)
    {
        OpenSelective(*pair);
    }
    if (m_sprays)
    {
        FindTurns(*pair);
    }
    Renew(*pair, RoceNow());
    return pair;
}

Course QueuePairs::CourseOf(const std::vector<DirectedLink>& forth,
                            const std::vector<DirectedLink>& back)
{
    Course course;
    fabric::RocePath& path = course.path;
    path.lineRate = static_cast<double>(m_network->RateOf(forth.front()));
    path.frameBytes = m_settings->mtu + m_settings->headerBytes;
    path.switches = static_cast<int>(forth.size()) - 1;
    if (m_control->Traits().telemetryOnWire)
    {
        fabric::EncodeIntHeader(path.switches, 0);
    }
    if (m_settings->roundTripOfFabric && m_roundTrip == 0)
    {
        m_roundTrip = RoundTripOfFabric();
    }
    path.roundTrip = m_settings->roundTripOfFabric ? m_roundTrip : RoundTrip(forth, back);
    for (const DirectedLink link : forth)
    {
        const Picoseconds time = m_network->SerialisationOf(link, path.frameBytes);
        course.speedsUp = course.speedsUp || time < course.slowestFrame;
        course.slowestFrame = std::max(course.slowestFrame, time);
    }
    constexpr int kTrainsOfSmooth = 2;
    course.smoothDelay =
        RoundTrip(forth, {}) + kTrainsOfSmooth * m_settings->train * course.slowestFrame;
    if (m_settings->windowIsBdp)
    {
        const double product =
            path.lineRate * static_cast<double>(path.roundTrip) / kPicosecondsPerSecond / 8;
        course.windowLimit = std::max(product, 2.0 * static_cast<double>(path.frameBytes));
    }
    else if (m_settings->windowBytes > 0)
    {
        course.windowLimit = static_cast<double>(m_settings->windowBytes);
    }
    return course;
}

void QueuePairs::OpenSelective(QueuePair& pair) const
{
    // A lost frame is sent again after one window, and acknowledged after another.
    constexpr uint64_t kWindows = 3;
    const auto window = static_cast<uint64_t>(
        std::ceil(pair.course->windowLimit / static_cast<double>(pair.course->path.frameBytes)));
    const uint64_t later =
        m_settings->reorder > 0 ? static_cast<uint64_t>(m_settings->reorder) : window;
    const uint64_t reorder = m_sprays ? later : 1;
    const uint64_t span = kWindows * window + reorder;
    pair.selective = std::make_unique<QueuePair::Selective>();
    pair.selective->sender.Open(span, reorder);
    pair.selective->receiver.Open(span);
}

void QueuePairs::FindTurns(QueuePair& pair) const
{
    std::vector<int> open{pair.source};
    std::set<int> known{pair.source, pair.destination};
    while (!open.empty())
    {
        QueuePair::Turn turn;
        turn.node = open.back();
        open.pop_back();
        turn.links = m_topology->NextHopsOf(turn.node, pair.source, pair.destination);
        const DirectedLink chosen =
            m_topology->NextHop(turn.node, pair.source, pair.destination, pair.id);
        turn.first = static_cast<std::size_t>(
            std::find(turn.links.begin(), turn.links.end(), chosen) - turn.links.begin());
        for (const DirectedLink link : turn.links)
        {
            if (known.insert(m_topology->To(link)).second)
            {
                open.push_back(m_topology->To(link));
            }
        }
        pair.selective->turns.push_back(std::move(turn));
    }
    std::sort(pair.selective->turns.begin(),
              pair.selective->turns.end(),
              [](const auto& a, const auto& b) { return a.node < b.node; });
}

DirectedLink QueuePairs::NextLink(const Frame& frame, int node)
{
    QueuePair& pair = *m_pairs[frame.pair];
    const bool data = frame.kind == FrameKind::Data;
    if (!data || !m_sprays)
    {
        return pair.way.At(data, frame.hop, RoceEnds::kWayEnds);
    }
    if (node == pair.destination)
    {
        return RoceEnds::kWayEnds;
    }
    QueuePair::Turn& turn = pair.selective->TurnOf(node);
    const DirectedLink link = turn.links[turn.next];
    turn.next = turn.next + 1 < turn.links.size() ? turn.next + 1 : 0;
    return link;
}

bool QueuePairs::IsInnocent(const QueuePair& pair,
                            DirectedLink link,
                            std::size_t hop,
                            DirectedLink root) const
{
    if (link == root)
    {
        return false;
    }
    if (pair.Sprays())
    {
        return IsFree(pair, m_topology->To(link), root);
    }
    return std::none_of(pair.way.begin() + hop + 1,
                        pair.way.end(),
                        [&](DirectedLink next) { return next == root || m_network->IsFull(next); });
}

bool QueuePairs::IsFree(const QueuePair& pair, int node, DirectedLink root) const
{
    if (node == pair.destination)
    {
        return true;
    }
    const std::vector<DirectedLink>& links = pair.selective->TurnOf(node).links;
    return std::all_of(links.begin(),
                       links.end(),
                       [&](DirectedLink link) {
                           return link != root && !m_network->IsFull(link) &&
                                  IsFree(pair, m_topology->To(link), root);
                       });
}

Picoseconds QueuePairs::NextBegin(const QueuePair& pair) const
{
    return std::max(RoceNow(), m_network->FreeAt(pair.way.First()));
}

void QueuePairs::BeginMessage(QueuePair& pair, Picoseconds from)
{
    if (m_settings->idle != fabric::RoceIdle::Message || pair.next != pair.sentTo ||
        pair.sending == pair.messages.size() || pair.messages[pair.sending].first != pair.next)
    {
        return;
    }
    if (pair.sending > 0)
    {
        pair.messages[pair.sending - 1].Tell().rateAtEnd = pair.Rate();
    }
    Renew(pair, from);
}

void QueuePairs::Renew(QueuePair& pair, Picoseconds from)
{
    const Picoseconds now = pair.Advance(RoceNow());
    static_assert(fabric::kRoceStateAlignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    const fabric::RocePath& path = pair.course->path;
    void* memory =
        pair.state ? pair.state.release() : ::operator new(m_control->StateBytes(path.switches));
    pair.state.reset(m_control->Begin(memory, path, now));
    pair.pacer = {};
    pair.firstOwn = pair.next;
    pair.stateAt = from;
    if (pair.Sprays())
    {
        for (QueuePair::Turn& turn : pair.selective->turns)
        {
            turn.next = turn.first;
        }
    }
}

void QueuePairs::Renew()
{
    for (const auto& pair : m_pairs)
    {
        Renew(*pair, NextBegin(*pair));
    }
    for (Group& group : m_groups)
    {
        group.turn = 0;
    }
}

Picoseconds QueuePairs::RoundTrip(const std::vector<DirectedLink>& way,
                                  const std::vector<DirectedLink>& back) const
{
    const int64_t records =
        m_control->Traits().telemetry ? fabric::IntBytes(static_cast<int>(way.size()) - 1) : 0;
    Picoseconds time = 0;
    const auto add = [&](const std::vector<DirectedLink>& links, int64_t wire)
    {
        for (const DirectedLink link : links)
        {
            const bool toSwitch = !m_topology->IsHost(m_topology->To(link));
            time += m_topology->LinkOf(link).delay * kPicosecondsPerNs +
                    (toSwitch ? m_settings->switchDelay * kPicosecondsPerNs : 0) +
                    m_network->SerialisationOf(link, wire);
        }
    };
    add(way, m_settings->mtu + m_settings->headerBytes + records);
    add(back, m_settings->ackBytes + records);
    return time;
}

Picoseconds QueuePairs::RoundTripOfFabric() const
{
    constexpr fabric::ConnectionId kFirst = 0;
    Picoseconds longest = 0;
    for (const int a : m_topology->Hosts())
    {
        for (const int b : m_topology->Hosts())
        {
            if (a != b)
            {
                longest = std::max(
                    longest,
                    RoundTrip(m_topology->Route(a, b, kFirst), m_topology->Route(b, a, kFirst)));
            }
        }
    }
    return longest;
}

uint32_t
QueuePairs::Add(const fabric::ConnectionName& connection, uint64_t graph, const fabric::Flow& flow)
{
    constexpr Picoseconds kLeastIdle = 100'000'000;
    constexpr int kIdleRoundTrips = 10;
    const auto qps = static_cast<uint32_t>(m_settings->qps);
    uint32_t number = Open(connection);
    Group* group = qps > 1 ? &m_groups[number / qps] : nullptr;
    if (group != nullptr)
    {
        number += group->turn;
        group->turn = (group->turn + 1) % qps;
    }
    QueuePair& pair = *m_pairs[number];
    if (pair.acked == pair.end)
    {
        const bool idle = RoceNow() - pair.changed >
                          std::max(kIdleRoundTrips * pair.course->path.roundTrip, kLeastIdle);
        pair.changed = RoceNow();
        if (m_settings->idle == fabric::RoceIdle::Reset && m_control->Traits().restarts && idle)
        {
            Renew(pair, NextBegin(pair));
        }
    }
    // What its last frames have met says nothing of those that it sends after a break.
    pair.smooth = pair.next == pair.end ? 0 : pair.smooth;
    Message message;
    message.first = pair.end;
    message.end = pair.end + static_cast<uint64_t>(CeilDivide(flow.bytes, m_settings->mtu));
    message.bytes = flow.bytes;
    message.graph = graph;
    message.flow = flow;
    pair.end = message.end;
    if (group != nullptr)
    {
        message.order = group->handedOver + group->pending.size();
        group->pending.push_back({graph, flow, {}});
    }
    pair.messages.push_back(std::move(message));
    BeginMessage(pair);
    return number;
}

void QueuePairs::Arrive(const QueuePair& pair,
                        const Message& message,
                        const fabric::RoceFlow& record)
{
    Group& group = m_groups[pair.group];
    if (!message.aborted)
    {
        Pending& pending = group.pending[message.order - group.handedOver];
        pending.record = record;
        pending.arrived = true;
    }
}

std::optional<QueuePairs::Pending> QueuePairs::TakeArrived(uint32_t number)
{
    Group& group = m_groups[number];
    while (!group.pending.empty() &&
           (group.pending.front().arrived || group.pending.front().aborted))
    {
        const Pending taken = group.pending.front();
        group.pending.pop_front();
        ++group.handedOver;
        if (!taken.aborted)
        {
            return taken;
        }
    }
    return std::nullopt;
}

std::optional<int64_t> QueuePairs::Abort(const fabric::ConnectionName& connection,
                                         uint64_t graph,
                                         const fabric::Flow& flow)
{
    const auto found = m_named.find(connection);
    if (found == m_named.end())
    {
        return std::nullopt;
    }
    const auto qps = static_cast<uint32_t>(m_settings->qps);
    for (uint32_t i = 0; i < qps; ++i)
    {
        if (const auto carried = Abort(*m_pairs[found->second.first + i], graph, flow))
        {
            return carried;
        }
    }
    if (qps == 1)
    {
        return std::nullopt;
    }
    Group& group = m_groups[found->second.first / qps];
    // It may have arrived, and wait for others.
    const auto waits = std::find_if(group.pending.begin(),
                                    group.pending.end(),
                                    [&](const Pending& other) {
                                        return other.arrived && !other.aborted &&
                                               other.graph == graph && IsSame(other.flow, flow);
                                    });
    if (waits == group.pending.end())
    {
        return std::nullopt;
    }
    waits->aborted = true;
    return flow.bytes;
}

std::optional<int64_t> QueuePairs::Abort(QueuePair& pair, uint64_t graph, const fabric::Flow& flow)
{
    RingBuffer<Message>& messages = pair.messages;
    uint32_t index = pair.receiving;
    while (index < messages.size() && (messages[index].graph != graph || messages[index].aborted ||
                                       !IsSame(messages[index].flow, flow)))
    {
        ++index;
    }
    if (index == messages.size())
    {
        return std::nullopt;
    }
    Message* message = &messages[index];
    const uint64_t kept = std::clamp(pair.sentTo, message->first, message->end);
    const uint64_t cut = message->end - kept;
    for (uint32_t later = index + 1; later < messages.size(); ++later)
    {
        messages[later].first -= cut;
        messages[later].end -= cut;
    }
    pair.end -= cut;
    message->end = kept;
    message->aborted = true;
    if (m_settings->qps > 1)
    {
        Group& group = m_groups[pair.group];
        group.pending[message->order - group.handedOver].aborted = true;
        m_network->Schedule(RoceNow(), RoceEventKind::HandOver, pair.group);
    }
    message->bytes = std::min<int64_t>(
        message->bytes, static_cast<int64_t>(kept - message->first) * m_settings->mtu);
    const int64_t carried = message->bytes;
    const uint64_t end = message->end;
    if (carried == 0)
    {
        messages.erase(index);
        return carried;
    }
    pair.receiving += pair.receiving == index && pair.expected == end ? 1 : 0;
    if (pair.sending == index && pair.next == end)
    {
        ++pair.sending;
        BeginMessage(pair);
    }
    return carried;
}

bool QueuePairs::IsIdle() const
{
    return std::all_of(
        m_pairs.begin(), m_pairs.end(), [](const auto& pair) { return pair->acked == pair->end; });
}

std::optional<fabric::DeadLink>
QueuePairs::FindDead(const std::function<bool(DirectedLink)>& isDead) const
{
    for (const auto& pair : m_pairs)
    {
        for (const auto& [link, share] :
             pair->acked == pair->end
                 ? std::vector<fabric::LinkShare>()
                 : m_topology->Shares(pair->source, pair->destination, pair->id))
        {
            if (isDead(link))
            {
                return fabric::DeadLink(*m_topology,
                                        link,
                                        pair->source,
                                        pair->destination,
                                        "",
                                        " carries nothing any more, for ever, and it is on the "
                                        "way of queue pair " +
                                            NameOf(*pair) + ": " + std::to_string(pair->acked) +
                                            " of " + std::to_string(pair->end) +
                                            " frames are acknowledged");
            }
        }
    }
    return std::nullopt;
}

std::string QueuePairs::NameOf(const QueuePair& pair) const
{
    const std::string number = m_settings->qps > 1 ? " #" + std::to_string(pair.channel + 1) : "";
    return m_topology->NodeName(pair.source) + " -> " + m_topology->NodeName(pair.destination) +
           number;
}

std::vector<fabric::RoceActivity::Pair> QueuePairs::GetActivity() const
{
    std::vector<fabric::RoceActivity::Pair> active;
    for (const auto& [name, named] : m_named)
    {
        fabric::RoceActivity::Pair sum{name.source, name.destination, named.number, 0, 0};
        bool sends = false;
        for (uint32_t i = 0; i < static_cast<uint32_t>(m_settings->qps); ++i)
        {
            const QueuePair& pair = *m_pairs[named.first + i];
            if (pair.acked < pair.end)
            {
                sends = true;
                sum.bitsPerSecond += std::min(pair.Rate(), pair.course->path.lineRate);
                sum.inFlight += pair.inFlight;
            }
        }
        if (sends)
        {
            active.push_back(sum);
        }
    }
    return active;
}

std::string QueuePairs::DescribeBlocked() const
{
    std::string text;
    std::size_t named = 0;
    std::vector<const QueuePair*> pairs; // by their nodes
    for (const auto& entry : m_named)
    {
        const auto first = m_pairs.begin() + entry.second.first;
        std::transform(first,
                       first + m_settings->qps,
                       std::back_inserter(pairs),
                       [](const auto& pair) { return pair.get(); });
    }
    for (const QueuePair* one : pairs)
    {
        const QueuePair& pair = *one;
        for (uint32_t i = pair.receiving; i < pair.messages.size(); ++i)
        {
            const Message& message = pair.messages[i];
            if (named++ == kNamedMessages)
            {
                return text + "\n  ...";
            }
            const uint64_t arrived =
                std::clamp(pair.expected, message.first, message.end) - message.first;
            text += "\n  " + NameOf(pair) + ", endpoint " + std::to_string(message.flow.source) +
                    " to " + std::to_string(message.flow.destination) + ": " +
                    std::to_string(std::min<int64_t>(
                        message.bytes, static_cast<int64_t>(arrived) * m_settings->mtu)) +
                    " of " + std::to_string(message.flow.bytes) + " bytes delivered, frame " +
                    std::to_string(pair.next) + " is next, " + std::to_string(pair.inFlight) +
                    " bytes in flight, " + FormatRate(std::llround(pair.Rate())) + ", " +
                    m_network->DescribePause(pair.way.First());
        }
    }
    return text;
}

} // namespace packet
} // namespace legacy
