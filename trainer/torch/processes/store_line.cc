#if defined(USE_C10D_GLOO)  // LibTorch has c10d
#include "trainer/torch/processes/store_line.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace legacy {

std::string StoreKey(const char* what, int rank) {
  return std::string(what) + "/" + std::to_string(rank);
}

std::string Summary(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

StoreLine::StoreLine(const Launch& launch, bool serves) {
  c10d::TCPStoreOptions options;
  options.port = launch.port;
  options.isServer = serves;
  options.waitWorkers = false;
  options.timeout = kMeeting;
  auto store = c10::make_intrusive<c10d::TCPStore>(launch.host, options);
  port_ = store->getPort();
  store_ = c10::make_intrusive<c10d::PrefixStore>(launch.prefix + "/legacy", store);
}

}  // namespace legacy

#endif
