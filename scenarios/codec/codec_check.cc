#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <thread>

#include "base/error.h"
#include "compress/codec.h"
#include "compress/gradients/gradients.h"
#include "compress/kernel_costs.h"
#include "scenarios/codec/property_check.h"

namespace legacy {
namespace {

constexpr int64_t kLengths[] = {1, 2, 7, 64, 65, 1000, 4097};
constexpr uint64_t kSeed = 1;

std::vector<double> Parameters(const ParameterSpec& spec) {
  if (spec.Kind() == ParameterKind::kNone) return {1};
  const double middle = spec.minimum + (spec.maximum - spec.minimum) * 0.4;
  return {spec.minimum, spec.fallback, spec.integer ? std::round(middle) : middle, spec.maximum};
}

CodecContext ContextOf(double parameter, uint64_t step = 0) {
  return {.unit = 3, .parameter = parameter, .random = {.seed = kSeed, .step = step, .layer = 3}};
}

Unit UnitOf(int64_t numel) {
  return {.id = 3, .name = "3", .shape = {numel}, .offset = 0, .numel = numel};
}

// A Case is a codec, a gradient of one kind and length, and a parameter.
struct Case {
  const Codec& codec;
  std::string gradient;
  std::vector<float> values;
  double parameter = 0;

  std::string Text() const {
    return fmt::format("{} of {} values, {} = {}", gradient, values.size(),
                       codec.Parameter().name.empty() ? "parameter" : codec.Parameter().name,
                       parameter);
  }
  std::vector<float> Decoded(const Message& message) const {
    std::vector<float> sum(values.size());
    codec.DecodeAdd(message.bytes, ContextOf(parameter), sum);
    return sum;
  }
};

// Calls check(case) for all cases. Returns their number as text.
std::string ForAll(const Codec& codec, const std::function<void(const Case&)>& check) {
  int cases = 0;
  for (const GradientRow& row : GradientTable()) {
    for (const int64_t n : kLengths) {
      const std::vector<float> values = DrawGradient(row.info.name + ":n=" + std::to_string(n));
      for (const double parameter : Parameters(codec.Parameter())) {
        check({codec, row.info.name, values, parameter});
        ++cases;
      }
    }
  }
  return fmt::format("{} cases", cases);
}

void CheckKernels(const WorkList& list) {
  const std::string fault = FaultIn(list);
  Expect(fault.empty(), [&] { return "work is negative: " + fault; });
  for (const Work& work : list) {
    if (!work.kernel.empty()) CostOf(work.kernel);
  }
}

std::string Costs(const Codec& codec) {
  return ForAll(codec, [&](const Case& one) {
    const auto n = std::ssize(one.values);
    CheckKernels(codec.EncodeWork(n, ContextOf(one.parameter)));
    CheckKernels(codec.DecodeWork(n, one.parameter));
    CheckKernels(codec.FinishWork(n, one.parameter));
    if (codec.AllowsErrorFeedback(one.parameter)) {
      CheckKernels(codec.FeedbackWork(n, one.parameter, Feeding::kGradient));
    }
  });
}

std::string Repeats(const Codec& codec) {
  return ForAll(codec, [&](const Case& one) {
    const Bytes first = codec.Encode(one.values, ContextOf(one.parameter)).bytes;
    Bytes second;
    std::exception_ptr thrown;
    std::thread other([&] {
      try {
        second = codec.Encode(one.values, ContextOf(one.parameter)).bytes;
      } catch (...) {
        thrown = std::current_exception();
      }
    });
    const Bytes third = codec.Encode(one.values, ContextOf(one.parameter)).bytes;
    other.join();
    if (thrown) std::rethrow_exception(thrown);
    Expect(first == second && first == third,
           [&] { return one.Text() + ": the same input gives other bytes"; });
  });
}

std::string Lengths(const Codec& codec) {
  int known = 0;
  const std::string cases = ForAll(codec, [&](const Case& one) {
    const Message message = codec.Encode(one.values, ContextOf(one.parameter));
    const auto said = codec.MessageBytes(UnitOf(std::ssize(one.values)), one.parameter);
    known += said.has_value();
    Expect(!said || *said == message.size(), [&] {
      return fmt::format("{}: {} bytes, MessageBytes said {}", one.Text(), message.size(), *said);
    });
    const Header header = ReadHeader(message.bytes);
    Expect(header.unit == 3 && header.numel == one.values.size(), [&] {
      return fmt::format("{}: the header has unit {} of {} values, not 3 of {}", one.Text(),
                         header.unit, header.numel, one.values.size());
    });
  });
  return cases + (known == 0 ? ", lengths depend on the data" : "");
}

std::string Decodes(const Codec& codec) {
  return ForAll(codec, [&](const Case& one) {
    const Message message = codec.Encode(one.values, ContextOf(one.parameter));
    const std::vector<float> decoded = one.Decoded(message);
    std::vector<float> sum(one.values.size(), 1.0f);
    codec.DecodeAdd(message.bytes, ContextOf(one.parameter), sum);
    for (size_t i = 0; i < sum.size(); ++i) {
      Expect(std::isfinite(decoded[i]),
             [&] { return fmt::format("{}: value {} is not finite", one.Text(), i); });
      const double expected = 1.0 + decoded[i];
      Expect(std::abs(sum[i] - expected) <= 1e-6 * std::max(1.0, std::abs(expected)), [&] {
        return fmt::format("{}: value {}: DecodeAdd made {} of a sum of 1 and {}", one.Text(), i,
                           sum[i], decoded[i]);
      });
    }
  });
}

// Checks that decode(m) + r' = e, up to the rounding of one subtraction.
std::string AddsUp(const Codec& codec) {
  return ForAll(codec, [&](const Case& one) {
    std::vector<float> residual = one.values;
    const Message message = codec.EncodeWithFeedback({}, residual, ContextOf(one.parameter));
    const std::vector<float> decoded = one.Decoded(message);
    for (size_t i = 0; i < residual.size(); ++i) {
      const double sum = double{decoded[i]} + residual[i];
      const double slack = 0x1p-23 * (std::abs(double{decoded[i]}) + std::abs(double{residual[i]}));
      Expect(std::abs(sum - one.values[i]) <= slack, [&] {
        return fmt::format("{}: value {}: sent {} and residual {} are not {}", one.Text(), i,
                           decoded[i], residual[i], one.values[i]);
      });
    }
  });
}

// Checks the largest residual of a training in which every step has the same gradient.
std::string StaysBounded(const Codec& codec) {
  constexpr int kSteps = 300;
  // Multiple of the largest gradient; a value that is never sent grows to 300 times it.
  constexpr double kBlownUp = 1e4;
  int tried = 0;
  for (const double parameter : Parameters(codec.Parameter())) {
    if (!codec.AllowsErrorFeedback(parameter)) continue;
    ++tried;
    const std::vector<float> gradient = DrawGradient("gaussian:n=500");
    std::vector<float> residual(gradient.size());
    CodecState state;
    for (int step = 0; step < kSteps; ++step) {
      CodecContext context = ContextOf(parameter, static_cast<uint64_t>(step));
      context.state = &state;
      codec.EncodeWithFeedback(gradient, residual, context);
      for (const float r : residual) {
        Expect(std::abs(r) < kBlownUp * 5, [&] {
          return fmt::format(
              "parameter {}: the residual grows to {} in step {}; "
              "AllowsErrorFeedback should be false",
              parameter, r, step);
        });
      }
    }
  }
  return tried == 0 ? "error feedback is not allowed" : fmt::format("{} steps", tried * kSteps);
}

double SquaredDistance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return sum;
}

// Compares the mean error of many messages, as error feedback makes them, with the error that
// SquaredErrors expects. Methods that draw a sample estimate the error from one sample, so the
// tolerance is wide.
std::string Errors(const Codec& codec) {
  constexpr int kDraws = 64;
  constexpr double kSlack = 0.2;
  for (const char* gradient : {"gaussian:n=2000", "student-t:n=2000", "ties:n=2000"}) {
    const std::vector<float> values = DrawGradient(gradient);
    const double squared = SquaredDistance(values, std::vector<float>(values.size()));
    const std::vector<double> parameters = Parameters(codec.Parameter());
    const std::vector<double> said = codec.SquaredErrors(values, parameters, ContextOf(1));
    for (size_t p = 0; p < parameters.size(); ++p) {
      const Case one{codec, gradient, values, parameters[p]};
      double error = 0;
      for (uint64_t step = 0; step < kDraws; ++step) {
        const CodecContext context = ContextOf(parameters[p], step);
        std::vector<float> sum(values.size()), residual = values;
        codec.DecodeAdd(codec.EncodeWithFeedback({}, residual, context).bytes, context, sum);
        error += SquaredDistance(values, sum) / kDraws;
      }
      Expect(std::abs(error - said[p]) <= kSlack * std::max(error, said[p]) + 0.05 * squared, [&] {
        return fmt::format("{}: SquaredErrors said {:.4g}, {} messages have {:.4g}", one.Text(),
                           said[p], kDraws, error);
      });
    }
  }
  return fmt::format("{} draws", kDraws);
}

std::string RefusesInput(const Codec& codec) {
  const ParameterSpec& spec = codec.Parameter();
  const std::vector<float> good = DrawGradient("gaussian:n=50");
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    std::vector<float> values = good;
    values[33] = bad;
    Expect(Refused([&] { codec.Encode(values, ContextOf(spec.fallback)); }),
           [&] { return fmt::format("a gradient with {} is encoded", bad); });
  }
  if (spec.Kind() == ParameterKind::kNone) return "values";
  for (const double bad : {spec.minimum - 0.5, spec.maximum + 0.5, double{NAN}}) {
    Expect(Refused([&] { codec.Encode(good, ContextOf(bad)); }),
           [&] { return fmt::format("{} = {} is taken", spec.name, bad); });
  }
  return "values, parameters";
}

