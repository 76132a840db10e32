// A policy whose density follows the learning rate: the example of docs/compressors.md.
#pragma once

#include <algorithm>

#include "compress/policy.h"
#include "compress/state.h"

namespace legacy::example {

class RatePolicy : public Policy {
 public:
  // `density`: at the highest rate so far; in proportion below it, but never less than a tenth.
  explicit RatePolicy(double density) : density_(density) {}
  std::string_view Name() const override { return "rate"; }

  void Decide(const StepInfo& step, std::span<const Unit>, std::span<double> parameters) override {
    peak_ = std::max(peak_, step.learning_rate);
    const double share = peak_ > 0 ? std::max(0.1, step.learning_rate / peak_) : 1;
    std::ranges::fill(parameters, density_ * share);
  }

  // A resumed training decides as an uninterrupted one.
  Bytes Save() const override {
    StateWriter out;
    out.Real(peak_);
    return out.Take();
  }
  void Load(ByteSpan state) override {
    StateReader in(state);
    const double peak = in.Real("peak rate");
    in.ExpectEnd();
    peak_ = peak;
  }

 private:
  double density_;
  double peak_ = 0;
};

}  // namespace legacy::example
