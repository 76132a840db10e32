// A replay's source is a recorded run, or a trace of the user's own training.
#pragma once

#include <filesystem>
#include <string>
#include <variant>

#include "scenarios/replay/recording.h"
#include "scenarios/replay/replay.h"
#include "scenarios/replay/trace_replay.h"

namespace legacy {

using ReplaySource = std::variant<Recording, TraceFile>;

// Reads `run`, which is a recorded run where it is a folder and a trace where it is a file. Throws
// Error as their readers do.
inline ReplaySource ReadReplaySource(const std::string& run) {
  if (std::filesystem::exists(run) && !std::filesystem::is_directory(run)) {
    return TraceFile{run, ReadDdpTrace(run)};
  }
  return ReadRecording(run);
}

}  // namespace legacy
