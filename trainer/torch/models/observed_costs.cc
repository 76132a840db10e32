#include "trainer/torch/models/observed_costs.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "trainer/torch/models/observed_products.h"

namespace legacy {
namespace {

using torch::Tensor;

// An Observed operation has the numbers of one pass.
struct Observed {
  std::string kind;
  double flops = 0;
  double bytes = 0;                      // activations
  double weight_bytes = 0;               // parameters
  std::vector<int> parameters;           // parameters read, first reader or not
  MatrixProduct product = {.count = 0};  // product of all samples; count 0: there is none
};

void AddTensors(const c10::IValue& value, std::vector<Tensor>& tensors) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) tensors.push_back(value.toTensor());
  } else if (value.isTensorList()) {
    for (const Tensor& tensor : value.toTensorVector()) tensors.push_back(tensor);
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) AddTensors(element, tensors);
  }
}

using Values = c10::ArrayRef<const c10::IValue>;

std::vector<Tensor> TensorsOf(Values values) {
  std::vector<Tensor> tensors;
  for (const c10::IValue& value : values) AddTensors(value, tensors);
  return tensors;
}

// Returns the last `count` values. A script's interpreter gives its whole stack, at whose end are
// those of the operation.
Values Last(Values values, size_t count) {
  return count < values.size() ? values.slice(values.size() - count) : values;
}

// Numbers that are wrapped as tensors count nothing.
double BytesOf(const Tensor& tensor) {
  return tensor.dim() == 0 ? 0 : static_cast<double>(tensor.numel() * tensor.element_size());
}

double Numel(const Tensor& tensor) { return static_cast<double>(tensor.numel()); }

const void* StorageOf(const Tensor& tensor) {
  return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
}

// A Call is an operation of LibTorch that was executed.
struct Call {
  std::string_view name;  // without "aten::"
  Values arguments;
  std::vector<Tensor> read;
  std::vector<Tensor> written;

  const Tensor& Argument(size_t i) const { return arguments[i].toTensor(); }
  bool HasTensor(size_t i) const {
    return i < arguments.size() && arguments[i].isTensor() && Argument(i).defined();
  }
};

enum class Rule : uint8_t {
  kConvolution,  // input, weight
  kLinear,       // input, weight
  kProduct,      // the last two tensors are multiplied
  kNorm,         // input
  kPool,         // reads its input and writes its first output
  kEmbedding,    // table, rows
  kLstm,         // input, state, weights, biases?, layers, dropout, train?, bidirectional?
  kTransparent,  // the operations that it calls count
};

const std::map<std::string_view, Rule>& Rules() {
  static const std::map<std::string_view, Rule> rules = {
      {"conv1d", Rule::kConvolution},
      {"conv2d", Rule::kConvolution},
      {"conv3d", Rule::kConvolution},
      {"convolution", Rule::kConvolution},
      {"_convolution", Rule::kConvolution},
      {"linear", Rule::kLinear},
      {"addmm", Rule::kProduct},
      {"mm", Rule::kProduct},
      {"bmm", Rule::kProduct},
      {"baddbmm", Rule::kProduct},
      {"mv", Rule::kProduct},
      {"addmv", Rule::kProduct},
      {"dot", Rule::kProduct},
      {"batch_norm", Rule::kNorm},
      {"layer_norm", Rule::kNorm},
      {"group_norm", Rule::kNorm},
      {"instance_norm", Rule::kNorm},
      {"max_pool1d", Rule::kPool},
      {"max_pool2d", Rule::kPool},
      {"avg_pool1d", Rule::kPool},
      {"avg_pool2d", Rule::kPool},
      {"adaptive_avg_pool1d", Rule::kPool},
      {"adaptive_avg_pool2d", Rule::kPool},
      {"adaptive_max_pool2d", Rule::kPool},
      {"mean", Rule::kPool},
      {"sum", Rule::kPool},
      {"amax", Rule::kPool},
      {"amin", Rule::kPool},
      {"embedding", Rule::kEmbedding},
      {"lstm", Rule::kLstm},
      {"matmul", Rule::kTransparent},
      {"einsum", Rule::kTransparent},
  };
  return rules;
}

