#include "slow-start.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace legacy::fabric
{

namespace
{

/// Returns the initial window in bytes on the wire.
double InitialWindow(const Transport& transport)
{
    return transport.initialWindow * static_cast<double>(transport.FrameBytes());
}

} // namespace

SlowStart::SlowStart(const FlowPath& path, const Transport& transport, uint64_t key)
    : m_open(transport.connections == ConnectionKind::Warm ||
             transport.connections == ConnectionKind::Persistent),
      m_connected(HandshakeRoundTrips(transport.connections) == 0)
{
    if (!m_open)
    {
        Close(path, transport, key);
    }
}

void SlowStart::Reopen(const FlowPath& path,
                       const Transport& transport,
                       Opening opening,
                       uint64_t key)
{
    m_connected =
        opening == Opening::Established || HandshakeRoundTrips(transport.connections) == 0;
    Close(path, transport, key);
}

void SlowStart::Break(const FlowPath& path, const Transport& transport, uint64_t key)
{
    m_connected = false;
    Close(path, transport, key);
}

/// Resets the connection to its state before slow start.
void SlowStart::Close(const FlowPath& path, const Transport& transport, uint64_t key)
{
    m_open = false;
    m_window = InitialWindow(transport);
    if (path.loss > 0 && Sawtooth::Holds(transport))
    {
        m_losses = std::make_unique<Sawtooth>(path, transport, key);
    }
}

void SlowStart::Shrink(const FlowPath& path, const Transport& transport, TimeNs idle)
{
    const double rto = static_cast<double>(transport.minRto) + path.roundTrip;
    const double least = InitialWindow(transport);
    const double pipe = path.slowest * path.roundTrip;
    double window = m_open ? std::max(pipe, least) : m_window;
    for (double left = static_cast<double>(idle) - rto; left >= 0 && window > least; left -= rto)
    {
        window = std::max(least, window / 2);
    }
    m_window = window;
    m_open = window >= pipe;
}

TimeNs
SlowStart::TimeFor(const FlowPath& path, const Transport& transport, double wire, double slowest)
{
    const int handshake = m_connected ? 0 : std::max(1, HandshakeRoundTrips(transport.connections));
    double lost = handshake * path.roundTrip;
    m_connected = true;
    if (path.loss > 0)
    {
        return RoundedTime(lost + LossyTime(path, wire, slowest));
    }
    lost += SlowStartTime(wire, slowest, path.roundTrip, m_window);
    m_open = m_window >= slowest * path.roundTrip;
    return RoundedTime(lost);
}

/// Returns the time of slow start on a path that loses packets, and stores what it carries in
/// m_early. It ends with the first loss, or when the window fills the path, after which the
/// sawtooth says how fast the connection is. If a flow ends before, its last window runs at the
/// path's rate. A connection that was open before returns to its mean window.
double SlowStart::LossyTime(const FlowPath& path, double wire, double slowest)
{
    Sawtooth* losses = m_losses.get();
    const double first = losses ? losses->Left() : std::numeric_limits<double>::max();
    const double limit = losses ? path.lossless : path.limit;
    const double pipe = std::min(slowest, limit) * path.roundTrip;
    // The ACKs of everything that was sent before the loss widen the window.
    const double widest = m_window + first;
    double sent = 0;
    double time = 0;
    while (wire - sent > m_window && sent < first && m_window < pipe)
    {
        time += path.roundTrip;
        sent += m_window;
        m_window *= 2;
    }
    const bool ends = wire - sent <= m_window && sent < first;
    m_open = !ends;
    const double last = wire - sent;
    m_early = ends ? wire - last * std::min(1.0, limit / slowest) : sent;
    if (losses)
    {
        losses->Send(sent);
        if (m_open)
        {
            losses->Begin(std::min(m_window, widest), sent >= first);
        }
    }
    return time;
}

double SlowStart::TakeEarly()
{
    return std::exchange(m_early, 0);
}

} // namespace legacy::fabric
