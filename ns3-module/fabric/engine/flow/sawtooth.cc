#include "sawtooth.h"

#include "base/draws.h"
#include "base/hash.h"
#include "fabric/engine/cubic.h"

#include <algorithm>
#include <cmath>

namespace legacy::fabric
{

namespace
{

constexpr double kRenoKeeps = 0.5;
constexpr double kLeastWindow = 2; // segments

} // namespace

Sawtooth::Sawtooth(const FlowPath& path, const Transport& transport, uint64_t key)
    : m_cubic(transport.IsCubic()),
      m_roundTrip(path.roundTrip * 1e-9),
      m_frame(static_cast<double>(transport.FrameBytes())),
      m_pipe(path.slowest * path.roundTrip / m_frame),
      m_spacing(1 / path.loss),
      m_key(key)
{
    DrawLoss();
}

void Sawtooth::DrawLoss()
{
    const double packets = m_spacing * ExponentialDraw(HashWords({m_key, m_losses++}));
    m_left = m_frame * std::max(1.0, std::round(packets));
}

bool Sawtooth::Holds(const Transport& transport)
{
    return transport.congestionControl != "bbr";
}

double Sawtooth::Left() const
{
    return m_left;
}

double Sawtooth::Rate() const
{
    return m_rate;
}

void Sawtooth::Send(double bytes)
{
    m_left -= bytes;
}

void Sawtooth::Begin(double bytes, bool lost)
{
    m_window = bytes / m_frame;
    if (lost)
    {
        Lose(m_pipe * m_frame / (m_roundTrip * 1e9));
        return;
    }
    Grow(m_window, m_window);
}

/// Lowers the window after a loss. Before that, the window is at most what is in flight at this
/// rate in a round trip, and as much again in a queue.
void Sawtooth::Lose(double rate)
{
    const double inFlight = rate * m_roundTrip * 1e9 / m_frame;
    const double window = std::max(kLeastWindow, std::min(m_window, 2 * inFlight));
    const double keeps = m_cubic ? kCubicKeeps : kRenoKeeps;
    // Fast convergence (RFC 9438, section 4.7): if the window was larger before, it leaves room for
    // others.
    const bool falls = m_cubic && window < m_target;
    const double target = falls ? window * (1 + kCubicKeeps) / 2 : window;
    m_target = window;
    DrawLoss();
    Grow(std::max(kLeastWindow, keeps * window), target);
}

/// Follows the window from `start` until the next loss, in at most 64 steps.
void Sawtooth::Grow(double start, double target)
{
    const double segments = std::max(0.0, m_left) / m_frame;
    const double line = m_pipe / m_roundTrip; // segments a second
    const double least = std::min(start / m_roundTrip, line);
    constexpr double kSteps = 64;
    const double step = std::max(m_roundTrip, segments / (kSteps * least));
    double sent = 0;
    double time = 0;
    for (;;)
    {
        const double window = WindowAfter(start, target, time + step / 2);
        const double rate = std::min(window / m_roundTrip, line);
        if (sent + rate * step >= segments)
        {
            time += (segments - sent) / rate;
            break;
        }
        sent += rate * step;
        time += step;
    }
    m_window = std::min(WindowAfter(start, target, time), 2 * m_pipe);
    m_rate = time > 0 ? m_frame * segments / (time * 1e9) : m_frame * least * 1e-9;
}

/// Returns the window in segments at `seconds` after the last loss.
double Sawtooth::WindowAfter(double start, double target, double seconds) const
{
    if (!m_cubic)
    {
        return start + seconds / m_roundTrip;
    }
    const double reno = start + kCubicFriendlyGrowth * seconds / m_roundTrip;
    const double fromPlateau = seconds - std::cbrt((target - start) / kCubicGrowth);
    return std::max(reno, target + kCubicGrowth * fromPlateau * fromPlateau * fromPlateau);
}

} // namespace legacy::fabric
