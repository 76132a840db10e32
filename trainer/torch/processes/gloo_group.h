// A process group over c10d of LibTorch: messages go through Gloo, and a TCP store tells the
// processes about each other.
#pragma once

#include <memory>
#include <string>

#include "base/programs/program.h"
#include "trainer/processes/launch.h"
#include "trainer/processes/process_group.h"

namespace legacy {

// Opens this process's lines to the processes of a launch. Processes whose `stop` is set pass that
// on: process 0 then raises SIGTERM for itself.
//
// A thread of each process says twice a second that it is alive. A process that dies, or that is
// silent for 20 s of the others' time, ends all of them with a message that names it: their calls
// throw Error, and a process that is not in a call is ended where it is, 10 s later, as by a kill.
//
// Throws Error where process 0 cannot be reached, and in builds without Gloo.
std::unique_ptr<ProcessGroup> JoinGlooGroup(const Launch& launch, const StopFlag& stop);

}  // namespace legacy
