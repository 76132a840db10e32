// A small study in which no two values are alike and each is hard to store exactly, and a
// comparison of studies to the last bit.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/rows.h"
#include "analysis/study/study.h"

namespace legacy::analysis {

// Fills a row's columns in order with values that differ. Each double is a third of a power of ten,
// so that it needs all of its digits.
struct AwkwardValues {
  int64_t count = 0;

  void operator()(const char*, const char*, std::string& value) {
    value = "a, \"b\"\n\xC3\xA9" + std::to_string(++count);
  }
  void operator()(const char*, const char*, int64_t& value) {
    value = std::numeric_limits<int64_t>::max() - ++count;
  }
  void operator()(const char*, const char*, double& value) {
    value = std::pow(10, 40.0 * static_cast<double>(++count % 9 - 4)) / 3;
  }
  template <class T>
  void operator()(const char* name, const char* unit, std::optional<T>& value) {
    (*this)(name, unit, value.emplace());
  }
};

// Returns two metrics, of either direction; a title that is hard to store.
inline std::vector<Metric> AwkwardMetrics() {
  return {{"accuracy", "accuracy", Metric::Better::kHigher, true},
          {"perplexity", "\"perplexity\", é", Metric::Better::kLower, false}};
}

inline StudyPoint DonePoint(const StudyPoint& pending) {
  StudyPoint point = pending;
  point.state = StudyState::kDone;
  AwkwardValues fill{100 * point.id};
  PointFigures::Columns(point.figures, fill);
  for (int64_t step = 1; step <= 3; ++step) {
    CurveRow row;
    VisitColumns(row, AwkwardMetrics(),
                 [&](const std::string& name, const char* unit, auto& value) {
                   fill(name.c_str(), unit, value);
                 });
    row.step = step * 10;
    point.curve.push_back(row);
  }
  return point;
}

// Returns a pending study: two policies, two seeds, an axis of numbers and one of names, and a
// training for each.
inline Study AwkwardStudy() {
  Study study;
  study.name = "awkward";
  study.title = "A \"title\", with é";
  study.definition = "study: {name: awkward}\n# two\r\n\tlines\n";
  study.baseline = "dense";
  study.metrics = AwkwardMetrics();
  study.target = Target{"perplexity", 0.1 + 0.2};
  study.policies = {"top,k \"1%\"", "dense"};
  study.seeds = {7, 9223372036854775807u};
  study.axes = {{"bandwidth", "bit/s", {"1Gbps", "10Mbps"}, {1e9, 1e7 / 3}},
                {"order", "", {"b", "a"}, {}}};  // a word of SQL, values not sorted
  for (const std::string& policy : study.policies) {
    for (const uint64_t seed : study.seeds) {
      const std::string id = "t" + std::to_string(9 - study.trainings.size());
      study.trainings.push_back({id, policy, seed, "", StudyState::kPending, "", "{\"a\": [1]}"});
      for (const std::string& bandwidth : study.axes[0].values) {
        for (const std::string& order : study.axes[1].values) {
          StudyPoint point;
          point.id = static_cast<int64_t>(study.points.size());
          point.policy = policy;
          point.seed = seed;
          point.values = {bandwidth, order};
          point.training = id;
          study.points.push_back(point);
        }
      }
    }
  }
  study.trainings[1].replay_refused = "reads the clock";
  return study;
}

// Returns the study with results: one point failed, one is pending, and one did not reach its
// target and has no numbers.
inline Study DoneAwkwardStudy() {
  Study study = AwkwardStudy();
  for (StudyPoint& point : study.points) {
    if (point.id > 1) point = DonePoint(point);
  }
  study.points[0].state = StudyState::kFailed;
  study.points[0].message = "bandwidth: got '0'\nallowed: more";
  PointFigures& unknown = study.points[2].figures;
  unknown.time_to_target.reset();
  unknown.steps_to_target.reset();
  unknown.egress_usd.reset();
  unknown.final_metric = NAN;
  study.points[2].curve[0].test_loss = NAN;
  study.points[2].curve[1].test_loss = INFINITY;
  study.points[2].curve[1].metrics = {NAN, INFINITY};
  study.points[3].curve.clear();
  for (StudyTraining& training : study.trainings) training.state = StudyState::kDone;
  study.trainings[0].state = StudyState::kFailed;
  study.trainings[0].message = "out of memory";
  return study;
}

template <class T>
bool SameBits(const T& a, const T& b) {
  return a == b;
}
inline bool SameBits(double a, double b);
inline bool SameBits(const std::vector<double>& a, const std::vector<double>& b) {
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i) same = SameBits(a[i], b[i]);
  return same;
}
inline bool SameBits(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}
template <class T>
bool SameBits(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || SameBits(*a, *b));
}

// Returns the name of the first column that differs; "" if none does.
template <class Row>
std::string Difference(const Row& a, const Row& b) {
  std::string found;
  Row::Columns(a, [&](const char* name, const char*, const auto& of_a) {
    Row::Columns(b, [&](const char* other, const char*, const auto& of_b) {
      if constexpr (std::is_same_v<decltype(of_a), decltype(of_b)>) {
        if (std::strcmp(name, other) == 0 && !SameBits(of_a, of_b))
          found += std::string(" ") + name;
      }
    });
  });
  return found;
}

}  // namespace legacy::analysis
