#include "scenarios/codec/message_files.h"

#include "analysis/result_rows.h"
#include "base/error.h"
#include "base/files/whole_file.h"
#include "scenarios/codec/gradient_source.h"

namespace legacy {
namespace {

std::string PathOf(const std::string& path, size_t call) {
  return call == 0 ? path : path + "." + std::to_string(call + 1);
}

}  // namespace

void WriteMessages(const std::vector<Bytes>& messages, const std::string& path) {
  for (size_t call = 0; call < messages.size(); ++call) {
    const Bytes& bytes = messages[call];
    WriteOutput(PathOf(path, call), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

// The receiver is itself a worker with a gradient of zeros, whose messages are dropped: an exchange
// has no workers that only receive.
std::vector<float> ReadMessages(const Scheme& scheme, const Unit& unit, const UnitStep& context,
                                const std::string& path) {
  const std::unique_ptr<Exchange> exchange = scheme.Open(unit, 1);
  const std::vector<float> zeros(static_cast<size_t>(unit.numel));
  exchange->Begin(context);
  for (size_t call = 0; const auto opened = exchange->NextCall(); ++call) {
    if (opened->hops) {
      throw Error("messages of " + std::string(scheme.Name()), path,
                  "those of schemes whose sums are not encoded again at every hop: what hops send "
                  "depends on the workers' values");
    }
    exchange->Encode(0, call == 0 ? zeros : std::span<const float>());
    const std::string bytes = ReadWholeFile(PathOf(path, call));
    try {
      exchange->Accumulate(0, std::as_bytes(std::span(bytes)));
    } catch (const Error& error) {
      throw error.Within(PathOf(path, call) + ": ");
    }
    exchange->FinishCall();
  }
  std::vector<float> values(zeros.size());
  exchange->Mean(values);
  return values;
}

void WriteFloats(const std::vector<float>& values, const std::string& path) {
  const ByteSpan bytes = std::as_bytes(std::span(values));
  WriteOutput(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace legacy
