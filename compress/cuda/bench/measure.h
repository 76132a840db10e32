// legacy-bench-gpu measures a kernel, the same kernel replayed from a CUDA graph, and a copy kernel
// that moves as many bytes, in turns. Each turn is timed by events on the device, and medians are
// compared. Before each turn, the data that the kernel overwrites are restored, and the last-level
// cache is filled with other data. Turns take several sets of inputs one after the other.
#pragma once

#include <string>

#include "compress/cuda/bench/rows.h"

namespace legacy::bench {

struct MeasureOptions {
  int turns = 21;
  int warm_up = 3;  // number of turns that do not count
};

struct Measurement {
  const Row* row = nullptr;
  Case of;
  double bytes = 0;  // Row::bytes
  // Medians; 0 if not measured.
  double seconds = 0;
  double graph_seconds = 0;
  double copy_seconds = 0;
  double fastest_seconds = 0;
  std::string skipped;  // reason why nothing was measured, or empty

  double BytesPerSecond() const { return bytes / seconds; }
  double ShareOfCopy() const { return copy_seconds / seconds; }
};

Measurement Measure(const Row& row, const Case& of, const DeviceInfo& device,
                    const MeasureOptions& options);

}  // namespace legacy::bench
