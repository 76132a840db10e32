// The sawtooth is the window of a connection under loss: it grows until a packet is lost, falls,
// and grows again (RFC 5681 for Reno; RFC 9438 for Cubic). Internal to fabric/.
#pragma once

#include "fabric/engine/flow-path.h"
#include "fabric/engine/transport.h"

#include <cstdint>

namespace legacy::fabric
{

/// A Sawtooth follows the window of a new connection from slow start on. The packets between two
/// losses are drawn, 1/p on average. Bytes are those on the wire.
class Sawtooth
{
  public:
    /// `path` loses packets. Losses are a function of `key` alone.
    Sawtooth(const FlowPath& path, const Transport& transport, uint64_t key);

    /// Returns true where congestion control answers each loss with a smaller window.
    static bool Holds(const Transport& transport);

    double Left() const; ///< bytes until the next loss; below 0 where it is overdue
    double Rate() const; ///< mean rate until then, bytes a nanosecond; after Begin

    void Send(double bytes); ///< counts bytes that have left

    /// Ends slow start at a window of `bytes`: by a loss, or because the window fills the path.
    void Begin(double bytes, bool lost);
    /// Loses a packet of a connection that sends `rate` bytes a nanosecond.
    void Lose(double rate);

  private:
    void DrawLoss();
    void Grow(double start, double target);
    double WindowAfter(double start, double target, double seconds) const;

    const bool m_cubic;
    const double m_roundTrip; ///< seconds
    const double m_frame;     ///< bytes
    const double m_pipe;      ///< segments that fill the path
    const double m_spacing;   ///< mean packets from one loss to the next
    const uint64_t m_key;
    uint64_t m_losses = 0; ///< drawn so far
    double m_left = 0;
    double m_rate = 0;
    double m_window = 0; ///< segments at the next loss
    double m_target = 0; ///< segments at the last loss
};

} // namespace legacy::fabric
