#include "trainer/federated/local_work.h"

#include "base/error.h"
#include "base/parse.h"

namespace legacy {

LocalWork ParseLocalWork(const std::string& text, const std::string& key) {
  constexpr int64_t kMost = 1'000'000;
  const std::string steps = "steps:", epochs = "epochs:";
  LocalWork work;
  if (text.starts_with(steps)) {
    work.steps = ParseInteger(text.substr(steps.size()), key, 1, kMost);
    return work;
  }
  if (!text.starts_with(epochs)) throw Error(key, text, "epochs:2, epochs:2-5 or steps:20");
  const std::string range = text.substr(epochs.size());
  const size_t dash = range.find('-');
  work.epochs = ParseInteger(range.substr(0, dash), key, 1, kMost);
  if (dash != std::string::npos) {
    work.most_epochs = ParseInteger(range.substr(dash + 1), key, work.epochs, kMost);
  }
  return work;
}

}  // namespace legacy
