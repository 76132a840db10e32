// The memory is what a worker keeps of a unit between steps.
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
// The second equation is exact, so all that is ever computed is either sent or part of the
// residual. Where all of e is sent there is nothing to mask: such a step is one of momentum SGD, as
// the workers' mean of u is the momentum of the mean gradient.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/codec.h"
#include "compress/state.h"

namespace legacy {

// A MemoryKind says what is kept.
enum class MemoryKind : uint8_t { kNone, kResidual, kMomentum };

// MemoryOptions configure the memory.
struct MemoryOptions {
  MemoryKind kind = MemoryKind::kResidual;
  float momentum = 0.9f;
  bool nesterov = false;
  bool masking = true;
};

// A Memory is that of all workers, for one unit. Calls for different workers may run concurrently.
// A worker's part takes memory from its first gradient on.
class Memory {
 public:
  Memory(const MemoryOptions& options, int64_t numel, int workers);

  bool Keeps() const { return options_.kind != MemoryKind::kNone; }

  // Returns the message of e, in one call; what it leaves out becomes the residual.
  Message Encode(const Codec& codec, int worker, std::span<const float> gradient,
                 const CodecContext& context);

  // Compensate, MutableResidual and MarkSent do the same in steps, for exchanges that send later.
  // Compensate makes e, rounded to fp32 once (without memory it is a copy of the gradient); the
  // caller turns MutableResidual into what is left of it, and says what was sent where that was not
  // everything.
  std::span<float> Compensate(int worker, std::span<const float> gradient);
  std::span<float> MutableResidual(int worker) { return residuals_[worker]; }
  void MarkSent(int worker, std::span<const uint32_t> positions);

  // Returns the residual; empty without memory and before the worker's first gradient.
  std::span<const float> Residual(int worker) const;
  // Returns u; empty without momentum and before the worker's first gradient.
  std::span<const float> Velocity(int worker) const;

  // Does what Exchange::RescaleResiduals does. `factor` is finite and not negative. Momentum stays
  // as it is, as an optimizer's does when the learning rate changes.
  void Rescale(float factor);

  void Save(StateWriter& out) const;
  // Throws Error on a memory of another kind; it is half loaded then.
  void Load(StateReader& in);

 private:
  // Fills a worker's part with zeros where it has none yet.
  void Prepare(int worker);
  // Takes the gradient, and returns what is to be added to the residual.
  std::span<const float> Feed(int worker, std::span<const float> gradient);

  MemoryOptions options_;
  size_t numel_;
  std::vector<std::vector<float>> residuals_;  // [worker][element]: r or v
  std::vector<std::vector<float>> velocity_;   // u
};

}  // namespace legacy
