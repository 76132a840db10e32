// legacy.policy runs a policy with the exchanges that it controls, step by step.
#include "compress/policy.h"

#include <memory>
#include <optional>

#include "base/error.h"
#include "compress/cpu/vector.h"
#include "scenarios/python/bindings.h"
#include "scenarios/python/compressed_model.h"
#include "trainer/aggregation.h"
#include "trainer/host_exchange.h"

namespace legacy::python {
namespace {

// A SteppedPolicy is the compressing part of a training; the caller provides the gradients.
class SteppedPolicy {
 public:
  explicit SteppedPolicy(const ModelRequest& request) : steps_per_epoch_(request.steps_per_epoch) {
    CompressedModel model = BuildModel(request);
    numel_ = model.numel();
    scenario_ = std::move(model.scenario);
    built_ = std::move(model.built);
    aggregation_.emplace(model.plan, *built_.policy, scenario_.workers,
                         std::make_unique<HostModelExchange>(*built_.scheme, model.plan.units,
                                                             scenario_.workers, pool_));
    aggregation_->SetMessageHook([this](const MessageInfo& info, const Bytes& bytes) {
      if (keeps_messages_) messages_.emplace_back(info, bytes);
    });
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const Unit& unit : Units()) names.push_back(unit.name);
    return names;
  }
  const BuiltMethod& built() const { return built_; }
  int64_t step() const { return step_; }
  int workers() const { return scenario_.workers; }
  int64_t numel() const { return numel_; }

  // `gradients` has a flat gradient for each worker. If it is empty, the policy decides, and
  // nothing is exchanged.
  py::dict Step(const std::vector<Floats>& gradients, double learning_rate, double latency,
                double bandwidth, bool keeps_messages) {
    if (step_ >= scenario_.steps) {
      throw Error("steps", std::to_string(scenario_.steps),
                  "more: all of them are done (the policy was made for so many)");
    }
    if (waits_) Feedback({}, std::nullopt, 0);  // the caller gave no feedback on the last step
    CheckGradients(gradients);
    const StepInfo info{.seed = scenario_.seed,
                        .step = step_,
                        .total_steps = scenario_.steps,
                        .learning_rate = learning_rate,
                        .steps_per_epoch = steps_per_epoch_,
                        .link = {.latency_seconds = latency, .seconds_per_byte = 8 / bandwidth},
                        .active_workers = {}};
    exchanged_ = !gradients.empty();
    keeps_messages_ = keeps_messages;
    messages_.clear();
    waits_ = true;
    py::dict result;
    result["step"] = step_++;
    if (!exchanged_) {
      std::vector<double> parameters(Units().size());
      DecideParameters(*built_.policy, info, Units(), parameters);
      result["parameters"] = py::array_t<double>(py::cast(parameters));
      return result;
    }
    mean_.assign(static_cast<size_t>(numel_), 0);
    {
      const py::gil_scoped_release others_run;
      Exchange(gradients, info, learning_rate);
    }
    std::vector<double> parameters;
    std::vector<int64_t> elements, bytes;
    for (const UnitOutcome& outcome : aggregation_->Outcomes()) {
      parameters.push_back(outcome.parameter);
      elements.push_back(outcome.elements);
      bytes.push_back(outcome.bytes);
    }
    result["parameters"] = py::array_t<double>(py::cast(parameters));
    result["elements"] = py::array_t<int64_t>(py::cast(elements));
    result["bytes"] = py::array_t<int64_t>(py::cast(bytes));
    result["mean"] = py::array_t<float>(py::ssize_t_cast(mean_.size()), mean_.data());
    if (keeps_messages) result["messages"] = Messages();
    return result;
  }

  // Gives the policy feedback on the last step. `mean_gradient` is for steps without gradients.
  void Feedback(const StepTimes& times, const std::optional<Floats>& mean_gradient, double loss) {
    if (!waits_) throw Error("feedback: allowed once after each step");
    waits_ = false;
    StepFeedback feedback{.step = step_ - 1, .loss = loss, .mean_gradient = mean_};
    if (exchanged_) return aggregation_->OnFeedback(feedback, aggregation_->Buckets(), times);
    feedback.mean_gradient = {};
    if (mean_gradient) feedback.mean_gradient = SpanOf(*mean_gradient);
    if (mean_gradient && mean_gradient->size() != numel_) {
      throw Error("mean_gradient", std::to_string(mean_gradient->size()) + " values",
                  std::to_string(numel_));
    }
    feedback.simulated_seconds = times.simulated_seconds;
    feedback.compute_seconds = times.compute_seconds;
    feedback.codec_seconds = times.codec_seconds;
    feedback.communication_seconds = times.communication_seconds;
    const std::vector<double> none(Units().size());
    feedback.unit_bytes = none;
    feedback.unit_exposed_seconds = none;
    built_.policy->OnFeedback(feedback);
  }

  py::list Decisions() {
    py::list decisions;
    for (const Decision& decision : built_.policy->TakeDecisions()) {
      decisions.append(DecisionDict(decision, Units()));
    }
    return decisions;
  }

  py::array_t<float> Residual(int worker) {
    if (worker < 0 || worker >= workers()) {
      throw Error("worker", std::to_string(worker), "0 to " + std::to_string(workers() - 1));
    }
    py::array_t<float> all = ZeroArray(numel_);
    for (size_t u = 0; u < Units().size(); ++u) {
      const auto held = aggregation_->exchange().CopyResidual(static_cast<int>(u), worker);
      std::ranges::copy(held, all.mutable_data() + Units()[u].offset);
    }
    return all;
  }

 private:
  std::span<const Unit> Units() const { return aggregation_->plan().units; }

