// The break-even ratio is the compression ratio above which a link gains. Without compression M
// bytes take M / B seconds. With it, every pass over them takes M / T more, at sender and receiver,
// and the link M / (r B):
//
//   M / B > M sum_j c_j / T_j + M / (r B)   <=>   r > 1 / (1 - B sum_j c_j / T_j)
//
// No ratio gains if B sum_j c_j / T_j >= 1. Wang et al. (HPDC 2020) argue with a model of this
// kind; this form counts passes that overlap neither each other nor the link.
#pragma once

#include <limits>
#include <span>

namespace legacy {

// A kind of pass over the values.
struct CodecPass {
  double bytes_per_second = 1;  // dense bytes per second; positive
  double passes = 1;            // c_j, at sender and receiver together
};

// Returns the ratio, or infinity if no ratio gains.
inline double BreakEvenRatio(double link_bytes_per_second, std::span<const CodecPass> passes) {
  double seconds_per_byte = 0;
  for (const CodecPass& pass : passes) seconds_per_byte += pass.passes / pass.bytes_per_second;
  const double left = 1 - link_bytes_per_second * seconds_per_byte;
  return left > 0 ? 1 / left : std::numeric_limits<double>::infinity();
}

}  // namespace legacy
