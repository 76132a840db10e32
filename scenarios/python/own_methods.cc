// Codecs and policies that are Python classes (legacy.Codec, legacy.Policy), as rows of the tables
// of methods. Python runs one thread at a time, so every call of a class takes Python's lock.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/vector.h"
#include "compress/kernel_costs.h"
#include "compress/registry/load_plugins.h"
#include "compress/registry/registry.h"
#include "scenarios/python/bindings.h"

namespace legacy::python {
namespace {

py::module_ Own() { return py::module_::import("legacy._own"); }

// Returns body(), called with Python's lock. Python exceptions become an Error that says where they
// occurred.
template <typename Body>
auto InPython(const std::string& where, const Body& body) {
  const py::gil_scoped_acquire lock;
  try {
    return body();
  } catch (const py::error_already_set& raised) {
    throw Error(where + ": " +
                Own().attr("describe")(raised.value(), raised.trace()).cast<std::string>());
  } catch (const py::builtin_exception& error) {  // the returned object has the wrong type
    throw Error(where + ": " + error.what());
  }
}

// A Held is a Python object that a thread without the lock may destroy.
class Held {
 public:
  explicit Held(py::object object) : object_(std::move(object)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    const py::gil_scoped_acquire lock;
    object_ = py::object();
  }
  py::detail::str_attr_accessor attr(const char* name) const { return object_.attr(name); }

 private:
  py::object object_;
};

// Returns a copy, which the Python object may keep.
template <typename Number>
py::array_t<Number> CopyOf(std::span<const Number> values) {
  return py::array_t<Number>(static_cast<py::ssize_t>(values.size()), values.data());
}

class PythonCodec : public Codec {
  std::string Where(const char* method) const { return "codec " + name_ + ": " + method; }

  // Calls body(the object's method) with Python's lock.
  template <typename Body>
  auto Call(const char* method, const Body& body) const {
    return InPython(Where(method), [&] { return body(object_.attr(method)); });
  }

 public:
  // The caller holds the lock.
  PythonCodec(std::string name, py::object object) : name_(std::move(name)), object_(object) {
    const py::object parameter = object.attr("parameter");
    if (!parameter.is_none()) {
      spec_ = {.name = parameter.attr("name").cast<std::string>(),
               .minimum = parameter.attr("minimum").cast<double>(),
               .maximum = parameter.attr("maximum").cast<double>(),
               .integer = parameter.attr("integer").cast<bool>(),
               .fallback = parameter.attr("default").cast<double>(),
               .help = parameter.attr("help").cast<std::string>(),
               .volume_falls = parameter.attr("volume_falls").cast<bool>()};
      CheckParameter(spec_, spec_.fallback);
    }
    feedback_ = object.attr("error_feedback").cast<bool>();
    encode_kernel_ = CostOf(object.attr("encode_kernel").cast<std::string>()).name;
    decode_kernel_ = CostOf(object.attr("decode_kernel").cast<std::string>()).name;
  }

  std::string_view Name() const override { return name_; }
  const ParameterSpec& Parameter() const override { return spec_; }
  bool Linear(int64_t, double) const override { return false; }
  bool AllowsErrorFeedback(double) const override { return feedback_; }

  int64_t ElementsSent(int64_t numel, double parameter) const override {
    const auto sent = Call("sent", [&](const auto& method) {
      return method(numel, parameter).template cast<int64_t>();
    });
    if (sent >= 0 && sent <= numel) return sent;
    throw Error(Where("sent") + ": returned", std::to_string(sent),
                "0 to " + std::to_string(numel));
  }

  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override {
    const auto length = Length(unit.numel, parameter);
    return length ? std::optional(kHeaderBytes + *length) : std::nullopt;
  }

  WorkList EncodeWork(int64_t numel, const CodecContext&) const override {
    return {{encode_kernel_, numel}};
  }
  WorkList DecodeWork(int64_t numel, double) const override { return {{decode_kernel_, numel}}; }

  Message Encode(std::span<const float> values, const CodecContext& context) const override {
    CheckParameter(spec_, context.parameter);
    const int64_t numel = CheckedNumel(values);
    CheckFinite(values, context.unit);
    Message message = StartMessage(HeaderOf(numel, context), numel);
    Call("encode", [&](const auto& method) {
      const py::array_t<double> numbers = NumbersOf(context);
      const py::bytes payload = method(CopyOf(values), ContextObject(context, numbers));
      if (context.state != nullptr) {
        std::copy_n(numbers.data(), context.state->numbers.size(), context.state->numbers.begin());
      }
      const ByteSpan bytes = SpanOf(payload);
      message.bytes.insert(message.bytes.end(), bytes.begin(), bytes.end());
    });
    const auto length = Length(numel, context.parameter);
    const int64_t bytes = message.size() - kHeaderBytes;
    if (length && *length != bytes) {
      throw Error(Where("encode") + ": returned", std::to_string(bytes) + " bytes",
                  std::to_string(*length) + ", as length says");
    }
    return message;
  }

