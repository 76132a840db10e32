#include "trainer/torch/models/layered_model.h"

#include "base/error.h"

namespace legacy {

LayeredModel::LayeredModel(const ModelRequest& request)
    : channels_(request.channels),
      height_(request.height),
      width_(request.width),
      name_(request.name) {}

torch::nn::Conv2d LayeredModel::Conv(const std::string& name, int outputs, const Window& window) {
  const int span = 2 * window.padding - window.kernel;
  if (height_ + span < 0 || width_ + span < 0) {
    throw Error("model " + name_,
                "images too small for " + name + " (" + std::to_string(height_) + "x" +
                    std::to_string(width_) + " there)",
                "at least " + std::to_string(-span) + "x" + std::to_string(-span) + " there");
  }
  const int inputs = channels_;
  channels_ = outputs;
  height_ = (height_ + span) / window.stride + 1;
  width_ = (width_ + span) / window.stride + 1;
  return register_module(name,
                         torch::nn::Conv2d(torch::nn::Conv2dOptions(inputs, outputs, window.kernel)
                                               .stride(window.stride)
                                               .padding(window.padding)
                                               .bias(window.bias)));
}

torch::nn::BatchNorm2d LayeredModel::BatchNorm(const std::string& name) {
  return register_module(name, torch::nn::BatchNorm2d(channels_));
}

LayeredModel::ConvBn LayeredModel::NormedConv(const std::string& name, int outputs,
                                              const Window& window) {
  ConvBn unit;
  unit.convolution = Conv(name + "_conv", outputs, window);
  unit.norm = BatchNorm(name + "_bn");
  return unit;
}

torch::nn::Linear LayeredModel::Linear(const std::string& name, int outputs, bool bias) {
  const int64_t inputs = int64_t{1} * channels_ * height_ * width_;
  channels_ = outputs;
  height_ = width_ = 1;
  return register_module(name,
                         torch::nn::Linear(torch::nn::LinearOptions(inputs, outputs).bias(bias)));
}

void LayeredModel::Pool(const Window& window) {
  const int span = 2 * window.padding - window.kernel;
  if (height_ + span < 0 || width_ + span < 0) {
    throw Error("model " + name_,
                "images too small to pool (" + std::to_string(height_) + "x" +
                    std::to_string(width_) + " there)",
                "at least " + std::to_string(-span) + "x" + std::to_string(-span) + " there");
  }
  height_ = (height_ + span) / window.stride + 1;
  width_ = (width_ + span) / window.stride + 1;
}

void LayeredModel::PoolAll() { height_ = width_ = 1; }

}  // namespace legacy
