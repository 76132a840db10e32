#include "scenarios/codec/exchange_trace.h"

#include "base/error.h"
#include "base/stopwatch.h"
#include "compress/message.h"

namespace legacy {

bool RunNextCall(Exchange& exchange, WorkerGradients gradients, ExchangeTrace& trace) {
  const std::optional<CollectiveCall> call = exchange.NextCall();
  if (!call) return false;
  const bool first = trace.calls.empty();
  const auto encode = [&](int w) {
    const Stopwatch watch;
    Message message =
        exchange.Encode(w, first ? gradients[static_cast<size_t>(w)] : std::span<const float>());
    if (w == 0) {
      trace.encode_seconds += watch.Seconds();
      trace.messages.push_back(message.bytes);
    }
    return message;
  };
  const auto accumulate = [&](int w, ByteSpan message) {
    const Stopwatch watch;
    exchange.Accumulate(w, message);
    trace.decode_seconds += watch.Seconds();
  };
  const auto workers = static_cast<int>(gradients.size());
  trace.calls.push_back(RunCall(*call, workers, encode, accumulate, &exchange));
  const Stopwatch watch;
  exchange.FinishCall();
  trace.decode_seconds += watch.Seconds();
  return true;
}

ExchangeTrace RunCalls(Exchange& exchange, WorkerGradients gradients, int64_t numel,
                       ExchangeTrace trace) {
  while (RunNextCall(exchange, gradients, trace)) {
  }
  trace.mean.resize(static_cast<size_t>(numel));
  const Stopwatch watch;
  exchange.Mean(trace.mean);
  trace.decode_seconds += watch.Seconds();
  return trace;
}

int64_t HeaderBytesOf(ByteSpan message) {
  try {
    return ReadHeader(message).codec == static_cast<uint8_t>(CodecId::kExtended)
               ? kExtendedHeaderBytes
               : HeaderBytes(ReadHeader(message).values);
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace legacy
