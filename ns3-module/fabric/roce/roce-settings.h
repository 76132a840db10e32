// Settings of RoCEv2: NICs, switches and frames. Text such as "roce:cc=none,mtu=1024,buffer=2MiB"
// names what differs from the defaults.
#pragma once

#include "base/units.h"
#include "marking.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// The name of the transport.
inline constexpr const char* kRoceName = "roce";

/// A RoceOption is an option of roce, for lists and documentation.
struct RoceOption
{
    std::string name;
    std::string fallback; ///< its default, as text
    std::string allowed;
    std::string help;
};

/// Returns the options of roce, in the order of the documentation.
const std::vector<RoceOption>& RoceOptions();

/// A RoceStorm is a faulty NIC that pauses its switch.
struct RoceStorm
{
    std::string host = "0"; ///< name, or number among the hosts
    TimeNs from = 0;
    TimeNs length = 0;
};

/// When rates and windows of queue pairs begin again.
enum class RoceIdle : uint8_t
{
    Reset,   ///< after an idle time, where the congestion control says so
    Keep,    ///< never
    Message, ///< with each message
};

/// How lost frames are sent again.
enum class RoceRecovery : uint8_t
{
    GoBackN,   ///< all from the first that is missing
    Selective, ///< those alone that are missing (selective.h)
};

/// RoceSettings hold what NICs and switches of RoCEv2 do. Bytes of frames are those on the wire,
/// with preamble and gap (20 bytes); those of buffers, queues and thresholds are without.
struct RoceSettings
{
    /// Payloads end on a multiple of this (InfiniBand Architecture 1.4, 9.2.4).
    static constexpr int kPayloadPadding = 4;
    static constexpr int kTagBytes = 4; ///< of IEEE 802.1Q
    /// Preamble, start of frame, and gap (IEEE 802.3).
    static constexpr int64_t kGapBytes = 20;
    /// A PFC frame of 64 bytes, on the wire.
    static constexpr int64_t kPauseBytes = 84;
    /// Time-outs where frames may be lost, and where none is: there a NIC that gives up early only
    /// sends again what is in a queue. 67 ms are usual (4.096 us x 2^14, InfiniBand's local ACK
    /// time-out of 14).
    static constexpr TimeNs kRto = 1'000'000;
    static constexpr TimeNs kLosslessRto = 67'000'000;
    /// Those of selective repeat (IRN, section 4.1): with few frames in flight, and with more.
    static constexpr TimeNs kShortRto = 100'000;
    static constexpr TimeNs kLongRto = 320'000;
    static constexpr uint64_t kFewFrames = 3;
    /// No time-out that is not given is shorter than this many round trips of an idle network plus
    /// the time between two frames that ask for an ACK.
    static constexpr int kLeastRoundTrips = 3;
    /// Class of ACKs and CNPs where they go first.
    static constexpr int kControlPriority = 6;
    /// Most frames of a train.
    static constexpr int kLongestTrain = 64;
    /// Bytes that each port and class has for itself.
    static constexpr int64_t kReserveBytes = 4096;

    std::string control; ///< congestion control, canonical (controls.h)
    bool pfc = true;     ///< the data's class is lossless
    RoceRecovery recovery = RoceRecovery::GoBackN;
    /// With spray: frames later than a lost one, of which the first to arrive tells of the loss; 0:
    /// a window.
    int reorder = 0;
    int qps = 1;      ///< queue pairs of each ordered pair of nodes and lane
    int priority = 3; ///< class of data in PFC frames
    int mtu = 4096;   ///< payload bytes of a full frame
    /// Bytes of a frame besides its payload: preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC
    /// 4, FCS 4, gap 12.
    bool vlan = false; ///< a tag, which the sizes below have
    int headerBytes = 82;
    int messageBytes = 16;     ///< RETH of a message's first frame
    int ackBytes = 86;         ///< ACK and NAK: the same headers, and AETH 4
    int cnpBytes = 98;         ///< the same, and 16 reserved bytes
    int framesPerAck = 16;     ///< besides the last of a message, and frames that fill the window
    bool acksFirst = true;     ///< ACKs and CNPs have a class of their own, which goes first
    bool windowIsBdp = false;  ///< the window is the path's bandwidth-delay product
    int64_t windowBytes = 0;   ///< a window besides that of the congestion control; 0: none
    int64_t bufferBytes = 0;   ///< buffer of each switch; 0: by its rate
    double alpha = 0.125;      ///< of dynamic thresholds
    bool alphaByRate = true;   ///< doubled for each doubling of the hosts' rate
    double egressAlpha = 1;    ///< of the threshold of queues without PFC
    int64_t headroomBytes = 0; ///< of each port; 0: what its rate and delay need
    int64_t xonBytes = 0;      ///< how far below xoff a pause ends; 0: two full frames
    int quanta = 65535;        ///< of a pause, in 512 bit times
    TimeNs response = 0;       ///< from the arrival of a pause to its effect, which headroom allows
    bool dropsAllowed = false; ///< a lost lossless frame does not end the run
    std::optional<EcnProfile> ecn; ///< where ports mark; nothing: nowhere
    std::string ecnText;           ///< the same
    bool marksAtRandom = false;    ///< marks are drawn again for each graph; else by a hash
    bool markAtEnqueue = false; ///< by the queue with the arriving frame; else behind a leaving one
    /// Windows, rates and time-outs take the largest round trip of the fabric for all pairs.
    bool roundTripOfFabric = false;
    TimeNs rto = 0;  ///< time-out of a queue pair; 0: by recovery and PFC
    int retries = 7; ///< time-outs in a row that end the run
    TimeNs switchDelay = 0;
    TimeNs watchdog = 0; ///< pause after which a switch's port drops; 0: never
    std::optional<RoceStorm> storm;
    /// Most frames of one queue pair that leave a NIC as one train, which ports and switches
    /// forward as one; 1: each frame by itself.
    int train = 1;
    RoceIdle idle = RoceIdle::Reset;
    /// No queue pair is slower than its max-min fair share, whatever its congestion control says,
    /// and no window holds it back. No text sets it: the doctor asks what congestion control costs.
    bool fairFloor = false;

    /// Reads "roce" or "roce:key=value,...". Throws Error naming `option`, the key, its value and
    /// what is allowed; for a key that does not exist it names the nearest.
    static RoceSettings Parse(const std::string& text, const std::string& option);

    /// Returns all settings as text: a part of the key of memoised steps.
    std::string Fingerprint() const;

    /// Returns the bytes of the largest frame on the wire, that of a path with that many switches.
    /// Telemetry grows with them, where the congestion control reads it.
    int64_t LargestFrame(int switches) const;

    /// Returns the bytes that frames take in buffers.
    static constexpr int64_t InBuffer(int64_t wireBytes, int frames = 1)
    {
        return wireBytes - frames * kGapBytes;
    }
};

} // namespace legacy::fabric
