// Connections to the store of process 0, in which processes leave texts for each other by key.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "trainer/processes/launch.h"

namespace legacy {

inline constexpr std::chrono::seconds kMeeting(300);  // for all processes to come

// Returns the key of what one process says.
std::string StoreKey(const char* what, int rank);

// Returns the first line of an exception's text. LibTorch appends its stack to it.
std::string Summary(const std::exception& error);

// A StoreLine is one connection to the store. Its calls may come from one thread.
class StoreLine {
 public:
  static constexpr const char* kReason = "reason";  // key of the reason for which all end

  StoreLine(const Launch& launch, bool serves);

  uint16_t port() const { return port_; }
  const c10::intrusive_ptr<c10d::Store>& store() const { return store_; }

  void Set(const std::string& key, const std::string& text) {
    store_->set(key, std::vector<uint8_t>(text.begin(), text.end()));
  }
  bool Has(const std::string& key) { return store_->check({key}); }
  std::string Get(const std::string& key) {
    const std::vector<uint8_t> bytes = store_->get(key);
    return {bytes.begin(), bytes.end()};
  }
  int64_t Add(const std::string& key, int64_t number) { return store_->add(key, number); }
  // Sets the reason for which all processes end, unless there is one. Returns the one that counts.
  std::string SetReason(const std::string& reason) {
    if (Add("reasons", 1) == 1) Set(kReason, reason);
    return Get(kReason);  // waits for it
  }

 private:
  uint16_t port_ = 0;
  c10::intrusive_ptr<c10d::Store> store_;
};

}  // namespace legacy
