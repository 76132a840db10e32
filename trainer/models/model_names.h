// These are the names of the models that are built in (model.h), without LibTorch, for what reads
// scenarios.
#pragma once

#include <string>
#include <vector>

namespace legacy {

std::vector<std::string> ModelNames();

}  // namespace legacy
