// The models that are built in (model.h), by name. Without LibTorch, for what reads scenarios.
#pragma once

#include <string>
#include <vector>

namespace legacy {

std::vector<std::string> ModelNames();

}  // namespace legacy
