#include "compress/quantiser.h"

#include <vector>

#include "compress/quantisers/quantisers.h"

namespace legacy {

Work Quantiser::EncodeWork(int64_t count, double) const {
  return {std::string(Name()) + ".encode", count};
}

Work Quantiser::DecodeWork(int64_t count, double) const {
  return {std::string(Name()) + ".decode", count};
}

std::span<const QuantiserRow> QuantiserTable() {
  static const std::vector<QuantiserRow> table = {
      Float32Row(), Float16Row(),  Bfloat16Row(), UniformRow(), RbfRow(),    QsgdRow(),
      MaxMinRow(),  TernGradRow(), NaturalRow(),  SignRow(),    OneBitRow(), MeanRow()};
  return table;
}

std::unique_ptr<Quantiser> MakeQuantiser(const Stage& stage) {
  const QuantiserRow& row = FindRow("quantiser", stage.name, QuantiserTable());
  return row.make(OptionReader(stage, row.info.options));
}

}  // namespace legacy