  // Returns the step's messages; those of the policy have no unit.
  py::list Messages() const {
    py::list messages;
    for (const auto& [info, bytes] : messages_) {
      messages.append(py::dict(py::arg("unit") = info.unit < 0 ? py::object(py::none())
                                                               : py::object(py::int_(info.unit)),
                               py::arg("call") = info.call, py::arg("worker") = info.worker,
                               py::arg("message") = BytesOf(bytes)));
    }
    return messages;
  }

  void CheckGradients(const std::vector<Floats>& gradients) const {
    if (gradients.empty()) return;
    if (gradients.size() != static_cast<size_t>(workers())) {
      throw Error("gradients", "those of " + std::to_string(gradients.size()) + " workers",
                  std::to_string(workers()));
    }
    for (const Floats& gradient : gradients) {
      if (gradient.size() == numel_) continue;
      throw Error("gradients", std::to_string(gradient.size()) + " values",
                  std::to_string(numel_) + ", those of all layers");
    }
  }

  void Exchange(const std::vector<Floats>& gradients, const StepInfo& info, double rate) {
    if (scenario_.rescale_residuals && rate > 0 && last_rate_ > 0 && rate != last_rate_) {
      aggregation_->RescaleResiduals(static_cast<float>(last_rate_ / rate));
    }
    last_rate_ = rate;
    aggregation_->Begin(info);
    const std::optional<double> limit = built_.scheme->LocalClipNorm(workers());
    std::vector<float> clipped;
    for (size_t w = 0; w < gradients.size(); ++w) {
      std::span<const float> gradient = SpanOf(gradients[w]);
      if (limit) {
        clipped.assign(gradient.begin(), gradient.end());
        const float factor = ClipFactor(*limit, cpu::SquaredNorm(clipped));
        if (factor < 1) cpu::Scale(clipped, factor);
        gradient = clipped;
      }
      aggregation_->AddGradient(static_cast<int>(w), gradient.data(), [&](size_t u) {
        return gradient.subspan(Units()[u].offset, Units()[u].numel);
      });
    }
    aggregation_->Finish(mean_.data());
  }

  Scenario scenario_;
  int64_t steps_per_epoch_;
  BuiltMethod built_;
  WorkerPool pool_{1};
  std::optional<Aggregation> aggregation_;
  int64_t numel_ = 0;
  int64_t step_ = 0;        // number of the next step
  bool exchanged_ = false;  // true where the last step exchanged gradients
  bool waits_ = false;      // true while the last step's feedback is missing
  double last_rate_ = 0;
  std::vector<float> mean_;
  bool keeps_messages_ = false;
  std::vector<std::pair<MessageInfo, Bytes>> messages_;  // of the last step
};

py::list PolicyMethods() {
  py::list methods;
  for (const PolicyRow& row : PolicyTable()) methods.append(DictOf(row.info));
  return methods;
}

}  // namespace

void BindPolicies(py::module_& module) {
  py::class_<SteppedPolicy>(module, "SteppedPolicy", "A policy made by legacy.policy.make().")
      .def(py::init([](const std::string& policy, const std::string& scheme,
                       const std::string& scope, const GivenParameter& parameter,
                       const std::vector<Layer>& layers, int64_t steps_per_epoch,
                       const NamedTexts& options) {
        return std::make_unique<SteppedPolicy>(
            ModelRequest{policy, scheme, scope, parameter, layers, steps_per_epoch, options});
      }))
      .def_property_readonly("name",
                             [](const SteppedPolicy& self) { return self.built().policy->Name(); })
      .def_property_readonly(
          "names", &SteppedPolicy::Names,
          "Names of the units, which have a parameter each: layers, buckets or the model.")
      .def_property_readonly("description",
                             [](const SteppedPolicy& self) { return self.built().description; })
      .def_property_readonly(
          "parameter", [](const SteppedPolicy& self) { return self.built().parameter; },
          "Anchor of the policy: the uniform parameter, or the average density.")
      .def_property_readonly(
          "reads_clock",
          [](const SteppedPolicy& self) { return self.built().policy->Traits().reads_clock; },
          "True where its decisions depend on times or on the network.")
      .def_property_readonly("step_number", &SteppedPolicy::step,
                             "Number of the next step, from 0.")
      .def_property_readonly("workers", &SteppedPolicy::workers)
      .def_property_readonly("numel", &SteppedPolicy::numel)
      .def("_step", &SteppedPolicy::Step)
      .def(
          "feedback",
          [](SteppedPolicy& self, double loss, double simulated, double compute, double codec,
             double communication, const py::object& mean_gradient) {
            std::optional<Floats> mean;
            if (!mean_gradient.is_none()) mean = FloatsOf(mean_gradient, "mean_gradient");
            self.Feedback({simulated, compute, codec, communication, {}}, mean, loss);
          },
          "Tells the policy the times and results of the last step.", py::kw_only(),
          py::arg("loss") = 0.0, py::arg("simulated_seconds") = 0.0,
          py::arg("compute_seconds") = 0.0, py::arg("codec_seconds") = 0.0,
          py::arg("communication_seconds") = 0.0, py::arg("mean_gradient") = py::none())
      .def("decisions", &SteppedPolicy::Decisions,
           "Returns its decisions since the last call, with their reasons.")
      .def("residual", &SteppedPolicy::Residual, "Returns a worker's residual, flat.",
           py::arg("worker"));
  module.def("check_policy", [](const std::string& text) {
    std::vector<CheckedProperty> found;
    {
      const py::gil_scoped_release others_run;
      found = CheckPolicy(text);
    }
    return ListOf(found);
  });
  module.def("policy_methods", &PolicyMethods);
  module.def("policy_names", &MethodPolicyNames);
}

}  // namespace legacy::python