// An Observer collects the operations of one pass. LibTorch calls it through a function pointer, so
// a thread-local variable holds it while the pass runs.
class Observer {
 public:
  explicit Observer(const NamedTensors& parameters) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      parameters_.emplace(StorageOf(parameters[i].second), static_cast<int>(i));
    }
  }

  std::vector<Observed> Run(const ForwardPass& forward, int64_t samples);

 private:
  struct Context : at::ObserverContext {
    size_t mark = 0;                     // operations before this one began
    double flops = 0;                    // FLOPs before
    std::vector<c10::IValue> arguments;  // LibTorch destroys its own before the end
  };

  static std::unique_ptr<at::ObserverContext> OnStart(const at::RecordFunction& function);
  static void OnEnd(const at::RecordFunction& function, at::ObserverContext* context);
  void Note(const at::RecordFunction& function, const Context& context);

  void Count(const Call& call, Rule rule);
  void CountLstm(const Call& call);
  void CountOther(const Call& call);
  bool IsView(const Call& call) const;
  // Appends an operation that reads and writes these tensors.
  Observed& Append(const char* kind, const std::vector<Tensor>& read,
                   const std::vector<Tensor>& written);
  // Appends an operation of one product.
  Observed& AppendProduct(const char* kind, const std::vector<Tensor>& read,
                          const std::vector<Tensor>& written, const MatrixProduct& product);
  void Read(Observed& operation, const Tensor& tensor) const;

  static thread_local Observer* running;

  std::map<const void*, int> parameters_;  // positions by storage
  std::vector<Observed> operations_;
  double flops_ = 0;  // sum over operations_, and over those that were dropped
};

thread_local Observer* Observer::running = nullptr;

std::vector<Observed> Observer::Run(const ForwardPass& forward, int64_t samples) {
  operations_.clear();
  running = this;
  const at::CallbackHandle handle =
      at::addThreadLocalCallback(at::RecordFunctionCallback(OnStart, OnEnd)
                                     .needsInputs(true)
                                     .needsOutputs(true)
                                     .scopes({at::RecordScope::FUNCTION}));
  const auto stop = [&] {
    at::removeCallback(handle);
    running = nullptr;
  };
  try {
    const torch::NoGradGuard no_grad;
    forward(samples);
  } catch (...) {
    stop();
    throw;
  }
  stop();
  return std::move(operations_);
}

std::unique_ptr<at::ObserverContext> Observer::OnStart(const at::RecordFunction& function) {
  auto context = std::make_unique<Context>();
  context->mark = running->operations_.size();
  context->flops = running->flops_;
  const Values arguments = Last(function.inputs(), function.num_inputs());
  context->arguments.assign(arguments.begin(), arguments.end());
  return context;
}

void Observer::OnEnd(const at::RecordFunction& function, at::ObserverContext* context) {
  running->Note(function, *static_cast<Context*>(context));
}

// Operations call others. If a rule is known, or if only bytes move inside, the outermost one
// counts; otherwise those inside count.
void Observer::Note(const at::RecordFunction& function, const Context& context) {
  constexpr std::string_view kNamespace = "aten::";
  std::string_view name = function.name();
  if (name.starts_with(kNamespace)) name.remove_prefix(kNamespace.size());
  const auto rule = Rules().find(name);
  if (rule == Rules().end() && flops_ > context.flops) return;
  if (rule != Rules().end() && rule->second == Rule::kTransparent) return;
  operations_.resize(context.mark);
  flops_ = context.flops;
  const std::vector<c10::IValue>& outputs = function.outputs();
  const Values arguments(context.arguments.data(), context.arguments.size());
  const Call call{name, arguments, TensorsOf(arguments),
                  TensorsOf(Last(Values(outputs.data(), outputs.size()), function.num_outputs()))};
  if (call.written.empty()) return;
  if (rule == Rules().end()) {
    CountOther(call);
  } else {
    Count(call, rule->second);
  }
}

