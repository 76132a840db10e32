// An exchange trace is the record of one exchange that ran to its end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compress/exchange.h"
#include "trainer/clock/step_work.h"

namespace legacy {

struct ExchangeTrace {
  std::vector<SentCall> calls;
  std::vector<Bytes> messages;  // messages of worker 0, by call
  std::vector<float> mean;
  double encode_seconds = 0;  // seconds of worker 0
  double decode_seconds = 0;  // seconds of all messages
};

using WorkerGradients = std::span<const std::span<const float>>;

// Runs the next call, if there is one, and adds it to the trace. `gradients` has one for each
// worker; they are empty where the exchange has measured them and a candidate was chosen.
bool RunNextCall(Exchange& exchange, WorkerGradients gradients, ExchangeTrace& trace);

// Runs all calls after Begin, or those after the ones in `trace`.
ExchangeTrace RunCalls(Exchange& exchange, WorkerGradients gradients, int64_t numel,
                       ExchangeTrace trace = {});

// Runs one collective call. `encode` makes the messages and `accumulate` receives them, in the
// order of the workers. `exchange`, if the call is that of one, knows the parts of an all-to-all
// and completes the call.
template <typename Encode, typename Accumulate>
SentCall RunCall(const CollectiveCall& call, int workers, Encode encode, Accumulate accumulate,
                 const Exchange* exchange = nullptr) {
  SentCall work = Unsent(call, workers);
  std::vector<Message> messages;
  std::vector<int> all;
  for (int w = 0; w < workers; ++w) {
    messages.push_back(encode(w));
    all.push_back(w);
  }
  for (const int w : all) {
    const Message& message = messages[static_cast<size_t>(w)];
    SetSent(w, message.size(),
            exchange ? exchange->PartBytes(w, message.bytes) : std::vector<int64_t>(), all, work);
  }
  for (const int w : all) accumulate(w, messages[static_cast<size_t>(w)].bytes);
  if (exchange) exchange->Complete(work);
  return work;
}

// Returns the bytes of the header that a message begins with: 16, or 0 where it has none (empty, or
// lengths alone).
int64_t HeaderBytesOf(ByteSpan message);

}  // namespace legacy
