#include "scenarios/run/workers/gradient_files.h"

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/files/output_file.h"
#include "base/files/own_file.h"
#include "base/parse.h"
#include "scenarios/run/diagnostics.h"

namespace legacy {
namespace {

std::vector<Unit> Chosen(const std::string& text, std::span<const Unit> layers) {
  if (text == "all") return {layers.begin(), layers.end()};
  std::vector<Unit> chosen;
  const std::vector<std::string> names = SplitList(text);
  for (const std::string& name : names) {
    const auto found = [&](const Unit& layer) {
      return layer.name.find(name) != std::string::npos;
    };
    if (std::ranges::any_of(layers, found)) continue;
    std::vector<std::string> known;
    for (const Unit& layer : layers) known.push_back(layer.name);
    throw Error("run.gradient_layers", name, "all, or parts of these names: " + Join(known, ", "));
  }
  for (const Unit& layer : layers) {
    const bool named = std::ranges::any_of(
        names, [&](const std::string& name) { return layer.name.find(name) != std::string::npos; });
    if (named) chosen.push_back(layer);
  }
  return chosen;
}

}  // namespace

GradientFiles::GradientFiles(const Scenario& scenario, std::span<const Unit> layers,
                             const std::filesystem::path& directory)
    : folder_(directory / "gradients"),
      steps_(ParseSteps(scenario.gradient_steps, scenario, "run.gradient_steps")),
      layers_(Chosen(scenario.gradient_layers, layers)) {
  MakeFolderIn(directory, "gradients");
  const auto path = folder_ / "layers.txt";
  std::ostringstream lines;
  for (const Unit& layer : layers_) {
    lines << layer.name << ' ';
    for (size_t d = 0; d < layer.shape.size(); ++d) lines << (d ? "x" : "") << layer.shape[d];
    lines << '\n';
  }
  OutputFile(path).Write(lines.str());
}

void GradientFiles::Write(const std::string& policy, uint64_t seed, int64_t step, int worker,
                          std::span<const float> gradient) const {
  if (worker != 0 || steps_.count(static_cast<int>(step)) == 0) return;
  const auto path = folder_ / (PlainFileName(policy) + "-seed" + std::to_string(seed) + "-step" +
                               std::to_string(step) + ".f32");
  OutputFile file(path);
  for (const Unit& layer : layers_) {
    const auto part = std::as_bytes(gradient.subspan(layer.offset, layer.numel));
    file.Write({reinterpret_cast<const char*>(part.data()), part.size()});
  }
  file.Close();
}

}  // namespace legacy
