// A wrapped scheme changes how another scheme's exchanges run, and describes messages, errors and
// options as that scheme does.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "compress/exchange.h"

namespace legacy {

// The common part of schemes that wrap another one; a derived class gives traits and exchanges.
class WrappedScheme : public Scheme {
 public:
  std::string_view Name() const override { return scheme_->Name(); }
  const ParameterSpec& Parameter() const override { return scheme_->Parameter(); }
  int64_t ElementsSent(const Unit& unit, double parameter) const override {
    return scheme_->ElementsSent(unit, parameter);
  }
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override {
    return scheme_->MessageBytes(unit, parameter);
  }
  bool Compresses(const Unit& unit, double parameter) const override {
    return scheme_->Compresses(unit, parameter);
  }
  bool UsesErrorFeedback(double parameter) const override {
    return scheme_->UsesErrorFeedback(parameter);
  }
  std::optional<double> LocalClipNorm(int workers) const override {
    return scheme_->LocalClipNorm(workers);
  }
  std::vector<double> SquaredErrors(const Unit& unit, std::span<const float> values,
                                    std::span<const double> parameters,
                                    const RandomKey& random) const override {
    return scheme_->SquaredErrors(unit, values, parameters, random);
  }
  WorkList ErrorWork(const Unit& unit, std::span<const double> parameters) const override {
    return scheme_->ErrorWork(unit, parameters);
  }

 protected:
  explicit WrappedScheme(std::shared_ptr<const Scheme> scheme) : scheme_(std::move(scheme)) {}
  const std::shared_ptr<const Scheme>& scheme() const { return scheme_; }

 private:
  std::shared_ptr<const Scheme> scheme_;  // exchanges may share it
};

}  // namespace legacy
