/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-carrier.h"

#include "fabric/base/error.h"
#include "fabric/roce/buffers.h"
#include "fabric/roce/controls.h"
#include "model/packet-network.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

namespace legacy
{
namespace packet
{

using namespace ns3;
using fabric::Flow;
using fabric::kPicosecondsPerNs;
using fabric::kPicosecondsPerSecond;
using fabric::RoceSettings;

namespace
{

/// Number of messages that a description names.
constexpr std::size_t kNamedMessages = 8;

/// Throws Error where the topology is not for packets of RoCEv2.
const fabric::Topology* Checked(const fabric::Topology* topology, const RoceSettings& settings)
{
    fabric::CheckRoce(*topology, settings);
    if (topology->HasSchedules())
    {
        throw fabric::Error("roce at packet fidelity",
                            "links whose rates or failures change over time",
                            "constant links; flow and analytic fidelity take changes");
    }
    return topology;
}

} // namespace

RoceCarrier::RoceCarrier(const fabric::Topology* topology,
                         const RoceSettings& settings,
                         uint64_t seed,
                         uint64_t run,
                         CarrierListener* listener)
    : m_topology(Checked(topology, settings)),
      m_settings(settings),
      m_run(run),
      m_listener(listener),
      m_control(fabric::MakeRoceControl(settings.control, "roce:cc")),
      m_network(topology, settings, m_control->Traits().telemetry, seed, this),
      m_cards(2 * topology->Links().size())
{
    const bool lossless = settings.pfc && settings.watchdog == 0 && !m_network.IsLossy();
    const fabric::TimeNs automatic = lossless ? RoceSettings::kLosslessRto : RoceSettings::kRto;
    m_rto = (settings.rto > 0 ? settings.rto : automatic) * kPicosecondsPerNs;
    AssignStreams(0);
}

RoceCarrier::~RoceCarrier() = default;

RoceNetwork& RoceCarrier::GetPorts()
{
    return m_network;
}

// ---------------------------------------------------------------------------------------------
// Queue pairs
// ---------------------------------------------------------------------------------------------

uint32_t RoceCarrier::Open(int source, int destination, uint16_t lane)
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
    pair->path.lineRate = static_cast<double>(m_network.RateOf(pair->way.front()));
    pair->path.frameBytes = m_settings.mtu + m_settings.headerBytes;
    pair->path.switches = static_cast<int>(pair->way.size()) - 1;
    pair->path.roundTrip = RoundTrip(*pair);
    const double product =
        pair->path.lineRate * static_cast<double>(pair->path.roundTrip) / kPicosecondsPerSecond / 8;
    if (m_settings.windowIsBdp)
    {
        pair->windowLimit = std::max(product, 2.0 * static_cast<double>(pair->path.frameBytes));
    }
    else if (m_settings.windowBytes > 0)
    {
        pair->windowLimit = static_cast<double>(m_settings.windowBytes);
    }
    const std::size_t bytes = m_control->StateBytes(pair->path.switches);
    pair->memory.resize((bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
    Renew(*pair);
    m_pairs.push_back(std::move(pair));
    return entry->second;
}

void RoceCarrier::Renew(QueuePair& pair)
{
    const Picoseconds now = Advance(pair, RoceNow());
    pair.state = m_control->Begin(pair.memory.data(), pair.path, now);
    pair.pacer = {};
}

Picoseconds RoceCarrier::RoundTrip(const QueuePair& pair) const
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
                    (toSwitch ? m_settings.switchDelay * kPicosecondsPerNs : 0) +
                    m_network.SerialisationOf(link, wire);
        }
    };
    add(pair.way, pair.path.frameBytes + records);
    add(pair.back, m_settings.ackBytes + records);
    return time;
}

Picoseconds RoceCarrier::Advance(QueuePair& pair, Picoseconds now)
{
    pair.now = std::max(pair.now, now);
    return pair.now;
}

const std::vector<DirectedLink>& RoceCarrier::WayOf(const Frame& frame) const
{
    const QueuePair& pair = *m_pairs[frame.pair];
    return frame.kind == FrameKind::Data ? pair.way : pair.back;
}

int64_t RoceCarrier::PayloadOf(const Message& message, uint64_t psn) const
{
    const auto before = static_cast<int64_t>(psn - message.first) * m_settings.mtu;
    return std::min<int64_t>(m_settings.mtu, message.bytes - before);
}

