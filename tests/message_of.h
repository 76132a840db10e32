// Returns the message of the Error that a call throws.
#pragma once

#include <stdexcept>
#include <string>

namespace legacy {

template <typename Call>
std::string MessageOf(Call call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace legacy
