// The exchange of CodecScheme: messages of one codec, preceded by their lengths if those depend on
// the data.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compress/quantiser.h"
#include "compress/schemes/candidates.h"
#include "compress/schemes/codec_step.h"
#include "compress/schemes/exchange_base.h"

namespace legacy {

class QuantiserCodec;

// Configuration of the exchange of one unit.
struct CodecExchangeSetup {
  std::string scheme;
  std::shared_ptr<const Codec> codec;
  MemoryOptions memory;
  bool whole = false;  // true: the unit is sent whole
  Summing summing = Summing::kPlain;
  int64_t slice = 0;                             // as in CodecStep
  std::optional<HopOwner> owner = std::nullopt;  // of sums by hops; nothing: all workers need them
};

// Encodes, gathers or sums, and decodes the messages of one codec.
class CodecExchange : public ExchangeBase {
 public:
  CodecExchange(CodecExchangeSetup setup, const Unit& unit, int workers);

  void Begin(const UnitStep& context) override;
  Probe Measure(int worker, std::span<const float> gradient) override;
  void Choose(size_t index) override;
  std::optional<CollectiveCall> NextCall() override;
  Message Encode(int worker, std::span<const float> gradient) override;
  void Accumulate(int worker, ByteSpan message) override;
  void WriteNotes(int worker, StateWriter& out) const override;
  void ReadNotes(int worker, StateReader& in) override;
  void FinishCall() override;
  void Mean(std::span<float> out) const override;
  int64_t ElementsSent() const override;

 protected:
  // Returns true while the open call is that of lengths. The message of a worker then waits.
  bool AnnouncesLengths() const { return call_ == kLengthsCall; }
  ByteSpan Waiting(int worker) const { return waiting_[worker].bytes; }
  // Returns the number of values in a message.
  virtual int64_t ValuesIn(ByteSpan message) const { return ReadHeader(message).count; }

 private:
  enum CallIndex { kLengthsCall, kMessagesCall, kDone };

  // Returns the codec that makes this step's messages.
  const Codec& Active() const;
  CodecStep Current() const;
  int64_t WaitingValues() const;
  // Returns the way in which this step's messages become their sum.
  Summing SummingNow() const { return whole_ ? Summing::kPlain : setup_.summing; }
  // True if messages wait until all are there, and are then added by hops.
  bool AddsByHops() const {
    return SummingNow() == Summing::kHops || HopOrderOf(SummingNow()).has_value();
  }
  const QuantiserCodec& OwnQuantiserCodec() const;
  void AddAlongRing();
  void AddAndEncodeAgain(HopOrder order);
  void AddForOwners(HopOrder order, std::span<const ByteSpan> messages,
                    std::span<const std::span<const float>> own);
  // Leaves the residual of what the worker sends first.
  void KeepFirst(HopOrder order, int worker);
  Message MakeMessage(int worker, std::span<const float> gradient);
  void CheckPlugin(const Codec& codec, const Message& message) const;
  Message ChosenMessage(int worker);

  CodecExchangeSetup setup_;
  std::optional<Candidates> candidates_;
  size_t chosen_ = 0;
  bool whole_ = false;      // true if this step sends the unit whole
  std::vector<float> sum_;  // sum of messages, as the codec adds them
  float divisor_ = 1;
  int call_ = kDone;
  // Messages by worker: those between the calls, or those that hops will add.
  std::vector<Message> waiting_;
  std::vector<std::vector<float>> own_;  // values that hops will add, by worker
  std::vector<int64_t> values_;          // values in them, by worker
  std::vector<int64_t> lengths_;         // lengths as announced, in the order of active workers
  int accumulated_ = 0;                  // number of messages of this call so far
  int64_t sent_ = 0;                     // number of values in the messages accumulated so far
};

// Returns the codec that sends all values as fp32.
const Codec& DenseCodec();

}  // namespace legacy