int64_t RoceCarrier::WireOf(const Message& message, uint64_t psn) const
{
    constexpr int64_t kPadding = RoceSettings::kPayloadPadding;
    return fabric::CeilDivide(PayloadOf(message, psn), kPadding) * kPadding +
           m_settings.headerBytes + (psn == message.first ? m_settings.messageBytes : 0) +
           (m_control->Traits().telemetry ? fabric::kIntHeaderBytes : 0);
}

std::string RoceCarrier::NameOf(const QueuePair& pair) const
{
    return m_topology->NodeName(pair.source) + " -> " + m_topology->NodeName(pair.destination);
}

// ---------------------------------------------------------------------------------------------
// Messages
// ---------------------------------------------------------------------------------------------

void RoceCarrier::Send(int source, int destination, uint16_t lane, uint64_t graph, const Flow& flow)
{
    constexpr Picoseconds kLeastIdle = 100'000'000;
    constexpr int kIdleRoundTrips = 10;
    const uint32_t number = Open(source, destination, lane);
    QueuePair& pair = *m_pairs[number];
    const Picoseconds now = RoceNow();
    if (pair.acked == pair.end)
    {
        const bool idle =
            now - pair.idleSince > std::max(kIdleRoundTrips * pair.path.roundTrip, kLeastIdle);
        if (m_settings.idle == fabric::RoceIdle::Message ||
            (m_settings.idle == fabric::RoceIdle::Reset && m_control->Traits().restarts && idle))
        {
            Renew(pair);
        }
    }
    Message message;
    message.first = pair.end;
    message.end = pair.end + static_cast<uint64_t>(fabric::CeilDivide(flow.bytes, m_settings.mtu));
    message.bytes = flow.bytes;
    message.graph = graph;
    message.flow = flow;
    pair.end = message.end;
    pair.messages.push_back(message);
    List(number, now);
}

std::optional<int64_t>
RoceCarrier::Abort(int source, int destination, uint64_t graph, const Flow& flow)
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
    // What was never sent is cut off, and later messages move up.
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
        message->bytes, static_cast<int64_t>(kept - message->first) * m_settings.mtu);
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

// ---------------------------------------------------------------------------------------------
// Sender
// ---------------------------------------------------------------------------------------------

bool RoceCarrier::MaySend(const QueuePair& pair) const
{
    return pair.next < pair.end &&
           static_cast<double>(pair.inFlight) < std::min(pair.state->window, pair.windowLimit);
}

bool RoceCarrier::IsReady(DirectedLink link) const
{
    return m_cards[link].head != QueuePair::kNone;
}

void RoceCarrier::Append(uint32_t number)
{
    QueuePair& pair = *m_pairs[number];
    Card& card = m_cards[pair.way.front()];
    pair.listed = true;
    pair.waiting = false;
    pair.nextListed = QueuePair::kNone;
    (card.head == QueuePair::kNone ? card.head : m_pairs[card.tail]->nextListed) = number;
    card.tail = number;
}

void RoceCarrier::Wait(uint32_t number)
{
    QueuePair& pair = *m_pairs[number];
    if (pair.waiting && pair.waitsFor == pair.pacer.next)
    {
        return;
    }
    const DirectedLink link = pair.way.front();
    Card& card = m_cards[link];
    pair.waiting = true;
    pair.waitsFor = pair.pacer.next;
    ++pair.waits;
    card.waits.emplace(pair.waitsFor, pair.waits, number);
    if (pair.waitsFor < card.wake)
    {
        card.wake = pair.waitsFor;
        m_network.Schedule(card.wake, RoceEventKind::Wake, static_cast<uint32_t>(link));
    }
}

void RoceCarrier::List(uint32_t number, Picoseconds ready)
{
    QueuePair& pair = *m_pairs[number];
    if (pair.listed || !MaySend(pair))
    {
        return;
    }
    pair.ready = std::max(pair.ready, ready);
    const DirectedLink link = pair.way.front();
    if (pair.pacer.next > std::max(RoceNow(), m_network.FreeAt(link)))
    {
        Wait(number);
        return;
    }
    Append(number);
    m_network.Serve(link);
}

