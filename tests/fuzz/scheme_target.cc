#include "base/error.h"
#include "compress/exchange.h"
#include "compress/gradients/gradients.h"
#include "tests/compress/test_data.h"
#include "tests/fuzz/targets.h"

namespace legacy::fuzz {
namespace {

constexpr int kSchemeSteps = 3;

void RunStep(Exchange& exchange, const UnitStep& context, int workers, const Unit& unit,
             Input& input) {
  const std::string text = "gaussian:n=" + std::to_string(unit.numel);
  exchange.Begin(context);
  for (bool first = true; exchange.NextCall(); first = false) {
    std::vector<Message> messages;
    for (int w = 0; w < workers; ++w) {
      const std::vector<float> gradient =
          DrawGradient(text, static_cast<uint32_t>(w), static_cast<uint64_t>(context.info.step));
      messages.push_back(exchange.Encode(w, first ? gradient : std::span<const float>()));
    }
    for (int w = 0; w < workers; ++w) {
      exchange.Accumulate(w, Tampered(std::move(messages[static_cast<size_t>(w)].bytes), input));
    }
    exchange.FinishCall();
  }
  std::vector<float> mean(static_cast<size_t>(unit.numel));
  exchange.Mean(mean);
}

}  // namespace

// Sends real messages of real workers, some of them changed on the way. After a refusal the
// exchange takes no further step, as in a training, but its state can still be saved and loaded.
void FuzzScheme(ByteSpan bytes) {
  Input input(bytes);
  const std::string& text = SchemeTexts()[input.Below(static_cast<uint32_t>(SchemeTexts().size()))];
  const bool feedback = input.Take(1) % 2 == 0;
  const int workers = 1 + static_cast<int>(input.Take(1) % 3);
  Unit unit{.id = 1, .name = "unit", .shape = {1, 1}, .offset = 0, .numel = 0};
  unit.shape = {1 + input.Take(1) % 20, 1 + input.Take(1) % 20};
  unit.numel = unit.shape[0] * unit.shape[1];
  try {
    const std::unique_ptr<Scheme> scheme = MakeScheme(text, {.error_feedback = feedback});
    const std::vector<double> parameters = test::SomeParameters(scheme->Parameter());
    const double parameter = parameters[input.Take(1) % parameters.size()];
    const std::unique_ptr<Exchange> exchange = scheme->Open(unit, workers);
    exchange->Load(Tampered(exchange->Save(), input));
    for (int step = 0; step < kSchemeSteps; ++step) {
      RunStep(*exchange, {.info = {.seed = 1, .step = step}, .parameter = parameter}, workers, unit,
              input);
    }
    exchange->Load(Tampered(exchange->Save(), input));
  } catch (const Error&) {
  }
}

// Returns three steps of every scheme, without error feedback, with no change.
std::vector<Bytes> SchemeSeeds() {
  std::vector<Bytes> seeds;
  for (uint32_t text = 0; text < SchemeTexts().size(); ++text) {
    for (uint32_t parameter = 0; parameter < 2; ++parameter) {
      seeds.push_back(Output()
                          .Put(text)
                          .Put(parameter, 1)
                          .Put(1, 1)
                          .Put(9, 1)
                          .Put(6, 1)
                          .Put(parameter, 1)
                          .Put(Bytes(32))
                          .Take());
    }
  }
  return seeds;
}

}  // namespace legacy::fuzz
