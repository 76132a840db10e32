/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-receiver.h"

#include <algorithm>
#include <utility>

namespace legacy
{
namespace packet
{

using fabric::RoceSettings;

RoceReceiver::RoceReceiver(const RoceSettings* settings,
                           const fabric::RoceControl* control,
                           QueuePairs* pairs,
                           RoceNetwork* network,
                           CarrierListener* listener)
    : m_settings(settings),
      m_control(control),
      m_pairs(*pairs),
      m_network(*network),
      m_listener(listener)
{
}

void RoceReceiver::AddCounters(fabric::RoceCounters& counters) const
{
    counters.cnps += m_cnps;
    counters.naks += m_naks;
}

void RoceReceiver::OnData(uint32_t frame)
{
    const Frame& data = m_network.Frames()[frame];
    const uint32_t number = data.pair;
    QueuePair& pair = m_pairs[number];
    const fabric::RoceTraits& traits = m_control->Traits();
    if (data.marked && traits.notifications &&
        (!pair.cnpSent || data.at - pair.cnpAt >= traits.cnpInterval))
    {
        pair.cnpSent = true;
        pair.cnpAt = data.at;
        ++m_cnps;
        if (QueuePair::Message* message = pair.MessageOf(data.psn))
        {
            ++message->story.cnps;
        }
        Answer(number, frame, FrameKind::Cnp);
    }
    if (data.psn > pair.expected)
    {
        if (!pair.nakSent || data.at - pair.nakAt > 2 * pair.path.roundTrip)
        {
            pair.nakSent = true;
            pair.nakAt = data.at;
            ++m_naks;
            Answer(number, frame, FrameKind::Nak);
        }
        return;
    }
    const bool isNew = data.psn == pair.expected;
    if (isNew)
    {
        ++pair.expected;
        pair.nakSent = false;
        m_listener->OnProgress();
    }
    if (data.wantsAck)
    {
        Answer(number, frame, FrameKind::Ack);
    }
    if (isNew && pair.expected == pair.messages[pair.receiving].end)
    {
        Deliver(pair);
    }
}

void RoceReceiver::Answer(uint32_t number, uint32_t frame, FrameKind kind)
{
    const QueuePair& pair = m_pairs[number];
    FramePool& frames = m_network.Frames();
    const uint32_t taken = frames.Take();
    Frame& answer = frames[taken];
    Frame& data = frames[frame];
    answer.kind = kind;
    answer.pair = number;
    answer.psn = pair.expected;
    answer.at = data.at;
    answer.sent = data.sent;
    answer.payload = data.wire;
    answer.wire = kind == FrameKind::Cnp ? m_settings->cnpBytes : m_settings->ackBytes;
    if (kind != FrameKind::Cnp && m_control->Traits().telemetry)
    {
        answer.wire += static_cast<int32_t>(fabric::IntBytes(pair.path.switches));
        std::swap(answer.records, data.records);
    }
    m_network.SendControl(pair.back.front(), taken);
}

fabric::RoceFlow RoceReceiver::RecordOf(const QueuePair& pair, const QueuePair::Story& story)
{
    fabric::RoceFlow record;
    record.rateAtEnd = std::min(pair.Rate(), pair.path.lineRate);
    record.cnps = story.cnps;
    record.resent = story.resent;
    record.paused =
        (story.atNic + story.last + fabric::kPicosecondsPerNs / 2) / fabric::kPicosecondsPerNs;
    const auto root =
        std::max_element(story.roots.begin(),
                         story.roots.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    record.pauseRoot = root == story.roots.end() ? -1 : root->first;
    record.victim = 2 * story.innocent > story.waits;
    return record;
}

void RoceReceiver::Deliver(QueuePair& pair)
{
    const QueuePair::Message message = pair.messages[pair.receiving];
    ++pair.receiving;
    ++pair.delivered;
    if (!message.aborted)
    {
        const fabric::RoceFlow record = RecordOf(pair, message.story);
        m_listener->OnArrived(message.graph, message.flow, &record);
    }
}

} // namespace packet
} // namespace legacy
