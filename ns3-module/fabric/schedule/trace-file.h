// Files of traces: recordings of a line's rate, as CSV or for mahimahi. link-trace.h describes
// both.
#pragma once

#include "link-schedule.h"

#include <string>
#include <vector>

namespace legacy::fabric
{

/// A Trace is one recording of a file.
struct Trace
{
    std::string name; ///< "" where the file has no column of names
    LinkSchedule schedule;
    TimeNs period = 0; ///< after which it begins again
};

/// A TraceRequest says how a file is read.
struct TraceRequest
{
    bool mahimahi = false;
    std::string file;
    std::string column; ///< "": mbps, else dl_mbps
    std::string time = "time_s";
    TimeNs bin = 100'000'000; ///< of mahimahi
    bool acksAreWanted = false;
    std::string option = "schedule"; ///< what messages name
};

/// Returns the traces of a file, in its order; one or more. Throws Error with file and line.
std::vector<Trace> ReadTraces(const TraceRequest& request);

/// Returns the trace, without a name, of rates at times that do not descend: what `csv:` does with
/// the rows of a trace. `seconds` begin at any time, which becomes 0. Throws Error naming `where`
/// on fewer than two different times.
Trace TraceOf(const std::vector<double>& seconds,
              const std::vector<double>& mbps,
              const std::string& where);

} // namespace legacy::fabric
