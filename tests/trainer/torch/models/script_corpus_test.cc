// A corpus of TorchScript modules as people export them. Each trains as a bare loop over LibTorch
// does, or is refused with one sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "tests/trainer/torch/drawn_text.h"
#include "tests/trainer/torch/models/script_module.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/one_thread.h"
#include "trainer/torch/training.h"

namespace legacy::script_corpus_test {
namespace {

using test::Named;
using test::Scripted;
using test::Weights;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using torch::jit::Module;

constexpr double kRate = 0.1;
constexpr uint64_t kSeed = 3;
constexpr int64_t kBatch = 8;
constexpr int kSteps = 2;

// A module, and the message about it; "" if it trains.
struct Case {
  std::function<Module()> make;
  std::string refused;
  bool text = false;  // trained on text, otherwise on images
  bool plain = true;  // a bare loop can train it
};

const std::string kForward = "def forward(self, x):\n";

Module Plain(const std::string& result, const Named& more = {}) {
  Named parameters = {{"weight", Weights({10, 784})}, {"bias", Weights({10})}};
  parameters.insert(parameters.end(), more.begin(), more.end());
  return Scripted(parameters,
                  kForward + "  y = torch.linear(x.flatten(1), self.weight, self.bias)\n" + result);
}

// A layer of a recurrent net over the rows of an image. Its code reads a list of the weights, as
// nn.LSTM's and nn.GRU's do.
Module Recurrent(int gates, const std::string& call) {
  constexpr int64_t kHidden = 6;
  const Named weights = {{"input", Weights({gates * kHidden, 28})},
                         {"hidden", Weights({gates * kHidden, kHidden})},
                         {"input_bias", Weights({gates * kHidden})},
                         {"hidden_bias", Weights({gates * kHidden})}};
  Named all = weights;
  all.emplace_back("decoder", Weights({10, kHidden}, 1));
  Module module("Recurrent");
  c10::List<torch::Tensor> list;
  for (const auto& [name, tensor] : all) {
    module.register_parameter(name, torch::Tensor(tensor).set_requires_grad(true), false);
  }
  for (const auto& [name, tensor] : weights) list.push_back(tensor);
  module.register_attribute("flat", c10::ListType::ofTensors(), list);
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(kForward +
                "  h = torch.zeros([1, x.size(0), 6])\n"
                "  rows = x.flatten(1).view(x.size(0), 28, 28)\n" +
                call + "  return torch.linear(rows.select(1, 27), self.decoder)\n");
  return module;
}

Module Convolution(const torch::Tensor& weight) {
  Module module("Convolution");
  const Named parameters = {{"conv", weight},
                            {"scale", torch::ones({4})},
                            {"shift", torch::zeros({4})},
                            {"decoder", Weights({10, 4 * 12 * 12})}};
  for (const auto& [name, tensor] : parameters) {
    module.register_parameter(name, torch::Tensor(tensor).set_requires_grad(true), false);
  }
  module.register_buffer("mean", torch::zeros({4}));
  module.register_buffer("variance", torch::ones({4}));
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(kForward +
                "  y = torch.conv2d(x, self.conv, None, [2, 2])\n"
                "  y = torch.relu(torch.batch_norm(y, self.scale, self.shift, self.mean,\n"
                "      self.variance, self.training, 0.1, 1e-5, False))\n"
                "  return torch.linear(y.flatten(1), self.decoder)\n");
  return module;
}

Module TiedLanguageModel() {
  const torch::Tensor table = Weights({12, 8}, 1).set_requires_grad(true);
  Module encoder("Encoder"), decoder("Decoder"), module("Tied");
  encoder.register_parameter("weight", table, false);
  encoder.define(kForward + "  return torch.embedding(self.weight, x)\n");
  decoder.register_parameter("weight", table, false);
  decoder.define(kForward + "  return torch.linear(x, self.weight)\n");
  module.register_module("encoder", encoder);
  module.register_module("decoder", decoder);
  module.register_parameter("mix", Weights({8, 8}, 1).set_requires_grad(true), false);
  module.define(kForward +
                "  y = torch.tanh(torch.linear(self.encoder.forward(x), self.mix))\n"
                "  return self.decoder.forward(y)\n");
  return module;
}

Module SharedSubmodule() {
  Module block = Scripted({{"weight", Weights({16, 16}, 0.5)}},
                          kForward + "  return torch.relu(torch.linear(x, self.weight))\n");
  Module module("Shared");
  module.register_module("first", block);
  module.register_module("again", block);
  module.register_parameter("in_w", Weights({16, 784}).set_requires_grad(true), false);
  module.register_parameter("out_w", Weights({10, 16}, 1).set_requires_grad(true), false);
  module.define(kForward +
                "  y = torch.linear(x.flatten(1), self.in_w)\n"
                "  y = self.again.forward(self.first.forward(y))\n"
                "  return torch.linear(y, self.out_w)\n");
  return module;
}

Module Transformer() {
  return Scripted({{"table", Weights({12, 8}, 1)},
                   {"query", Weights({8, 8}, 1)},
                   {"key", Weights({8, 8}, 1, 1)},
                   {"value", Weights({8, 8}, 1, 2)},
                   {"scale", torch::ones({8})},
                   {"shift", torch::zeros({8})},
                   {"decoder", Weights({12, 8}, 1)}},
                  kForward +
                      "  y = torch.embedding(self.table, x)\n"
                      "  q = torch.linear(y, self.query)\n"
                      "  k = torch.linear(y, self.key)\n"
                      "  scores = torch.matmul(q, k.transpose(1, 2)) / 2.83\n"
                      "  mask = torch.ones([x.size(1), x.size(1)]).triu(1)\n"
                      "  scores = torch.softmax(scores - 1e4 * mask, -1)\n"
                      "  y = y + torch.matmul(scores, torch.linear(y, self.value))\n"
                      "  y = torch.layer_norm(y, [8], self.scale, self.shift)\n"
                      "  return torch.linear(y, self.decoder)\n");
}

Module EmbeddingBag() {
  return Scripted({{"table", Weights({12, 8}, 1)}, {"decoder", Weights({12, 8}, 1)}},
                  kForward +
                      "  starts = torch.arange(0, x.numel(), x.size(1))\n"
                      "  bag, a, b, c = torch.embedding_bag(self.table, x.flatten(), starts)\n"
                      "  y = torch.linear(bag, self.decoder)\n"
                      "  return y.unsqueeze(1).expand([x.size(0), x.size(1), 12])\n");
}

// Its attributes are lists of lists and dictionaries, as those of nn.LSTM are.
Module Containers() {
  Module module("Containers");
  module.register_parameter("weight", Weights({10, 784}).set_requires_grad(true), false);
  c10::List<std::string> texts({"a", "b"});
  module.register_attribute("texts", c10::ListType::ofStrings(), texts);
  c10::List<c10::List<std::string>> names({texts, texts});
  module.register_attribute("names", c10::ListType::create(c10::ListType::ofStrings()), names);
  c10::Dict<std::string, int64_t> counts;
  counts.insert("passes", 1);
  module.register_attribute(
      "counts", c10::DictType::create(c10::StringType::get(), c10::IntType::get()), counts);
  module.define(kForward +
                "  self.counts[\"passes\"] += len(self.names[0])\n"
                "  y = torch.linear(x.flatten(1), self.weight)\n"
                "  return y * (1 + 0.01 * self.counts[\"passes\"])\n");
  return module;
}

// Half of its parameters stay as they are, and a buffer counts passes.
Module Frozen() {
  Module module("Frozen");
  module.register_parameter("frozen", Weights({16, 784}).set_requires_grad(false), false);
  module.register_parameter("weight", Weights({10, 16}, 1).set_requires_grad(true), false);
  module.register_buffer("passes", torch::zeros({1}, torch::kInt64));
  module.define(kForward +
                "  self.passes.add_(1)\n"
                "  y = torch.relu(torch.linear(x.flatten(1), self.frozen))\n"
                "  return torch.linear(y, self.weight) * (1 + 0.1 * self.passes)\n");
  return module;
}

Module FailsInStep1() {
  Module module("Fails");
  module.register_parameter("weight", Weights({10, 784}).set_requires_grad(true), false);
  module.register_attribute("passes", c10::IntType::get(), 0);
  module.define(kForward +
                "  self.passes = self.passes + 1\n"
                "  assert self.passes != 2 or x.size(0) != 8, \"the second one\"\n"
                "  return torch.linear(x.flatten(1), self.weight)\n");
  return module;
}

const std::map<std::string, Case>& Corpus() {
  static const std::map<std::string, Case> corpus = {
      {"mlp",
       {[] {
          return Plain("  return torch.linear(torch.relu(y), self.second)\n",
                       {{"second", Weights({10, 10}, 1)}});
        },
        ""}},
      {"cnn-bn",
       {[] {
          return Convolution(Weights({4, 1, 5, 5}, 0.3));
        },
        ""}},
      {"channels-last",
       {[] {
          return Convolution(Weights({4, 1, 5, 5}, 0.3).contiguous(at::MemoryFormat::ChannelsLast));
        },
        ""}},
      {"transposed",
       {[] {
          return Scripted({{"weight", Weights({784, 10}).t()}},
                          kForward + "  return torch.linear(x.flatten(1), self.weight)\n");
        },
        ""}},
      {"expanded",
       {[] {
          return Scripted(
              {{"weight", Weights({10, 784})}, {"bias", Weights({1}).expand({10})}},
              kForward + "  return torch.linear(x.flatten(1), self.weight, self.bias)\n");
        },
        "", false, /*plain=*/false}},
      {"slices-of-one-storage",
       {[] {
          const torch::Tensor all = Weights({20, 784});
          return Scripted({{"first", all.narrow(0, 0, 10)}, {"second", all.narrow(0, 10, 10)}},
                          kForward +
                              "  return torch.linear(x.flatten(1), self.first) *\\\n"
                              "      torch.linear(x.flatten(1), self.second)\n");
        },
        ""}},
      {"a-view-of-another",
       {[] {
          const torch::Tensor weight = Weights({784, 784});
          return Scripted({{"weight", weight}, {"view", weight.t()}, {"out", Weights({10, 784})}},
                          kForward +
                              "  y = torch.linear(x.flatten(1), self.weight)\n"
                              "  return torch.linear(torch.linear(y, self.view), self.out)\n");
        },
        "view: got 'a view of elements of weight'; allowed: memory of its own"}},
      {"tied", {TiedLanguageModel, "", true}},
      {"shared-submodule", {SharedSubmodule, ""}},
      {"stochastic-depth",
       {[] {
          return Plain(
              "  if not self.training or bool(torch.rand([1]) < 0.5):\n"
              "    y = y + torch.linear(torch.relu(y), self.skipped)\n"
              "  return y\n",
              {{"skipped", Weights({10, 10}, 1)}});
        },
        ""}},
      {"dropout", {[] { return Plain("  return torch.dropout(y, 0.5, self.training)\n"); }, ""}},
      {"lstm",
       {[] {
          return Recurrent(4,
                           "  rows, a, b = torch.lstm(rows, [h, h], self.flat, True, 1, 0.0,\n"
                           "      self.training, False, True)\n");
        },
        ""}},
      {"lstm-dropout",
       {[] {
          return Recurrent(4,
                           "  rows, a, b = torch.lstm(rows, [h, h], self.flat, True, 1, 0.0,\n"
                           "      self.training, False, True)\n"
                           "  rows = torch.alpha_dropout(rows, 0.5, self.training)\n");
        },
        ""}},
      {"gru",
       {[] {
          return Recurrent(3,
                           "  rows, a = torch.gru(rows, h, self.flat, True, 1, 0.0,\n"
                           "      self.training, False, True)\n");
        },
        ""}},
      {"transformer", {Transformer, "", true}},
      {"embedding-bag", {EmbeddingBag, "", true}},
      {"sparse-gradient",
       {[] {
          return Scripted({{"table", Weights({12, 8}, 1)}, {"decoder", Weights({12, 8}, 1)}},
                          kForward +
                              "  y = torch.embedding(self.table, x, -1, False, True)\n"
                              "  return torch.linear(y, self.decoder)\n");
        },
        "", true}},
      {"containers", {Containers, ""}},
      {"frozen-and-counted", {Frozen, ""}},
      {"scalar",
       {[] {
          return Plain("  return y * self.scale\n", {{"scale", torch::tensor(1.5F)}});
        },
        ""}},
      {"zero-size",
       {[] {
          return Plain("  return y + self.none.sum()\n", {{"none", torch::zeros({0, 3})}});
        },
        ""}},
      {"no-parameters",
       {[] { return Scripted({}, kForward + "  return x.flatten(1).narrow(1, 0, 10)\n"); },
        "no parameters that need a gradient"}},
      {"double",
       {[] {
          return Scripted({{"weight", Weights({10, 784}).to(torch::kFloat64)}},
                          kForward + "  return torch.linear(x.flatten(1), self.weight.float())\n");
        },
        "parameter weight: got 'Double'; allowed: Float"}},
      {"half",
       {[] {
          return Scripted({{"weight", Weights({10, 784}).to(torch::kHalf)}},
                          kForward + "  return torch.linear(x.flatten(1), self.weight.float())\n");
        },
        "parameter weight: got 'Half'; allowed: Float"}},
      {"bfloat16",
       {[] {
          return Scripted({{"weight", Weights({10, 784}).to(torch::kBFloat16)}},
                          kForward + "  return torch.linear(x.flatten(1), self.weight.float())\n");
        },
        "parameter weight: got 'BFloat16'; allowed: Float"}},
      {"complex",
       {[] {
          return Scripted(
              {{"weight", Weights({10, 784}).to(torch::kComplexFloat)}},
              kForward + "  return torch.linear(x.flatten(1), torch.real(self.weight))\n");
        },
        "parameter weight: got 'ComplexFloat'; allowed: Float"}},
      {"half-result",
       {[] { return Plain("  return y.half()\n"); }, "result: got 'Half'; allowed: Float"}},
      {"complex-result",
       {[] { return Plain("  return torch.complex(y, y)\n"); },
        "result: got 'ComplexFloat'; allowed: Float"}},
      {"sparse-result",
       {[] { return Plain("  return y.to_sparse()\n"); },
        "result: got 'Sparse'; allowed: a dense tensor"}},
      {"tuple", {[] { return Plain("  return (y, y)\n"); }, "got 'Tuple'; allowed: one tensor"}},
      {"dictionary",
       {[] { return Plain("  return {\"logits\": y}\n"); }, "allowed: one tensor, the logits"}},
      {"wrong-shape",
       {[] { return Plain("  return y.t()\n"); }, "got '[10 x 2]'; allowed: [2 x 10]"}},
      {"fixed-batch-of-2",
       {[] { return Plain("  return y.view(2, 10)\n"); },
        "forward of Float [3 x 1 x 28 x 28]: got 'shape '[2, 10]' is invalid for input of size "
        "30'; "
        "allowed: logits [3 x 10], for any number of samples"}},
      {"fixed-window",
       {[] {
          return Scripted({{"table", Weights({12, 12}, 1)}},
                          kForward + "  return torch.embedding(self.table, x).view(-1, 5, 12)\n");
        },
        "forward of Long [3 x 3]", true}},
      {"raises",
       {[] { return Plain("  assert x.size(0) < 0, \"no samples are wanted\"\n  return y\n"); },
        "no samples are wanted"}},
      {"unused",
       {[] {
          return Plain("  return y\n", {{"idle", Weights({3})}});
        },
        "parameter idle: got 'no gradient of the logits'"}},
      {"changes-a-parameter",
       {[] { return Plain("  self.weight.detach().mul_(0.5)\n  return y\n"); },
        "parameter weight: got 'changed by forward'"}},
      {"nan-result", {[] { return Plain("  return y / 0.0 * 0.0\n"); }, "worker 0, step 0, layer"}},
      {"nan-in-evaluations",
       {[] { return Plain("  return y if self.training else y / 0.0 * 0.0\n"); },
        "after step 2: evaluation: loss: got 'nan'; allowed: finite numbers"}},
      {"fails-in-step-1", {FailsInStep1, "the second one"}},
  };
  return corpus;
}

const Task& TaskOf(const Case& one) {
  if (one.text) return test::DrawnText();
  return test::SomeImages();
}

// Returns the losses of a bare loop over LibTorch with plain SGD.
std::vector<double> BareLosses(const Case& one, const std::string& file) {
  UseOneThread();
  torch::jit::setGraphExecutorOptimize(false);
  Module module = torch::jit::load(file);
  module.train();
  std::vector<torch::Tensor> parameters;
  std::set<const void*> known;
  for (const torch::Tensor& parameter : module.parameters()) {
    const bool is_new = known.insert(parameter.unsafeGetTensorImpl()).second;
    if (is_new && parameter.requires_grad()) parameters.push_back(parameter);
  }
  const auto feed = TaskOf(one).Open({.workers = 1, .batch_size = kBatch, .seed = kSeed});
  std::vector<double> losses;
  for (uint64_t step = 0; step < kSteps; ++step) {
    feed->Seek(static_cast<int64_t>(step));
    const Batch batch = feed->Get(0);
    RandomStream random({.seed = kSeed, .step = step, .purpose = Purpose::kDropout});
    const uint64_t high = random.NextU32(), low = random.NextU32();
    torch::manual_seed(high << 32 | low);
    const torch::Tensor logits = module.forward({batch.inputs}).toTensor();
    const torch::Tensor loss = torch::cross_entropy_loss(logits.reshape({-1, logits.size(-1)}),
                                                         batch.targets.reshape({-1}));
    losses.push_back(loss.item<double>());
    const auto gradient = torch::autograd::grad({loss}, parameters, {}, false, false, true);
    const torch::NoGradGuard no_grad;
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (gradient[i].defined()) parameters[i].sub_(kRate * gradient[i].to_dense());
    }
  }
  return losses;
}

std::vector<double> Losses(const Case& one, const std::string& file) {
  TrainingOptions options;
  options.workers = 1;
  options.batch_size = kBatch;
  options.seed = kSeed;
  options.schedule.learning_rate = kRate;
  options.sgd.momentum = 0;
  const Task& task = TaskOf(one);
  Training training(options, task, task.RequestFor(file, 1), MakeUniformPolicy(1),
                    MakeScheme("dense"));
  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) losses.push_back(training.Step().loss);
  training.Evaluate();
  return losses;
}

TEST(ScriptCorpus, EachModuleTrainsAsABareLoopOrIsRefused) {
  for (const auto& [name, one] : Corpus()) {
    SCOPED_TRACE(name);
    const std::string file = test::SaveScript(one.make(), name);
    std::optional<std::vector<double>> losses;
    try {
      losses = Losses(one, file);
    } catch (const Error& error) {
      ASSERT_NE(one.refused, "") << error.what();
      EXPECT_THAT(error.what(), AllOf(HasSubstr(one.refused), Not(HasSubstr("\n"))));
    }
    EXPECT_EQ(losses.has_value(), one.refused.empty());
    if (losses && one.plain) {
      const std::vector<double> bare = BareLosses(one, file);
      for (int step = 0; step < kSteps; ++step) EXPECT_NEAR((*losses)[step], bare[step], 2e-6);
    }
    std::filesystem::remove(file);
  }
}

}  // namespace
}  // namespace legacy::script_corpus_test
