// Users' gradients, with the list of their layers, as legacy-codec reads them.
#include "scenarios/codec/gradient_source.h"
#include "tests/fuzz/readers.h"

namespace legacy::fuzz {

// The first bytes give the workers and steps to ask for and the length of the list of layers;
// values follow the list.
void FuzzGradients(ByteSpan bytes) {
  static MemoryFile values;
  static MemoryFile layers;
  Input input(bytes);
  GradientOptions options;
  options.files = {values.path()};
  options.workers = static_cast<int>(input.Take(1) % 4);
  options.steps = input.Take(1) % 4;
  const size_t listed = std::min<size_t>(input.Take(1), input.Rest().size());
  if (listed > 0) options.layers = layers.path();
  layers.Put(input.Rest().first(listed));
  values.Put(input.Rest().subspan(listed));
  Refusable([&] {
    GradientSource source(options);
    const Unit& last = source.units().back();
    for (int64_t step = 0; step < source.steps(); ++step) {
      const auto gradients = source.AtStep(step);
      Require(static_cast<int>(gradients.size()) == source.workers());
      for (const std::span<const float> gradient : gradients) {
        Require(static_cast<int64_t>(gradient.size()) == last.offset + last.numel);
      }
    }
  });
}

std::vector<Bytes> GradientsSeeds() {
  const std::string values(96, '\x3f');  // 24 values
  std::vector<Bytes> seeds;
  for (const std::string& list :
       {std::string(), std::string("# name, shape\nconv 2x2x2\nfc 4\n")}) {
    const std::string choice = {'\2', '\0', static_cast<char>(list.size())};
    for (Bytes& seed : TextSeeds({list + values}, choice)) seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace legacy::fuzz
