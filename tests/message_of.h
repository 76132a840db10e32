// What a call complains of.
#pragma once

#include <string>

#include "compress/error.h"

namespace legacy {

template <typename Call>
std::string MessageOf(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace legacy
