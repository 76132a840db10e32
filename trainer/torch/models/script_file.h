// Files of TorchScript modules, which others may have made.
#pragma once

#include <exception>
#include <functional>
#include <string>

#include "base/error.h"

namespace legacy {

// Checks that LibTorch can load the file, in a process of its own, as a file may make it crash:
// that each tensor's record has the bytes that the tensor needs, and that `load` returns. A file
// that did not change since is not checked again. Throws Error that says what is wrong with the
// file.
void CheckScriptFile(const std::string& file, const std::function<void()>& load);

// Returns the error of a file that holds no module.
Error NotLoadable(const std::string& file, const std::string& why);

// Returns the line of LibTorch's message that says what is wrong. The other lines name places in
// the script and in LibTorch.
std::string ScriptMessage(const std::exception& error);

}  // namespace legacy
