// What a worker keeps of a unit between steps.
//
//   residual   error feedback (Seide et al., Interspeech 2014; Karimireddy et al., ICML 2019): what
//              was not sent is
//              added to the next gradient.  e = r + g;  r' = e - what receivers read of e
//   momentum   momentum correction (Lin et al., Deep Gradient Compression, ICLR 2018, section 3.1):
//              momentum before
//              compression.  u' = m u + g, e = v + u';  v' = e - what receivers read
//              Nesterov: u' = m (u + g), e = v + u' + g
//              masking (section 3.2): u' = 0 at the positions that were sent
//
// By exactness of the second equation all that is ever computed is either sent or part of the
// residual. Where all of e is sent there is nothing to mask: such a step is one of momentum SGD, as
// the workers' mean of u is the momentum of the mean gradient.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/codec.h"
#include "compress/state.h"

namespace legacy {

enum class MemoryKind : uint8_t { kNone, kResidual, kMomentum };

struct MemoryOptions {
  MemoryKind kind = MemoryKind::kResidual;
  float momentum = 0.9f;
  bool nesterov = false;
  bool masking = true;
};

// Of all workers, for one unit. Calls for different workers may run concurrently. What a worker
// keeps takes memory from its first gradient on.
class Memory {
 public:
  Memory(const MemoryOptions& options, int64_t numel, int workers);

  bool Keeps() const { return options_.kind != MemoryKind::kNone; }

  // The message of e, in one call; what it leaves out becomes the residual.
  Message Encode(const Codec& codec, int worker, std::span<const float> gradient,
                 const CodecContext& context);

  // The same in steps, for exchanges that send later: Compensate makes e, rounded to fp32 once
  // (without memory it is a copy of the gradient); the caller turns MutableResidual into what is
  // left of it, and says what was sent where that was not everything.
  std::span<float> Compensate(int worker, std::span<const float> gradient);
  std::span<float> MutableResidual(int worker) { return residuals_[worker]; }
  void MarkSent(int worker, std::span<const uint32_t> positions);

  // The residual; empty without memory and before the worker's first gradient.
  std::span<const float> Residual(int worker) const;
  // u; empty without momentum and before the worker's first gradient.
  std::span<const float> Velocity(int worker) const;

  // See Exchange::RescaleResiduals. `factor` is finite and not negative. Momentum stays as it is:
  // an optimizer's does so when the learning rate changes.
  void Rescale(float factor);

  void Save(StateWriter& out) const;
  // Throws Error on a memory of another kind; half loaded then.
  void Load(StateReader& in);

 private:
  // Zeros where the worker keeps nothing yet.
  void Prepare(int worker);
  // Takes the gradient in; what is to be added to the residual.
  std::span<const float> Feed(int worker, std::span<const float> gradient);

  MemoryOptions options_;
  size_t numel_;
  std::vector<std::vector<float>> residuals_;  // [worker][element]: r or v
  std::vector<std::vector<float>> velocity_;   // u
};

}  // namespace legacy
