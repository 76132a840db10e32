// The state that a worker keeps of a unit between steps.
//
//   residual   error feedback (Seide et al., Interspeech 2014; Karimireddy et al., ICML 2019) adds
//              the values that were not sent to the next gradient:
//              e = decay r + g;  r' = e - what receivers decode
//   momentum   momentum correction (Lin et al., Deep Gradient Compression, ICLR 2018, section 3.1)
//              applies momentum before compression:
//              u' = m u + g, e = decay v + u';  v' = e - what receivers decode
//              Nesterov: u' = m (u + g), e = decay v + u' + g
//              masking (section 3.2): u' = 0 at the positions that were sent
//
//   average    the residual is a moving average (Xie et al., LoCo: Low-Bit Communication Adaptor,
//              2024): e = r + g;  r' = beta r + (1 - beta) (e - what receivers decode), and r' = 0
//              in every `reset_every`-th step. So it does not keep all that is left over.
//
//   storage    between steps a residual is kept in bf16, or in blocks of 8-bit integers
//              with a scale (LoCo): r' is rounded to the nearest, and what rounding takes
//              is lost.
//
// decay is 1 unless it is chosen (residual_decay.h). The second equation is exact in fp32, so every
// computed value is either sent or part of the residual. If all of e is sent there is nothing to
// mask: such a step is one of momentum SGD, because the workers' mean of u is the momentum of the
// mean gradient.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/state.h"
#include "compress/codec.h"
#include "compress/cpu/momentum_rule.h"
#include "compress/quantiser.h"

namespace legacy {

// The state that a worker keeps of a unit.
enum class MemoryKind : uint8_t { kNone, kResidual, kMomentum };

// The format in which a worker keeps a residual between steps.
enum class ResidualStorage : uint8_t { kFloat32, kBfloat16, kInteger8 };
// Returns the quantiser in whose segments residuals are kept; null for fp32.
const Quantiser* StoringQuantiser(ResidualStorage storage);

// Options of the memory.
struct MemoryOptions {
  MemoryKind kind = MemoryKind::kResidual;
  float momentum = 0.9f;
  bool nesterov = false;
  bool masking = true;
  float decay = 1;  // factor on the residual before the next gradient is added
  // The part of a residual that stays in a moving average (beta), which only kResidual has. With 0,
  // and no reset, residuals are exact.
  float average = 0;
  int64_t reset = 0;  // steps after which residuals that are averaged begin again; 0: never
  ResidualStorage storage = ResidualStorage::kFloat32;  // of kResidual

  cpu::MomentumRule Momentum() const { return {.momentum = momentum, .nesterov = nesterov}; }

  // True where a pass of its own multiplies the residual.
  bool Decays() const { return kind != MemoryKind::kNone && decay != 1; }
  // True where residuals are moving averages.
  bool Averages() const { return kind == MemoryKind::kResidual && (average > 0 || reset > 0); }
  // Returns the quantiser of kept residuals; null where there are none, or in fp32.
  const Quantiser* Storing() const {
    return kind == MemoryKind::kResidual ? StoringQuantiser(storage) : nullptr;
  }
};

// Feeds a gradient to a worker's residual and momentum, which changes both. e is then the residual
// plus the returned values, rounded to fp32 once. Without a memory e is the gradient. This is the
// one place that says what will be compressed; kernels share its rules.
std::span<const float> Feed(const MemoryOptions& options, std::span<const float> gradient,
                            std::span<float> residual, std::span<float> velocity);
// Returns e itself, and changes nothing. Empty residuals and velocities count as zeros.
std::vector<float> ErrorFed(const MemoryOptions& options, std::span<const float> gradient,
                            std::span<const float> residual, std::span<const float> velocity = {});

// The memory of all workers, for one unit. Calls for different workers may run concurrently. A
// worker's part is allocated at its first gradient.
class Memory {
 public:
  Memory(const MemoryOptions& options, int64_t numel, int workers);

  bool Keeps() const { return options_.kind != MemoryKind::kNone; }

  // Returns the message of e; the part of e that the message leaves out becomes the residual.
  Message Encode(const Codec& codec, int worker, std::span<const float> gradient,
                 const CodecContext& context);

  // Compensate, MutableResidual and MarkSent perform the parts of Encode, for exchanges that send
  // later, with residuals that are kept in fp32. Compensate computes e, rounded to fp32 once
  // (without memory it is a copy of the gradient). The caller then subtracts what it sends from
  // MutableResidual, and calls MarkSent with the sent positions unless it sent everything.
  std::span<float> Compensate(int worker, std::span<const float> gradient);
  std::span<float> MutableResidual(int worker) { return residuals_[worker]; }
  void MarkSent(int worker, std::span<const uint32_t> positions);

  // Returns the e that Encode and Compensate would compute now.
  std::vector<float> ErrorFed(int worker, std::span<const float> gradient) const {
    return legacy::ErrorFed(options_, gradient, Residual(worker), velocity_[worker]);
  }

  // Returns the residual; empty without memory and before the worker's first gradient. If residuals
  // are not kept in fp32, it is valid until the next call.
  std::span<const float> Residual(int worker) const;
  // Returns u; empty without momentum and before the worker's first gradient.
  std::span<const float> Velocity(int worker) const;

  // Rescales residuals as Exchange::RescaleResiduals does. `factor` is finite and not negative.
  // Momentum does not change, as in an optimizer whose learning rate changes.
  void Rescale(float factor);

  void Save(StateWriter& out) const;
  // Throws Error for a state with another memory; the memory is then partly loaded.
  void Load(StateReader& in);
  // Do the same for one worker. A part that is not allocated stays so.
  void SaveWorker(int worker, StateWriter& out) const;
  void LoadWorker(int worker, StateReader& in);

 private:
  // Fills a worker's part with zeros if it is empty, or reads the residual that is stored. Store
  // stores it again, if residuals are not kept in fp32.
  void Allocate(int worker);
  void Store(int worker, uint32_t unit);
  void ReadStored(int worker, std::vector<float>& residual) const;
  void LoadStored(int worker, StateReader& in);
  // Returns kind and storage as one number, as states have it.
  uint64_t KindNumber() const;
  // Encodes what is fed to a residual that is a moving average.
  Message EncodeAveraged(const Codec& codec, int worker, std::span<const float> fed,
                         const CodecContext& context);
  // Calls Feed on a worker's part.
  std::span<const float> FeedTo(int worker, std::span<const float> gradient);

  MemoryOptions options_;
  size_t numel_;
  // r or v by worker and element. A worker whose residual is stored has it only while it encodes.
  std::vector<std::vector<float>> residuals_;
  std::vector<std::vector<float>> velocity_;  // u
  std::vector<Bytes> stored_;                 // segments of residuals that are not kept in fp32
  mutable std::vector<float> read_;           // the stored residual that was asked for last
};

// Reads the residual of a worker's state (Memory::SaveWorker), which a memory of that number of
// kind has written, and writes one. Return and take no values where there is no residual.
std::vector<float> ReadResidual(uint64_t kind, StateReader& in);
void WriteResidual(uint64_t kind, std::span<const float> residual, StateWriter& out);

}  // namespace legacy
