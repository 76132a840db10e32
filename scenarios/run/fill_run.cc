#include "scenarios/run/fill_run.h"

#include <unistd.h>

#include "base/programs/program.h"

namespace legacy {

RunResult FillRun(OpenRun& open, RunContent& content, const RunControl& control, std::FILE* log) {
  open.MakeDirectory(content.scenario());
  analysis::Manifest manifest =
      open.Begin(content.Manifest(), [&](const analysis::Manifest& earlier) {
        return content.GrowingFiles(open.directory(), earlier);
      });
  content.Open(open, manifest);
  const auto& target = manifest.target;
  Progress progress(content.StepsLeft(), content.scenario().federated ? "round" : "step",
                    manifest.metrics, target ? target->metric : "", isatty(fileno(log)) != 0, log,
                    control.told);
  bool done = false;
  {
    const StopScope scope(content.Saves() ? 0 : kSecondsToStop);
    done = content.Run(progress);
  }
  progress.Finish();
  content.Conclude(done, open.result);
  open.NoteInterruption(!done);
  return open.result;
}

}  // namespace legacy
