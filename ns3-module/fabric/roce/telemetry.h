// In-band telemetry of HPCC (Li et al., SIGCOMM'19, section 3.2 and figure 7): what each switch
// writes into a data frame when the frame leaves, and what the ACK brings back to the sender.
#pragma once

#include "fabric/base/units.h"

#include <cstdint>

namespace legacy::fabric
{

/// Times of cards and of congestion control. 2^63 ps are 106 days.
using Picoseconds = int64_t;

/// An IntRecord is what one switch port says of itself, in full precision.
struct IntRecord
{
    double rate = 0;         ///< B of the port, bit/s
    Picoseconds time = 0;    ///< TS: when the frame left
    int64_t sentBytes = 0;   ///< txBytes: bytes that the port has sent, with this frame
    int64_t queuedBytes = 0; ///< qLen: bytes that wait behind it
};

/// Bytes of the header of all records (nHop, pathID), and of each record.
inline constexpr int64_t kIntHeaderBytes = 2;
inline constexpr int64_t kIntRecordBytes = 8;

/// Returns the bytes of telemetry in a frame that has passed `switches`, and in the ACK that
/// answers it.
constexpr int64_t IntBytes(int switches)
{
    return kIntHeaderBytes + kIntRecordBytes * switches;
}

} // namespace legacy::fabric
