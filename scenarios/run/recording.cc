#include "scenarios/run/recording.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "analysis/csv.h"
#include "base/error.h"
#include "base/files/json.h"
#include "base/files/whole_file.h"
#include "base/parse.h"
#include "scenarios/run/diagnostics.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/timed_training.h"
#include "trainer/clock/record.h"

namespace legacy {
namespace {

using analysis::Manifest;

void RefuseWhatSaysSo(const std::string& where, const std::vector<std::string>& reasons) {
  if (reasons.empty()) return;
  throw Error::Refusal(where + ": may not be replayed on another network: " + Join(reasons, "; "));
}

std::vector<std::string> ManifestRefusals(const Manifest& manifest, const std::string& where) {
  const auto found = manifest.document.find("replay_refused");
  if (found == manifest.document.end()) return {};
  try {
    return found->get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception&) {
    throw Error(where + ": replay_refused", found->dump(), "a list of texts");
  }
}

void CheckHash(const Recording& recording, const std::string& where) {
  const std::string hash = TrainingHash(TrainingDocument(recording.scenario));
  if (hash == recording.record.Hash()) return;
  throw Error::Refusal(where + ": its configuration has the hash " + hash + ", " + kRecordFile +
                       " has " + recording.record.Hash() + ": they are of different trainings");
}

// Checks that the record has the training of workers that the manifest describes.
void CheckTraining(const Recording& recording, const std::string& where) {
  const Manifest& manifest = recording.run.manifest;
  const Scenario& scenario = recording.scenario;
  if (manifest.policies != scenario.policies) {
    throw Error(where + ": policies", Join(manifest.policies, ","),
                Join(scenario.policies, ",") + ", as in its configuration");
  }
  if (std::ssize(manifest.seeds) != scenario.seeds || manifest.seeds.front() != scenario.seed ||
      manifest.seeds.back() != scenario.seed + scenario.seeds - 1) {
    throw Error::Refusal(where + ": seeds: not those of its configuration");
  }
  if (manifest.workers != scenario.workers) {
    throw Error(where + ": workers", std::to_string(manifest.workers),
                std::to_string(scenario.workers) + ", as in its configuration");
  }
  const Unit& last = recording.record.layers.back();
  const int64_t elements = last.offset + last.numel;
  if (manifest.parameters != elements) {
    throw Error(where + ": parameters", std::to_string(manifest.parameters),
                std::to_string(elements) + ", the elements of the recorded layers");
  }
}

void CheckWorks(const Recording& recording, const std::string& where) {
  const int batch = TimedBatch(recording.scenario);
  for (const StepWork& work : recording.record.works) {
    if (const int workers = DataWorkers(recording.scenario); work.workers != workers) {
      throw Error(where + ": workers", std::to_string(work.workers),
                  std::to_string(workers) + ", as in the manifest");
    }
    if (work.batch_size != batch) {
      throw Error(where + ": batch", std::to_string(work.batch_size),
                  std::to_string(batch) + ", as in the manifest");
    }
    if (work.passes != recording.scenario.accumulate) {
      throw Error(where + ": passes", std::to_string(work.passes),
                  std::to_string(recording.scenario.accumulate) + ", as in the manifest");
    }
    if (!work.active_workers.empty()) {
      throw Error::Refusal(where + ": participants: workers were left out of a training whose " +
                           "synchronisation is " + recording.scenario.sync.text());
    }
  }
}

// Checks that steps.csv has each step once and in order, because step numbers index the record.
void CheckNextStep(const analysis::StepRow& row, int64_t next, int64_t steps,
                   const std::string& directory) {
  if (row.step == next && next < steps) return;
  throw Error(
      directory + ": steps.csv: step of " + row.policy + ", seed " + std::to_string(row.seed),
      std::to_string(row.step),
      next < steps ? std::to_string(next) + ", the next one"
                   : "nothing after step " + std::to_string(steps - 1));
}

// Checks that the record and steps.csv have all steps of all trainings in the manifest.
void CheckSteps(const Recording& recording, const std::string& directory) {
  const Scenario& scenario = recording.scenario;
  const auto trainings = static_cast<size_t>(scenario.seeds) * scenario.policies.size();
  size_t found = 0;
  for (const RecordedTraining& training : recording.record.trainings) {
    const auto same = [&](const auto& row) {
      return row.policy == training.policy && row.seed == training.seed;
    };
    int64_t rows = 0;
    for (const analysis::StepRow& row : recording.run.steps) {
      if (!same(row)) continue;
      CheckNextStep(row, rows, scenario.steps, directory);
      ++rows;
    }
    const bool finished = std::ranges::any_of(recording.run.network, same);
    if (finished && rows == scenario.steps && std::ssize(training.works) == rows) ++found;
  }
  if (found == trainings && recording.record.trainings.size() == trainings) return;
  throw Error::Refusal(directory + ": " + std::to_string(found) + " of " +
                       std::to_string(trainings) + " trainings have all their " +
                       std::to_string(scenario.steps) +
                       " steps in steps.csv and traffic.jsonl: only whole runs are replayed");
}

// Checks that every evaluation follows a recorded step, because a replay evaluates after the same
// steps.
// steps.
void CheckEvaluations(const Recording& recording, const std::string& where) {
  for (const analysis::EvaluationRow& row : recording.run.evaluations) {
    if (row.step >= 1 && row.step <= recording.scenario.steps) continue;
    throw Error(where + ": step of " + row.policy + ", seed " + std::to_string(row.seed),
                std::to_string(row.step), "1 to " + std::to_string(recording.scenario.steps));
  }
}

// Checks that both files have the same number of bytes for the messages of each step.
void CheckBytes(const Recording& recording, const std::string& where) {
  const Record& record = recording.record;
  std::map<std::pair<std::string, uint64_t>, const RecordedTraining*> training_of;
  for (const RecordedTraining& training : record.trainings) {
    training_of[{training.policy, training.seed}] = &training;
  }
  for (const analysis::StepRow& row : recording.run.steps) {
    const RecordedTraining& training = *training_of.at({row.policy, row.seed});
    const double bytes =
        MeanMessageBytes(record.works.at(training.works.at(static_cast<size_t>(row.step))));
    if (bytes == row.message_bytes) continue;
    throw Error(where + ": message_bytes of " + row.policy + ", seed " + std::to_string(row.seed) +
                    ", step " + std::to_string(row.step),
                analysis::CsvNumber(row.message_bytes),
                analysis::CsvNumber(bytes) + ", as in traffic.jsonl: they are of different runs");
  }
}

}  // namespace

Recording ReadRecording(const std::string& directory) {
  const std::filesystem::path path = directory;
  const std::string manifest = (path / "manifest.json").string();
  const std::string traffic = (path / kRecordFile).string();
  Recording recording;
  recording.run = analysis::ReadRunDirectory(path);
  RefuseWhatSaysSo(manifest, ManifestRefusals(recording.run.manifest, manifest));
  if (!std::filesystem::exists(traffic)) {
    throw Error::Refusal(traffic + ": is not there: the run was not recorded (--record)");
  }
  const auto configuration = recording.run.manifest.document.find("configuration");
  if (configuration == recording.run.manifest.document.end()) {
    throw Error::Refusal(manifest + ": without 'configuration'");
  }
  recording.scenario = ReadScenarioDocument(*configuration, manifest + ": configuration");
  recording.record = ReadRecord(traffic);
  RefuseWhatSaysSo(traffic, recording.record.replay_refused);
  CheckHash(recording, manifest);
  if (recording.scenario.federated) return recording;  // the training is checked as it is timed
  CheckTraining(recording, manifest);
  CheckWorks(recording, traffic);
  CheckSteps(recording, directory);
  CheckEvaluations(recording, (path / "evaluations.csv").string());
  CheckBytes(recording, (path / "steps.csv").string());
  return recording;
}

Scenario ReplayDefaults(const Recording& recording) {
  const Scenario defaults;
  Scenario scenario = recording.scenario;
  scenario.out = defaults.out;
  scenario.overwrite = defaults.overwrite;
  scenario.pictures = defaults.pictures;
  scenario.verbose = defaults.verbose;
  scenario.tensorboard = defaults.tensorboard;
  scenario.threads = defaults.threads;  // of the training; a replay has none
  scenario.checkpoint = defaults.checkpoint;
  scenario.jobs = defaults.jobs;
  scenario.memory = defaults.memory;
  scenario.record = false;  // a replay records nothing
  scenario.further = "none";
  scenario.gradient_steps = defaults.gradient_steps;
  scenario.gradient_layers = defaults.gradient_layers;
  return WithoutDiagnostics(std::move(scenario));
}

}  // namespace legacy
