// A fork map runs work in child processes, because ns-3 has one simulator for each process.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace legacy {

// Returns work(i) for each of the names, in their order. Each runs in a child process, at most
// `processes` at once. `done` is called in this process as each ends. Throws Error with the name of
// the first that failed and its error or how it died; no child is left then.
std::vector<std::string> ForkMap(const std::vector<std::string>& names, int processes,
                                 const std::function<std::string(int)>& work,
                                 const std::function<void(int)>& done);

}  // namespace legacy
