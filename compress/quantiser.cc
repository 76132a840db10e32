#include "compress/quantiser.h"

#include <algorithm>
#include <cmath>

namespace legacy {

Work Quantiser::EncodeWork(int64_t count, double) const {
  return {std::string(KernelName()) + ".encode", count};
}

Work Quantiser::DecodeWork(int64_t count, double) const {
  return {std::string(KernelName()) + ".decode", count};
}

void EncodeSegment(const Quantiser& quantiser, std::span<const float> values, double parameter,
                   const CodecContext& context, Bytes& out) {
  const size_t before = out.size();
  InPlugin(quantiser, "Encode", [&] { quantiser.Encode(values, parameter, context, out); });
  if (quantiser.plugin().empty()) return;
  const auto written = static_cast<int64_t>(out.size() - before);
  const auto said = quantiser.SegmentBytes(std::ssize(values), parameter);
  if (said && *said != written) {
    BlamePlugin(quantiser, "Encode wrote " + std::to_string(written) + " bytes for " +
                               std::to_string(values.size()) + " values, SegmentBytes said " +
                               std::to_string(*said));
  }
}

void DecodeSegment(const Quantiser& quantiser, ByteSpan segment, double parameter,
                   std::span<float> values) {
  InPlugin(quantiser, "Decode", [&] { quantiser.Decode(segment, parameter, values); });
  if (quantiser.plugin().empty()) return;
  if (!std::ranges::all_of(values, [](float x) { return std::isfinite(x); })) {
    BlamePlugin(quantiser, "Decode gave a value that is not finite");
  }
}

namespace {

// Returns the work of moving a segment; if its length depends on the data, half a byte per value is
// assumed.
Work SegmentWork(const Quantiser& quantiser, int64_t count, double parameter) {
  if (!quantiser.ChargesCodes()) return Moved(0);
  return Moved(quantiser.SegmentBytes(count, parameter).value_or(count / 2));
}

}  // namespace

WorkList QuantiseWork(const Quantiser& quantiser, int64_t count, double parameter) {
  return {WorkOf(quantiser, "EncodeWork", [&] { return quantiser.EncodeWork(count, parameter); }),
          SegmentWork(quantiser, count, parameter)};
}

WorkList DequantiseWork(const Quantiser& quantiser, int64_t count, double parameter) {
  return {WorkOf(quantiser, "DecodeWork", [&] { return quantiser.DecodeWork(count, parameter); }),
          SegmentWork(quantiser, count, parameter)};
}

}  // namespace legacy
