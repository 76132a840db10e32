#include "compress/quantiser.h"

namespace legacy {

Work Quantiser::EncodeWork(int64_t count, double) const {
  return {std::string(Name()) + ".encode", count};
}

Work Quantiser::DecodeWork(int64_t count, double) const {
  return {std::string(Name()) + ".decode", count};
}

namespace {

// Of a segment whose length is the data's: half a byte a value.
Work SegmentWork(const Quantiser& quantiser, int64_t count, double parameter) {
  if (quantiser.Parameter().name.empty()) return Moved(0);
  return Moved(quantiser.SegmentBytes(count, parameter).value_or(count / 2));
}

}  // namespace

WorkList QuantiseWork(const Quantiser& quantiser, int64_t count, double parameter) {
  return {quantiser.EncodeWork(count, parameter), SegmentWork(quantiser, count, parameter)};
}

WorkList DequantiseWork(const Quantiser& quantiser, int64_t count, double parameter) {
  return {quantiser.DecodeWork(count, parameter), SegmentWork(quantiser, count, parameter)};
}

}  // namespace legacy
