/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-sender.h"

#include "base/units.h"
#include "roce-acks.h"

#include <algorithm>
#include <utility>

namespace legacy
{
namespace packet
{

using fabric::kPicosecondsPerNs;
using fabric::RoceSettings;

RoceSender::RoceSender(const fabric::Topology& topology,
                       const RoceSettings* settings,
                       const fabric::RoceControl* control,
                       QueuePairs* pairs,
                       RoceNetwork* network,
                       RoceEnds* ends,
                       CarrierListener* listener)
    : m_settings(settings),
      m_control(control),
      m_traits(control->Traits()),
      m_pairs(*pairs),
      m_network(*network),
      m_ends(ends),
      m_listener(listener),
      m_nics(2 * topology.Links().size(), pairs, network),
      m_timeouts(&topology, settings, pairs, network),
      m_trains(settings, control, pairs)
{
    if (settings->fairFloor)
    {
        m_shares = std::make_unique<RoceFairShares>(&topology, pairs, *network);
    }
}

void RoceSender::Begin(uint32_t number)
{
    if (m_shares && !m_pairs[number].fairShare)
    {
        ShareOut(number, true);
    }
}

void RoceSender::ShareOut(uint32_t number, bool takesPart)
{
    for (const uint32_t changed : m_shares->Change(number, takesPart))
    {
        QueuePair& pair = m_pairs[changed];
        const double before = pair.Rate();
        pair.fairRate = m_shares->Of(changed);
        AfterControl(changed, before, RoceNow());
    }
}

void RoceSender::List(uint32_t number, Picoseconds ready)
{
    QueuePair& pair = m_pairs[number];
    if (pair.listed || !pair.MaySend())
    {
        return;
    }
    pair.ready = std::max(pair.ready, ready);
    const DirectedLink link = pair.way.First();
    if (pair.pacer.next > std::max(RoceNow(), m_network.FreeAt(link)))
    {
        m_nics.Wait(number);
        return;
    }
    m_nics.Append(number);
    m_network.Serve(link);
}

void RoceSender::OnWake(DirectedLink link)
{
    if (m_nics.OnWake(link))
    {
        m_network.Serve(link);
    }
}

uint32_t RoceSender::Next(DirectedLink link, Picoseconds free)
{
    m_nics.Unwait(link);
    for (uint32_t number = m_nics.Pop(link); number != QueuePair::kNone; number = m_nics.Pop(link))
    {
        const QueuePair& pair = m_pairs[number];
        if (!pair.MaySend())
        {
            continue;
        }
        if (pair.pacer.next > RoceNow())
        {
            m_nics.Wait(number);
            continue;
        }
        return Send(number, std::max({free, pair.ready, pair.pacer.next}));
    }
    return Frame::kNone;
}

void RoceSender::CountWait(QueuePair& pair, QueuePair::Message& message, Picoseconds start)
{
    const DirectedLink link = pair.way.First();
    if (!m_network.WasPaused(link))
    {
        return;
    }
    const Picoseconds paused = m_network.PausedUntil(link, start);
    const Picoseconds wait =
        std::min(paused - pair.pausedAt, start - std::max(pair.ready, pair.pacer.next));
    pair.pausedAt = paused;
    if (wait > 0)
    {
        const DirectedLink root = m_network.RootOfPause(link);
        message.Tell().atNic += wait;
        message.story->Wait(root, wait, m_pairs.IsInnocent(pair, link, 0, root));
    }
}

uint32_t RoceSender::Make(uint32_t number, uint64_t psn, const QueuePair::Message& message)
{
    const QueuePair& pair = m_pairs[number];
    const uint32_t taken = m_network.Frames().Take();
    Frame& frame = m_network.Frames()[taken];
    frame.kind = FrameKind::Data;
    frame.pair = number;
    frame.psn = psn;
    frame.payload = static_cast<int32_t>(m_pairs.PayloadOf(message, psn));
    frame.wire = static_cast<int32_t>(m_pairs.WireOf(message, psn));
    if (m_traits.telemetry && pair.course->path.switches > 0)
    {
        m_network.Frames().AddRecords(taken);
    }
    if (m_settings->train > 1)
    {
        m_trains.Grow(frame, pair, message, !IsReady(pair.way.First()));
    }
    if (psn < pair.sentTo)
    {
        frame.ahead = 0;
    }
    return taken;
}

uint32_t RoceSender::Send(uint32_t number, Picoseconds start)
{
    QueuePair& pair = m_pairs[number];
    const bool again = pair.selective && pair.selective->sender.HasHole();
    const uint64_t psn = again ? pair.selective->sender.Hole() : pair.next;
    QueuePair::Message& message = again ? *pair.MessageOf(psn) : pair.messages[pair.sending];
    const uint32_t taken = Make(number, psn, message);
    Frame& frame = m_network.Frames()[taken];
    frame.sent = start;
    const uint64_t behind = psn + frame.frames;
    const bool last = behind == message.end;
    if (psn < pair.sentTo)
    {
        const uint64_t resent = std::min(behind, pair.sentTo) - psn;
        m_resent += resent;
        message.Tell().resent += resent;
    }
    CountWait(pair, message, start);
    if (pair.inFlight == 0 || (again && pair.timeoutEvent == fabric::kNoTimer))
    {
        m_timeouts.PutOff(number, start);
    }
    if (again)
    {
        pair.selective->sender.OnResent(pair.acked, pair.next);
    }
    else
    {
        pair.next = behind;
        pair.sentTo = std::max(pair.sentTo, pair.next);
        pair.sending += last ? 1 : 0;
        pair.inFlight += frame.wire;
    }
    m_control->OnSent(*pair.state, {pair.Advance(start), frame.wire});
    pair.pacer.OnSent(start, frame.wire, frame.payload, last, m_traits.burstBytes, pair.Rate());
    const bool full = static_cast<double>(pair.inFlight) >= pair.Window();
    pair.sinceRequest += frame.frames;
    frame.wantsAck = again || last || full || pair.sinceRequest >= m_settings->framesPerAck;
    pair.sinceRequest = frame.wantsAck ? 0 : pair.sinceRequest;
    const Picoseconds done = start + m_network.SerialisationOf(pair.way.First(), frame.wire);
    if (last && !again)
    {
        m_pairs.BeginMessage(pair, done);
    }
    SetTimer(number);
    if (pair.MaySend())
    {
        pair.pacer.next <= done ? m_nics.Append(number) : m_nics.Wait(number);
    }
    return taken;
}

void RoceSender::GoBack(uint32_t number, Picoseconds now, bool timeout)
{
    QueuePair& pair = m_pairs[number];
    if (pair.selective)
    {
        pair.selective->sender.OnTimeout(pair.acked, pair.next);
        m_timeouts.PutOff(number, now);
    }
    else
    {
        pair.next = pair.acked;
        pair.sending = 0;
        pair.inFlight = 0;
    }
    // After a time-out the first frame asks for an ACK, because the frames that arrived may not
    // have asked for one.
    pair.sinceRequest = timeout ? m_settings->framesPerAck : 0;
    TellLoss(pair, pair.acked, {now, timeout});
    // Frames that are sent again are sent under the present state.
    pair.firstOwn = std::min(pair.firstOwn, pair.acked);
}

void RoceSender::TellLoss(QueuePair& pair, uint64_t psn, const fabric::RoceLoss& loss) const
{
    if (psn >= pair.firstOwn)
    {
        m_control->OnLoss(*pair.state, loss);
    }
}

bool RoceSender::Repeat(uint32_t number, const Frame& ack, Picoseconds now)
{
    QueuePair& pair = m_pairs[number];
    if (pair.selective)
    {
        if (pair.selective->sender.Update(pair.acked, pair.next))
        {
            TellLoss(pair, pair.selective->sender.Hole(), {now, false});
        }
    }
    else if (ack.kind == FrameKind::Nak && ack.psn == pair.acked && pair.next > pair.acked)
    {
        // NAKs postpone time-outs. If every frame that is sent again is lost again, and a NAK
        // answers each time, they are counted as time-outs, because otherwise this would continue
        // for ever.
        if (now - pair.changed < m_timeouts.Of(pair))
        {
            GoBack(number, now, false);
        }
        else
        {
            return Expire(number, now);
        }
    }
    return true;
}

void RoceSender::OnAck(uint32_t frame)
{
    const Frame& ack = m_network.Frames()[frame];
    const uint32_t number = ack.pair;
    QueuePair& pair = m_pairs[number];
    const Picoseconds now = pair.Advance(ack.at);
    const double rateBefore = pair.Rate();
    const bool progress = ack.psn > pair.acked;
    fabric::RoceAck told = Acknowledge(m_pairs, pair, ack);
    told.now = now;
    told.sent = ack.sent;
    told.receiverDelay = ack.held;
    told.answeredBytes = ack.payload;
    if (pair.next < pair.acked)
    {
        pair.next = pair.acked; // what was to be sent again has already arrived
        pair.sending = 0;
        m_pairs.BeginMessage(pair);
    }
    told.acknowledged = pair.acked;
    told.next = pair.next;
    if (ack.records != Frame::kNone)
    {
        told.switches = pair.course->path.switches;
        told.records = m_network.Frames().RecordsOf(frame);
    }
    if (ack.sent >= pair.stateAt)
    {
        m_control->OnAck(*pair.state, told);
    }
    if (progress)
    {
        pair.timeouts = 0;
        pair.changed = now;
        m_timeouts.PutOff(number, now);
    }
    if (!Repeat(number, ack, now))
    {
        return;
    }
    AfterControl(number, rateBefore, ack.at);
    if (pair.fairShare && pair.acked == pair.end)
    {
        ShareOut(number, false);
    }
}

void RoceSender::OnCnp(uint32_t frame)
{
    const Frame& cnp = m_network.Frames()[frame];
    const uint32_t number = cnp.pair;
    QueuePair& pair = m_pairs[number];
    const double rateBefore = pair.Rate();
    const Picoseconds now = pair.Advance(cnp.at);
    if (cnp.sent >= pair.stateAt)
    {
        m_control->OnCnp(*pair.state, now);
    }
    AfterControl(number, rateBefore, cnp.at);
}

void RoceSender::AfterControl(uint32_t number, double rateBefore, Picoseconds now)
{
    QueuePair& pair = m_pairs[number];
    if (pair.Rate() != rateBefore)
    {
        pair.pacer.OnRate(now, pair.Rate());
    }
    SetTimer(number);
    List(number, now);
}

void RoceSender::SetTimer(uint32_t number)
{
    QueuePair& pair = m_pairs[number];
    if (pair.state->timer < pair.controlEvent)
    {
        pair.controlEvent = pair.state->timer;
        m_network.Schedule(pair.controlEvent, RoceEventKind::Control, number);
    }
}

void RoceSender::OnControlTimer(uint32_t number)
{
    QueuePair& pair = m_pairs[number];
    const Picoseconds now = RoceNow();
    if (pair.controlEvent > now)
    {
        return; // another event has taken its place
    }
    pair.controlEvent = fabric::kNoTimer;
    const double rateBefore = pair.Rate();
    if (pair.state->timer <= now)
    {
        m_control->OnTimer(*pair.state, pair.Advance(now));
    }
    AfterControl(number, rateBefore, now);
}

void RoceSender::OnTimeout(uint32_t number)
{
    if (!m_timeouts.OnEvent(number))
    {
        return;
    }
    QueuePair& pair = m_pairs[number];
    const Picoseconds now = RoceNow();
    const double rateBefore = pair.Rate();
    if (Expire(number, pair.Advance(now)))
    {
        AfterControl(number, rateBefore, now);
    }
}

bool RoceSender::Expire(uint32_t number, Picoseconds now)
{
    QueuePair& pair = m_pairs[number];
    if (pair.timeouts == m_settings->retries)
    {
        m_ends->OnFailure("queue pair " + m_pairs.NameOf(pair) + ": nothing acknowledged in " +
                          std::to_string(m_settings->retries + 1) + " time-outs in a row, at " +
                          FormatTime(now / kPicosecondsPerNs) + "; " + std::to_string(pair.acked) +
                          " of " + std::to_string(pair.end) + " frames are" +
                          m_pairs.DescribeBlocked());
        return false;
    }
    ++pair.timeouts;
    pair.changed = now;
    m_listener->OnRetransmitTimeout();
    GoBack(number, now, true);
    return true;
}

} // namespace packet
} // namespace legacy