void Observer::Read(Observed& operation, const Tensor& tensor) const {
  const auto parameter = parameters_.find(StorageOf(tensor));
  if (parameter == parameters_.end()) {
    operation.bytes += BytesOf(tensor);
    return;
  }
  operation.parameters.push_back(parameter->second);
  operation.weight_bytes += BytesOf(tensor);
}

Observed& Observer::Append(const char* kind, const std::vector<Tensor>& read,
                           const std::vector<Tensor>& written) {
  Observed operation;
  operation.kind = kind;
  for (const Tensor& tensor : read) Read(operation, tensor);
  for (const Tensor& tensor : written) operation.bytes += BytesOf(tensor);
  return operations_.emplace_back(std::move(operation));
}

Observed& Observer::AppendProduct(const char* kind, const std::vector<Tensor>& read,
                                  const std::vector<Tensor>& written,
                                  const MatrixProduct& product) {
  Observed& operation = Append(kind, read, written);
  operation.product = product;
  operation.flops = 2 * product.MultiplyAdds();
  flops_ += operation.flops;
  return operation;
}

void Observer::Count(const Call& call, Rule rule) {
  const Tensor& result = call.written.front();
  const std::vector<Tensor> written = {result};
  switch (rule) {
    case Rule::kConvolution: {
      // Grouped convolutions have a product for each group.
      const Tensor& weight = call.Argument(1);
      const auto outputs = static_cast<double>(weight.size(0));
      const double groups = static_cast<double>(call.Argument(0).size(1) / weight.size(1));
      AppendProduct("conv", call.read, written,
                    {.rows = Numel(result) / outputs,
                     .columns = outputs / groups,
                     .inner = Numel(weight) / outputs,
                     .count = groups,
                     .bias = call.HasTensor(2)});
      break;
    }
    case Rule::kLinear: {
      MatrixProduct product = ProductOf(result, call.Argument(1).size(-1), false);
      product.bias = call.HasTensor(2);
      AppendProduct("linear", call.read, written, product);
      break;
    }
    case Rule::kProduct: {
      const Tensor& left = call.read[call.read.size() - 2];
      MatrixProduct product = ProductOf(result, left.size(-1), result.dim() > 2);
      product.bias = call.name == "addmm" && call.read.front().dim() == 1;
      AppendProduct("linear", call.read, written, product);
      break;
    }
    case Rule::kNorm: {
      const Tensor& input = call.read.front();
      // Running statistics are not activations.
      std::vector<Tensor> read = {input, input};
      for (const Tensor& tensor : call.read) {
        if (parameters_.contains(StorageOf(tensor))) read.push_back(tensor);
      }
      Append("batchnorm", read, written);
      break;
    }
    case Rule::kPool:
      Append("pool", {call.read.front()}, written);
      break;
    case Rule::kEmbedding: {
      Observed& operation = Append("elementwise", call.read, written);
      operation.bytes += BytesOf(result);
      operation.weight_bytes = 0;  // only those rows are read
      break;
    }
    case Rule::kLstm:
      CountLstm(call);
      break;
    case Rule::kTransparent:
      break;
  }
}

