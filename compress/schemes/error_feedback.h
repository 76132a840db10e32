// Error feedback (Seide et al., Interspeech 2014; Karimireddy et al., ICML 2019): what a worker did
// not send is added to its next gradient. e = g + r is sent, r' = e - decode(encode(e)) is kept; by
// exactness of the second equation everything that is ever computed is either sent or still held.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/state.h"

namespace legacy {

// The residuals of all workers for one unit. Calls for different workers may run concurrently.
class ErrorFeedback {
 public:
  ErrorFeedback(int64_t numel, int workers);

  // e = gradient + residual, in the place of the residual: the caller turns it into the new one.
  // The sum is rounded to fp32 once; from there on nothing is lost.
  std::span<float> Compensate(int worker, std::span<const float> gradient);

  std::span<float> Residual(int worker) { return residuals_[worker]; }
  std::span<const float> Residual(int worker) const { return residuals_[worker]; }

  // Residuals are in gradient units; see Exchange::RescaleResiduals. `factor` is finite and not
  // negative.
  void Rescale(float factor);

  void Save(StateWriter& out) const;
  // Throws Error, changing nothing, unless exactly this object's residuals are left in `in`.
  void Load(StateReader& in);

 private:
  int64_t numel_;
  std::vector<std::vector<float>> residuals_;  // [worker][element]
};

}  // namespace legacy
