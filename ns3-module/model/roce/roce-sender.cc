/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-sender.h"

#include "base/units.h"
#include "fabric/roce/keys.h"

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
    : m_topology(&topology),
      m_settings(settings),
      m_control(control),
      m_pairs(*pairs),
      m_network(*network),
      m_ends(ends),
      m_listener(listener),
      m_nics(2 * topology.Links().size())
{
    const bool lossless = settings->pfc && settings->watchdog == 0 && !network->IsLossy();
    if (settings->fairFloor)
    {
        std::vector<double> rates;
        for (DirectedLink link = 0; link < static_cast<DirectedLink>(m_nics.size()); ++link)
        {
            rates.push_back(static_cast<double>(network->RateOf(link)));
        }
        m_fair = std::make_unique<fabric::MaxMin>(std::move(rates));
    }
    const bool selective = settings->recovery == fabric::RoceRecovery::Selective;
    TimeNs rto = selective ? RoceSettings::kLongRto : RoceSettings::kRto;
    TimeNs shortRto = selective ? RoceSettings::kShortRto : RoceSettings::kRto;
    if (lossless)
    {
        rto = shortRto = RoceSettings::kLosslessRto;
    }
    if (settings->rto > 0)
    {
        rto = shortRto = settings->rto;
    }
    m_rto = rto * kPicosecondsPerNs;
    m_shortRto = shortRto * kPicosecondsPerNs;
}

uint64_t RoceSender::GetResent() const
{
    return m_resent;
}

bool RoceSender::MaySend(const QueuePair& pair) const
{
    if (pair.selective)
    {
        const fabric::SelectiveSender& repeat = pair.selective->sender;
        if (repeat.HasHole())
        {
            return true; // it takes the place of the lost one in the window
        }
        if (pair.next - pair.acked >= repeat.Span())
        {
            return false;
        }
    }
    return pair.next < pair.end && static_cast<double>(pair.inFlight) < pair.Window();
}

void RoceSender::Begin(uint32_t number)
{
    if (m_fair && !m_pairs[number].fairShare)
    {
        ShareOut(number, true);
    }
}

void RoceSender::ShareOut(uint32_t number, bool takesPart)
{
    QueuePair& pair = m_pairs[number];
    m_connections.resize(std::max<std::size_t>(m_connections.size(), number + 1), -1);
    int& own = m_connections[number];
    if (own < 0)
    {
        std::vector<fabric::MaxMin::Use> uses;
        for (const auto& [link, share] : m_topology->Shares(pair.source, pair.destination, pair.id))
        {
            uses.push_back({link, share});
        }
        own = m_fair->Add(uses, pair.course->path.lineRate);
        m_sharing.push_back(number);
    }
    pair.fairShare = takesPart;
    if (takesPart)
    {
        m_fair->Join(own);
        m_fair->Start(own);
    }
    else
    {
        m_fair->Stop(own);
        m_fair->Leave(own);
    }
    std::vector<int> changed = m_fair->Solve();
    changed.push_back(own);
    for (const int connection : changed)
    {
        QueuePair& other = m_pairs[m_sharing[connection]];
        const double before = other.Rate();
        other.fairRate = other.fairShare ? m_fair->Rate(connection) : 0;
        AfterControl(m_sharing[connection], before, RoceNow());
    }
}

bool RoceSender::IsReady(DirectedLink link) const
{
    return m_nics[link].head != QueuePair::kNone;
}

void RoceSender::Append(uint32_t number)
{
    QueuePair& pair = m_pairs[number];
    Nic& nic = m_nics[pair.way.First()];
    pair.listed = true;
    pair.waiting = false;
    pair.nextListed = QueuePair::kNone;
    (nic.head == QueuePair::kNone ? nic.head : m_pairs[nic.tail].nextListed) = number;
    nic.tail = number;
}

void RoceSender::Wait(uint32_t number)
{
    QueuePair& pair = m_pairs[number];
    if (pair.waiting && pair.waitsFor == pair.pacer.next)
    {
        return;
    }
    const DirectedLink link = pair.way.First();
    Nic& nic = m_nics[link];
    pair.waiting = true;
    pair.waitsFor = pair.pacer.next;
    ++pair.waits;
    nic.waits.emplace(pair.waitsFor, pair.waits, number);
    if (pair.waitsFor < nic.wake)
    {
        nic.wake = pair.waitsFor;
        m_network.Schedule(nic.wake, RoceEventKind::Wake, static_cast<uint32_t>(link));
    }
}

