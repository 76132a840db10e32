#include "trainer/torch/models/model.h"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "trainer/data/model_catalog.h"
#include "trainer/torch/models/model_family.h"
#include "trainer/torch/models/observed_costs.h"
#include "trainer/torch/models/script_model.h"
#include "trainer/torch/models/tensor_state.h"

namespace legacy {
namespace {

void Check(const ModelRequest& request) {
  const auto at_least_one = [&](const char* what, int value) {
    if (value < 1) {
      throw Error("model " + request.name + ": " + what, std::to_string(value), "1 or more");
    }
  };
  switch (request.task) {
    case TaskKind::kClassification:
      at_least_one("channels", request.channels);
      at_least_one("height", request.height);
      at_least_one("width", request.width);
      return at_least_one("classes", request.classes);
    case TaskKind::kLanguageModelling:
    case TaskKind::kCharacterModelling:
      at_least_one("length", request.length);
      return at_least_one("vocabulary", request.classes);
    case TaskKind::kRecommendation:
      at_least_one("users", request.users);
      return at_least_one("items", request.items);
  }
}

// Returns the model with LibTorch's own weights.
std::shared_ptr<Model> Build(const ModelRequest& request) {
  Check(request);
  if (IsModelFile(request.name)) return LoadScriptModel(request);
  const Stage stage = ParseModel(request.name);
  const ModelRow& row = FindModel(stage.name);
  CheckTakes(row, request.task);
  const OptionReader options(stage, row.info.options);
  constexpr ModelFamily* kFamilies[] = {MakePlainModel,
                                        MakeResidualModel,
                                        MakeDeepResidualModel,
                                        MakeBranchedModel,
                                        MakeStackedModel,
                                        MakeLstm,
                                        MakeGpt,
                                        MakeTransformerXl,
                                        MakeVisionTransformer,
                                        MakeNcf};
  for (ModelFamily* const make : kFamilies) {
    if (auto model = make(request, stage.name, options)) return model;
  }
  throw Error("model", stage.name, "a model of a family");
}

double FanIn(const torch::Tensor& weight) {
  return static_cast<double>(weight.numel() / weight.size(0));
}

// Returns a parameter's initial values as in PyTorch; nothing for scales and shifts of norms. A
// bias has the fan-in of the weight of the same layer.
std::optional<InitialValues> TorchValues(const Model& model, const std::string& name) {
  const auto parameters = model.named_parameters();
  const std::string weight = name.substr(0, name.rfind('.') + 1) + "weight";
  if (!parameters.contains(weight) || parameters[weight].dim() < 2) return std::nullopt;
  return InitialValues{InitialValues::Kind::kUniform, 1 / std::sqrt(FanIn(parameters[weight]))};
}

// Draws the weights. If the model does not say how they start, those of at least two dimensions are
// uniform with variance gain / fan-in, where the gain is 2 before a ReLU (He et al., ICCV'15,
// equation 10) and 1 for the last of them, the classifier. Vectors are 0, and scales are 1.
void DrawWeights(Model& model, const ModelRequest& request) {
  torch::NoGradGuard no_grad;
  const auto parameters = model.named_parameters();
  size_t classifier = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].value().dim() >= 2) classifier = i;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    torch::Tensor parameter = parameters[i].value();
    auto initial = model.Initial(parameters[i].key(), parameter);
    if (request.init == WeightRule::kTorch) {
      if (initial) {
        throw Error("training.init", "torch",
                    "model, as " + request.name + " says itself how its weights start");
      }
      initial = TorchValues(model, parameters[i].key());
    }
    if (parameter.dim() < 2 && !initial) {
      parameter.fill_(parameters[i].key().ends_with("weight") ? 1 : 0);
      continue;
    }
    if (!initial) {
      initial = {InitialValues::Kind::kUniform,
                 std::sqrt(3.0 * (i == classifier ? 1 : 2) / FanIn(parameter))};
    }
    const auto [kind, scale] = *initial;
    RandomStream random({.seed = request.seed,
                         .step = 0,
                         .worker = 0,
                         .layer = static_cast<uint32_t>(i),
                         .purpose = Purpose::kInit});
    float* values = parameter.data_ptr<float>();
    for (int64_t j = 0; j < parameter.numel(); ++j) {
      values[j] = static_cast<float>(kind == InitialValues::Kind::kNormal
                                         ? scale * random.Normal()
                                         : scale * (2 * random.Uniform() - 1));
    }
  }
}

}  // namespace

torch::Tensor Model::TargetLosses(const torch::Tensor& outputs, const torch::Tensor& targets,
                                  double smoothing) {
  return torch::cross_entropy_loss(outputs.view({-1, outputs.size(-1)}), targets.reshape({-1}), {},
                                   at::Reduction::None, kIgnored, smoothing);
}

Batch ExampleBatch(const ModelRequest& request, int64_t samples) {
  const auto through = [](int64_t count, int most) {
    return torch::arange(count, torch::kInt64).remainder(most);
  };
  switch (request.task) {
    case TaskKind::kClassification:
      return {torch::zeros({samples, request.channels, request.height, request.width}),
              torch::zeros({samples}, torch::kInt64)};
    case TaskKind::kLanguageModelling:
    case TaskKind::kCharacterModelling: {
      torch::Tensor tokens = through(samples * request.length, request.classes);
      if (request.tokens) {
        const auto& text = *request.tokens;
        auto* const token = tokens.data_ptr<int64_t>();
        for (int64_t i = 0; i < tokens.numel(); ++i) token[i] = text[i % std::ssize(text)];
      }
      return {tokens.view({samples, request.length}), tokens.view({samples, request.length})};
    }
    case TaskKind::kRecommendation:
      return {torch::stack({through(samples, request.users), through(samples, request.items)}, 1),
              torch::zeros({samples})};
  }
  return {};
}

