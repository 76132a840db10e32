// legacy.codec provides codecs on NumPy arrays.
#include "compress/codec.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "base/error.h"
#include "compress/gradients/gradients.h"
#include "compress/quantiser.h"
#include "compress/sparsifier.h"
#include "scenarios/codec/codec_run.h"
#include "scenarios/codec/gradient_source.h"
#include "scenarios/python/bindings.h"

namespace legacy::python {
namespace {

py::dict SpecDict(const ParameterSpec& spec) {
  return py::dict(py::arg("name") = spec.name, py::arg("minimum") = spec.minimum,
                  py::arg("maximum") = spec.maximum, py::arg("integer") = spec.integer,
                  py::arg("default") = spec.fallback, py::arg("help") = spec.help,
                  py::arg("volume_falls") = spec.volume_falls);
}

// A Key has the values from which a message's random draws follow, as in a training
// (schemes/exchange_base.cc).
struct Key {
  uint64_t seed;
  int64_t step;
  uint32_t worker;
  uint32_t unit;
};

// A MadeCodec is a codec made from a text, with the parameter for calls that give none.
class MadeCodec {
 public:
  MadeCodec(const std::string& text, const std::optional<GivenParameter>& parameter) {
    const size_t at = text.find('@');
    text_ = text.substr(0, at);
    codec_ = MakeCodec(text_);
    parameter_ = codec_->Parameter().fallback;
    if (at != std::string::npos) {
      parameter_ = ParseParameter(text.substr(at + 1), codec_->Parameter(), text_);
    }
    parameter_ = Or(parameter);
    CheckParameter(codec_->Parameter(), parameter_);
  }

  const Codec& codec() const { return *codec_; }
  const std::string& text() const { return text_; }
  double parameter() const { return parameter_; }

  // Returns the parameter of a call, which may give one.
  double Or(const std::optional<GivenParameter>& parameter) const {
    return parameter ? NumberOf(*parameter, codec_->Parameter(), text_) : parameter_;
  }

  CodecContext ContextOf(const std::optional<GivenParameter>& parameter, const Key& key,
                         CodecState* state) const {
    return {.unit = key.unit,
            .parameter = Or(parameter),
            .random = {.seed = key.seed,
                       .step = static_cast<uint64_t>(key.step),
                       .worker = key.worker,
                       .layer = key.unit,
                       .purpose = Purpose::kStochastic},
            .state = state};
  }

  py::bytes Encode(const Floats& values, const std::optional<GivenParameter>& parameter,
                   const Key& key, CodecState* state) const {
    const CodecContext context = ContextOf(parameter, key, state);
    Message message;
    {
      const py::gil_scoped_release others_run;
      message = codec_->Encode(SpanOf(values), context);
    }
    return BytesOf(message.bytes);
  }

  // Changes `residual` in place.
  py::bytes EncodeWithFeedback(const Floats& gradient, Floats residual,
                               const std::optional<GivenParameter>& parameter, const Key& key,
                               CodecState* state) const {
    const std::span<float> held = ChangedSpanOf(residual);
    if (gradient.size() != residual.size()) {
      throw Error("gradient", std::to_string(gradient.size()) + " values",
                  std::to_string(residual.size()) + ", as many as the residual has");
    }
    if (Overlap(SpanOf(gradient), held)) {
      throw Error("residual", "memory of the gradient", "an array of its own: it is changed");
    }
    const CodecContext context = ContextOf(parameter, key, state);
    CheckFeedback(context.parameter);
    Message message;
    {
      const py::gil_scoped_release others_run;
      message = codec_->EncodeWithFeedback(SpanOf(gradient), held, context);
    }
    return BytesOf(message.bytes);
  }

  // Changes `sum` in place.
  void DecodeAdd(const py::bytes& message, Floats sum,
                 const std::optional<GivenParameter>& parameter, const Key& key) const {
    const std::span<float> to = ChangedSpanOf(sum);
    const CodecContext context = ContextOf(parameter, key, nullptr);
    const ByteSpan bytes = SpanOf(message);
    const py::gil_scoped_release others_run;
    codec_->DecodeAdd(bytes, context, to);
  }