  void DecodeAdd(ByteSpan message, const CodecContext& context,
                 std::span<float> sum) const override {
    const auto numel = static_cast<int64_t>(sum.size());
    const Header header = HeaderOf(numel, context);
    const auto length = Length(numel, context.parameter);
    const ByteSpan payload =
        length ? CheckedPayload(message, header, *length) : CheckedPayload(message, header);
    std::vector<float> decoded(sum.size());
    Call("decode_add", [&](const auto& method) {
      const py::array_t<float> own = ZeroArray(numel);
      const py::bytes bytes(reinterpret_cast<const char*>(payload.data()), payload.size());
      method(bytes, own, ContextObject(context, py::none()));
      std::copy_n(own.data(), decoded.size(), decoded.begin());
    });
    CheckFinite(decoded, context.unit);
    cpu::Add(decoded, sum);
  }

 private:
  Header HeaderOf(int64_t numel, const CodecContext& context) const {
    return {.codec = static_cast<uint8_t>(CodecId::kUser),
            .values = ValueType::kUser,
            .unit = context.unit,
            .numel = static_cast<uint32_t>(numel),
            .count = static_cast<uint32_t>(ElementsSent(numel, context.parameter))};
  }

  std::optional<int64_t> Length(int64_t numel, double parameter) const {
    const auto length = Call("length", [&](const auto& method) {
      return method(numel, parameter).template cast<std::optional<int64_t>>();
    });
    if (!length || *length >= 0) return length;
    throw Error(Where("length") + ": returned", std::to_string(*length), "0 and more, or None");
  }

  static py::array_t<double> NumbersOf(const CodecContext& context) {
    py::array_t<double> numbers(static_cast<py::ssize_t>(CodecState().numbers.size()));
    const CodecState state = context.state == nullptr ? CodecState() : *context.state;
    std::ranges::copy(state.numbers, numbers.mutable_data());
    return numbers;
  }

  static py::object ContextObject(const CodecContext& context, const py::object& numbers) {
    return Own().attr("Context")(context.unit, context.parameter, context.random.seed,
                                 context.random.step, context.random.worker, numbers);
  }

  const std::string name_;
  const Held object_;
  ParameterSpec spec_;
  bool feedback_ = true;
  std::string encode_kernel_, decode_kernel_;
};

class PythonPolicy : public Policy {
 public:
  // The caller holds the lock.
  PythonPolicy(std::string name, const py::object& object)
      : name_(std::move(name)),
        object_(object),
        reads_clock_(object.attr("reads_clock").cast<bool>()),
        reads_gradient_(object.attr("reads_gradient").cast<bool>()),
        reads_mean_(object.attr("reads_mean_gradient").cast<bool>()) {}

  std::string_view Name() const override { return name_; }
  PolicyTraits Traits() const override { return {.reads_clock = reads_clock_}; }
  bool ReadsLocalGradient() const override { return reads_gradient_; }
  bool ReadsMeanGradient() const override { return reads_mean_; }

  void Decide(const StepInfo& step, std::span<const Unit> units,
              std::span<double> parameters) override {
    std::string reason;
    Call("decide", [&](const auto& method) {
      const py::object decided = method(StepObject(step));
      if (py::isinstance<py::float_>(decided) || py::isinstance<py::int_>(decided)) {
        std::ranges::fill(parameters, decided.cast<double>());
      } else {
        const auto all = decided.cast<std::vector<double>>();
        if (all.size() != parameters.size()) {
          throw Error(Where("decide") + ": returned", std::to_string(all.size()) + " parameters",
                      std::to_string(parameters.size()) + ", or one for all");
        }
        std::ranges::copy(all, parameters.begin());
      }
      reason = object_.attr("reason").template cast<std::string>();
    });
    if (std::ranges::equal(parameters, last_)) return;
    last_.assign(parameters.begin(), parameters.end());
    if (log().Started()) log().Begin();  // the first parameters are not a decision
    log().AddAll(step.step, parameters, reason);
    static_cast<void>(units);
  }

  void OnLocalGradient(size_t unit, std::span<const float> gradient,
                       std::span<const float> error_fed) override {
    Call("on_gradient",
         [&](const auto& method) { method(unit, CopyOf(gradient), CopyOf(error_fed)); });
  }

