/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// When a SteadyCarrier skips packets, and when it does not.
#include "steady-carrier.h"

#include <algorithm>
#include <vector>

namespace legacy
{
namespace packet
{

namespace
{

constexpr int64_t kFirstCheck = 128; ///< pieces of a connection that are skipped before a check
constexpr int64_t kLaterCheck = 8;   ///< times as many are skipped before each further one

} // namespace

void SteadyCarrier::NoteCount()
{
    if (m_skips)
    {
        if (!IsUsual())
        {
            Change();
        }
        return;
    }
    Range& present = m_counts.front();
    present.least = std::min(present.least, m_onWay);
    present.most = std::max(present.most, m_onWay);
    if (++m_inPeriod > 2 * present.most)
    {
        m_counts = {Range{}, present};
        m_inPeriod = 0;
    }
}

bool SteadyCarrier::IsUsual() const
{
    if (m_cut > 0)
    {
        return m_onWay == m_begunWith;
    }
    const int64_t least = std::min(m_counts[0].least, m_counts[1].least);
    const int64_t most = std::max(m_counts[0].most, m_counts[1].most);
    const int64_t more = (most - least) / 2;
    return m_onWay >= least - more && m_onWay <= most + more;
}

void SteadyCarrier::Begin()
{
    if (m_skips || m_unknown > 0 || m_onWay == 0 || --m_untilLook > 0)
    {
        return;
    }
    m_untilLook = static_cast<int64_t>(m_connections.size()) / 8;
    const TimeNs now = PresentTime();
    for (const auto& connection : m_connections)
    {
        if (!connection->known && connection->seen >= now)
        {
            return;
        }
    }
    if (CountDrops() > m_drops)
    {
        return;
    }
    m_skips = true;
    m_begunWith = m_onWay;
    int64_t pieces = 0;
    for (uint32_t number = 0; number < m_connections.size(); ++number)
    {
        TakeOver(number);
        pieces += m_connections[number]->pieces.size();
    }
    m_checkAfter = m_checkAfter == 0 ? kFirstCheck : kLaterCheck * m_checkAfter;
    m_untilCheck = m_checkAfter * pieces;
}

void SteadyCarrier::TakeOver(uint32_t number)
{
    Connection& connection = *m_connections[number];
    for (uint32_t i = 0; i < connection.pieces.size(); ++i)
    {
        Piece& piece = connection.pieces[i];
        if (piece.skipped)
        {
            continue; // it is on the wire
        }
        piece.counted +=
            m_carrier->Abort(connection.name, piece.graph, InPackets(number, piece)).value_or(0);
        Skip(number, i);
    }
}

void SteadyCarrier::End()
{
    m_skips = false;
    m_periodic = false;
    m_since = PresentTime();
    m_untilLook = 0;
    for (uint32_t number = 0; number < m_connections.size(); ++number)
    {
        Connection& connection = *m_connections[number];
        connection.repeated.Check();
        SetKnown(connection, false);
        GiveBack(number);
    }
}

void SteadyCarrier::Change()
{
    End();
    m_drops = CountDrops();
    m_checkAfter = 0;
    m_counts = {};
    m_inPeriod = 0;
}

int64_t SteadyCarrier::CountDrops() const
{
    int64_t drops = 0;
    for (const fabric::LinkCounters& link : m_carrier->GetCounters())
    {
        drops += link.drops;
    }
    return drops;
}

void SteadyCarrier::GiveBack(uint32_t number)
{
    Connection& connection = *m_connections[number];
    uint32_t kept = 0;
    while (kept < connection.pieces.size() && HasLeft(connection, connection.pieces[kept]))
    {
        ++kept;
    }
    std::vector<Piece> rests;
    while (connection.pieces.size() > kept)
    {
        rests.push_back(Remove(connection, kept));
    }
    for (Piece& rest : rests)
    {
        const int64_t left = std::max(rest.counted, LeftOf(connection, rest));
        CountSkipped(connection, left - rest.counted);
        rest.counted = left;
        rest.delivery.Cancel();
        Forward(number, rest);
    }
}

int64_t SteadyCarrier::LeftOf(const Connection& connection, const Piece& piece)
{
    const RepeatedMessages& repeated = connection.repeated;
    const double busy = repeated.BusyTime(piece.flow.bytes);
    const double toLeave = static_cast<double>(piece.arrival - PresentTime()) - repeated.Latency();
    const double share = std::clamp(1 - toLeave / busy, 0.0, 1.0);
    return static_cast<int64_t>(share * static_cast<double>(piece.flow.bytes));
}

bool SteadyCarrier::HasLeft(const Connection& connection, const Piece& piece)
{
    return !piece.skipped || std::max(piece.counted, LeftOf(connection, piece)) == piece.flow.bytes;
}

} // namespace packet
} // namespace legacy
