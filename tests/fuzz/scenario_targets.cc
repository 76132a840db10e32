// Scenario files, and shapes of models.
#include "base/files/whole_file.h"
#include "scenarios/options/model_shape.h"
#include "scenarios/options/scenario.h"
#include "tests/fuzz/readers.h"

namespace legacy::fuzz {

// Checks that an accepted scenario is printed as YAML that is read as the same scenario.
void FuzzScenario(ByteSpan input) {
  static MemoryFile file;
  file.Put(input);
  Refusable([&] {
    Scenario scenario;
    LoadScenario(file.path(), scenario);
    const std::string printed = PrintScenario(scenario);
    file.Put(BytesOf(printed));
    Scenario again;
    LoadScenario(file.path(), again);
    Require(PrintScenario(again) == printed);
  });
}

std::vector<Bytes> ScenarioSeeds() {
  return TextSeeds(
      {ReadWholeFile(LEGACY_ROOT "/scenarios/fashion-mnist.yaml"),
       "preset: paper-lgreco\ntraining: {workers: 4, decay_steps: [3, 9ep], steps: 2.5ep, dataset: "
       "digits}\n"
       "compression: {policies: [dense, mine], density: 5%, splits: [100, 2000], levels: [10%, "
       "1%]}\n"
       "network: {topology: \"leaf-spine:leaves=2\", bandwidth: 25Gbps, delay: 5us, phases: none}\n"
       "methods: {mine: {scheme: topk+fp16, scope: model, policy: uniform, parameter: 1%, "
       "local_steps: 2, outer: nesterov,\n"
       "  reversed: on, levels: [3, 4]}, other: {bytes_of: dense}}\n"
       "ns3: {\"ns3::TcpSocket::InitialCwnd\": 4}\n"});
}

void FuzzShape(ByteSpan input) {
  const std::string text = TextOf(input);
  Refusable([&] {
    const ModelShape shape = ParseModelShape(text, "f.yaml");
    Require(!shape.layers.empty() && shape.MultiplyAdds() >= 0);
    int64_t next = 0;
    for (const Unit& layer : shape.layers) {
      Require(layer.offset == next && layer.numel > 0);
      next += layer.numel;
    }
  });
}

std::vector<Bytes> ShapeSeeds() {
  return TextSeeds(
      {ReadWholeFile(LEGACY_ROOT "/trainer/shapes/alexnet.yaml"),
       "# a list\nconv1.weight 64x3x7x7 118013952 3813376\nconv1.bias, 64\nfc 10x5 50\n"});
}

}  // namespace legacy::fuzz