  void OnFeedback(const StepFeedback& feedback) override {
    Call("on_feedback", [&](const auto& method) {
      py::object mean = py::none();
      if (reads_mean_) mean = CopyOf(feedback.mean_gradient);
      py::object clock = py::none();
      if (reads_clock_) {
        clock = Own().attr("Times")(feedback.simulated_seconds, feedback.compute_seconds,
                                    feedback.codec_seconds, feedback.communication_seconds);
      }
      method(Own().attr("Feedback")(feedback.step, feedback.loss, mean, feedback.message_bytes,
                                    CopyOf(feedback.unit_bytes), clock));
    });
  }

  Bytes Save() const override {
    return InPython(Where("save"), [&] {
      const py::bytes state = object_.attr("save")();
      const ByteSpan bytes = SpanOf(state);
      return Bytes(bytes.begin(), bytes.end());
    });
  }
  void Load(ByteSpan state) override {
    Call("load", [&](const auto& method) {
      method(py::bytes(reinterpret_cast<const char*>(state.data()), state.size()));
    });
  }

 private:
  std::string Where(const char* method) const { return "policy " + name_ + ": " + method; }

  template <typename Body>
  void Call(const char* method, const Body& body) {
    InPython(Where(method), [&] { body(object_.attr(method)); });
  }

  // Returns the step as a Python object. Only policies that read the clock get the estimate of the
  // link.
  py::object StepObject(const StepInfo& step) const {
    py::object link = py::none();
    if (reads_clock_) {
      link = Own().attr("Link")(step.link.latency_seconds, step.link.seconds_per_byte);
    }
    return Own().attr("Step")(step.step, step.total_steps, step.learning_rate, step.steps_per_epoch,
                              link);
  }

  const std::string name_;
  const Held object_;
  const bool reads_clock_, reads_gradient_, reads_mean_;
  std::vector<double> last_;
};

// Returns the object that the class with that name makes from the texts of its options. The caller
// holds the lock.
py::object MakeObject(const std::string& name, std::span<const OptionSpec> specs,
                      const OptionReader& reader) {
  py::dict texts;
  for (const OptionSpec& spec : specs) texts[py::str(spec.name)] = reader.Text(spec.name);
  return Own().attr("make")(name, texts);
}

std::unique_ptr<Codec> MakePythonCodec(std::span<const Stage> stages) {
  const std::string& name = stages.front().name;
  const MethodInfo& info = FindRow("codec", name, CodecTable()).info;
  const OptionReader reader(stages.front(), info.options);
  return InPython("codec " + name, [&] {
    return std::make_unique<PythonCodec>(name, MakeObject(name, info.options, reader));
  });
}

py::object TrainingOf(const PolicyContext& context) {
  py::list layers;
  for (const Unit& unit : context.units) {
    layers.append(Own().attr("Layer")(unit.name, py::tuple(py::cast(unit.shape)), unit.numel));
  }
  const ParameterSpec& spec = context.scheme->Parameter();
  return Own().attr("Training")(layers, context.workers, context.total_steps,
                                context.steps_per_epoch, context.parameter, spec.minimum,
                                spec.maximum, context.seed);
}

MethodInfo InfoOf(const std::string& name, const std::string& help,
                  const std::vector<std::array<std::string, 3>>& options) {
  MethodInfo info{.name = name, .help = help, .paper = ""};
  for (const auto& [option, fallback, allowed] : options) {
    info.options.push_back({option, fallback, allowed, ""});
  }
  return info;
}

const MethodTables& Tables() {
  static const MethodTables tables("Python");
  return tables;
}

}  // namespace

void BindOwnMethods(py::module_& module) {
  using Options = std::vector<std::array<std::string, 3>>;  // name, default, what is allowed
  module.def("add_codec",
             [](const std::string& name, const std::string& help, const Options& options) {
               Tables().Add(CodecRow{.info = InfoOf(name, help, options), .make = MakePythonCodec});
             });
  module.def("add_policy",
             [](const std::string& name, const std::string& help, const Options& options) {
               const MethodInfo info = InfoOf(name, help, options);
               const auto make = [info](const OptionReader& reader,
                                        const PolicyContext& context) -> std::unique_ptr<Policy> {
                 return InPython("policy " + info.name, [&] {
                   py::object object = MakeObject(info.name, info.options, reader);
                   object.attr("training") = TrainingOf(context);
                   object.attr("begin")();
                   return std::make_unique<PythonPolicy>(info.name, object);
                 });
               };
               Tables().Add(PolicyRow{.info = info, .make = make});
             });
  module.def("load_plugin", [](const std::string& file) {
    const char* const line[] = {"legacy", "--plugin", file.c_str()};
    LoadPlugins(3, line);
  });
}

}  // namespace legacy::python
