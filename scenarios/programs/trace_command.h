// The commands of legacy-trace: import and export.
#pragma once

namespace legacy {

// Runs the program. Returns the exit status. Throws Error.
int TraceCommand(int argc, char** argv);

}  // namespace legacy
