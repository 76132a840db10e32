// Commands of the program legacy-network: one experiment or a sweep of experiments, and their
// outputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/parsed.h"
#include "base/programs/program.h"
#include "scenarios/network/engines/engines.h"
#include "scenarios/network/jobs/job_list.h"
#include "scenarios/network/options/experiment_options.h"

namespace legacy {

// Returns the time from sample to sample. Throws Error naming `key` where it is under 1 ns.
TimeNs ParseInterval(const std::string& text, const std::string& key);
using GivenInterval = Parsed<Given<ParseInterval>>;

// Files to write; empty: none. "-" is standard output, except for the packet engine's own files.
struct NetworkOutputs {
  std::string csv;
  std::string json;
  std::string finish;
  std::string links;
  std::string fct;
  std::string trace;
  std::string trace_workers = "0-3";
  std::string svg;
  std::string telemetry;
  GivenInterval telemetry_every = "";  // nothing: the default
  std::string telemetry_links;         // empty: all in the file, the busiest in the trace
  std::string queues;
  GivenInterval sample = "";  // nothing: the default
  std::string doctor_csv;
  std::string doctor_json;
  PacketFiles packet;
};

// A NetworkCommand is an experiment, or a sweep, with its outputs.
struct NetworkCommand {
  ExperimentOptions options;
  std::map<std::string, std::string> ns3_attributes;
  std::vector<std::string> sweeps;
  NetworkOutputs outputs;
  bool doctor = false;  // say what the step is bound by
  Parsed<ParseEngineFidelity> doctor_fidelity = "flow";
  bool quiet = false;  // no table
};

// Returns the table of sweeps, outputs and the doctor. The options of the experiment are rows of a
// table of their own (ExperimentRows).
const OptionTable<NetworkCommand>& NetworkRows();

// Prints the table on standard output, or on standard error where a file goes to standard output,
// and writes the files at the end, each whole. `stop` is read between the points of a sweep; once
// it is set, the finished points are written. `trainings` reads those among the jobs of --jobs;
// null: there are none. Returns the exit status. Throws Error; nothing is written then.
int RunNetworkCommand(const NetworkCommand& command, const StopFlag& stop,
                      const TrainingReader* trainings = nullptr);

}  // namespace legacy
