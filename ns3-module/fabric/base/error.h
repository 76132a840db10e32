// This is the fabric's only exception type. It is thrown for input that is malformed or out of
// range. The fabric is plain C++17 under BSD-3-Clause.
#pragma once

#include <stdexcept>
#include <string>

namespace legacy::fabric
{

/// what() reads "<where>: <option>: got '<value>'; allowed: <allowed>", or a plain sentence.
class Error : public std::runtime_error
{
  public:
    explicit Error(const std::string& message) : std::runtime_error(message)
    {
    }

    Error(const std::string& option, const std::string& value, const std::string& allowed)
        : std::runtime_error(option + ": got '" + value + "'; allowed: " + allowed)
    {
    }
};

} // namespace legacy::fabric
