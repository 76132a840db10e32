// Curves show the summary's metric against cost: the mean over a policy's seeds at each evaluation,
// with its spread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/summary.h"

namespace legacy::analysis {

struct CurvePoint {
  double cost = 0;              // mean over seeds: simulated seconds, bytes, rounds, USD
  double value = 0;             // value of the metric, mean over seeds
  double deviation = kUnknown;  // standard deviation of the value
};

struct Curve {
  std::string policy;
  int seeds = 0;
  std::vector<CurvePoint> points;  // points by ascending step
};

// Returns one curve for each policy that has evaluations, in the summary's order. A curve is a mean
// over the finished seeds, or over those that have begun where none has finished. It has the steps
// at which all of these evaluated.
std::vector<Curve> MetricCurves(const RunDirectory& run, const Summary& summary,
                                const std::function<double(const EvaluationRow&)>& cost);

}  // namespace legacy::analysis
