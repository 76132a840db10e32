// What a client does in a task, as text: passes over its samples or a number of steps.
#pragma once

#include <cstdint>
#include <string>

namespace legacy {

// A LocalWork has epochs, or steps.
struct LocalWork {
  int64_t epochs = 1;
  int64_t most_epochs = 0;  // above 0: a number of epochs from `epochs` to this is drawn
  int64_t steps = 0;        // above 0: that many steps, and no epochs
};

// Reads "epochs:2", "epochs:2-5" or "steps:20". Throws Error naming `key` and what is allowed.
LocalWork ParseLocalWork(const std::string& text, const std::string& key);

}  // namespace legacy