  py::array_t<float> Decode(const py::bytes& message, int64_t numel,
                            const std::optional<GivenParameter>& parameter, const Key& key) const {
    CheckNumel(numel);
    py::array_t<float> values = ZeroArray(numel);
    DecodeAdd(message, values, parameter, key);
    return values;
  }

  std::vector<double> SquaredErrors(const Floats& values,
                                    const std::vector<GivenParameter>& parameters,
                                    const Key& key) const {
    const CodecContext context = ContextOf(std::nullopt, key, nullptr);
    std::vector<double> numbers;
    for (const GivenParameter& parameter : parameters) numbers.push_back(Or(parameter));
    const py::gil_scoped_release others_run;
    return codec_->SquaredErrors(SpanOf(values), numbers, context);
  }

  std::optional<int64_t> MessageBytes(int64_t numel,
                                      const std::optional<GivenParameter>& parameter) const {
    CheckNumel(numel);
    const Unit unit{.id = 0, .name = "values", .shape = {numel}, .offset = 0, .numel = numel};
    return codec_->MessageBytes(unit, Checked(parameter));
  }
  int64_t ElementsSent(int64_t numel, const std::optional<GivenParameter>& parameter) const {
    CheckNumel(numel);
    return codec_->ElementsSent(numel, Checked(parameter));
  }
  bool Linear(int64_t numel, const std::optional<GivenParameter>& parameter) const {
    CheckNumel(numel);
    return codec_->Linear(numel, Checked(parameter));
  }
  bool AllowsErrorFeedback(const std::optional<GivenParameter>& parameter) const {
    return codec_->AllowsErrorFeedback(Checked(parameter));
  }

 private:
  static void CheckNumel(int64_t numel) {
    if (numel < 0 || numel > kMaxUnitElements) {
      throw Error("n", std::to_string(numel), "0 to " + std::to_string(kMaxUnitElements));
    }
  }
  static bool Overlap(std::span<const float> a, std::span<const float> b) {
    const std::less<> before;
    return before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
  }
  double Checked(const std::optional<GivenParameter>& parameter) const {
    const double number = Or(parameter);
    CheckParameter(codec_->Parameter(), number);
    return number;
  }
  void CheckFeedback(double parameter) const {
    CheckParameter(codec_->Parameter(), parameter);
    if (codec_->AllowsErrorFeedback(parameter)) return;
    throw Error(text_ + ": error feedback would diverge with this codec and parameter");
  }

  std::string text_;
  std::unique_ptr<const Codec> codec_;
  double parameter_ = 0;
};

py::dict HeaderDict(const py::bytes& message) {
  const Header header = ReadHeader(SpanOf(message));
  return py::dict(
      py::arg("codec") = header.codec, py::arg("index") = static_cast<int>(header.index),
      py::arg("values") = static_cast<int>(header.values), py::arg("unit") = header.unit,
      py::arg("numel") = header.numel, py::arg("count") = header.count);
}

// Returns the table's rows of all codecs.
py::list CodecMethods() {
  py::list methods;
  for (const std::string& name : CodecNames()) {
    py::dict entry = DictOf(CodecInfo(name));
    entry["parameter"] = SpecDict(MakeCodec(name)->Parameter());
    methods.append(entry);
  }
  return methods;
}

template <typename Row>
std::vector<std::string> NamesOf(std::span<const Row> table) {
  std::vector<std::string> names;
  for (const Row& row : table) names.push_back(row.info.name);
  return names;
}

// Returns the losses of one encoding, in double precision.
py::dict MeasureLoss(const Floats& before, const Floats& after) {
  const std::span<const float> x = SpanOf(before);
  const std::span<const float> y = SpanOf(after);
  if (x.size() != y.size()) {
    throw Error("values", std::to_string(x.size()) + " and " + std::to_string(y.size()),
                "two arrays of one length");
  }
  double squared = 0, kept = 0, error = 0, product = 0, largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double difference = double{x[i]} - double{y[i]};
    squared += double{x[i]} * x[i];
    kept += double{y[i]} * y[i];
    error += difference * difference;
    product += double{x[i]} * y[i];
    largest = std::max(largest, std::abs(difference));
  }
  return py::dict(
      py::arg("relative_error") = squared > 0 ? std::sqrt(error / squared) : 0.0,
      py::arg("squared_error") = error, py::arg("largest_error") = largest,
      py::arg("cosine") = squared > 0 && kept > 0 ? product / std::sqrt(squared * kept) : 0.0);
}

const RealGradient* FindReal(const std::string& name) {
  const auto found = std::ranges::find(RealGradients(), name, &RealGradient::name);
  return found == RealGradients().end() ? nullptr : &*found;
}

py::array_t<float> Gradient(const std::string& text, uint32_t worker, uint64_t step) {
  std::vector<float> drawn;
  std::span<const float> values;
  if (const RealGradient* real = FindReal(text)) {
    values = real->values;
  } else {
    drawn = DrawGradient(text, worker, step);
    values = drawn;
  }
  return py::array_t<float>(static_cast<py::ssize_t>(values.size()), values.data());
}

// Returns shapes by name, in the model's order.
py::dict GradientLayers(const std::string& name) {
  py::dict layers;
  GradientOptions options;
  options.real = name;
  const GradientSource source(options);
  for (const Unit& unit : source.units()) {
    layers[py::str(unit.name)] = py::tuple(py::cast(unit.shape));
  }
  return layers;
}

py::list GradientMethods() {
  py::list methods;
  for (const RealGradient& real : RealGradients()) {
    methods.append(DictOf(MethodInfo{
        .name = std::string(real.name), .help = "of a training, as it was", .paper = ""}));
  }
  for (const GradientRow& row : GradientTable()) methods.append(DictOf(row.info));
  return methods;
}

}  // namespace

