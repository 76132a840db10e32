// The exchange of CodecScheme: one codec's messages, after their lengths where those depend on the
// data.
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

struct CodecExchangeSetup {
  std::string scheme;
  std::shared_ptr<const Codec> codec;
  MemoryOptions memory;
  bool whole = false;  // send the unit as it is
  bool requantise = false;
};

class CodecExchange : public ExchangeBase {
 public:
  CodecExchange(CodecExchangeSetup setup, const Unit& unit, int workers);

  void Begin(const StepContext& context) override;
  Probe Measure(int worker, std::span<const float> gradient) override;
  void Choose(size_t index) override;
  std::optional<CollectiveCall> NextCall() override;
  Message Encode(int worker, std::span<const float> gradient) override;
  void Accumulate(int worker, ByteSpan message) override;
  void FinishCall() override;
  void Mean(std::span<float> out) const override;
  int64_t ElementsSent() const override;

 private:
  enum CallIndex { kLengthsCall, kMessagesCall, kDone };

  // What this step's messages are made by.
  const Codec& Active() const;
  CodecStep Current() const;
  int64_t WaitingValues() const;
  Message MakeMessage(int worker, std::span<const float> gradient);
  void CheckPlugin(const Codec& codec, const Message& message) const;
  Message ChosenMessage(int worker);

  CodecExchangeSetup setup_;
  std::optional<Candidates> candidates_;
  size_t chosen_ = 0;
  bool whole_ = false;      // in this step
  std::vector<float> sum_;  // of messages, as the codec adds them
  float divisor_ = 1;
  int call_ = kDone;
  std::vector<Message> waiting_;  // by worker, between the calls
  std::vector<int64_t> lengths_;  // as announced, in the active workers' order
  int accumulated_ = 0;           // messages of this call so far
  int64_t sent_ = 0;              // values in the messages accumulated so far
};

// All values as fp32.
const Codec& DenseCodec();

}  // namespace legacy
