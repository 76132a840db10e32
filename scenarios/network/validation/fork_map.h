// A fork map does work in processes of its own, as ns-3's simulator is one for each process.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace legacy {

// Returns work(i) for each of the names, each run in a child process, at most `processes` at once,
// in that order. `done` is told, in this process, of each as it ends. Throws Error with the name of
// the first that failed and what it threw, or how it died; no child is left then.
std::vector<std::string> ForkMap(const std::vector<std::string>& names, int processes,
                                 const std::function<std::string(int)>& work,
                                 const std::function<void(int)>& done);

}  // namespace legacy