void RoceSender::List(uint32_t number, Picoseconds ready)
{
    QueuePair& pair = m_pairs[number];
    if (pair.listed || !MaySend(pair))
    {
        return;
    }
    pair.ready = std::max(pair.ready, ready);
    const DirectedLink link = pair.way.First();
    if (pair.pacer.next > std::max(RoceNow(), m_network.FreeAt(link)))
    {
        Wait(number);
        return;
    }
    Append(number);
    m_network.Serve(link);
}

void RoceSender::Unwait(DirectedLink link)
{
    Nic& nic = m_nics[link];
    const Picoseconds now = RoceNow();
    while (!nic.waits.empty() && std::get<0>(nic.waits.top()) <= now)
    {
        const auto [time, entry, number] = nic.waits.top();
        nic.waits.pop();
        QueuePair& pair = m_pairs[number];
        if (!pair.waiting || pair.waits != entry)
        {
            continue;
        }
        pair.waiting = false;
        if (!pair.listed && MaySend(pair))
        {
            Append(number);
        }
    }
}

void RoceSender::OnWake(DirectedLink link)
{
    Nic& nic = m_nics[link];
    if (nic.wake > RoceNow())
    {
        return; // another event has taken its place
    }
    nic.wake = fabric::kNoTimer;
    Unwait(link);
    if (!nic.waits.empty())
    {
        nic.wake = std::get<0>(nic.waits.top());
        m_network.Schedule(nic.wake, RoceEventKind::Wake, static_cast<uint32_t>(link));
    }
    m_network.Serve(link);
}

