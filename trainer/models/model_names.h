// Names of the built-in models (model.h), for readers of scenarios that do not need LibTorch.
#pragma once

#include <string>
#include <vector>

namespace legacy {

std::vector<std::string> ModelNames();

}  // namespace legacy
