// Processor time of this process: what a single-threaded simulation costs, however many others
// share the machine.
#pragma once

#include <ctime>

namespace legacy::fabric::bench
{

inline double ProcessorSeconds()
{
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

} // namespace legacy::fabric::bench
