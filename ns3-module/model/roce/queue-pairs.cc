/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "queue-pairs.h"

#include <algorithm>
#include <cmath>

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

} // namespace

QueuePairs::QueuePairs(const fabric::Topology* topology,
                       const fabric::RoceSettings* settings,
                       const fabric::RoceControl* control,
                       const RoceNetwork* network)
    : m_topology(topology),
      m_settings(settings),
      m_control(control),
      m_network(network),
      m_headerBytes(settings->headerBytes +
                    (control->Traits().telemetry ? fabric::kIntHeaderBytes : 0))
{
}

uint32_t QueuePairs::Open(int source, int destination, uint16_t lane)
{
    const auto [entry, added] =
        m_numbers.try_emplace({source, destination, lane}, static_cast<uint32_t>(m_pairs.size()));
    if (!added)
    {
        return entry->second;
    }
    constexpr uint32_t kChannel = 0;
    auto pair = std::make_unique<QueuePair>();
    pair->source = source;
    pair->destination = destination;
    pair->way = m_topology->Route(source, destination, kChannel);
    pair->back = m_topology->Route(destination, source, kChannel);
    pair->path.lineRate = static_cast<double>(m_network->RateOf(pair->way.front()));
    pair->path.frameBytes = m_settings->mtu + m_settings->headerBytes;
    pair->path.switches = static_cast<int>(pair->way.size()) - 1;
    pair->path.roundTrip = RoundTrip(*pair);
    const double product =
        pair->path.lineRate * static_cast<double>(pair->path.roundTrip) / kPicosecondsPerSecond / 8;
    if (m_settings->windowIsBdp)
    {
        pair->windowLimit = std::max(product, 2.0 * static_cast<double>(pair->path.frameBytes));
    }
    else if (m_settings->windowBytes > 0)
    {
        pair->windowLimit = static_cast<double>(m_settings->windowBytes);
    }
    const std::size_t bytes = m_control->StateBytes(pair->path.switches);
    pair->memory.resize((bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
    Renew(*pair);
    m_pairs.push_back(std::move(pair));
    return entry->second;
}

void QueuePairs::Renew(QueuePair& pair)
{
    const Picoseconds now = pair.Advance(RoceNow());
    pair.state = m_control->Begin(pair.memory.data(), pair.path, now);
    pair.pacer = {};
}

void QueuePairs::Renew()
{
    for (const auto& pair : m_pairs)
    {
        Renew(*pair);
    }
}

Picoseconds QueuePairs::RoundTrip(const QueuePair& pair) const
{
    const int64_t records =
        m_control->Traits().telemetry ? fabric::IntBytes(pair.path.switches) : 0;
    Picoseconds time = 0;
    const auto add = [&](const std::vector<DirectedLink>& way, int64_t wire)
    {
        for (const DirectedLink link : way)
        {
            const bool toSwitch = !m_topology->IsHost(m_topology->To(link));
            time += m_topology->LinkOf(link).delay * kPicosecondsPerNs +
                    (toSwitch ? m_settings->switchDelay * kPicosecondsPerNs : 0) +
                    m_network->SerialisationOf(link, wire);
        }
    };
    add(pair.way, pair.path.frameBytes + records);
    add(pair.back, m_settings->ackBytes + records);
    return time;
}

void QueuePairs::Add(uint32_t number, uint64_t graph, const fabric::Flow& flow)
{
    constexpr Picoseconds kLeastIdle = 100'000'000;
    constexpr int kIdleRoundTrips = 10;
    QueuePair& pair = *m_pairs[number];
    if (pair.acked == pair.end)
    {
        const bool idle = RoceNow() - pair.idleSince >
                          std::max(kIdleRoundTrips * pair.path.roundTrip, kLeastIdle);
        if (m_settings->idle == fabric::RoceIdle::Message ||
            (m_settings->idle == fabric::RoceIdle::Reset && m_control->Traits().restarts && idle))
        {
            Renew(pair);
        }
    }
    Message message;
    message.first = pair.end;
    message.end = pair.end + static_cast<uint64_t>(fabric::CeilDivide(flow.bytes, m_settings->mtu));
    message.bytes = flow.bytes;
    message.graph = graph;
    message.flow = flow;
    pair.end = message.end;
    pair.messages.push_back(message);
}

std::optional<int64_t>
QueuePairs::Abort(int source, int destination, uint64_t graph, const fabric::Flow& flow)
{
    const auto found = m_numbers.find({source, destination, flow.lane});
    if (found == m_numbers.end())
    {
        return std::nullopt;
    }
    QueuePair& pair = *m_pairs[found->second];
    const auto begin = pair.messages.begin() + static_cast<std::ptrdiff_t>(pair.receiving);
    const auto message = std::find_if(begin,
                                      pair.messages.end(),
                                      [&](const Message& other)
                                      {
                                          return other.graph == graph && !other.aborted &&
                                                 other.flow.tag == flow.tag &&
                                                 other.flow.source == flow.source &&
                                                 other.flow.destination == flow.destination;
                                      });
    if (message == pair.messages.end())
    {
        return std::nullopt;
    }
    const uint64_t kept = std::clamp(pair.sentTo, message->first, message->end);
    const uint64_t cut = message->end - kept;
    const auto index = static_cast<std::size_t>(message - pair.messages.begin());
    for (auto later = message + 1; later != pair.messages.end(); ++later)
    {
        later->first -= cut;
        later->end -= cut;
    }
    pair.end -= cut;
    message->end = kept;
    message->aborted = true;
    message->bytes = std::min<int64_t>(
        message->bytes, static_cast<int64_t>(kept - message->first) * m_settings->mtu);
    const int64_t carried = message->bytes;
    const uint64_t end = message->end;
    if (carried == 0)
    {
        pair.messages.erase(message);
        return carried;
    }
    pair.sending += pair.sending == index && pair.next == end ? 1 : 0;
    pair.receiving += pair.receiving == index && pair.expected == end ? 1 : 0;
    return carried;
}

bool QueuePairs::IsIdle() const
{
    return std::all_of(
        m_pairs.begin(), m_pairs.end(), [](const auto& pair) { return pair->acked == pair->end; });
}

std::string QueuePairs::NameOf(const QueuePair& pair) const
{
    return m_topology->NodeName(pair.source) + " -> " + m_topology->NodeName(pair.destination);
}

std::vector<fabric::RoceActivity::Pair> QueuePairs::GetActivity() const
{
    std::vector<fabric::RoceActivity::Pair> active;
    for (const auto& [name, number] : m_numbers)
    {
        const QueuePair& pair = *m_pairs[number];
        if (pair.acked < pair.end)
        {
            const auto& [source, destination, lane] = name;
            active.push_back({source,
                              destination,
                              lane,
                              std::min(pair.Rate(), pair.path.lineRate),
                              pair.inFlight});
        }
    }
    return active;
}

std::string QueuePairs::DescribeBlocked() const
{
    std::string text;
    std::size_t named = 0;
    for (const auto& entry : m_numbers)
    {
        const QueuePair& pair = *m_pairs[entry.second];
        for (std::size_t i = pair.receiving; i < pair.messages.size(); ++i)
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
                    " bytes in flight, " + fabric::FormatRate(std::llround(pair.Rate())) + ", " +
                    m_network->DescribePause(pair.way.front());
        }
    }
    return text;
}

} // namespace packet
} // namespace legacy
