// Schedules of links from texts and files. One grammar serves options of a command line and links
// of a YAML topology:
//
//   csv:FILE[:KEY=VALUE,...]        a measured trace. Times are in seconds; a value holds until the
//                                   next, the last one for the median gap, and then the trace
//                                   begins again. Rows of one time are averaged. Keys:
//     column=NAME                   column of the rates in Mbit/s; default: mbps, else dl_mbps
//     time=NAME                     column of the times; default time_s
//     trace=N|NAME|each             which of several traces, by number from 0 or by name; default
//                                   0; each: another one for each link (changes.h)
//     yes_acks=on                   takes the upload rates of a recording of downloads: see below
//   mahimahi:FILE[:KEY=VALUE,...]   a line for each 1,500 bytes, with the millisecond at which they
//                                   may leave; the last one ends the period. Keys:
//     bin=TIME                      time over which deliveries are averaged; default 100ms
//   steps:0s=RATE,TIME=RATE,...[,period=TIME]
//                                   rates from given times on; without a period the last one holds
//   outage:from=TIME[,for=TIME]     the link's own rate, less a time in which it carries nothing;
//                                   without `for` that never ends
//
// All but outage take scale=NUMBER, or scale=mean, which makes the mean over a period that of the
// link, and offset=TIME, at which time of the trace the simulation begins. Outages may follow a
// `;`: "csv:lte.csv;outage:from=60s,for=30s".
//
// YAML may also write {csv: FILE, column: NAME, ...}, a list [{at: 0s, rate: 5Mbps}, ...], and
// {from: 60s, for: 30s}: link-trace-yaml.h.
//
// A file of download tests with both dl_mbps and ul_mbps has in the latter what acknowledgements
// took, not what the line could have carried. That column is refused without yes_acks.
#pragma once

#include "base/settings.h"
#include "link-schedule.h"
#include "trace-file.h"

#include <optional>
#include <string>
#include <vector>

namespace legacy::fabric
{

/// A ScheduleSpec is a parsed text: how the rate of some link changes. The rate of the link itself
/// is given later.
struct ScheduleSpec
{
    std::string text;                  ///< as it was given
    std::optional<LinkSchedule> curve; ///< nothing: the link's own rate
    bool toMean = false;               ///< true: the mean becomes the link's rate
    double scale = 1;
    TimeNs offset = 0;
    std::vector<Outage> outages;

    /// Returns the schedule of a link of `rateBps`. Throws Error where scaled rates are out of
    /// range.
    LinkSchedule For(int64_t rateBps) const;
};

/// Parses a text, and reads its file. Throws Error naming `option`, or the file and line.
ScheduleSpec ParseSchedule(const std::string& text, const std::string& option);

/// Does the same, and returns as many as the file has traces for `trace=each`. Files whose paths
/// are relative are looked for in `folder`; "": the working directory.
std::vector<ScheduleSpec>
ParseSchedules(const std::string& text, const std::string& option, const std::string& folder = "");

/// Makes a schedule of settings whose type is csv or mahimahi, with the key `file`, or outage. It
/// reads the file, and takes all keys.
ScheduleSpec ScheduleOf(Settings& settings);
/// Does the same, and returns as many as the file has traces for `trace=each`.
std::vector<ScheduleSpec> SchedulesOf(Settings& settings);

/// Return how a trace's file is read, and how its curve is scaled and shifted, from the settings of
/// the type csv or mahimahi.
TraceRequest TraceRequestOf(Settings& settings);
void SetScaling(Settings& settings, ScheduleSpec& spec);

/// Parses a rate as ParseRate does, or none: "0", "0Mbps".
int64_t ParseRateOrNone(const std::string& text, const std::string& option);

} // namespace legacy::fabric
