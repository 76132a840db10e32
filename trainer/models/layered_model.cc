#include "trainer/models/layered_model.h"

#include "base/error.h"

namespace legacy {
namespace {

constexpr double kFloatBytes = 4;

}  // namespace

LayeredModel::LayeredModel(const ModelRequest& request)
    : channels_(request.channels),
      height_(request.height),
      width_(request.width),
      name_(request.name) {}

double LayeredModel::Elements() const { return 1.0 * channels_ * height_ * width_; }

void LayeredModel::Add(const std::string& kind, double flops, double inputs, double outputs,
                       int parameters, double weight_bytes) {
  OperationCost cost;
  cost.kind = kind;
  cost.forward_flops = flops;
  cost.forward_bytes = kFloatBytes * (inputs + outputs);
  cost.weight_bytes = weight_bytes;
  for (int i = 0; i < parameters; ++i) cost.parameters.push_back(parameters_++);
  costs_.push_back(std::move(cost));
}

torch::nn::Conv2d LayeredModel::Conv(const std::string& name, int outputs, const Window& window) {
  const int span = 2 * window.padding - window.kernel;
  if (height_ + span < 0 || width_ + span < 0) {
    throw Error("model " + name_,
                "images too small for " + name + " (" + std::to_string(height_) + "x" +
                    std::to_string(width_) + " there)",
                "at least " + std::to_string(-span) + "x" + std::to_string(-span) + " there");
  }
  const int inputs = channels_;
  const double read = Elements();
  channels_ = outputs;
  height_ = (height_ + span) / window.stride + 1;
  width_ = (width_ + span) / window.stride + 1;
  const double weights = 1.0 * window.kernel * window.kernel * inputs * outputs;
  Add("conv", 2 * weights * height_ * width_, read, Elements(), window.bias ? 2 : 1,
      kFloatBytes * (weights + (window.bias ? outputs : 0)));
  return register_module(name,
                         torch::nn::Conv2d(torch::nn::Conv2dOptions(inputs, outputs, window.kernel)
                                               .stride(window.stride)
                                               .padding(window.padding)
                                               .bias(window.bias)));
}

// Training reads the input twice: for the statistics, and to normalise.
torch::nn::BatchNorm2d LayeredModel::BatchNorm(const std::string& name) {
  Add("batchnorm", 0, 2 * Elements(), Elements(), 2, kFloatBytes * 2 * channels_);
  return register_module(name, torch::nn::BatchNorm2d(channels_));
}

torch::nn::Linear LayeredModel::Linear(const std::string& name, int outputs, bool bias) {
  const double inputs = Elements();
  channels_ = outputs;
  height_ = width_ = 1;
  Add("linear", 2 * inputs * outputs, inputs, outputs, bias ? 2 : 1,
      kFloatBytes * (inputs * outputs + (bias ? outputs : 0)));
  return register_module(
      name, torch::nn::Linear(
                torch::nn::LinearOptions(static_cast<int64_t>(inputs), outputs).bias(bias)));
}

void LayeredModel::Elementwise(int inputs) {
  Add("elementwise", 0, inputs * Elements(), Elements(), 0, 0);
}

void LayeredModel::Pool(int kernel) {
  if (height_ < kernel || width_ < kernel) {
    throw Error("model " + name_,
                "images too small to pool (" + std::to_string(height_) + "x" +
                    std::to_string(width_) + " there)",
                "at least " + std::to_string(kernel) + "x" + std::to_string(kernel) + " there");
  }
  const double read = Elements();
  height_ /= kernel;
  width_ /= kernel;
  Add("pool", 0, read, Elements(), 0, 0);
}

void LayeredModel::PoolAll() {
  const double read = Elements();
  height_ = width_ = 1;
  Add("pool", 0, read, Elements(), 0, 0);
}

}  // namespace legacy
