#include "scenarios/replay/replay_source.h"

#include <filesystem>
#include <utility>

#include "scenarios/replay/federated_replay.h"
#include "scenarios/replay/replay.h"
#include "scenarios/replay/trace_replay.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/recording.h"
#include "trainer/clock/ddp_trace.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

// A WorkersSource is a source of workers' steps: a Recording or a TraceFile.
template <class Base, class Source>
class WorkersSource : public Base {
 public:
  explicit WorkersSource(Source source) : source_(std::move(source)) {}
  Scenario Defaults() const override { return ReplayDefaults(source_); }
  void Check(const Scenario& scenario) const override {
    ValidateScenario(scenario);
    CheckReplay(source_, scenario);
  }
  RunResult Run(const Scenario& scenario, const std::string& program,
                const std::string& command_line, const StopFlag& stop,
                std::FILE* log) const override {
    return Replay(source_, scenario, program, command_line, stop, log);
  }

 protected:
  const Source source_;
};

using TracedTraining = WorkersSource<ReplaySource, TraceFile>;

class RecordedWorkers : public WorkersSource<RecordedRun, Recording> {
 public:
  using WorkersSource::WorkersSource;
  analysis::RunDirectory Rows(const Scenario& scenario,
                              const std::function<bool()>& stopped) const override {
    return ReplayRows(source_, scenario, stopped);
  }
  const Recording* Workers() const override { return &source_; }
};

}  // namespace

std::unique_ptr<ReplaySource> ReadReplaySource(const std::string& run) {
  if (fs::exists(run) && !fs::is_directory(run)) {
    return std::make_unique<TracedTraining>(TraceFile{run, ReadDdpTrace(run)});
  }
  return ReadRecordedRun(run);
}

std::unique_ptr<RecordedRun> ReadRecordedRun(const std::string& directory) {
  Recording recording = ReadRecording(directory);
  if (recording.scenario.federated) return ReplayOfClients(std::move(recording));
  return std::make_unique<RecordedWorkers>(std::move(recording));
}

bool IsRunOfClients(const std::string& directory) {
  return fs::exists(fs::path(directory) / "manifest.json") &&
         ScenarioOfRun(directory).federated.has_value();
}

}  // namespace legacy
