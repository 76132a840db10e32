// EDEN and, with one bit, DRIVE: few bits per value of a rotated vector (Vargaftik et al., "DRIVE:
// One-bit Distributed Mean Estimation", NeurIPS 2021; "EDEN: Communication-Efficient and Robust
// Distributed Mean Estimation for Federated Learning", ICML 2022).
//
//   y = R x               signs and Walsh-Hadamard transforms of blocks (cpu/rotation.h); the signs
//                         are drawn from the step's key, and all workers share them, or each draws
//                         its own (rotation=own)
//   z = y sqrt(n)/||y||   about normal; its code is that of the Lloyd-Max quantiser of b bits
//                         (cpu/lloyd_max.h), whose value is c
//   S                     unbiased: ||y||^2 / <c, y>;   least error: <c, y> / <c, c>
//   decoded               R^T (S c)
//
// Payload: f32 S, then codes of b bits (cpu/bitpack.h). A vector of zeros has S = 0, and the code
// of 0 everywhere. The header's parameter is b. With rotation=own, S is followed by the u32 number
// of the worker whose draws they are (0 for zeros), and the parameter is b + 16.
//
// As n grows, E||x - C(x)||^2 / ||x||^2 tends to 1 / (1 - d) - 1 for unbiased messages, and to d
// for those of the least error, where d = .3634, .1175, .0345, .0095 for 1 to 4 bits. The rotation
// is not uniform, so that the mean of unbiased messages keeps an error of up to .03 ||x||.
//
// Error feedback: the least error is ||x||^2 - <c, y>^2 / <c, c> < ||x||^2 for every x, since c has
// the signs of y. Unbiased messages can err by ||x||^2 and more: for x = (1, 1) and one bit, the
// error is ||x||^2 for all draws of signs.
//
// A receiver adds S c of all messages, and one rotation back makes their mean. Errors of equal
// gradients are then equal, and their mean errs as much as each of them. With rotation=own they are
// independent, as in the papers, and every message is rotated back.
#pragma once

#include <string>

#include "compress/codec.h"
#include "compress/cpu/rotation.h"

namespace legacy {

// The choice of S. kAuto is unbiased without error feedback, and has the least error with it.
enum class EdenScale : uint8_t { kAuto, kUnbiased, kLeast };

// The draws of the rotation: those that all workers share, or the worker's own.
enum class EdenRotation : uint8_t { kShared, kOwn };

// A codec that rotates and quantises.
class EdenCodec : public Codec {
 public:
  // Largest magnitude of a value, and largest S, so that sums over messages stay finite.
  static constexpr float kLargestValue = 0x1p100f;
  static constexpr float kLargestScale = 0x1p112f;

  // `block` is a power of two up to Rotation::kMostBlock.
  EdenCodec(int64_t bits, int64_t block, EdenScale scale,
            EdenRotation rotation = EdenRotation::kShared);
  std::string_view Name() const override { return "eden"; }
  int64_t block() const { return block_; }
  EdenRotation rotation() const { return rotation_; }
  // Returns whether S is that of an unbiased message.
  bool Unbiased(bool error_feedback) const {
    return scale_ == EdenScale::kUnbiased || (scale_ == EdenScale::kAuto && !error_feedback);
  }
  // Returns the header of a message.
  ExtendedHeader HeaderOf(int64_t numel, const CodecContext& context) const;
  const ParameterSpec& Parameter() const override { return bits_; }
  bool Linear(int64_t, double) const override { return false; }
  bool AllowsErrorFeedback(double) const override { return scale_ != EdenScale::kUnbiased; }
  int64_t ElementsSent(int64_t numel, double) const override { return numel; }
  std::optional<int64_t> MessageBytes(const Unit& unit, double bits) const override;
  WorkList EncodeWork(int64_t numel, const CodecContext& context) const override;
  WorkList DecodeWork(int64_t numel, double bits) const override;
  WorkList FinishWork(int64_t numel, double bits) const override;
  WorkList FeedbackWork(int64_t numel, double bits, Feeding feeding) const override;
  WorkList ErrorWork(int64_t numel, std::span<const double> bits) const override;
  // Throws Error on magnitudes above kLargestValue too.
  Message Encode(std::span<const float> values, const CodecContext& context) const override;
  Message EncodeWithFeedback(std::span<const float> gradient, std::span<float> residual,
                             const CodecContext& context,
                             std::vector<uint32_t>* sent) const override;
  void DecodeAdd(ByteSpan message, const CodecContext& context,
                 std::span<float> sum) const override;
  // The sum is that of rotated values, unless rotations are the workers' own.
  void Accumulate(ByteSpan message, int64_t numel, const CodecContext& context,
                  std::span<float> sum) const override;
  void MeanOf(std::span<const float> sum, float divisor, const CodecContext& context,
              std::span<float> mean) const override;
  // Rotates once for all numbers of bits. The scale is that of EncodeWithFeedback.
  std::vector<double> SquaredErrors(std::span<const float> values, std::span<const double> bits,
                                    const CodecContext& context) const override;

 private:
  struct Rotated;  // a vector after its rotation
  struct Sums;     // <c, y> and <c, c>
  struct Coded;    // S, the worker of the draws, and the codes
  bool Own() const { return rotation_ == EdenRotation::kOwn; }
  int64_t PayloadBytes(int64_t numel, double bits) const;
  Work MovedPayload(int64_t numel, double bits) const;
  Rotated Rotate(std::span<const float> values, const CodecContext& context) const;
  Sums Quantise(const Rotated& rotated, int bits, std::span<uint8_t> codes) const;
  Coded Code(std::span<const float> values, const CodecContext& context, bool unbiased) const;
  Message Write(const Coded& coded, const CodecContext& context) const;
  // Checks everything that a message says.
  Coded Read(ByteSpan message, int64_t numel, const CodecContext& context) const;
  template <typename Body>
  void ForDecoded(const Coded& coded, const CodecContext& context, Body body) const;
  // `worker` is read where rotations are the workers' own.
  cpu::Rotation RotationOf(int64_t numel, const CodecContext& context, uint32_t worker) const;

  ParameterSpec bits_;
  int64_t block_;
  EdenScale scale_;
  EdenRotation rotation_;
};

}  // namespace legacy
