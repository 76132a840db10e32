// The buffer of a switch: reserves of each port and class, a part that all share by dynamic
// thresholds (Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998), and headroom
// for what is on the wire when a pause is sent (IEEE 802.1Qbb). Bytes are those in buffers, without
// preamble and gap, in int64 throughout. The class knows neither time nor frames.
#pragma once

#include "base/units.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// Classes of traffic: ACKs and CNPs, and data.
enum class RoceClass : uint8_t
{
    Control,
    Data,
};

inline constexpr size_t kRoceClasses = 2;

/// Returns the headroom that a port needs so that no frame of a lossless class is ever dropped:
/// what still arrives after the frame that crossed the threshold (`frame` bytes) and itself. Where
/// frames leave as trains, which no pause interrupts, `frame` is a train. `forth` is the rate of
/// the link towards the port and `back` that of its other direction, on which the pause waits for a
/// frame that has begun, and travels; then the peer ends the frame that it has begun. Also counted
/// are both ways of the wire, the peer's `response`, and 2 ns for clocks that count whole
/// nanoseconds.
int64_t HeadroomBytes(int64_t forth, int64_t back, TimeNs delay, TimeNs response, int64_t frame);

/// A SharedBuffer accounts for the frames in one switch by their ingress ports.
class SharedBuffer
{
  public:
    /// A PortRoom is what one ingress port has.
    struct PortRoom
    {
        int64_t headroom = 0; ///< of data; 0 for lossy classes
        double alpha = 0;
        /// Further headroom, beyond the bytes of the buffer, for what trains add: a switch that
        /// forwards single frames needs none, so that thresholds stay those of such a switch.
        int64_t trains = 0;
    };

    /// `bytes` is the size of the whole. Throws Error, with `name` and the numbers, where reserves
    /// and headrooms leave nothing to share.
    SharedBuffer(const std::string& name,
                 int64_t bytes,
                 std::vector<PortRoom> ports,
                 bool lossless,
                 int64_t xon);

    /// Takes a frame in, and returns true; or returns false where it has no room, which is a drop.
    bool Admit(int port, RoceClass of, int64_t bytes);
    /// Lets a frame that was admitted go.
    void Release(int port, RoceClass of, int64_t bytes);

    /// Return whether the peer of a port is to be paused, or may continue. Between them nothing
    /// changes.
    bool WantsPause(int port) const;
    bool WantsResume(int port) const;

    /// Returns the dynamic threshold of a port: alpha times the free bytes of the shared part.
    int64_t Threshold(double alpha) const;

    int64_t Size() const
    {
        return m_size;
    }

    int64_t Shared() const
    {
        return m_shared;
    }

    int64_t Used() const
    {
        return m_used;
    }

    int64_t MaxUsed() const
    {
        return m_maxUsed;
    }

    /// Returns the largest share of a port's headroom that was ever in use, 0 to 1.
    double MaxHeadroomShare() const
    {
        return m_maxHeadroom;
    }

    /// Return the bytes of data of a port in the shared part, and in its headroom.
    int64_t SharedOf(int port) const;
    int64_t HeadroomOf(int port) const;

  private:
    /// Bytes of a port and class in each part.
    struct Use
    {
        int64_t reserve = 0;
        int64_t shared = 0;
        int64_t headroom = 0;
    };

    struct Port
    {
        PortRoom room;
        std::array<Use, kRoceClasses> uses;
    };

    Use& UseOf(int port, RoceClass of)
    {
        return m_ports[port].uses[static_cast<size_t>(of)];
    }

    std::vector<Port> m_ports;
    bool m_lossless;
    int64_t m_xon;
    int64_t m_size;
    int64_t m_trains = 0;    ///< beyond it
    int64_t m_shared = 0;    ///< size of the shared part
    int64_t m_sharedUse = 0; ///< of it in use
    int64_t m_used = 0;
    int64_t m_maxUsed = 0;
    double m_maxHeadroom = 0;
};

} // namespace legacy::fabric
