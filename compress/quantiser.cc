#include "compress/quantiser.h"

#include <vector>

#include "compress/quantisers/quantisers.h"

namespace legacy {

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
