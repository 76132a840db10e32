#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "compress/exchange.h"
#include "compress/gradients/gradients.h"
#include "compress/kernel_costs.h"
#include "scenarios/codec/property_check.h"

namespace legacy {
namespace {

constexpr int kWorkers = 3;
constexpr int64_t kSteps = 8;

std::vector<Unit> UnitsOf() {
  std::vector<Unit> units;
  for (const auto& shape : std::vector<std::vector<int64_t>>{{1}, {7}, {300}, {24, 40}}) {
    int64_t numel = 1;
    for (const int64_t side : shape) numel *= side;
    units.push_back({.id = 3, .name = "3", .shape = shape, .offset = 0, .numel = numel});
  }
  return units;
}

std::vector<double> ParametersOf(const ParameterSpec& spec) {
  if (spec.Kind() == ParameterKind::kNone) return {1};
  return {spec.fallback, spec.maximum};
}

// A Round is one step of an exchange among all workers.
struct Round {
  std::vector<std::vector<Bytes>> messages;  // by call and worker
  std::vector<float> mean;
};

UnitStep StepOf(int64_t step, double parameter) {
  return {.info = {.seed = 1,
                   .step = step,
                   .total_steps = kSteps,
                   .learning_rate = 0.1,
                   .link = {.latency_seconds = 1e-5, .seconds_per_byte = 8e-10}},
          .parameter = parameter};
}

std::vector<float> GradientOf(const Unit& unit, int64_t step, int worker) {
  return DrawGradient("gaussian:n=" + std::to_string(unit.numel), static_cast<uint32_t>(worker),
                      static_cast<uint64_t>(step));
}

Round Take(Exchange& exchange, const Unit& unit, int64_t step, double parameter) {
  Round round;
  exchange.Begin(StepOf(step, parameter));
  while (exchange.NextCall()) {
    std::vector<Bytes> sent;
    for (int w = 0; w < kWorkers; ++w) {
      const std::vector<float> gradient = GradientOf(unit, step, w);
      const bool first = round.messages.empty();
      sent.push_back(exchange.Encode(w, first ? gradient : std::span<const float>()).bytes);
    }
    for (int w = 0; w < kWorkers; ++w) exchange.Accumulate(w, sent[static_cast<size_t>(w)]);
    exchange.FinishCall();
    round.messages.push_back(std::move(sent));
  }
  round.mean.resize(static_cast<size_t>(unit.numel));
  exchange.Mean(round.mean);
  return round;
}

// Calls check(unit, parameter) for all cases. Returns their number as text.
std::string ForAll(const Scheme& scheme,
                   const std::function<void(const Unit&, double, const std::string&)>& check) {
  int cases = 0;
  for (const Unit& unit : UnitsOf()) {
    for (const double parameter : ParametersOf(scheme.Parameter())) {
      check(unit, parameter, fmt::format("{} values, parameter {}", unit.numel, parameter));
      ++cases;
    }
  }
  return fmt::format("{} cases of {} workers and {} steps", cases, kWorkers, kSteps);
}

std::string Costs(const Scheme& scheme) {
  return ForAll(scheme, [&](const Unit& unit, double parameter, const std::string&) {
    const auto calls = scheme.Plan(unit, parameter, kWorkers);
    for (const PlannedCall& planned : calls.value_or(std::vector<PlannedCall>())) {
      for (const WorkList* list : {&planned.call.encode, &planned.call.decode}) {
        for (const Work& work : *list) {
          if (!work.kernel.empty()) CostOf(work.kernel);
        }
      }
    }
  });
}

std::string Repeats(const Scheme& scheme) {
  return ForAll(scheme, [&](const Unit& unit, double parameter, const std::string& text) {
    const auto one = scheme.Open(unit, kWorkers), other = scheme.Open(unit, kWorkers);
    for (int64_t step = 0; step < kSteps; ++step) {
      const Round first = Take(*one, unit, step, parameter);
      const Round second = Take(*other, unit, step, parameter);
      Expect(first.messages == second.messages && first.mean == second.mean,
             [&] { return text + ": the same gradients give other bytes"; });
    }
  });
}

std::string Lengths(const Scheme& scheme) {
  int known = 0;
  const std::string cases = ForAll(scheme, [&](const Unit& unit, double parameter,
                                               const std::string& text) {
    const auto plan = scheme.Plan(unit, parameter, kWorkers);
    if (!plan) return;
    ++known;
    const auto exchange = scheme.Open(unit, kWorkers);
    const int64_t dense = scheme.Traits().dense_steps;
    const Round round = Take(*exchange, unit, std::min(dense, kSteps - 1), parameter);
    if (dense >= kSteps) return;
    Expect(round.messages.size() == plan->size(), [&] {
      return fmt::format("{}: {} collective calls, Plan said {}", text, round.messages.size(),
                         plan->size());
    });
    for (size_t c = 0; c < plan->size(); ++c) {
      const bool one = (*plan)[c].call.collective == Collective::kBroadcast;
      const auto root = static_cast<size_t>(one ? (*plan)[c].call.root : 0);
      const auto bytes = std::ssize(round.messages[c][root]);
      Expect(one || bytes == (*plan)[c].bytes, [&] {
        return fmt::format("{}: call {}: {} bytes, Plan said {}", text, c, bytes, (*plan)[c].bytes);
      });
    }
  });
  return cases + (known == 0 ? ", lengths depend on the data" : "");
}

std::string Means(const Scheme& scheme) {
  return ForAll(scheme, [&](const Unit& unit, double parameter, const std::string& text) {
    const auto exchange = scheme.Open(unit, kWorkers);
    for (int64_t step = 0; step < kSteps; ++step) {
      const Round round = Take(*exchange, unit, step, parameter);
      for (const float value : round.mean) {
        Expect(std::isfinite(value), [&] {
          return fmt::format("{}, step {}: a value of the mean is not finite", text, step);
        });
      }
    }
  });
}

// With equal gradients, a residual may grow to as many of them as wait for their turn.
std::string StaysBounded(const Scheme& scheme) {
  constexpr double kBlownUp = 1e4;
  constexpr int64_t kLong = 300;
  const Unit unit = UnitsOf().back();
  int tried = 0;
  for (const double parameter : ParametersOf(scheme.Parameter())) {
    if (!scheme.UsesErrorFeedback(parameter)) continue;
    ++tried;
    const auto exchange = scheme.Open(unit, kWorkers);
    for (int64_t step = 0; step < kLong; ++step) {
      Take(*exchange, unit, step, parameter);
      for (const float r : exchange->Residual(0)) {
        Expect(std::abs(r) < kBlownUp, [&] {
          return fmt::format("parameter {}: the residual grows to {} in step {}", parameter, r,
                             step);
        });
      }
    }
  }
  return tried == 0 ? "error feedback is not allowed" : fmt::format("{} steps", tried * kLong);
}

std::string GoesOn(const Scheme& scheme) {
  return ForAll(scheme, [&](const Unit& unit, double parameter, const std::string& text) {
    const auto whole = scheme.Open(unit, kWorkers);
    for (int64_t step = 0; step < kSteps / 2; ++step) Take(*whole, unit, step, parameter);
    const auto loaded = scheme.Open(unit, kWorkers);
    loaded->Load(whole->Save());
    for (int64_t step = kSteps / 2; step < kSteps; ++step) {
      Expect(
          Take(*whole, unit, step, parameter).mean == Take(*loaded, unit, step, parameter).mean,
          [&] { return fmt::format("{}, step {}: loaded state gives another mean", text, step); });
    }
  });
}

std::string RefusesInput(const Scheme& scheme) {
  const Unit unit = UnitsOf().back();
  const ParameterSpec& spec = scheme.Parameter();
  for (const float bad : {INFINITY, NAN}) {
    std::vector<float> values = GradientOf(unit, 0, 0);
    values[33] = bad;
    Expect(Refused([&] {
             const auto exchange = scheme.Open(unit, kWorkers);
             exchange->Begin(StepOf(scheme.Traits().dense_steps, spec.fallback));
             exchange->NextCall();
             exchange->Encode(0, values);
           }),
           [&] { return fmt::format("a gradient with {} is encoded", bad); });
  }
  if (spec.Kind() == ParameterKind::kNone) return "values";
  for (const double bad : {spec.minimum - 0.5, spec.maximum + 0.5, double{NAN}}) {
    Expect(Refused([&] { scheme.Open(unit, kWorkers)->Begin(StepOf(0, bad)); }),
           [&] { return fmt::format("{} = {} is taken", spec.name, bad); });
  }
  return "values, parameters";
}

// Checks that every changed message is either accepted or refused, and that the mean of the
// accepted ones can be computed.
std::string SurvivesHostileBytes(const Scheme& scheme) {
  constexpr int kRounds = 600;
  RandomStream stream({.seed = 77});
  const std::vector<Unit> units = UnitsOf();
  int refused = 0;
  for (int i = 0; i < kRounds; ++i) {
    const Unit& unit = units[stream.Below(static_cast<uint32_t>(units.size()))];
    const auto exchange = scheme.Open(unit, kWorkers);
    const uint32_t hostile = stream.Below(3);
    uint32_t call = 0;
    refused += Refused([&] {
      exchange->Begin(StepOf(i % kSteps, scheme.Parameter().fallback));
      for (; exchange->NextCall(); ++call) {
        std::vector<Bytes> sent;
        for (int w = 0; w < kWorkers; ++w) {
          const std::vector<float> gradient = GradientOf(unit, i, w);
          sent.push_back(
              exchange->Encode(w, call == 0 ? gradient : std::span<const float>()).bytes);
        }
        if (call == hostile % 2) sent[hostile] = Mutated(sent[hostile], stream);
        for (int w = 0; w < kWorkers; ++w) exchange->Accumulate(w, sent[static_cast<size_t>(w)]);
        exchange->FinishCall();
      }
      std::vector<float> mean(static_cast<size_t>(unit.numel));
      exchange->Mean(mean);
    });
  }
  Expect(refused > 0, [] { return "no broken message is refused"; });
  return fmt::format("{} exchanges, {} refused", kRounds, refused);
}

}  // namespace

std::vector<CheckedProperty> CheckScheme(const std::string& text) {
  const std::unique_ptr<Scheme> scheme = MakeScheme(text);
  const auto of = [&](std::string (*check)(const Scheme&)) {
    return [&scheme, check] { return check(*scheme); };
  };
  return {TryApart("costs of its kernels", of(Costs)),
          TryApart("equal bytes from equal input", of(Repeats)),
          TryApart("length", of(Lengths)),
          TryApart("finite means", of(Means)),
          TryApart("bounded residual", of(StaysBounded)),
          TryApart("saved and loaded", of(GoesOn)),
          TryApart("refuses wrong input", of(RefusesInput)),
          TryApart("hostile bytes", of(SurvivesHostileBytes))};
}

}  // namespace legacy
