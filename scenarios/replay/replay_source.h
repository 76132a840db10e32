// A replay's source is what legacy-replay times again: a recorded run of workers or of clients, or
// a trace of the user's own training.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "analysis/run_directory.h"
#include "base/programs/program.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/open_run.h"

namespace legacy {

struct Recording;

class ReplaySource {
 public:
  virtual ~ReplaySource() = default;
  // Returns the scenario from which options of a replay start.
  virtual Scenario Defaults() const = 0;
  // Throws Error naming the option where `scenario` is not valid, or describes another training.
  virtual void Check(const Scenario& scenario) const = 0;
  // Times the source as `scenario` says, into its run directory, with progress on `log`. `stop` is
  // read after every step or version. Throws Error as Check does, and leaves no files then.
  virtual RunResult Run(const Scenario& scenario, const std::string& program,
                        const std::string& command_line, const StopFlag& stop,
                        std::FILE* log) const = 0;
};

// A RecordedRun is a run that was recorded (--record). It may be replayed any number of times.
class RecordedRun : public ReplaySource {
 public:
  // Returns the rows of a replay, those of tasks left out, in memory; nothing is printed. The
  // manifest is the recording's, with target and fidelity of `scenario` (fidelity auto: the chosen
  // one, without a sample). Where `stopped` returns true, which any thread may make it do, it
  // returns the rows so far. Several may run at the same time except at packet fidelity, because
  // ns-3 has one simulator for each process. Throws Error as Check does.
  virtual analysis::RunDirectory Rows(const Scenario& scenario,
                                      const std::function<bool()>& stopped) const = 0;
  // Returns the record in memory if it is one of workers, else null.
  virtual const Recording* Workers() const { return nullptr; }
};

// Reads `run`, which is a recorded run where it is a folder and a trace where it is a file. Throws
// Error as their readers do.
std::unique_ptr<ReplaySource> ReadReplaySource(const std::string& run);

// Reads a recorded run. Throws Error as ReadRecording does.
std::unique_ptr<RecordedRun> ReadRecordedRun(const std::string& directory);

// True where the folder has a run of federated clients.
bool IsRunOfClients(const std::string& directory);

}  // namespace legacy
