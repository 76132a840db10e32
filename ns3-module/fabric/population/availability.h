// Availability: when a client could take part. An answer is a pure function of (seed, client, time)
// and costs a search within a day or a trace, so nothing is remembered and the order of asking does
// not matter. Texts:
//
//   always
//   bernoulli:p=0.7              by (choice of the server, client): a client is asked for each
//                                version, and stays while it works
//   nightly:start=22h,spread=2h,length=7h,length_spread=1h,chance=0.8,zone=client|0
//                                a day's chance that the client is idle, charging and on a free
//                                line, from a normally distributed time of its local day on, for a
//                                normally distributed time (cut to 12 hours around the start, and
//                                to 0 to 24 hours)
//   sessions:on=1h,off=3h        exponential times; each day of 24 hours begins in the stationary
//                                state
//   trace:file=FILE              CSV client,start_s,end_s: half open, ascending, not overlapping;
//                                begins again at the largest end. Client k is the trace's client k
//                                modulo their number, in the order of the file
//
// Time 0 of a simulation is midnight at longitude 0.
#pragma once

#include "base/units.h"

#include <cstdint>
#include <memory>
#include <string>

namespace legacy::fabric
{

/// A day of 24 hours, which has no leap seconds.
inline constexpr TimeNs kDay = TimeNs{24} * 3600 * 1'000'000'000;

/// An Availability answers for all clients of one text.
class Availability
{
  public:
    virtual ~Availability() = default;

    /// Returns whether the client is available at time t >= 0. `longitude`, in degrees, gives it
    /// its local time.
    virtual bool Available(int64_t client, double longitude, TimeNs t) const = 0;
    /// Returns the first time after t at which Available is another than at t; kNever where there
    /// is none.
    virtual TimeNs NextChange(int64_t client, double longitude, TimeNs t) const = 0;

    /// Returns whether a client that is available at the time takes part in choice `choice` of the
    /// server: bernoulli draws that, others do not.
    virtual bool Joins(int64_t /* client */, uint64_t /* choice */) const
    {
        return true;
    }

    /// Returns true where answers depend on time.
    virtual bool DependsOnTime() const
    {
        return true;
    }

    /// Returns true where Joins refuses some.
    virtual bool Draws() const
    {
        return false;
    }
};

/// Makes an availability. Throws Error naming `option`, or file and line.
std::shared_ptr<const Availability>
MakeAvailability(const std::string& text, uint64_t seed, const std::string& option);

} // namespace legacy::fabric
