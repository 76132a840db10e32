#include "trainer/processes/process_group.h"

#include <cstring>

namespace legacy {
namespace {

class Alone : public ProcessGroup {
 public:
  Alone() : ProcessGroup(0, 1, 1, 0) {}
  void Meet(const std::string&) override {}
  std::vector<Bytes> AllGather(ByteSpan own) override { return {Bytes(own.begin(), own.end())}; }
  Bytes Broadcast(ByteSpan bytes, int) override { return {bytes.begin(), bytes.end()}; }
  Bytes Move(ByteSpan bytes, int, int) override { return {bytes.begin(), bytes.end()}; }
  void CarryBy(std::unique_ptr<Carrier>) override {}
  void End() override {}
  bool Fail(const std::string&) noexcept override { return false; }
};

}  // namespace

std::vector<int> ProcessGroup::Own(const std::vector<int>& workers) const {
  std::vector<int> own;
  for (const int worker : workers) {
    if (Owns(worker)) own.push_back(worker);
  }
  return own;
}

std::vector<float> GatherWorkers(ProcessGroup& processes, int workers, std::span<const float> own) {
  if (processes.Alone()) return {own.begin(), own.end()};
  const std::vector<Bytes> gathered = processes.AllGather(std::as_bytes(own));
  const size_t bytes = gathered.front().size() / ((workers - 1) / processes.size() + 1);
  std::vector<float> all(static_cast<size_t>(workers) * bytes / sizeof(float));
  for (int w = 0; w < workers; ++w) {
    const size_t before = static_cast<size_t>(w / processes.size());  // workers of its process
    std::memcpy(all.data() + w * bytes / sizeof(float),
                gathered[processes.OwnerOf(w)].data() + before * bytes, bytes);
  }
  return all;
}

ProcessGroup& OneProcess() {
  static Alone alone;
  return alone;
}

}  // namespace legacy
