#include "scenarios/network/jobs/job_list.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/files/yaml.h"
#include "base/parse.h"
#include "scenarios/network/jobs/collective_job.h"
#include "scenarios/network/options/experiment.h"

namespace legacy {
namespace {

constexpr size_t kMostJobs = 1024;

// Returns the keys of a job that repeats a collective.
std::vector<std::string> CollectiveKeys() {
  std::vector<std::string> keys = JobKeys();
  keys.emplace_back("placement");
  for (const Option<ExperimentOptions>& row : ExperimentRows()) {
    if (row.group == kCollectiveGroup) keys.push_back(row.Name());
  }
  return keys;
}

// Reads the keys that every job may have.
JobRequest ReadCommon(JobEntry& entry, size_t number) {
  JobRequest job;
  job.where = MarkText(entry.path, entry.map.Mark());
  job.name = "job" + std::to_string(number);
  ReadMap(entry.map, "jobs", entry.path, [&](const std::string& key, const YAML::Node& value) {
    if (std::ranges::count(JobKeys(), key) == 0) return;
    const std::string text = ScalarText(value, key);
    if (key == "name") {
      job.name = text;
    } else if (key == "hosts") {
      job.hosts = SplitList(text);
      if (job.hosts.empty()) throw Error(key, text, "a list of hosts");
    } else if (key == "start") {
      job.start = ParseTime(text, key);
    } else {
      entry.steps = ParseInteger(text, key, 1, kMostJobSteps);
    }
  });
  entry.hosts = std::ssize(job.hosts);
  return job;
}

void ReadCollective(const JobEntry& entry, const std::map<std::string, std::string>& ns3_attributes,
                    JobRequest& job) {
  ExperimentOptions options = entry.options;
  const std::vector<std::string> keys = CollectiveKeys();
  ReadMap(entry.map, "jobs", entry.path, [&](const std::string& key, const YAML::Node& value) {
    ParseChoice(key, "a job's key", keys);
    if (std::ranges::count(JobKeys(), key) > 0) return;
    SetOption(options, key, ScalarText(value, key));
  });
  if (entry.Has("repeat") && entry.steps) {
    throw Error(job.where + "steps", std::to_string(*entry.steps),
                "either this or repeat, which is the same");
  }
  options.repeat = entry.steps.value_or(options.repeat);
  if (entry.hosts > 0) {
    const auto hosts = static_cast<int>(entry.hosts);
    if (entry.Has("workers") && options.workers != hosts) {
      throw Error(job.where + "workers", std::to_string(options.workers),
                  std::to_string(hosts) + ", one on each of its hosts, or nothing");
    }
    options.workers = hosts;
  }
  Experiment experiment =
      LocatedAt(job.where, [&] { return ParseExperiment(options, ns3_attributes); });
  if (!experiment.algorithm) {
    throw Error(job.where + "collective", "auto", "the name of an algorithm, for a job");
  }
  job.steps = options.repeat;
  job.work = std::make_unique<CollectiveJob>(std::move(experiment));
}

}  // namespace

const std::vector<std::string>& JobKeys() {
  static const std::vector<std::string> keys = {"name", "hosts", "start", "steps"};
  return keys;
}

std::vector<JobRequest> ReadJobs(const std::string& path, const ExperimentOptions& options,
                                 const std::map<std::string, std::string>& ns3_attributes,
                                 const TrainingReader* trainings) {
  const YAML::Node root = ParseYaml(ReadWholeFile(path), path);
  ExperimentOptions defaults = options;
  const ExperimentOptions none;
  for (const Option<ExperimentOptions>& row : ExperimentRows()) {
    if (row.group == kJobsGroup) row.set(defaults, row.flag, row.get(none));
  }
  std::vector<JobRequest> requests;
  std::set<std::string> names;
  ReadMap(root, "", path, [&](const std::string& key, const YAML::Node& jobs) {
    ParseChoice(key, "key", {"jobs"});
    if (!jobs.IsSequence()) throw Error::Refusal("jobs: expected a list of jobs");
    for (const YAML::Node& map : jobs) {
      JobEntry entry{.map = map, .path = path, .options = defaults, .hosts = 0, .steps = {}};
      JobRequest job = ReadCommon(entry, requests.size());
      if (trainings != nullptr && trainings->Reads(entry)) {
        job.trains = true;
        job.leaves = entry.steps.has_value();
        job.steps = entry.steps.value_or(options.steps);
        job.work =
            LocatedAt(job.where, path + ":", [&] { return trainings->Read(entry, job.steps); });
      } else {
        ReadCollective(entry, ns3_attributes, job);
      }
      requests.push_back(std::move(job));
      if (names.insert(requests.back().name).second) continue;
      throw Error(requests.back().where + "name", requests.back().name, "each name once");
    }
  });
  if (requests.empty() || requests.size() > kMostJobs) {
    throw Error(path + ": jobs", std::to_string(requests.size()),
                "1 to " + std::to_string(kMostJobs) + " jobs");
  }
  return requests;
}

}  // namespace legacy
