// legacy.exchange: the exchanges of one rank, over memory of the caller.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compress/cpu/vector.h"
#include "scenarios/python/bindings.h"
#include "scenarios/python/rank_exchange.h"
#include "trainer/aggregation.h"

namespace legacy::python {
namespace {

template <class T>
T* PointerOf(uintptr_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

py::list ListOf(const std::vector<RefusedUnit>& refused) {
  py::list list;
  for (const RefusedUnit& unit : refused) {
    list.append(py::make_tuple(unit.unit, unit.reason, unit.replaced));
  }
  return list;
}

// Returns (unit, way, root, sums, lengths); lengths are a number if they are equal at all workers,
// a list, or None.
py::list ListOf(const std::vector<OpenCall>& calls) {
  constexpr const char* kWays[] = {"all-reduce", "all-gather", "broadcast", "all-to-all",
                                   "block-sparse"};
  py::list list;
  for (const OpenCall& call : calls) {
    py::object lengths = py::none();
    if (!call.lengths.empty()) {
      const bool equal =
          std::ranges::adjacent_find(call.lengths, std::not_equal_to{}) == call.lengths.end();
      lengths = equal ? py::object(py::int_(call.lengths[0])) : py::object(py::cast(call.lengths));
    }
    list.append(py::make_tuple(call.unit, kWays[static_cast<size_t>(call.collective)], call.root,
                               call.sums, lengths));
  }
  return list;
}

py::dict TraitsOf(const RankExchange& self) {
  const BuiltMethod& built = self.of().built();
  const SchemeTraits scheme = built.scheme->Traits();
  const PolicyTraits policy = built.policy->Traits();
  const std::optional<double> clip = built.scheme->LocalClipNorm(self.of().workers());
  return py::dict(
      py::arg("adaptive") = built.adaptive, py::arg("owns_momentum") = scheme.owns_momentum,
      py::arg("exchanges_momentum") = scheme.momentum_from.has_value(),
      py::arg("compresses_mean") = scheme.compresses_mean, py::arg("clip") = clip,
      py::arg("candidates") = policy.has_candidates, py::arg("reads_clock") = policy.reads_clock,
      py::arg("needs_training") = std::string(policy.needs_training),
      py::arg("rescales") = self.scenario().rescale_residuals);
}

// StepArguments are those of a step.
using StepArguments =
    std::tuple<int64_t, double, double, double>;  // number, rate, latency, bandwidth

StepInfo InfoOf(const RankExchange& self, const StepArguments& step) {
  return std::apply([&](const auto&... part) { return self.Info(part...); }, step);
}

std::vector<ByteSpan> SpansOf(const std::vector<py::bytes>& texts) {
  std::vector<ByteSpan> spans;
  for (const py::bytes& text : texts) spans.push_back(SpanOf(text));
  return spans;
}

using ExchangeClass = py::class_<RankExchange>;
using Units = std::vector<int>;

void BindSteps(ExchangeClass& made) {
  made.def("decide",
           [](RankExchange& self, const StepArguments& step) {
             const DecidedStep decided = self.of().Decide(InfoOf(self, step));
             return py::make_tuple(decided.parameters, decided.candidates, decided.estimate,
                                   self.of().policy().ReadsLocalGradient());
           })
      .def("begin",
           [](RankExchange& self, const StepArguments& step, std::vector<double> parameters,
              std::vector<double> candidates, bool estimate) {
             const py::gil_scoped_release others_run;
             self.Begin(InfoOf(self, step),
                        {std::move(parameters), std::move(candidates), estimate});
           })
      .def("show",
           [](RankExchange& self, int worker, const Units& units, const Addresses& addresses) {
             self.CheckWorker(worker);
             const auto from = self.Pointers<const float>(units, addresses);
             for (size_t i = 0; i < units.size(); ++i) {
               const int64_t numel = self.of().units()[units[i]].numel;
               self.of().Show(worker, units[i], {from[i], static_cast<size_t>(numel)});
             }
           })
      .def("show_mean",
           [](RankExchange& self) {
             for (int unit = 0; unit < std::ssize(self.names()); ++unit) self.of().ShowMean(unit);
           })
      .def("measure",
           [](RankExchange& self, int worker, const Units& units, const Addresses& addresses) {
             self.CheckWorker(worker);
             const auto from = self.Pointers<const float>(units, addresses);
             std::vector<RefusedUnit> refused;
             {
               const py::gil_scoped_release others_run;
               refused = self.of().Measure(worker, units, from);
             }
             return ListOf(refused);
           })
      .def("measured", [](const RankExchange& self, int unit) { return self.of().Measured(unit); })
      .def("agreement", [](RankExchange& self,
                           int worker) { return BytesOf(self.of().EncodeAgreement(worker)); })
      .def("agree",
           [](RankExchange& self, const std::vector<py::bytes>& messages) {
             return self.of().Agree(SpansOf(messages));
           })
      .def("choose", [](RankExchange& self, size_t index) { self.of().Choose(index); })
      .def("announce",
           [](RankExchange& self) -> py::object {
             const std::optional<Bytes> announced = self.of().Announce();
             return announced ? py::object(BytesOf(*announced)) : py::none();
           })
      .def("reads_mean_gradient",
           [](RankExchange& self) { return self.of().policy().ReadsMeanGradient(); })
      .def("feedback",
           [](RankExchange& self, int64_t step, double loss, uintptr_t mean, const StepTimes& times,
              const std::vector<double>& unit_bytes, const std::vector<double>& unit_seconds) {
             StepFeedback feedback{.step = step, .loss = loss};
             const Unit& last = self.of().units().back();
             const auto numel = static_cast<size_t>(last.offset + last.numel);
             if (mean != 0) feedback.mean_gradient = {PointerOf<const float>(mean), numel};
             feedback.simulated_seconds = times.simulated_seconds;
             feedback.compute_seconds = times.compute_seconds;
             feedback.codec_seconds = times.codec_seconds;
             feedback.communication_seconds = times.communication_seconds;
             for (const double bytes : unit_bytes) feedback.message_bytes += bytes;
             feedback.unit_bytes = unit_bytes;
             feedback.unit_exposed_seconds = unit_seconds;
             self.of().policy().OnFeedback(feedback);
           });
}

void BindCalls(ExchangeClass& made) {
  made.def("calls",
           [](const RankExchange& self, const Units& units) {
             self.CheckUnits(units);
             return ListOf(self.of().Calls(units));
           })
      .def(
          "encode",
          [](RankExchange& self, int worker, const Units& units, const Addresses& addresses) {
            self.CheckWorker(worker);
            self.CheckUnits(units);
            std::vector<const float*> from;
            if (!addresses.empty()) from = self.Pointers<const float>(units, addresses);
            std::vector<RefusedUnit> refused;
            {
              const py::gil_scoped_release others_run;
              refused = self.of().Encode(worker, units, from);
            }
            return ListOf(refused);
          },
          py::arg("worker"), py::arg("units"), py::arg("addresses") = Addresses())
      .def("lengths",
           [](const RankExchange& self, const Units& units) {
             self.CheckUnits(units);
             std::vector<std::pair<int64_t, int64_t>> lengths;
             for (const MessageLength& length : self.of().Lengths(units)) {
               lengths.emplace_back(length.bytes, length.header);
             }
             return lengths;
           })
      .def("pack",
           [](RankExchange& self, const Units& units, uintptr_t to) {
             self.CheckUnits(units);
             const py::gil_scoped_release others_run;
             self.of().Pack(units, PointerOf<std::byte>(to));
           })
      .def("pack_sums",
           [](RankExchange& self, const Units& units, uintptr_t to) {
             self.CheckUnits(units);
             const py::gil_scoped_release others_run;
             self.of().PackSums(units, PointerOf<float>(to));
           })
      .def("accumulate",
           [](RankExchange& self, int worker, const Units& units,
              const std::vector<int64_t>& lengths, uintptr_t messages) {
             self.CheckWorker(worker);
             self.CheckUnits(units);
             if (lengths.size() != units.size()) throw Error("lengths: one for each unit");
             const py::gil_scoped_release others_run;
             self.of().Accumulate(worker, units, lengths, PointerOf<const std::byte>(messages));
           })
      .def("accumulate_sums",
           [](RankExchange& self, const Units& units, uintptr_t sums) {
             self.CheckUnits(units);
             const py::gil_scoped_release others_run;
             self.of().AccumulateSums(units, PointerOf<const float>(sums));
           })
      .def("finish",
           [](RankExchange& self, const Units& units) {
             self.CheckUnits(units);
             const py::gil_scoped_release others_run;
             return self.of().Finish(units);
           })
      .def("mean",
           [](const RankExchange& self, const Units& units, const Addresses& addresses) {
             const auto to = self.Pointers<float>(units, addresses);
             const py::gil_scoped_release others_run;
             self.of().Mean(units, to);
           })
      .def("elements", [](const RankExchange& self, const Units& units) {
        self.CheckUnits(units);
        int64_t sum = 0;
        for (const int unit : units) sum += self.of().ElementsSent(unit);
        return sum;
      });
}

void BindStates(ExchangeClass& made) {
  made.def("reset", [](RankExchange& self, int unit) { self.of().Reset(unit); })
      .def("residual",
           [](const RankExchange& self, int worker, int unit) {
             self.CheckWorker(worker);
             const std::span<const float> held = self.of().Residual(worker, unit);
             return py::array_t<float>(py::ssize_t_cast(held.size()), held.data());
           })
      .def("residual_norm",
           [](const RankExchange& self, int worker) {
             double squared = 0;
             for (int unit = 0; unit < std::ssize(self.names()); ++unit) {
               squared += cpu::SquaredNorm(self.of().Residual(worker, unit));
             }
             return squared;
           })
      .def("save",
           [](const RankExchange& self, int unit, int worker) {
             self.CheckWorker(worker);
             return py::make_tuple(BytesOf(self.of().SaveShared(unit)),
                                   BytesOf(self.of().SaveWorker(unit, worker)));
           })
      .def("load",
           [](RankExchange& self, int unit, int worker, const py::bytes& shared,
              const py::bytes& own) {
             self.CheckWorker(worker);
             self.of().Load(unit, worker, SpanOf(shared), SpanOf(own));
           })
      .def("load_mean",
           [](RankExchange& self, int unit, int worker, const py::bytes& shared,
              const std::vector<py::bytes>& states) {
             self.CheckWorker(worker);
             self.of().LoadMean(unit, worker, SpanOf(shared), SpansOf(states));
           })
      .def("save_policy",
           [](RankExchange& self) {
             StateWriter out;
             SavePolicy(self.of().policy(), out);
             return BytesOf(out.Take());
           })
      .def("load_policy",
           [](RankExchange& self, const py::bytes& state) {
             StateReader in(SpanOf(state));
             LoadPolicy(self.of().policy(), in);
           })
      .def_property("last_rate", &RankExchange::last_rate, &RankExchange::SetLastRate)
      .def("decisions", [](RankExchange& self) {
        py::list decisions;
        for (const Decision& decision : self.of().policy().TakeDecisions()) {
          decisions.append(DecisionDict(decision, self.of().units()));
        }
        return decisions;
      });
}

}  // namespace

void BindExchanges(py::module_& module) {
  py::class_<StepTimes>(module, "StepTimes")
      .def(py::init([](double simulated, double compute, double codec, double communication) {
             return StepTimes{simulated, compute, codec, communication, {}};
           }),
           py::arg("simulated_seconds"), py::arg("compute_seconds"), py::arg("codec_seconds"),
           py::arg("communication_seconds"));
  ExchangeClass made(module, "Exchange",
                     "Exchanges of one rank, opened by legacy.exchange.open().");
  made.def(py::init([](const std::string& policy, const std::string& scheme,
                       const std::string& scope, const GivenParameter& parameter,
                       const std::vector<Layer>& layers, int64_t steps_per_epoch,
                       const NamedTexts& options, int workers) {
        return std::make_unique<RankExchange>(
            ModelRequest{policy, scheme, scope, parameter, layers, steps_per_epoch, options},
            workers);
      }))
      .def_property_readonly("names", &RankExchange::names)
      .def_property_readonly("workers",
                             [](const RankExchange& self) { return self.of().workers(); })
      .def_property_readonly("offsets",
                             [](const RankExchange& self) {
                               std::vector<std::pair<int64_t, int64_t>> offsets;
                               for (const Unit& unit : self.of().units()) {
                                 offsets.emplace_back(unit.offset, unit.numel);
                               }
                               return offsets;
                             })
      .def_property_readonly("layers",
                             [](const RankExchange& self) { return self.of().plan().unit_layers; })
      .def_property_readonly("description",
                             [](const RankExchange& self) { return self.of().built().description; })
      .def_property_readonly(
          "scheme",
          [](const RankExchange& self) { return std::string(self.of().built().scheme->Name()); })
      .def_property_readonly(
          "policy", [](RankExchange& self) { return std::string(self.of().policy().Name()); })
      .def_property_readonly("traits", &TraitsOf);
  BindSteps(made);
  BindCalls(made);
  BindStates(made);
  module.def("scheme_names", &SchemeNames);
  // Loops over flat fp32 memory.
  module.def("all_finite", [](uintptr_t values, int64_t numel) {
    return !cpu::FirstNonFinite({PointerOf<const float>(values), static_cast<size_t>(numel)});
  });
  module.def("clip", [](uintptr_t values, int64_t numel, double limit) {
    const std::span all(PointerOf<float>(values), static_cast<size_t>(numel));
    const float factor = ClipFactor(limit, cpu::SquaredNorm(all));
    if (factor < 1) cpu::Scale(all, factor);
  });
}

}  // namespace legacy::python
