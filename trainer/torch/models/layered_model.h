// A layered model is the base of our models of images: it makes LibTorch layers one after the
// other.
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>

#include "trainer/torch/models/model_family.h"

namespace legacy {

// A LayeredModel's constructor calls the functions below in forward order. They follow the shape of
// one sample through the model, so that parameters are registered in the order of the forward pass.
class LayeredModel : public Model {
 protected:
  explicit LayeredModel(const ModelRequest& request);

  struct Window {
    int kernel = 3;
    int stride = 1;
    int padding = 1;
    bool bias = false;
  };
  // Makes a convolution. Throws Error where the image has become smaller than the window.
  torch::nn::Conv2d Conv(const std::string& name, int outputs, const Window& window);
  torch::nn::BatchNorm2d BatchNorm(const std::string& name);
  // A ConvBn is a convolution, with a normalisation where `norm` is not null.
  struct ConvBn {
    torch::nn::Conv2d convolution{nullptr};
    torch::nn::BatchNorm2d norm{nullptr};
    torch::Tensor operator()(const torch::Tensor& x) {
      return norm ? norm(convolution(x)) : convolution(x);
    }
  };
  // Makes both, as name_conv and name_bn.
  ConvBn NormedConv(const std::string& name, int outputs, const Window& window);
  // Makes a linear layer, which flattens its input.
  torch::nn::Linear Linear(const std::string& name, int outputs, bool bias = true);

  // While a Branch lives, operations belong to a branch of the model. When it ends, the shape is
  // again what it was before.
  class Branch {
   public:
    explicit Branch(LayeredModel& model)
        : model_(model), shape_{model.channels_, model.height_, model.width_} {}
    ~Branch() { std::tie(model_.channels_, model_.height_, model_.width_) = shape_; }
    Branch(const Branch&) = delete;
    Branch& operator=(const Branch&) = delete;

   private:
    LayeredModel& model_;
    std::tuple<int, int, int> shape_;
  };

  // Change the shape as pooling does. Pool throws Error as Conv does.
  void Pool(const Window& window);
  void Pool(int kernel) { Pool({.kernel = kernel, .stride = kernel, .padding = 0}); }
  void PoolAll();  // to 1x1

  int channels_;
  int height_;
  int width_;

 private:
  std::string name_;
};

// Images with fewer pixels a side take the small form of a model.
inline constexpr int kSmallImage = 64;
inline bool IsSmall(const ModelRequest& request) {
  return std::min(request.height, request.width) < kSmallImage;
}

}  // namespace legacy