void RoceCarrier::Unwait(DirectedLink link)
{
    Card& card = m_cards[link];
    const Picoseconds now = RoceNow();
    while (!card.waits.empty() && std::get<0>(card.waits.top()) <= now)
    {
        const auto [time, entry, number] = card.waits.top();
        card.waits.pop();
        QueuePair& pair = *m_pairs[number];
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

uint32_t RoceCarrier::Next(DirectedLink link, Picoseconds free)
{
    Unwait(link);
    Card& card = m_cards[link];
    while (card.head != QueuePair::kNone)
    {
        const uint32_t number = card.head;
        QueuePair& pair = *m_pairs[number];
        card.head = pair.nextListed;
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
        const Picoseconds start = std::max({free, pair.ready, pair.pacer.next});
        const Message& message = pair.messages[pair.sending];
        const uint32_t taken = m_network.Frames().Take();
        Frame& frame = m_network.Frames()[taken];
        const int64_t payload = PayloadOf(message, pair.next);
        frame.kind = FrameKind::Data;
        frame.pair = number;
        frame.psn = pair.next;
        frame.payload = static_cast<int32_t>(payload);
        frame.wire = static_cast<int32_t>(WireOf(message, pair.next));
        frame.sent = start;
        if (m_control->Traits().telemetry && pair.path.switches > 0)
        {
            m_network.Frames().AddRecords(taken);
        }
        const bool last = pair.next + 1 == message.end;
        m_counters.resent += pair.next < pair.sentTo ? 1 : 0;
        ++pair.next;
        pair.sentTo = std::max(pair.sentTo, pair.next);
        pair.sending += last ? 1 : 0;
        if (pair.inFlight == 0)
        {
            StartTimeout(number, start);
        }
        pair.inFlight += frame.wire;
        const Picoseconds now = Advance(pair, start);
        m_control->OnSent(*pair.state, {now, frame.wire});
        pair.pacer.OnSent(
            start, frame.wire, payload, last, m_control->Traits().burstBytes, pair.state->rate);
        const bool full =
            static_cast<double>(pair.inFlight) >= std::min(pair.state->window, pair.windowLimit);
        frame.wantsAck = last || full || ++pair.sinceRequest >= m_settings.framesPerAck;
        pair.sinceRequest = frame.wantsAck ? 0 : pair.sinceRequest;
        SetTimer(number);
        if (MaySend(pair))
        {
            const Picoseconds done = start + m_network.SerialisationOf(link, frame.wire);
            pair.pacer.next <= done ? Append(number) : Wait(number);
        }
        return taken;
    }
    return Frame::kNone;
}

void RoceCarrier::GoBack(uint32_t number, uint64_t psn, Picoseconds now, bool timeout)
{
    QueuePair& pair = *m_pairs[number];
    pair.next = psn;
    pair.sending = 0;
    pair.inFlight = 0;
    pair.sinceRequest = 0;
    m_control->OnLoss(*pair.state, {now, timeout});
}

void RoceCarrier::OnAck(uint32_t frame)
{
    const Frame& ack = m_network.Frames()[frame];
    const uint32_t number = ack.pair;
    QueuePair& pair = *m_pairs[number];
    const Picoseconds now = Advance(pair, ack.at);
    const double rateBefore = pair.state->rate;
    fabric::RoceAck told;
    told.now = now;
    told.sent = ack.sent;
    told.receiverDelay = ack.held;
    told.answeredBytes = ack.payload;
    const bool progress = ack.psn > pair.acked;
    for (; pair.acked < ack.psn; ++pair.acked)
    {
        const Message& message = pair.messages.front();
        told.payload += PayloadOf(message, pair.acked);
        ++told.frames;
        pair.inFlight -= pair.acked < pair.next ? WireOf(message, pair.acked) : 0;
        if (pair.acked + 1 == message.end)
        {
            told.endsMessage = true;
            pair.messages.pop_front();
            pair.sending -= pair.sending > 0 ? 1 : 0;
            --pair.receiving;
        }
    }
    if (pair.next < pair.acked)
    {
        pair.next = pair.acked; // what was to be sent again had arrived
        pair.sending = 0;
    }
    told.acknowledged = pair.acked;
    told.next = pair.next;
    if (ack.records != Frame::kNone)
    {
        told.switches = pair.path.switches;
        told.records = m_network.Frames().RecordsOf(frame);
    }
    m_control->OnAck(*pair.state, told);
    if (progress)
    {
        pair.timeouts = 0;
        pair.deadline = now + m_rto;
        pair.idleSince = now;
    }
    if (ack.kind == FrameKind::Nak && ack.psn == pair.acked && pair.next > pair.acked)
    {
        GoBack(number, pair.acked, now, false);
    }
    AfterControl(number, rateBefore, ack.at);
}

void RoceCarrier::AfterControl(uint32_t number, double rateBefore, Picoseconds now)
{
    QueuePair& pair = *m_pairs[number];
    if (pair.state->rate != rateBefore)
    {
        pair.pacer.OnRate(now, pair.state->rate);
    }
    SetTimer(number);
    List(number, now);
}

void RoceCarrier::SetTimer(uint32_t number)
{
    QueuePair& pair = *m_pairs[number];
    if (pair.state->timer < pair.controlEvent)
    {
        pair.controlEvent = pair.state->timer;
        m_network.Schedule(pair.controlEvent, RoceEventKind::Control, number);
    }
}

void RoceCarrier::OnControlTimer(uint32_t number)
{
    QueuePair& pair = *m_pairs[number];
    const Picoseconds now = RoceNow();
    if (pair.controlEvent > now)
    {
        return; // another event has taken its place
    }
    pair.controlEvent = fabric::kNoTimer;
    const double rateBefore = pair.state->rate;
    if (pair.state->timer <= now)
    {
        m_control->OnTimer(*pair.state, Advance(pair, now));
    }
    AfterControl(number, rateBefore, now);
}

void RoceCarrier::StartTimeout(uint32_t number, Picoseconds now)
{
    QueuePair& pair = *m_pairs[number];
    constexpr int kMostDoublings = 20;
    constexpr Picoseconds kLongest = 1'000'000'000'000'000'000; // 11 days
    const int64_t factor = int64_t{1} << std::min(pair.timeouts, kMostDoublings);
    pair.deadline = now + (m_rto > kLongest / factor ? kLongest : m_rto * factor);
    if (!pair.timed)
    {
        pair.timed = true;
        m_network.Schedule(pair.deadline, RoceEventKind::Timeout, number);
    }
}

void RoceCarrier::OnTimeout(uint32_t number)
{
    QueuePair& pair = *m_pairs[number];
    const Picoseconds now = RoceNow();
    pair.timed = false;
    if (pair.inFlight == 0)
    {
        return; // the next frame starts it again
    }
    if (now < pair.deadline)
    {
        pair.timed = true;
        m_network.Schedule(pair.deadline, RoceEventKind::Timeout, number);
        return;
    }
    if (pair.timeouts == m_settings.retries)
    {
        OnFailure("queue pair " + NameOf(pair) + ": nothing acknowledged in " +
                  std::to_string(m_settings.retries + 1) + " time-outs in a row, at " +
                  fabric::FormatTime(now / kPicosecondsPerNs) + "; " + std::to_string(pair.acked) +
                  " of " + std::to_string(pair.end) + " frames are" + DescribeBlocked());
        return;
    }
    ++pair.timeouts;
    m_listener->OnRetransmitTimeout();
    const double rateBefore = pair.state->rate;
    GoBack(number, pair.acked, Advance(pair, now), true);
    AfterControl(number, rateBefore, now);
}

// ---------------------------------------------------------------------------------------------
// Receiver
// ---------------------------------------------------------------------------------------------

void RoceCarrier::Receive(uint32_t frame)
{
    const Frame& received = m_network.Frames()[frame];
    switch (received.kind)
    {
    case FrameKind::Data:
        OnData(frame);
        break;
    case FrameKind::Cnp:
    {
        const uint32_t number = received.pair;
        QueuePair& pair = *m_pairs[number];
        const double rateBefore = pair.state->rate;
        m_control->OnCnp(*pair.state, Advance(pair, received.at));
        AfterControl(number, rateBefore, received.at);
        break;
    }
    default:
        OnAck(frame);
    }
    m_network.Frames().Give(frame);
}

void RoceCarrier::OnData(uint32_t frame)
{
    const Frame& data = m_network.Frames()[frame];
    const uint32_t number = data.pair;
    QueuePair& pair = *m_pairs[number];
    const fabric::RoceTraits& traits = m_control->Traits();
    if (data.marked && traits.notifications &&
        (!pair.cnpSent || data.at - pair.cnpAt >= traits.cnpInterval))
    {
        pair.cnpSent = true;
        pair.cnpAt = data.at;
        ++m_counters.cnps;
        Answer(number, frame, FrameKind::Cnp);
    }
    if (data.psn > pair.expected)
    {
        if (!pair.nakSent || data.at - pair.nakAt > 2 * pair.path.roundTrip)
        {
            pair.nakSent = true;
            pair.nakAt = data.at;
            ++m_counters.naks;
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

void RoceCarrier::Answer(uint32_t number, uint32_t frame, FrameKind kind)
{
    const QueuePair& pair = *m_pairs[number];
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
    answer.wire = static_cast<int32_t>(kind == FrameKind::Cnp ? RoceSettings::kCnpBytes
                                                              : m_settings.ackBytes);
    if (kind != FrameKind::Cnp && m_control->Traits().telemetry)
    {
        answer.wire += static_cast<int32_t>(fabric::IntBytes(pair.path.switches));
        std::swap(answer.records, data.records);
    }
    m_network.SendControl(pair.back.front(), taken);
}

void RoceCarrier::Deliver(QueuePair& pair)
{
    const Message message = pair.messages[pair.receiving];
    ++pair.receiving;
    if (!message.aborted)
    {
        m_listener->OnArrived(message.graph, message.flow);
    }
}

// ---------------------------------------------------------------------------------------------
// Events and endings
// ---------------------------------------------------------------------------------------------

void RoceCarrier::OnCardEvent(RoceEventKind kind, uint32_t a)
{
    if (m_failed)
    {
        return;
    }
    if (kind == RoceEventKind::Timeout)
    {
        OnTimeout(a);
        return;
    }
    if (kind == RoceEventKind::Control)
    {
        OnControlTimer(a);
        return;
    }
    const auto link = static_cast<DirectedLink>(a);
    Card& card = m_cards[link];
    if (card.wake > RoceNow())
    {
        return; // another event has taken its place
    }
    card.wake = fabric::kNoTimer;
    Unwait(link);
    if (!card.waits.empty())
    {
        card.wake = std::get<0>(card.waits.top());
        m_network.Schedule(card.wake, RoceEventKind::Wake, a);
    }
    m_network.Serve(link);
}

void RoceCarrier::OnFailure(const std::string& message)
{
    if (!m_failed)
    {
        m_failed = true;
        m_listener->OnError(std::make_exception_ptr(fabric::Error(message)));
    }
}

bool RoceCarrier::IsIdle() const
{
    return std::all_of(
        m_pairs.begin(), m_pairs.end(), [](const auto& pair) { return pair->acked == pair->end; });
}

void RoceCarrier::BeginRun()
{
    if (m_settings.idle == fabric::RoceIdle::Keep || !IsIdle())
    {
        return;
    }
    m_network.ResetMarks();
    for (const auto& pair : m_pairs)
    {
        Renew(*pair);
    }
}

void RoceCarrier::Dispose()
{
}

void RoceCarrier::SetScheduleTime(fabric::TimeNs time)
{
    m_origin = time - Simulator::Now().GetNanoSeconds();
}

fabric::TimeNs RoceCarrier::GetScheduleTime() const
{
    return fabric::Later(Simulator::Now().GetNanoSeconds(), m_origin);
}

bool RoceCarrier::AnyDead() const
{
    return false;
}

std::optional<fabric::DeadLink> RoceCarrier::FindDead() const
{
    return std::nullopt;
}

void RoceCarrier::FailHost(int)
{
}

Ptr<PacketNetwork> RoceCarrier::GetNetwork() const
{
    return nullptr;
}

std::vector<fabric::LinkCounters> RoceCarrier::GetCounters() const
{
    return m_network.GetCounters();
}

std::vector<fabric::LinkActivity> RoceCarrier::GetActivity() const
{
    return m_network.GetActivity();
}

void RoceCarrier::AddCounters(fabric::EngineCounters& counters) const
{
    counters.roce = m_counters;
    m_network.AddCounters(counters);
}

bool RoceCarrier::IsRandom() const
{
    return m_network.IsLossy();
}

bool RoceCarrier::StartsWarm() const
{
    return true;
}

void RoceCarrier::AssignStreams(uint64_t draws)
{
    constexpr int kRunBits = 32;
    m_network.ResetLosses((m_run << kRunBits) + draws);
}

std::string RoceCarrier::DescribeBlocked() const
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
                        message.bytes, static_cast<int64_t>(arrived) * m_settings.mtu)) +
                    " of " + std::to_string(message.flow.bytes) + " bytes delivered, frame " +
                    std::to_string(pair.next) + " is next, " + std::to_string(pair.inFlight) +
                    " bytes in flight, " + fabric::FormatRate(std::llround(pair.state->rate)) +
                    ", " + m_network.DescribePause(pair.way.front());
        }
    }
    return text;
}

} // namespace packet
} // namespace legacy
