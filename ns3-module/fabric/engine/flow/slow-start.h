// How a connection of the flow engine opens: handshake, slow start, and the window that losses and
// idle times leave. Internal to fabric/.
//
// A connection that is not warm pays the handshake's round trip before its first flow, and for each
// round of slow start (RFC 5681 with the byte counting of RFC 3465: from the initial window,
// doubling with every ACKed window) the part of a round trip that its window does not fill. On a
// path that loses packets the first loss ends slow start, and each leaves a smaller window that
// grows again (sawtooth.h).
#pragma once

#include "fabric/engine/flow-graph.h"
#include "fabric/engine/flow-path.h"
#include "fabric/engine/transport.h"
#include "sawtooth.h"

#include <cstdint>
#include <memory>

namespace legacy::fabric
{

/// A SlowStart belongs to one connection. Calls have the connection's path and the engine's
/// transport; losses are a function of `key` alone.
class SlowStart
{
  public:
    SlowStart(const FlowPath& path, const Transport& transport, uint64_t key);

    /// Returns true once slow start is over.
    bool IsOpen() const
    {
        return m_open;
    }

    /// Puts a new connection in the place of this one.
    void Reopen(const FlowPath& path, const Transport& transport, Opening opening, uint64_t key);
    /// Loses the connection. The next one pays for its handshake, of a round trip at least.
    void Break(const FlowPath& path, const Transport& transport, uint64_t key);
    /// Halves the window for each RTO that the connection was idle, down to the initial window (RFC
    /// 2861, as Linux does).
    void Shrink(const FlowPath& path, const Transport& transport, TimeNs idle);

    /// Returns the time that a flow of `wire` bytes loses to the handshake and to slow start.
    /// `slowest` is the present rate of the path's slowest link, bytes a nanosecond.
    TimeNs TimeFor(const FlowPath& path, const Transport& transport, double wire, double slowest);
    /// Returns the bytes of that flow that slow start has carried, once.
    double TakeEarly();

    /// Returns the losses of the connection; nullptr: it has none that are drawn.
    Sawtooth* Losses() const
    {
        return m_losses.get();
    }

  private:
    void Close(const FlowPath& path, const Transport& transport, uint64_t key);
    double LossyTime(const FlowPath& path, double wire, double slowest);

    bool m_open = false;
    bool m_connected = false; ///< true once the handshake is done
    double m_early = 0;       ///< bytes of the next flow that slow start has carried
    double m_window = 0;      ///< bytes on the wire
    std::unique_ptr<Sawtooth> m_losses;
};

} // namespace legacy::fabric
