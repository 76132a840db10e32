// A sparse codec sends what a sparsifier selects through a quantiser: header, positions, one
// segment of values. It sends all values and no positions if everything is selected, if the method
// sends the unit whole, or if the number of values is fixed and positions would make the message
// longer than the dense one. If the number depends on the data, it is read from the header and may
// be 0.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compress/codec.h"
#include "compress/quantiser.h"
#include "compress/sparsifier.h"

namespace legacy {

// A sparsifier with a quantiser.
class SparseCodec : public Codec {
 public:
  // `index` is the forced coding of positions; without it, the shortest of fixed length is used.
  SparseCodec(std::unique_ptr<Sparsifier> sparsifier, std::unique_ptr<Quantiser> quantiser,
              std::optional<IndexCoding> index);
  std::string_view Name() const override { return name_; }
  const ParameterSpec& Parameter() const override { return sparsifier_->Parameter(); }
  bool Linear(int64_t numel, double parameter) const override;
  bool AllowsErrorFeedback(double parameter) const override;
  int64_t ElementsSent(int64_t numel, double parameter) const override;
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override;
  WorkList EncodeWork(int64_t numel, const CodecContext& context) const override;
  WorkList DecodeWork(int64_t numel, double parameter) const override;
  WorkList FinishWork(int64_t numel, double parameter) const override;
  WorkList FeedbackWork(int64_t numel, double parameter, Feeding feeding) const override;
  bool CountVaries(int64_t numel, double parameter) const override {
    return !FixedCount(numel, parameter);
  }
  WorkList PackWork(int64_t count, Feeding feeding) const override;
  WorkList UnpackWork(int64_t count) const override;
  WorkList ErrorWork(int64_t numel, std::span<const double> parameters) const override;
  Message Encode(std::span<const float> values, const CodecContext& context) const override;
  Message EncodeWithFeedback(std::span<const float> gradient, std::span<float> residual,
                             const CodecContext& context,
                             std::vector<uint32_t>* sent) const override;
  void DecodeAdd(ByteSpan message, const CodecContext& context,
                 std::span<float> sum) const override;
  std::vector<double> SquaredErrors(std::span<const float> values,
                                    std::span<const double> parameters,
                                    const CodecContext& context) const override;
  const SparseCodec* Sparse() const override {
    return sparsifier_->Traits().takes_candidates && Parameter().Kind() != ParameterKind::kNone
               ? this
               : nullptr;
  }

  const Sparsifier& sparsifier() const { return *sparsifier_; }
  const Quantiser& quantiser() const { return *quantiser_; }
  std::optional<IndexCoding> index() const { return index_; }

  // Returns the number of elements, of `numel`, that the parameter selects.
  int64_t Count(int64_t numel, double parameter) const;
  // Encode and EncodeWithFeedback select so, and then pack what they have selected.
  Selection Select(std::span<const float> values, const CodecContext& context) const;
  Selection SelectWithFeedback(std::span<const float> gradient, std::span<float> residual,
                               const CodecContext& context) const;
  // Returns the message of a selection from a unit of `numel` elements. If `decoded` is not null,
  // the values that receivers will decode are written to it.
  Message Pack(const Selection& selection, int64_t numel, const CodecContext& context,
               std::vector<float>* decoded = nullptr) const;
  // Reads a message of `count` of `numel` values, and removes it from the front of `bytes`, of
  // which it takes all if its length depends on its values. Positions are empty if they are not
  // sent. Throws Error for any malformed byte.
  Selection Unpack(int64_t numel, int64_t count, const CodecContext& context,
                   ByteSpan& bytes) const;
  // Returns true if a selection of `count` of `numel` elements is sent as all of them.
  bool SendsAll(int64_t numel, int64_t count) const;

 private:
  Header HeaderOf(int64_t numel, int64_t count, const CodecContext& context) const;
  // Returns the number of values in a message, or nothing if it depends on the data.
  std::optional<int64_t> FixedCount(int64_t numel, double parameter) const;
  // Returns the count that is passed to Select().
  int64_t Wanted(int64_t numel, double parameter) const;
  // Returns true if it is known beforehand that all values of a unit are sent.
  bool IsWhole(int64_t numel, double parameter) const {
    return FixedCount(numel, parameter) == numel;
  }
  WorkList ResidualWork(int64_t count, Feeding feeding) const;
  // Returns the quantiser of a unit's values.
  const Quantiser& Values(int64_t numel) const {
    return whole_ && sparsifier_->SendsWhole(numel) ? *whole_ : *quantiser_;
  }

  std::unique_ptr<Sparsifier> sparsifier_;
  std::unique_ptr<Quantiser> quantiser_;
  // Quantiser of units that are sent whole, if quantiser_ belongs to the method.
  std::unique_ptr<Quantiser> whole_;
  std::optional<IndexCoding> index_;
  std::string name_;
};

// Adds selected values at their positions; without positions they are the first ones.
void AddTo(const Selection& selection, std::span<float> sum);

// Returns the description of the option "index" of all methods that send positions.
const OptionSpec& IndexOption();
// Returns the coding of the positions of `count` of `numel` elements: none if all are sent, else
// the forced or shortest one.
IndexCoding PositionCoding(std::optional<IndexCoding> forced, int64_t numel, int64_t count);
// Returns the work of reading such positions beyond one access to each, because bitmaps are
// scanned.
Work PositionsWork(std::optional<IndexCoding> forced, int64_t numel, int64_t count);

}  // namespace legacy