std::optional<InitialValues> Model::NormalMatrices(const torch::Tensor& value, double deviation) {
  if (value.dim() < 2) return std::nullopt;
  return InitialValues{InitialValues::Kind::kNormal, deviation};
}

RandomKey Model::NextDraws() {
  const RandomKey next = draws_;
  ++draws_.layer;
  return next;
}

std::vector<torch::Tensor> Model::Gradient(const torch::Tensor& loss, std::vector<bool>* used) {
  const std::vector<torch::Tensor> parameters = this->parameters();
  std::vector<torch::Tensor> parts(parameters.size());
  if (loss.requires_grad()) {
    parts = torch::autograd::grad({loss}, parameters, {}, /*retain_graph=*/false,
                                  /*create_graph=*/false, /*allow_unused=*/true);
  }
  if (used != nullptr) used->resize(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (used != nullptr) (*used)[i] = parts[i].defined();
    if (!parts[i].defined()) parts[i] = torch::zeros_like(parameters[i]);
    if (parts[i].layout() != torch::kStrided) parts[i] = parts[i].to_dense();
  }
  return parts;
}

void Model::SaveState(StateWriter& out) const {
  for (const torch::Tensor& buffer : buffers()) SaveTensor(buffer, out);
}

void Model::LoadState(StateReader& in) {
  const torch::NoGradGuard no_grad;
  for (torch::Tensor buffer : buffers()) {
    const torch::Tensor loaded = LoadTensor(in);
    if (loaded.sizes() != buffer.sizes() || loaded.dtype() != buffer.dtype()) {
      throw Error("state: a buffer of a worker has another shape");
    }
    buffer.copy_(loaded);
  }
}

torch::Tensor Model::Dropout(const torch::Tensor& x, double part) {
  if (!is_training()) return x;
  RandomStream random(NextDraws());
  std::vector<uint32_t> drawn(static_cast<size_t>(x.numel()));
  random.Fill(drawn);
  torch::Tensor factors = torch::empty(x.sizes());
  const auto limit = static_cast<uint32_t>(part * 0x1p32);
  const auto kept = static_cast<float>(1 / (1 - part));
  std::ranges::transform(drawn, factors.data_ptr<float>(),
                         [&](uint32_t value) { return value < limit ? 0 : kept; });
  return x * factors.to(x.device());
}

std::shared_ptr<Model> MakeModel(const ModelRequest& request) {
  auto model = Build(request);
  if (IsModelFile(request.name)) {
    if (request.init != WeightRule::kModel) {
      throw Error("training.init", "torch", "model with a file, which has its own weights");
    }
    CheckTrainable(*Build(request), request);  // its passes change buffers
  } else {
    DrawWeights(*model, request);
  }
  return model;
}

std::shared_ptr<Model> ShareParameters(const Model& model, const ModelRequest& request) {
  auto shared = Build(request);
  const auto source = model.parameters();
  const auto target = shared->parameters();
  bool same = source.size() == target.size();
  for (size_t i = 0; same && i < source.size(); ++i) same = source[i].sizes() == target[i].sizes();
  if (!same) throw Error("model", request.name, "the request that the shared model was made from");
  // set_data keeps the new instance's own leaf tensors, so that autograd computes gradients for
  // them.
  for (size_t i = 0; i < source.size(); ++i) torch::Tensor(target[i]).set_data(source[i].detach());
  return shared;
}

std::vector<OperationCost> CostsOf(const ModelRequest& request) {
  const auto model = Build(request);
  NamedTensors parameters;
  for (const auto& parameter : model->named_parameters()) {
    parameters.emplace_back(parameter.key(), parameter.value());
  }
  const auto observe = [&](bool training, Unread unread) {
    model->train(training);
    return ObserveCosts(parameters, unread, [&](int64_t samples) {
      const Batch batch = ExampleBatch(request, samples);
      const torch::Tensor outputs = model->Forward(batch.inputs);
      if (model->HasOwnLoss()) model->TargetLosses(outputs, batch.targets, 0);
    });
  };
  if (!IsModelFile(request.name)) return observe(true, Unread::kRefused);
  try {
    return observe(true, Unread::kRefused);
  } catch (const Error&) {
    // Layers that trainings leave out at random all take part in evaluations.
    return observe(false, Unread::kFree);
  }
}

std::vector<Unit> LayersOf(const ModelRequest& request) { return LayersOf(*Build(request)); }

std::vector<Unit> LayersOf(const Model& model) {
  std::vector<Unit> units;
  int64_t offset = 0;
  for (const auto& parameter : model.named_parameters()) {
    Unit unit;
    unit.id = static_cast<uint32_t>(units.size());
    unit.name = parameter.key();
    unit.shape = parameter.value().sizes().vec();
    unit.offset = offset;
    unit.numel = parameter.value().numel();
    offset += unit.numel;
    units.push_back(std::move(unit));
  }
  return units;
}

}  // namespace legacy
