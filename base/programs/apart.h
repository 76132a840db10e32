// Work that may crash or never end is run in a process of its own.
#pragma once

#include <functional>
#include <string>

namespace legacy {

// Runs `work` in a copy of this process, without its output, and returns what it returns. Throws
// Error with the text of what it throws, and where it crashes or does not end within the time:
// "it ended by signal 11 (Segmentation fault)", "it did not end in 60 s".
std::string RunApart(unsigned seconds, const std::function<std::string()>& work);

}  // namespace legacy
