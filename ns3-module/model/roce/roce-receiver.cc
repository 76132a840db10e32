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
                           CarrierListener* listener,
                           bool sprays)
    : m_settings(settings),
      m_control(control),
      m_pairs(*pairs),
      m_network(*network),
      m_listener(listener),
      m_sprays(sprays)
{
}

void RoceReceiver::AddCounters(fabric::RoceCounters& counters) const
{
    counters.cnps += m_cnps;
    counters.naks += m_naks;
    counters.reordered += m_reordered;
}

void RoceReceiver::OnData(uint32_t frame)
{
    const Frame& data = m_network.Frames()[frame];
    const uint32_t number = data.pair;
    QueuePair& pair = m_pairs[number];
    const fabric::RoceTraits& traits = m_control->Traits();
    const bool smooth = data.at - data.sent <= pair.course->smoothDelay;
    pair.smooth =
        smooth ? std::min(std::max(pair.smooth, 0) + data.frames, m_settings->framesPerAck) : -1;
    for (int i = 0; traits.notifications && i < data.frames; ++i)
    {
        const auto marked = pair.notifier.OnFrame(data.at, data.sent, i < data.marks, traits);
        if (marked)
        {
            ++m_cnps;
            if (QueuePair::Message* message = pair.MessageOf(data.psn))
            {
                ++message->Tell().cnps;
            }
            Answer(number, frame, FrameKind::Cnp, *marked);
        }
    }
    pair.selective ? Place(number, frame) : TakeInOrder(number, frame);
}

void RoceReceiver::TakeInOrder(uint32_t number, uint32_t frame)
{
    const Frame& data = m_network.Frames()[frame];
    QueuePair& pair = m_pairs[number];
    if (data.psn > pair.expected)
    {
        if (!pair.nakSent || data.at - pair.nakAt > 2 * pair.course->path.roundTrip)
        {
            pair.nakSent = true;
            pair.nakAt = data.at;
            ++m_naks;
            Answer(number, frame, FrameKind::Nak, data.sent);
        }
        return;
    }
    const uint64_t behind = data.psn + data.frames;
    const bool isNew = behind > pair.expected;
    if (isNew)
    {
        pair.expected = behind;
        pair.nakSent = false;
        m_listener->OnProgress();
    }
    if (data.wantsAck)
    {
        Answer(number, frame, FrameKind::Ack, data.sent);
    }
    if (isNew)
    {
        Deliver(pair);
    }
}

void RoceReceiver::Place(uint32_t number, uint32_t frame)
{
    const Frame& data = m_network.Frames()[frame];
    QueuePair& pair = m_pairs[number];
    fabric::SelectiveReceiver& receiver = pair.selective->receiver;
    if (data.psn < pair.expected || receiver.Has(data.psn))
    {
        if (data.wantsAck)
        {
            Answer(number, frame, FrameKind::Ack, data.sent);
        }
        return;
    }
    const bool again = data.ahead == 0;
    m_reordered += !again && receiver.IsOvertaken(data.psn) ? 1 : 0;
    const uint64_t before = pair.expected;
    pair.expected = receiver.Place(data.psn, before);
    m_listener->OnProgress();
    const bool ahead = pair.expected == before;
    const bool fills = pair.expected > before + 1;
    if (ahead && !m_sprays)
    {
        ++m_naks;
        Answer(number, frame, FrameKind::Nak, data.sent);
    }
    else if (data.wantsAck || ahead || fills)
    {
        Answer(number, frame, FrameKind::Ack, data.sent);
    }
    Deliver(pair);
}

void RoceReceiver::Answer(uint32_t number, uint32_t frame, FrameKind kind, Picoseconds sent)
{
    const QueuePair& pair = m_pairs[number];
    FramePool& frames = m_network.Frames();
    const uint32_t taken = frames.Take();
    Frame& answer = frames[taken];
    Frame& data = frames[frame];
    answer.kind = kind;
    answer.pair = number;
    answer.psn = pair.expected;
    answer.ahead = pair.selective && data.psn >= pair.expected
                       ? static_cast<uint32_t>(data.psn - pair.expected)
                       : Frame::kNone;
    answer.at = data.at;
    answer.sent = sent;
    answer.payload = data.wire;
    answer.wire = kind == FrameKind::Cnp ? m_settings->cnpBytes : m_settings->ackBytes;
    if (kind != FrameKind::Cnp && m_control->Traits().telemetry)
    {
        answer.wire += static_cast<int32_t>(fabric::IntBytes(pair.course->path.switches));
        std::swap(answer.records, data.records);
    }
    m_network.SendControl(pair.way.FirstBack(), taken);
}

fabric::RoceFlow RoceReceiver::RecordOf(const QueuePair& pair, const QueuePair::Story* story)
{
    fabric::RoceFlow record;
    const bool noted = story != nullptr && story->rateAtEnd > 0;
    record.rateAtEnd = std::min(noted ? story->rateAtEnd : pair.Rate(), pair.course->path.lineRate);
    if (story == nullptr)
    {
        return record;
    }
    record.cnps = story->cnps;
    record.resent = story->resent;
    record.paused =
        (story->atNic + story->last + fabric::kPicosecondsPerNs / 2) / fabric::kPicosecondsPerNs;
    const auto root =
        std::max_element(story->roots.begin(),
                         story->roots.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    record.pauseRoot = root == story->roots.end() ? -1 : root->first;
    record.victim = 2 * story->innocent > story->waits;
    return record;
}

void RoceReceiver::Deliver(QueuePair& pair)
{
    while (pair.receiving < pair.messages.size() &&
           pair.messages[pair.receiving].end <= pair.expected)
    {
        const QueuePair::Message& message = pair.messages[pair.receiving];
        ++pair.receiving;
        ++pair.delivered;
        const fabric::RoceFlow record = RecordOf(pair, message.story.get());
        if (m_settings->qps > 1)
        {
            m_pairs.Arrive(pair, message, record);
            HandOver(pair.group);
        }
        else if (!message.aborted)
        {
            // The listener may send more messages, which moves those in memory.
            const fabric::Flow flow = message.flow;
            m_listener->OnArrived(message.graph, flow, &record);
        }
    }
}

void RoceReceiver::HandOver(uint32_t group)
{
    while (const auto message = m_pairs.TakeArrived(group))
    {
        m_listener->OnArrived(message->graph, message->flow, &message->record);
    }
}

} // namespace packet
} // namespace legacy
