// What can be replayed: a run that was recorded, or a trace of the user's own training.
#pragma once

#include <filesystem>
#include <string>
#include <variant>

#include "scenarios/run/recording.h"
#include "scenarios/run/replay.h"
#include "scenarios/run/trace_replay.h"

namespace legacy {

using ReplaySource = std::variant<Recording, TraceFile>;

// Of `run`, a folder is a recorded run, and a file is a trace. Throws Error as their readers do.
inline ReplaySource ReadReplaySource(const std::string& run) {
  if (std::filesystem::exists(run) && !std::filesystem::is_directory(run)) {
    return TraceFile{run, ReadDdpTrace(run)};
  }
  return ReadRecording(run);
}

}  // namespace legacy
