// Outputs are files of a measurement: links, flows, finish times, a trace, a picture.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "scenarios/network/measure.h"

namespace legacy {

// Return the text of CSV files with all measurements of one experiment, which fidelity and
// repetition tell apart. Columns:
//
// links: fidelity, repetition, link, from, to, rate_bits_per_second, bytes, packets, drops, marks,
// max_queue_bytes, busy_seconds, mean_utilisation (of the step's time), peak_utilisation; with roce
// those of analysis::PauseFigures
std::string LinksCsv(const PreparedExperiment& prepared,
                     const std::vector<Measurement>& measurements);
// flows: fidelity, repetition, source, destination (endpoints' names), bytes, bucket (of a
// collective) or line (of a list, from 0), start_seconds, end_seconds, fct_seconds, ideal_seconds,
// slowdown, with roce rate_at_end (bits per second), cnps, resent, paused_seconds, pause_root,
// victim (0 or 1), which are empty without packets; needs recorded flows
std::string FlowsCsv(const PreparedExperiment& prepared,
                     const std::vector<Measurement>& measurements);
// finish times: fidelity, repetition, worker, host, ready_seconds, finish_seconds
std::string FinishCsv(const PreparedExperiment& prepared,
                      const std::vector<Measurement>& measurements);

// telemetry: fidelity, repetition, start_seconds, end_seconds (of a window), link, from, to,
// bits_per_second (mean of the window), utilisation, present_bits_per_second (at its end; flow
// fidelity), queue_bytes (at its end; packet fidelity). `links` is as for ChooseLinks. Throws Error
// naming --telemetry-links.
std::string TelemetryCsv(const PreparedExperiment& prepared,
                         const std::vector<Measurement>& measurements, const std::string& links);

// queues: repetition, seconds (of a sample), kind (port, switch, pair), name, bytes (that wait at
// the port, or are in the switch's buffer, or are in flight), bits_per_second (of a port: since the
// sample before; of a queue pair: of its congestion control), paused (of a port: 0 or 1). What had
// nothing to do at a sample is left out.
std::string QueuesCsv(const PreparedExperiment& prepared,
                      const std::vector<Measurement>& measurements);

// Returns a Chrome trace of the measurements of the first fidelity, repetitions one after the
// other. It needs recorded flows. Where there is telemetry, rates and queues of `links` are
// counters.
std::string TraceJson(const PreparedExperiment& prepared,
                      const std::vector<Measurement>& measurements, const std::set<int>& shown,
                      const std::string& links = "all");

// Returns a picture of the fabric, with links coloured by mean utilisation in the first
// measurement.
std::string UtilisationSvg(const PreparedExperiment& prepared, const Measurement& measurement);

}  // namespace legacy
