#include "compress/cuda/bench/measure.h"

#include <algorithm>
#include <exception>

#include "base/median.h"

namespace legacy::bench {
namespace {

// Memory of twice the cache's size that evicts its contents.
class CacheFiller {
 public:
  explicit CacheFiller(const DeviceInfo& device)
      : n_(2 * device.cache_bytes / static_cast<int64_t>(sizeof(float))),
        values_(arena_.New<float>(n_)),
        sink_(arena_.New<float>(1)) {
    FillInput("constant", 0, values_, n_);
  }
  void Fill() const { ReadFloats(values_, n_, sink_); }

 private:
  Arena arena_;
  int64_t n_;
  float* values_;
  float* sink_;
};

class Yardstick {
 public:
  explicit Yardstick(double bytes)
      : n_(static_cast<int64_t>(bytes / (2 * sizeof(float)))),
        from_(arena_.New<float>(n_)),
        to_(arena_.New<float>(n_)) {
    FillInput("constant", 0, from_, n_);
  }
  void Copy() const { CopyFloats(from_, to_, n_); }

 private:
  Arena arena_;
  int64_t n_;
  float* from_;
  float* to_;
};

// The same work on several inputs, in at most a quarter of the device's memory.
struct Sets {
  Sets(const Row& row, const Case& of, const DeviceInfo& device) {
    constexpr uint32_t kMost = 3;
    const int64_t room = device.memory_bytes / 4;
    for (uint32_t seed = 1; seed <= kMost; ++seed) {
      if (seed > 1 && seed * (arena.bytes() / (seed - 1)) > room) break;
      works.push_back(row.prepare(of, seed, arena));
      if (!works.back().capturable) continue;
      // Kernels are loaded at their first launch, which must not be part of a graph.
      works.back().run(cuda::StreamDevice(nullptr));
      graphs.push_back(Capture(works.back().run));
    }
  }
  Arena arena;
  std::vector<Work> works;
  std::vector<std::function<void()>> graphs;  // one per work, or none
};

void MeasureInto(const DeviceInfo& device, const MeasureOptions& options, Measurement& result) {
  const CacheFiller filler(device);
  const Yardstick yardstick(result.bytes);
  const Sets sets(*result.row, result.of, device);
  std::vector<double> direct, graph, copy;
  for (int turn = -options.warm_up; turn < options.turns; ++turn) {
    const size_t set = static_cast<size_t>(turn + options.warm_up) % sets.works.size();
    const Work& work = sets.works[set];
    const auto before = [&] {
      if (work.restore) work.restore();
      filler.Fill();
    };
    const double ours = Seconds(before, [&] { work.run(cuda::StreamDevice(nullptr)); });
    const double replayed = sets.graphs.empty() ? 0 : Seconds(before, sets.graphs[set]);
    const double copied = Seconds([&] { filler.Fill(); }, [&] { yardstick.Copy(); });
    if (turn < 0) continue;
    direct.push_back(ours);
    graph.push_back(replayed);
    copy.push_back(copied);
  }
  result.seconds = Median(direct);
  result.graph_seconds = Median(graph);
  result.copy_seconds = Median(copy);
  result.fastest_seconds = *std::ranges::min_element(direct);
}

}  // namespace

Measurement Measure(const Row& row, const Case& of, const DeviceInfo& device,
                    const MeasureOptions& options) {
  Measurement result{.row = &row, .of = of, .bytes = row.bytes(of), .skipped = {}};
  try {
    MeasureInto(device, options, result);
  } catch (const std::exception& error) {  // usually because memory is short
    result.skipped = error.what();
  }
  return result;
}

}  // namespace legacy::bench
