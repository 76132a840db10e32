// Any codec in one round: messages of a linear codec are summed on the way (all-reduce), others
// gathered whole. Every worker's bytes are decoded and added in worker order, so the mean does not
// depend on threads or on the network.
#pragma once

#include <memory>

#include "compress/exchange.h"

namespace legacy {

class CodecScheme : public Scheme {
 public:
  CodecScheme(std::unique_ptr<Codec> codec, bool error_feedback);
  std::string_view Name() const override { return codec_->Name(); }
  const ParameterSpec& Parameter() const override { return codec_->Parameter(); }
  int64_t ElementsSent(int64_t numel, double parameter) const override;
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override;
  std::unique_ptr<Exchange> Open(const Unit& unit, int workers) const override;

 private:
  std::shared_ptr<const Codec> codec_;  // shared with the exchanges, which may outlive the scheme
  bool error_feedback_;
};

}  // namespace legacy
