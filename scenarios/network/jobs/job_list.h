// The list of jobs that a file has.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "scenarios/network/jobs/job_work.h"
#include "scenarios/network/options/experiment_options.h"

namespace legacy {

// A JobRequest is one job of a file.
struct JobRequest {
  std::string name;
  std::unique_ptr<JobWork> work;
  std::vector<std::string> hosts;  // names or numbers of the workers' hosts; empty: by placement
  TimeNs start = 0;
  int64_t steps = 1;    // number of steps that are measured
  bool leaves = true;   // it ends after them; false: it continues until all jobs have done theirs
  bool trains = false;  // its hosts are not those of another training
  std::string where;    // "file:line:column: ", for messages
};

// A JobEntry is the map of a job in a file.
struct JobEntry {
  YAML::Node map;
  std::string path;           // of the file, for messages
  ExperimentOptions options;  // of the command line
  int64_t hosts = 0;          // number of hosts that it names; 0: none
  std::optional<int64_t> steps;

  bool Has(const std::string& key) const { return map.IsMap() && map[key]; }
};

// A TrainingReader reads the entries that are trainings. Programs that know none read collectives
// alone.
class TrainingReader {
 public:
  virtual ~TrainingReader() = default;
  // True where an entry is one of a training.
  virtual bool Reads(const JobEntry& entry) const = 0;
  // Reads such an entry, and sets the number of steps that are measured. It skips the keys of
  // JobKeys(). Throws Error with file, line and column.
  virtual std::unique_ptr<JobWork> Read(const JobEntry& entry, int64_t& steps) const = 0;
};

// Returns the keys that every job may have.
const std::vector<std::string>& JobKeys();

// Reads a YAML file:
//
//   jobs:
//     - {name: a, workers: 8, collective: ring-allreduce, bytes: 100MB, repeat: 10, compute: 5ms}
//     - {name: b, hosts: [host8, 9], bytes: 1GB, start: 20ms}
//     - {name: c, layers: resnet50, workers: 8, policies: [dense, topk@1%]}
//
// Keys are those of JobKeys(), and the options of collectives or of trainings; `options` has what a
// job leaves out. `trainings` may be null. Throws Error with file, line and column.
std::vector<JobRequest> ReadJobs(const std::string& path, const ExperimentOptions& options,
                                 const std::map<std::string, std::string>& ns3_attributes,
                                 const TrainingReader* trainings = nullptr);

// Returns what `call` returns. Errors get `where` as a prefix, unless they begin with `located`.
template <class Call>
auto LocatedAt(const std::string& where, const std::string& located, Call call) {
  try {
    return call();
  } catch (const Error& error) {
    if (std::string(error.what()).starts_with(located)) throw;
    throw error.Within(where);
  }
}
template <class Call>
auto LocatedAt(const std::string& where, Call call) {
  return LocatedAt(where, where, call);
}

}  // namespace legacy