double NumberOf(const GivenParameter& given, const ParameterSpec& spec, const std::string& where) {
  if (const auto* text = std::get_if<std::string>(&given)) {
    return ParseParameter(*text, spec, where);
  }
  const auto* whole = std::get_if<int64_t>(&given);
  if (whole == nullptr) return std::get<double>(given);
  if (spec.Kind() == ParameterKind::kDensity) {
    RefuseBareOne(std::to_string(*whole), where + ": " + spec.name);
  }
  return static_cast<double>(*whole);
}

namespace {

using CodecClass = py::class_<MadeCodec>;

// CodecArguments has the arguments that several methods share, with their defaults.
struct CodecArguments {
  py::arg_v seed = py::arg("seed") = 1;
  py::arg_v step = py::arg("step") = 0;
  py::arg_v worker = py::arg("worker") = 0;
  py::arg_v unit = py::arg("unit") = 0;
  py::arg_v parameter = py::arg("parameter") = py::none();
  py::arg_v state = py::arg("state") = static_cast<CodecState*>(nullptr);
};

void BindState(py::module_& module) {
  py::class_<CodecState>(
      module, "State",
      "State of one sender for one array between steps: thresholds and ranges of "
      "methods that have them.")
      .def(py::init<>())
      .def("__repr__",
           [](const CodecState& state) {
             const auto used =
                 std::ranges::count_if(state.numbers, [](double n) { return n != 0; });
             return used == 0 ? std::string("State(nothing kept yet)")
                              : "State(numbers kept: " + std::to_string(used) + ")";
           })
      .def_property_readonly("numbers", [](const CodecState& state) {
        return std::vector<double>(state.numbers.begin(), state.numbers.end());
      });
}

void BindFacts(CodecClass& codec, const CodecArguments& with) {
  codec
      .def(py::init<const std::string&, const std::optional<GivenParameter>&>(), py::arg("text"),
           with.parameter)
      .def_property_readonly("name", [](const MadeCodec& self) { return self.codec().Name(); })
      .def_property_readonly("text", &MadeCodec::text)
      .def_property_readonly("parameter", &MadeCodec::parameter)
      .def("__repr__",
           [](const MadeCodec& self) {
             // A bare 1 would be refused for a density.
             const char* const form = self.parameter() == 1 ? "legacy.codec.make({!r}, {!r})"
                                                            : "legacy.codec.make({!r}, {:g})";
             return py::str(form).format(self.text(), self.parameter());
           })
      .def_property_readonly(
          "spec", [](const MadeCodec& self) { return SpecDict(self.codec().Parameter()); });
}

void BindEncoding(CodecClass& codec, const CodecArguments& with) {
  codec
      .def(
          "encode",
          [](const MadeCodec& self, const py::object& values,
             const std::optional<GivenParameter>& p, uint64_t s, int64_t t, uint32_t w, uint32_t u,
             CodecState* kept) {
            return self.Encode(FloatsOf(values, "values"), p, {s, t, w, u}, kept);
          },
          "Returns the bytes of these values' message.", py::arg("values"), with.parameter,
          py::kw_only(), with.seed, with.step, with.worker, with.unit, with.state)
      .def(
          "encode_with_feedback",
          [](const MadeCodec& self, const py::object& gradient, const py::object& residual,
             const std::optional<GivenParameter>& p, uint64_t s, int64_t t, uint32_t w, uint32_t u,
             CodecState* kept) {
            return self.EncodeWithFeedback(FloatsOf(gradient, "gradient"),
                                           ChangedOf(residual, "residual"), p, {s, t, w, u}, kept);
          },
          "Returns the message of gradient + residual; `residual` becomes what it lacks.",
          py::arg("gradient"), py::arg("residual"), with.parameter, py::kw_only(), with.seed,
          with.step, with.worker, with.unit, with.state);
}

void BindDecoding(CodecClass& codec, const CodecArguments& with) {
  codec
      .def(
          "decode",
          [](const MadeCodec& self, const py::bytes& message, int64_t n,
             const std::optional<GivenParameter>& p, uint64_t s, int64_t t, uint32_t u) {
            return self.Decode(message, n, p, {s, t, 0, u});
          },
          "Returns the `n` values that a message encodes.", py::arg("message"), py::arg("n"),
          with.parameter, py::kw_only(), with.seed, with.step, with.unit)
      .def(
          "decode_add",
          [](const MadeCodec& self, const py::bytes& message, const py::object& sum,
             const std::optional<GivenParameter>& p, uint64_t s, int64_t t, uint32_t u) {
            self.DecodeAdd(message, ChangedOf(sum, "sum"), p, {s, t, 0, u});
          },
          "Adds the values that a message encodes to `sum`.", py::arg("message"), py::arg("sum"),
          with.parameter, py::kw_only(), with.seed, with.step, with.unit);
}

void BindSizes(CodecClass& codec, const CodecArguments& with) {
  codec
      .def(
          "squared_errors",
          [](const MadeCodec& self, const py::object& values,
             const std::vector<GivenParameter>& parameters, uint64_t s, int64_t t, uint32_t w,
             uint32_t u) {
            return self.SquaredErrors(FloatsOf(values, "values"), parameters, {s, t, w, u});
          },
          "Returns the squared error, or its expectation, at each of these parameters.",
          py::arg("values"), py::arg("parameters"), py::kw_only(), with.seed, with.step,
          with.worker, with.unit)
      .def("message_bytes", &MadeCodec::MessageBytes,
           "Returns the length of a message of `n` values; None where it depends on them.",
           py::arg("n"), with.parameter)
      .def("elements_sent", &MadeCodec::ElementsSent,
           "Returns how many of `n` values a message has, by the parameter alone.", py::arg("n"),
           with.parameter)
      .def("linear", &MadeCodec::Linear,
           "Returns True where messages can be summed in the network.", py::arg("n"),
           with.parameter)
      .def("allows_error_feedback", &MadeCodec::AllowsErrorFeedback,
           "Returns True where residuals stay bounded.", with.parameter);
}

}  // namespace

void BindCodecs(py::module_& module) {
  BindState(module);
  CodecClass codec(module, "MadeCodec", "A codec made by legacy.codec.make().");
  const CodecArguments with;
  BindFacts(codec, with);
  BindEncoding(codec, with);
  BindDecoding(codec, with);
  BindSizes(codec, with);
  module.def("gradient", &Gradient);
  module.def("gradient_layers", &GradientLayers);
  module.def("gradient_methods", &GradientMethods);
  module.def("codec_methods", &CodecMethods);
  module.def("sparsifier_names", [] { return NamesOf(SparsifierTable()); });
  module.def("quantiser_names", [] { return NamesOf(QuantiserTable()); });
  module.def("check_codec", [](const std::string& text) {
    std::vector<CheckedProperty> found;
    {
      const py::gil_scoped_release others_run;  // one of the properties is about threads
      found = CheckCodec(text);
    }
    return ListOf(found);
  });
  module.def("header", &HeaderDict, py::arg("message"));
  module.def("measure_loss", &MeasureLoss, py::arg("before"), py::arg("after"));
}

}  // namespace legacy::python
