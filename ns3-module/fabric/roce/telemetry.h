// In-band telemetry of HPCC (Li et al., "HPCC: High Precision Congestion Control", SIGCOMM'19,
// section 4.1 and figure 7): what each switch writes into a data frame when the frame leaves, and
// what the ACK brings back to the sender.
//
//   header, 16 bits   nHop 4 | pathID 12
//   record, 64 bits   B 4 (code of a rate) | TS 24 (ns) | txBytes 20 (128 B) | qLen 16 (80 B)
//
// TS and txBytes wrap around: differences are right up to 16.8 ms and 134 MB. The paper's header
// has 42 bytes for five switches; here it has 2 + 8 for each switch that the frame has passed.
#pragma once

#include "base/units.h"

#include <cstdint>
#include <string>

namespace legacy::fabric
{

/// Times of NICs and of congestion control. 2^63 ps are 106 days.
using Picoseconds = int64_t;

inline constexpr Picoseconds kPicosecondsPerNs = 1000;
inline constexpr double kPicosecondsPerSecond = 1e12;

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

/// Times and bytes of records on the wire are modulo these.
inline constexpr Picoseconds kIntTimeModulus = (int64_t{1} << 24) * 1000;
inline constexpr int64_t kIntSentModulus = (int64_t{1} << 20) * 128;

/// Returns the code of a rate, 0 to 15. Throws Error naming `where` for a rate that has none.
uint32_t IntRateCode(double rate, const std::string& where);
/// Returns the rate of a code.
double IntRateOfCode(uint32_t code);
/// Returns all rates that have codes, as text.
std::string IntRates();

/// Returns the 64 bits of a record, the first field in the highest. Times and bytes are rounded
/// down and wrap around; queues beyond 5.2 MB are that long. The rate must have a code.
uint64_t EncodeIntRecord(const IntRecord& record);
/// Returns what 64 bits say.
IntRecord DecodeIntRecord(uint64_t bits);

/// Returns the 16 bits of the header; `pathId` has 12. Throws Error for more than 15 switches.
uint16_t EncodeIntHeader(int switches, uint16_t pathId);

/// An IntHeader is what these bits say.
struct IntHeader
{
    int switches = 0;
    uint16_t pathId = 0;
};

IntHeader DecodeIntHeader(uint16_t bits);

} // namespace legacy::fabric
