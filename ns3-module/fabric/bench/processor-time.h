// Processor time of this process. It is the cost of a single-threaded simulation, and does not
// depend on the other processes of the machine.
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