// A layer of an LSTM is two products and the gates. The recurrent weights are read at each step.
void Observer::CountLstm(const Call& call) {
  constexpr double kFloat = 4;
  constexpr double kGates = 4;
  const Tensor& input = call.Argument(0);
  const std::vector<Tensor> weights = TensorsOf(call.arguments.slice(2, 1));
  const bool biases = call.arguments[3].toBool();
  const bool batch_first = call.arguments[8].toBool();
  const size_t tensors = biases ? 4 : 2;
  const double words = static_cast<double>(input.size(0) * input.size(1));
  const auto steps = static_cast<double>(input.size(batch_first ? 1 : 0));
  for (size_t first = 0; first + tensors <= weights.size(); first += tensors) {
    const Tensor& from_input = weights[first];
    const Tensor& recurrent = weights[first + 1];
    const auto hidden = static_cast<double>(recurrent.size(1));
    Observed& product = AppendProduct("linear", {}, {},
                                      {.rows = words,
                                       .columns = kGates * hidden,
                                       .inner = static_cast<double>(from_input.size(1))});
    product.bytes = kFloat * words * (static_cast<double>(from_input.size(1)) + kGates * hidden);
    for (size_t i = 0; i < tensors; ++i) {
      const auto parameter = parameters_.find(StorageOf(weights[first + i]));
      if (parameter != parameters_.end()) product.parameters.push_back(parameter->second);
      if (i != 1) product.weight_bytes += BytesOf(weights[first + i]);
    }
    Observed& again = AppendProduct(
        "linear", {}, {},
        {.rows = words / steps, .columns = kGates * hidden, .inner = hidden, .count = steps});
    again.bytes = kFloat * words * (hidden + kGates * hidden);
    again.weight_bytes = steps * BytesOf(recurrent);
    Observed& gates = Append("elementwise", {}, {});
    gates.bytes = kFloat * words * (2 * kGates * hidden + hidden + 2 * hidden);
  }
}

bool Observer::IsView(const Call& call) const {
  if (call.name.ends_with("_")) return false;
  return std::ranges::all_of(call.written, [&](const Tensor& written) {
    return std::ranges::any_of(
        call.read, [&](const Tensor& read) { return StorageOf(read) == StorageOf(written); });
  });
}

void Observer::CountOther(const Call& call) {
  if (call.read.empty() || IsView(call)) return;
  const auto is_number = [](const Tensor& tensor) { return tensor.dim() == 0; };
  if (std::ranges::all_of(call.read, is_number) && std::ranges::all_of(call.written, is_number)) {
    return;
  }
  Append("elementwise", call.read, call.written);
}

}  // namespace

std::vector<OperationCost> ObserveCosts(const NamedTensors& parameters, Unread unread,
                                        const ForwardPass& forward) {
  constexpr int64_t kFew = 2;  // batch norm needs more than one
  Observer observer(parameters);
  const std::vector<Observed> few = observer.Run(forward, kFew);
  const std::vector<Observed> many = observer.Run(forward, 2 * kFew);
  if (few.size() != many.size()) {
    throw Error("model: operations of the forward pass",
                std::to_string(few.size()) + " with " + std::to_string(kFew) + " samples, " +
                    std::to_string(many.size()) + " with " + std::to_string(2 * kFew),
                "as many whatever the number of samples");
  }
  std::vector<bool> seen(parameters.size());
  std::vector<OperationCost> costs;
  for (size_t i = 0; i < few.size(); ++i) {
    const double grown = (many[i].bytes - few[i].bytes) / kFew;
    OperationCost cost;
    cost.kind = few[i].kind;
    cost.forward_flops = (many[i].flops - few[i].flops) / kFew;
    cost.forward_bytes = grown;
    cost.weight_bytes = few[i].weight_bytes + (few[i].bytes - kFew * grown);
    for (const int parameter : few[i].parameters) {
      if (!seen[parameter]) cost.parameters.push_back(parameter);
      seen[parameter] = true;
    }
    std::ranges::sort(cost.parameters);
    if (const auto product = OfOneSample(few[i].product, many[i].product, kFew)) {
      cost.products = {*product};
    }
    costs.push_back(std::move(cost));
  }
  OperationCost nothing;
  nothing.kind = "elementwise";
  for (size_t p = 0; p < seen.size(); ++p) {
    if (!seen[p]) nothing.parameters.push_back(static_cast<int>(p));
  }
  if (nothing.parameters.empty()) return costs;
  if (unread == Unread::kRefused) {
    throw Error("model: parameter", parameters[nothing.parameters.front()].first,
                "parameters that take part in the forward pass");
  }
  costs.insert(costs.begin(), std::move(nothing));
  return costs;
}

}  // namespace legacy