std::string RefusesMessages(const Codec& codec) {
  const double parameter = codec.Parameter().fallback;
  const Message message = codec.Encode(DrawGradient("gaussian:n=64"), ContextOf(parameter));
  CodecContext other = ContextOf(parameter);
  other.unit = 4;
  std::vector<float> sum(64), longer(65);
  Expect(Refused([&] { codec.DecodeAdd(message.bytes, other, sum); }),
         [] { return "a message of another unit is decoded"; });
  Expect(Refused([&] { codec.DecodeAdd(message.bytes, ContextOf(parameter), longer); }),
         [] { return "a message of a unit of another length is decoded"; });
  return "another unit, another length";
}

// Checks that every message is either added, or refused before any part of it is added.
std::string SurvivesHostileBytes(const Codec& codec) {
  constexpr int kMessages = 5000;
  RandomStream stream({.seed = 77});
  const std::vector<double> parameters = Parameters(codec.Parameter());
  int refused = 0;
  for (int i = 0; i < kMessages; ++i) {
    const int64_t n = 1 + stream.Below(200);
    const CodecContext context =
        ContextOf(parameters[stream.Below(static_cast<uint32_t>(parameters.size()))]);
    const auto values =
        DrawGradient("gaussian:n=" + std::to_string(n), 0, static_cast<uint64_t>(i));
    const Bytes bytes = Mutated(codec.Encode(values, context).bytes, stream);
    std::vector<float> sum(static_cast<size_t>(n), 1.0f);
    if (!Refused([&] { codec.DecodeAdd(bytes, context, sum); })) continue;
    ++refused;
    Expect(std::ranges::count(sum, 1.0f) == n,
           [&] { return fmt::format("message {}: refused when a part was added", i); });
  }
  Expect(refused > 0,
         [&] { return fmt::format("none of {} broken messages is refused", kMessages); });
  return fmt::format("{} messages, {} refused", kMessages, refused);
}

}  // namespace

std::vector<CheckedProperty> CheckCodec(const std::string& text) {
  const std::unique_ptr<Codec> codec = MakeCodec(text);
  const auto of = [&](std::string (*check)(const Codec&)) {
    return [&codec, check] { return check(*codec); };
  };
  return {TryApart("costs of its kernels", of(Costs)),
          TryApart("equal bytes from equal input", of(Repeats)),
          TryApart("length", of(Lengths)),
          TryApart("decoding", of(Decodes)),
          TryApart("sent + residual = input", of(AddsUp)),
          TryApart("bounded residual", of(StaysBounded)),
          TryApart("estimated error", of(Errors)),
          TryApart("refuses wrong input", of(RefusesInput)),
          TryApart("refuses others' messages", of(RefusesMessages)),
          TryApart("hostile bytes", of(SurvivesHostileBytes))};
}

}  // namespace legacy
