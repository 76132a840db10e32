/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "queue-pairs.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace legacy
{
namespace packet
{

namespace
{

/// The number of messages that a description names.
constexpr std::size_t kNamedMessages = 8;

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
      m_maker(topology, settings, control, network),
      m_turns(static_cast<uint32_t>(settings->qps))
{
}

uint32_t QueuePairs::Open(const fabric::ConnectionName& connection)
{
    const uint32_t known = m_named.Find(connection);
    if (known != NumbersByName::kNone)
    {
        return known;
    }
    const auto first = static_cast<uint32_t>(m_pairs.size());
    m_numbers.push_back(m_named.CountBetween(connection.source, connection.destination));
    m_named.Set(connection, first);
    for (int i = 0; i < m_settings->qps; ++i)
    {
        m_pairs.push_back(m_maker.Make(connection, static_cast<uint32_t>(i)));
        Renew(*m_pairs.back(), RoceNow());
        m_pairs.back()->group = first / static_cast<uint32_t>(m_settings->qps);
    }
    if (m_settings->qps > 1)
    {
        m_turns.AddGroup();
    }
    return first;
}

DirectedLink QueuePairs::NextLink(const Frame& frame, int node)
{
    QueuePair& pair = *m_pairs[frame.pair];
    const bool data = frame.kind == FrameKind::Data;
    if (!data || !m_maker.Sprays())
    {
        return pair.way.At(data, frame.hop, RoceEnds::kWayEnds);
    }
    if (node == pair.destination)
    {
        return RoceEnds::kWayEnds;
    }
    return pair.selective->turns.Next(node);
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
    const std::vector<DirectedLink>& links = pair.selective->turns.LinksOf(node);
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
        pair.selective->turns.Renew();
    }
}

void QueuePairs::Renew()
{
    for (const auto& pair : m_pairs)
    {
        Renew(*pair, NextBegin(*pair));
    }
    m_turns.Restart();
}

uint32_t
QueuePairs::Add(const fabric::ConnectionName& connection, uint64_t graph, const fabric::Flow& flow)
{
    constexpr Picoseconds kLeastIdle = 100'000'000;
    constexpr int kIdleRoundTrips = 10;
    const auto qps = static_cast<uint32_t>(m_settings->qps);
    uint32_t number = Open(connection);
    const uint32_t group = number / qps;
    number += qps > 1 ? m_turns.Take(group) : 0;
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
    // Queues that its last frames have met say nothing about the frames that it sends after a
    // break.
    pair.smooth = pair.next == pair.end ? 0 : pair.smooth;
    Message message;
    message.first = pair.end;
    message.end = pair.end + static_cast<uint64_t>(CeilDivide(flow.bytes, m_settings->mtu));
    message.bytes = flow.bytes;
    message.graph = graph;
    message.flow = flow;
    pair.end = message.end;
    if (qps > 1)
    {
        message.order = m_turns.Add(group, graph, flow);
    }
    pair.messages.push_back(std::move(message));
    BeginMessage(pair);
    return number;
}

std::optional<int64_t> QueuePairs::Abort(const fabric::ConnectionName& connection,
                                         uint64_t graph,
                                         const fabric::Flow& flow)
{
    const uint32_t first = m_named.Find(connection);
    if (first == NumbersByName::kNone)
    {
        return std::nullopt;
    }
    const auto qps = static_cast<uint32_t>(m_settings->qps);
    for (uint32_t i = 0; i < qps; ++i)
    {
        if (const auto carried = Abort(*m_pairs[first + i], graph, flow))
        {
            return carried;
        }
    }
    if (qps == 1 || !m_turns.AbortArrived(first / qps, graph, flow))
    {
        return std::nullopt;
    }
    return flow.bytes;
}

std::optional<int64_t> QueuePairs::Abort(QueuePair& pair, uint64_t graph, const fabric::Flow& flow)
{
    RingBuffer<Message>& messages = pair.messages;
    uint32_t index = pair.receiving;
    while (index < messages.size() && (messages[index].graph != graph || messages[index].aborted ||
                                       !IsSameMessage(messages[index].flow, flow)))
    {
        ++index;
    }
    if (index == messages.size())
    {
        return std::nullopt;
    }
    Message* message = &messages[index];
    uint64_t kept = std::clamp(pair.sentTo, message->first, message->end);
    if (kept > message->first && kept < message->end && pair.sinceRequest > 0)
    {
        ++kept; // a last frame, which asks for the ACK of those that have left
    }
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
        m_turns.Abort(pair.group, message->order);
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
    for (const fabric::ConnectionName& name : m_named.All())
    {
        const uint32_t first = m_named.Find(name);
        fabric::RoceActivity::Pair sum{name.source,
                                       name.destination,
                                       m_numbers[first / static_cast<uint32_t>(m_settings->qps)],
                                       0,
                                       0};
        bool sends = false;
        for (uint32_t i = 0; i < static_cast<uint32_t>(m_settings->qps); ++i)
        {
            const QueuePair& pair = *m_pairs[first + i];
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
    std::vector<const QueuePair*> pairs; // sorted by their nodes
    for (const fabric::ConnectionName& name : m_named.All())
    {
        const auto first = m_pairs.begin() + m_named.Find(name);
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
