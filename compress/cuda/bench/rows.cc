#include "compress/cuda/bench/rows.h"

namespace legacy::bench {

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all = DenseRows();
    for (const Row& row : SparseRows()) all.push_back(row);
    for (const Row& row : MessageRows()) all.push_back(row);
    for (const Row& row : SpectrumRows()) all.push_back(row);
    for (const Row& row : RotationRows()) all.push_back(row);
    for (const Row& row : CosineRows()) all.push_back(row);
    for (const Row& row : ThcRows()) all.push_back(row);
    for (const Row& row : BlockRows()) all.push_back(row);
    for (const Row& row : DynamiqRows()) all.push_back(row);
    for (const Row& row : LowRankRows()) all.push_back(row);
    return all;
  }();
  return rows;
}

}  // namespace legacy::bench
