// Flow sizes are distributions, given as cumulative probabilities with straight lines in between.
//
//   websearch    a web search cluster: Alizadeh et al., "Data Center TCP", SIGCOMM'10, figure 4, in
//                the steps that pFabric (Alizadeh et al., SIGCOMM'13, section 5.1) simulates
//   datamining   a data mining cluster: Greenberg et al., "VL2", SIGCOMM'09, figure 2, likewise
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace legacy {

// A FlowSizes is one distribution of flow sizes.
class FlowSizes {
 public:
  struct Point {
    double bytes = 0;
    double probability = 0;  // probability that a flow has at most `bytes`
  };

  // Reads "websearch", "datamining", or a file with "bytes probability" a line, with probabilities
  // up to 1 or up to 100. Throws Error with file and line.
  static FlowSizes FromText(const std::string& text, const std::string& option);

  double Mean() const;
  // Returns the size that the fraction `u` in (0, 1) of flows stays below; at least 1.
  int64_t At(double u) const;

 private:
  explicit FlowSizes(std::vector<Point> points) : points_(std::move(points)) {}
  static FlowSizes FromFile(const std::string& path, const std::string& option);

  std::vector<Point> points_;  // both ascending; the last probability is 1
};

}  // namespace legacy