uint32_t RoceSender::Next(DirectedLink link, Picoseconds free)
{
    Unwait(link);
    Nic& nic = m_nics[link];
    while (nic.head != QueuePair::kNone)
    {
        const uint32_t number = nic.head;
        QueuePair& pair = m_pairs[number];
        nic.head = pair.nextListed;
        pair.listed = false;
        if (!MaySend(pair))
        {
            continue;
        }
        if (pair.pacer.next > RoceNow())
        {
            Wait(number);
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

int RoceSender::LongestTrain(const QueuePair& pair, const QueuePair::Message& message) const
{
    if (IsReady(pair.way.First()))
    {
        return 1;
    }
    const bool smooth = pair.smooth >= m_settings->framesPerAck;
    if (m_control->Traits().notifications && (!smooth || pair.Rate() < pair.course->path.lineRate))
    {
        return 1; // what single frames meet sets rates
    }
    if (smooth && !pair.course->speedsUp)
    {
        return m_settings->train;
    }
    // In a queue others wait for a train, by 1 in 20 of their messages at most, and before a faster
    // link it waits for itself, by 1 in 100 of its own.
    const bool queued = pair.smooth < 0;
    const uint64_t parts = pair.course->speedsUp && !queued ? 100 : 20;
    const uint64_t part = (message.end - message.first) / parts;
    return static_cast<int>(std::clamp<uint64_t>(part, 1, m_settings->train));
}

void RoceSender::Grow(Frame& frame, const QueuePair& pair, const QueuePair::Message& message) const
{
    const int most =
        std::min(LongestTrain(pair, message), m_settings->framesPerAck - pair.sinceRequest);
    uint64_t next = frame.psn + 1;
    while (frame.frames < most && next < message.end &&
           static_cast<double>(pair.inFlight + frame.wire) < pair.Window())
    {
        frame.wire += static_cast<int32_t>(m_pairs.WireOf(message, next++));
        ++frame.frames;
    }
    frame.payload = static_cast<int32_t>(m_pairs.PayloadOf(message, frame.psn, frame.frames));
}

uint32_t RoceSender::Send(uint32_t number, Picoseconds start)
{
    QueuePair& pair = m_pairs[number];
    const fabric::RoceTraits& traits = m_control->Traits();
    const bool again = pair.selective && pair.selective->sender.HasHole();
    const uint64_t psn = again ? pair.selective->sender.Hole() : pair.next;
    QueuePair::Message& message = again ? *pair.MessageOf(psn) : pair.messages[pair.sending];
    const uint32_t taken = m_network.Frames().Take();
    Frame& frame = m_network.Frames()[taken];
    frame.kind = FrameKind::Data;
    frame.pair = number;
    frame.psn = psn;
    frame.payload = static_cast<int32_t>(m_pairs.PayloadOf(message, psn));
    frame.wire = static_cast<int32_t>(m_pairs.WireOf(message, psn));
    frame.sent = start;
    if (traits.telemetry && pair.course->path.switches > 0)
    {
        m_network.Frames().AddRecords(taken);
    }
    if (m_settings->train > 1)
    {
        Grow(frame, pair, message);
    }
    const uint64_t behind = psn + frame.frames;
    const bool last = behind == message.end;
    if (psn < pair.sentTo)
    {
        const uint64_t resent = std::min(behind, pair.sentTo) - psn;
        m_resent += resent;
        message.Tell().resent += resent;
        frame.ahead = 0;
    }
    CountWait(pair, message, start);
    if (pair.inFlight == 0 || (again && pair.timeoutEvent == fabric::kNoTimer))
    {
        PutOff(number, start);
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
    pair.pacer.OnSent(start, frame.wire, frame.payload, last, traits.burstBytes, pair.Rate());
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
    if (MaySend(pair))
    {
        pair.pacer.next <= done ? Append(number) : Wait(number);
    }
    return taken;
}

void RoceSender::GoBack(uint32_t number, Picoseconds now, bool timeout)
{
    QueuePair& pair = m_pairs[number];
    if (pair.selective)
    {
        pair.selective->sender.OnTimeout(pair.acked, pair.next);
        PutOff(number, now);
    }
    else
    {
        pair.next = pair.acked;
        pair.sending = 0;
        pair.inFlight = 0;
    }
    // After a time-out the first frame asks for an ACK: all that arrived may have asked for none.
    pair.sinceRequest = timeout ? m_settings->framesPerAck : 0;
    TellLoss(pair, pair.acked, {now, timeout});
    // What is sent again is sent under the present state.
    pair.firstOwn = std::min(pair.firstOwn, pair.acked);
}

void RoceSender::TellLoss(QueuePair& pair, uint64_t psn, const fabric::RoceLoss& loss) const
{
    if (psn >= pair.firstOwn)
    {
        m_control->OnLoss(*pair.state, loss);
    }
}

fabric::RoceAck RoceSender::Acknowledge(QueuePair& pair, const Frame& ack) const
{
    fabric::RoceAck told;
    const auto count = [&](const QueuePair::Message& message, uint64_t psn, bool inFlight)
    {
        if (psn >= pair.firstOwn)
        {
            told.payload += m_pairs.PayloadOf(message, psn);
            ++told.frames;
        }
        pair.inFlight -= inFlight ? m_pairs.WireOf(message, psn) : 0;
    };
    for (; pair.acked < ack.psn; ++pair.acked)
    {
        const QueuePair::Message& message = pair.messages.front();
        if (!pair.selective || !pair.selective->sender.Forget(pair.acked))
        {
            count(message, pair.acked, pair.acked < pair.next);
        }
        if (pair.acked + 1 == message.end)
        {
            told.endsMessage = pair.acked >= pair.firstOwn;
            pair.messages.pop_front();
            pair.sending -= pair.sending > 0 ? 1 : 0;
            --pair.receiving;
        }
    }
    if (pair.selective && ack.ahead != Frame::kNone)
    {
        const uint64_t psn = ack.psn + ack.ahead;
        if (psn >= pair.acked && pair.selective->sender.OnArrived(psn))
        {
            count(*pair.MessageOf(psn), psn, true);
        }
    }
    return told;
}

void RoceSender::OnAck(uint32_t frame)
{
    const Frame& ack = m_network.Frames()[frame];
    const uint32_t number = ack.pair;
    QueuePair& pair = m_pairs[number];
    const Picoseconds now = pair.Advance(ack.at);
    const double rateBefore = pair.Rate();
    const bool progress = ack.psn > pair.acked;
    fabric::RoceAck told = Acknowledge(pair, ack);
    told.now = now;
    told.sent = ack.sent;
    told.receiverDelay = ack.held;
    told.answeredBytes = ack.payload;
    if (pair.next < pair.acked)
    {
        pair.next = pair.acked; // what was to be sent again had arrived
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
        PutOff(number, now);
    }
    if (pair.selective)
    {
        if (pair.selective->sender.Update(pair.acked, pair.next))
        {
            TellLoss(pair, pair.selective->sender.Hole(), {now, false});
        }
    }
    else if (ack.kind == FrameKind::Nak && ack.psn == pair.acked && pair.next > pair.acked)
    {
        // NAKs put time-outs off. Where all that is sent again is lost again, and again answered by
        // a NAK, they are counted as time-outs, or that would go on for ever.
        if (now - pair.changed < TimeoutOf(pair))
        {
            GoBack(number, now, false);
        }
        else if (!Expire(number, now))
        {
            return;
        }
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

Picoseconds RoceSender::TimeoutOf(const QueuePair& pair) const
{
    constexpr int kMostDoublings = 20;
    constexpr Picoseconds kLongest = 1'000'000'000'000'000'000; // 11 days
    Picoseconds rto = m_rto;
    if (m_shortRto < m_rto)
    {
        const uint64_t inFlight = pair.next - pair.acked - pair.selective->sender.Ahead();
        rto = inFlight < RoceSettings::kFewFrames ? m_shortRto : m_rto;
    }
    if (m_settings->rto == 0)
    {
        // The frame that asks for an ACK leaves behind those that ask for none.
        const double gap =
            std::max(static_cast<double>(pair.course->slowestFrame),
                     fabric::RoceWireTime(pair.course->path.frameBytes, pair.Rate()));
        const double gaps = std::min(m_settings->framesPerAck * gap, static_cast<double>(kLongest));
        rto = std::max(rto,
                       RoceSettings::kLeastRoundTrips * pair.course->path.roundTrip +
                           static_cast<Picoseconds>(gaps));
    }
    const int64_t factor = int64_t{1} << std::min(pair.timeouts, kMostDoublings);
    return rto > kLongest / factor ? kLongest : rto * factor;
}

Picoseconds RoceSender::DeadlineOf(const QueuePair& pair) const
{
    return pair.progress + TimeoutOf(pair);
}

void RoceSender::PutOff(uint32_t number, Picoseconds now)
{
    QueuePair& pair = m_pairs[number];
    pair.progress = now;
    const Picoseconds deadline = DeadlineOf(pair);
    if (deadline < pair.timeoutEvent)
    {
        pair.timeoutEvent = deadline;
        m_network.Schedule(deadline, RoceEventKind::Timeout, number);
    }
}

void RoceSender::OnTimeout(uint32_t number)
{
    QueuePair& pair = m_pairs[number];
    const Picoseconds now = RoceNow();
    if (now < pair.timeoutEvent)
    {
        return; // another event has taken its place
    }
    pair.timeoutEvent = fabric::kNoTimer;
    if (pair.inFlight == 0 || (pair.selective && pair.selective->sender.HasHole()))
    {
        return; // the next frame starts it again, which may have to wait for its time
    }
    if (now < DeadlineOf(pair))
    {
        pair.timeoutEvent = DeadlineOf(pair);
        m_network.Schedule(pair.timeoutEvent, RoceEventKind::Timeout, number);
        return;
    }
    if (const Picoseconds back = OutUntil(pair); back > now)
    {
        PutOff(number, back);
        return;
    }
    const double rateBefore = pair.Rate();
    if (Expire(number, pair.Advance(now)))
    {
        AfterControl(number, rateBefore, now);
    }
}

Picoseconds RoceSender::OutUntil(const QueuePair& pair) const
{
    Picoseconds until = 0;
    for (const auto& [link, share] : m_topology->Shares(pair.source, pair.destination, pair.id))
    {
        until = std::max(until, m_network.OutUntil(link));
    }
    for (const DirectedLink link : pair.way.Back())
    {
        until = std::max(until, m_network.OutUntil(link));
    }
    return until;
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
