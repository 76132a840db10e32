#include "scenarios/options/model_shape.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files/shipped.h"
#include "base/files/whole_file.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "base/programs/program.h"
#include "base/words.h"
#include "scenarios/options/shape_builder.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

void ReadLine(const WordLines& line, ShapeBuilder& builder) {
  const size_t words = line.Count();
  if (words < 2 || words > 4) {
    const size_t at = words < 2 ? 0 : 4;
    throw Error(line.Location(at), line.Word(at),
                "a tensor's name and its shape and, where they are known, multiply-adds and "
                "bytes, as in conv1.weight 64x3x7x7 118013952 3813376");
  }
  builder.AddTensor(line.Word(0), line.Word(1), line.Location(1));
  const auto number = [&](size_t i) {
    if (words <= i) return 0.0;
    return ParseNumber(line.Word(i), line.Location(i), 0, kMostWork);
  };
  const double multiply_adds = number(2);
  const bool product = multiply_adds > 0;
  builder.AddOperation({.kind = product ? "linear" : "elementwise",
                        .forward_flops = 2 * multiply_adds,
                        .forward_bytes = number(3),
                        .weight_bytes = product ? kShapeFloat * builder.Elements() : 0});
  if (words > 2) builder.shape().has_costs = true;
}

ModelShape ReadList(const std::string& text, const std::string& where) {
  ShapeBuilder builder;
  builder.shape().has_costs = false;
  WordLines lines(where, text, {.comment = '#', .separator = ','});
  while (lines.Advance()) ReadLine(lines, builder);
  return builder.Take(where);
}

std::vector<fs::path> Folders() {
  return ShippedFolders("LEGACY_SHAPES", "shapes", LEGACY_SHAPES_SOURCE_DIR);
}

fs::path FindShape(const std::string& text) {
  if (text.find_first_of("/.") != std::string::npos) return text;
  for (const fs::path& folder : Folders()) {
    const fs::path path = folder / (text + ".yaml");
    if (fs::is_regular_file(path)) return path;
  }
  throw NotAmong("training.layers (--layers)", text, ModelShapeNames(),
                 CommandOf("legacy-scenario") + " --layers=list", "the path of a file");
}

}  // namespace

double ModelShape::MultiplyAdds() const {
  double flops = 0;
  for (const OperationCost& cost : costs) flops += cost.forward_flops;
  return flops / 2;
}

ModelShape ParseModelShape(const std::string& text, const std::string& where, int64_t tokens) {
  // Only a YAML file has a key at the beginning of a line.
  const bool yaml =
      text.rfind("operations:", 0) == 0 || text.find("\noperations:") != std::string::npos;
  if (!yaml && tokens > 0) {
    throw Error(where + ": tokens", std::to_string(tokens),
                "none: a list of tensors has no tokens");
  }
  ModelShape shape = yaml ? ReadYamlShape(text, where, tokens) : ReadList(text, where);
  if (shape.name.empty()) shape.name = fs::path(where).stem().string();
  return shape;
}

ModelShape LoadModelShape(const std::string& text) {
  constexpr const char* kTokens = ":tokens=";
  const size_t end = text.find(kTokens);
  const int64_t tokens = end == std::string::npos
                             ? 0
                             : ParseInteger(text.substr(end + std::strlen(kTokens)),
                                            "tokens of " + text, 1, kMostTokens);
  const std::string path = FindShape(text.substr(0, end)).string();
  std::string content = ReadWholeFile(path);
  // A study loads the same few shapes for each of its points, and parsing takes milliseconds.
  using Key = std::pair<std::string, int64_t>;
  static std::mutex mutex;
  static std::map<Key, std::pair<std::string, ModelShape>> known;  // content, by path and tokens
  const std::lock_guard lock(mutex);
  const auto found = known.find({path, tokens});
  if (found != known.end() && found->second.first == content) return found->second.second;
  ModelShape shape = ParseModelShape(content, path, tokens);
  known[{path, tokens}] = {std::move(content), shape};
  return shape;
}

std::vector<std::string> ModelShapeNames() {
  std::set<std::string> names;
  for (const fs::path& folder : Folders()) {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder, missing)) {
      if (entry.path().extension() == ".yaml") names.insert(entry.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

std::string ModelShapeTable() {
  std::string text = fmt::format("{:<16} {:>12} {:>8} {:>14} {:>7}  {}\n", "name", "parameters",
                                 "tensors", "multiply-adds", "batch", "what it is, a sample");
  for (const std::string& name : ModelShapeNames()) {
    const ModelShape shape = LoadModelShape(name);
    text += fmt::format("{:<16} {:>12} {:>8} {:>14.4g} {:>7}  {}; {}\n", name, shape.Elements(),
                        shape.layers.size(), shape.MultiplyAdds(), shape.batch, shape.title,
                        shape.sample);
  }
  return text;
}

}  // namespace legacy
