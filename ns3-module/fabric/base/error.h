// This is the one exception type of the fabric, for what the user asked for and cannot be. Plain
// C++17, BSD-3-Clause.
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
