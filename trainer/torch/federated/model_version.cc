#include "trainer/torch/federated/model_version.h"

#include "base/error.h"

namespace legacy {
namespace {

constexpr uint64_t kMostVersionNumber = uint64_t{1} << 62;

}  // namespace

void SaveVersion(const ModelVersion& version, StateWriter& out) {
  out.Number(static_cast<uint64_t>(version.number));
  for (const auto* values : {&version.weights, &version.buffers, &version.downlink}) {
    out.Number(values->size());
    out.Floats(*values);
  }
  out.Number(version.parameters.size());
  for (const double parameter : version.parameters) out.Real(parameter);
  out.Number(static_cast<uint64_t>(version.announcement_bytes));
  if (version.delta) out.Number(static_cast<uint64_t>(version.delta->sent));
}

std::shared_ptr<ModelVersion> LoadVersion(const ModelVersion& like, StateReader& in) {
  auto version = std::make_shared<ModelVersion>();
  version->number = static_cast<int64_t>(in.Number("version of the model", kMostVersionNumber));
  const auto floats = [&](const char* what, const std::vector<float>& other) {
    in.ExpectNumber(what, other.size());
    return in.Floats(other.size());
  };
  version->weights = floats("weights", like.weights);
  version->buffers = floats("statistics", like.buffers);
  version->downlink = floats("second vector of the algorithm", like.downlink);
  // The newest version has none.
  for (uint64_t left = in.Number("parameters of units", like.parameters.size()); left > 0; --left) {
    version->parameters.push_back(in.Real("parameter of a unit"));
  }
  version->announcement_bytes =
      static_cast<int64_t>(in.Number("bytes of the policy", kMostVersionNumber));
  version->delta = like.delta;
  if (version->delta) {
    version->delta->sent = static_cast<int64_t>(in.Number("bytes of deltas", kMostVersionNumber));
  }
  return version;
}

}  // namespace legacy
