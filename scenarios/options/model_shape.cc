#include "scenarios/options/model_shape.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/files/yaml.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "base/programs/program.h"
#include "base/words.h"
#include "compress/message.h"
#include "scenarios/codec/layer_list.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr double kFloatBytes = 4;
constexpr double kMostWork = 1e18;  // largest number of multiply-adds or bytes of an operation
constexpr size_t kMostTensors = 1'000'000;
constexpr int64_t kMostBatch = 1 << 20;  // the same limit as that of --batch
const std::vector<std::string> kKinds = {"conv", "linear", "batchnorm", "elementwise", "pool"};

// A ShapeBuilder makes a shape from either form of a file.
class ShapeBuilder {
 public:
  // Adds a tensor to the operation that is added next. Throws Error that names `key`.
  void AddTensor(const std::string& name, const std::string& shape, const std::string& key) {
    if (name.empty()) throw Error(key, name, "a name");
    if (!names_.insert(name).second) throw Error(key, name, "each name once");
    if (shape_.layers.size() == kMostTensors) {
      throw Error(key, name, "at most " + std::to_string(kMostTensors) + " tensors");
    }
    Unit unit{.id = static_cast<uint32_t>(shape_.layers.size()),
              .name = name,
              .shape = ParseShape(shape, key),
              .offset = ElementsOf(shape_.layers),
              .numel = 1};
    for (const int64_t size : unit.shape) unit.numel *= size;
    next_.parameters.push_back(static_cast<int>(unit.id));
    elements_ += static_cast<double>(unit.numel);
    shape_.layers.push_back(std::move(unit));
  }

  // Returns the number of elements in the tensors of that operation.
  double Elements() const { return elements_; }

  void AddOperation(const std::string& kind, double multiply_adds, double bytes,
                    double weight_bytes) {
    next_.kind = kind;
    next_.forward_flops = 2 * multiply_adds;
    next_.forward_bytes = bytes;
    next_.weight_bytes = weight_bytes;
    shape_.costs.push_back(std::move(next_));
    next_ = {};
    elements_ = 0;
  }

  ModelShape& shape() { return shape_; }
  ModelShape Take(const std::string& where) {
    if (shape_.layers.empty()) throw Error::Refusal(where + ": has no parameter tensors");
    return std::move(shape_);
  }

 private:
  ModelShape shape_;
  OperationCost next_;
  double elements_ = 0;
  std::set<std::string> names_;
};

bool HasWeightsToRead(const std::string& kind) { return kind == "conv" || kind == "linear"; }

void ReadOperation(const YAML::Node& node, const std::string& where, ShapeBuilder& builder) {
  std::string kind;
  double multiply_adds = 0;
  double bytes = 0;
  double weight_bytes = -1;
  const auto number = [](const YAML::Node& value, const std::string& key) {
    return ParseNumber(ScalarText(value, key), key, 0, kMostWork);
  };
  ReadMap(node, "operations", where, [&](const std::string& key, const YAML::Node& value) {
    if (key == "kind") {
      kind = ParseChoice(ScalarText(value, key), key, kKinds);
    } else if (key == "multiply_adds") {
      multiply_adds = number(value, key);
    } else if (key == "bytes") {
      bytes = number(value, key);
    } else if (key == "weight_bytes") {
      weight_bytes = number(value, key);
    } else if (key == "parameters") {
      ReadMap(value, key, where, [&](const std::string& name, const YAML::Node& shape) {
        builder.AddTensor(name, ScalarText(shape, name), name);
      });
    } else {
      throw Error::Refusal("unknown key '" + key +
                           "'; allowed: kind, multiply_adds, bytes, weight_bytes, parameters");
    }
  });
  if (kind.empty()) {
    throw Error::Refusal(MarkText(where, node.Mark()) +
                         "missing key 'kind': " + Join(kKinds, ", "));
  }
  if (weight_bytes < 0)
    weight_bytes = HasWeightsToRead(kind) ? kFloatBytes * builder.Elements() : 0;
  builder.AddOperation(kind, multiply_adds, bytes, weight_bytes);
}

// Checks that a count that the file states equals that of its operations.
void CheckCount(const YAML::Node& root, const char* key, double counted, const std::string& where) {
  const YAML::Node given = root[key];
  if (!given) return;
  const double value = ParseNumber(ScalarText(given, key), key, 0, kMostWork);
  if (value == counted) return;
  throw Error(MarkText(where, given.Mark()) + key, given.Scalar(),
              fmt::format("{:.0f}, as its operations have", counted));
}

ModelShape ReadYamlShape(const YAML::Node& root, const std::string& where) {
  ShapeBuilder builder;
  ModelShape& shape = builder.shape();
  ReadMap(root, "", where, [&](const std::string& key, const YAML::Node& value) {
    if (key == "name") {
      shape.name = ScalarText(value, key);
    } else if (key == "title") {
      shape.title = ScalarText(value, key);
    } else if (key == "source") {
      shape.source = ScalarText(value, key);
    } else if (key == "sample") {
      shape.sample = ScalarText(value, key);
    } else if (key == "note") {
      shape.note = ScalarText(value, key);
    } else if (key == "batch") {
      shape.batch = static_cast<int>(ParseInteger(ScalarText(value, key), key, 1, kMostBatch));
    } else if (key == "batch_source") {
      shape.batch_source = ScalarText(value, key);
    } else if (key == "operations") {
      if (!value.IsSequence()) throw Error::Refusal(key + ": expected a list of operations");
      for (const YAML::Node& operation : value) ReadOperation(operation, where, builder);
    } else if (key != "elements" && key != "tensors" && key != "multiply_adds") {
      throw Error::Refusal(
          "unknown key '" + key +
          "'; allowed: name, title, source, sample, note, batch, batch_source, elements, "
          "tensors, multiply_adds, operations");
    }
  });
  ModelShape read = builder.Take(where);
  CheckCount(root, "elements", static_cast<double>(read.Elements()), where);
  CheckCount(root, "tensors", static_cast<double>(read.layers.size()), where);
  CheckCount(root, "multiply_adds", read.MultiplyAdds(), where);
  return read;
}

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
  builder.AddOperation(multiply_adds > 0 ? "linear" : "elementwise", multiply_adds, number(3),
                       multiply_adds > 0 ? kFloatBytes * builder.Elements() : 0);
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
  std::vector<fs::path> folders;
  if (const char* folder = std::getenv("LEGACY_SHAPES")) folders.emplace_back(folder);
  folders.emplace_back(LEGACY_SHAPES_SOURCE_DIR);
  folders.emplace_back(LEGACY_SHAPES_INSTALL_DIR);
  return folders;
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

ModelShape ParseModelShape(const std::string& text, const std::string& where) {
  // Only a YAML file has a key at the beginning of a line.
  const bool yaml =
      text.rfind("operations:", 0) == 0 || text.find("\noperations:") != std::string::npos;
  ModelShape shape = yaml ? ReadYamlShape(ParseYaml(text, where), where) : ReadList(text, where);
  if (shape.name.empty()) shape.name = fs::path(where).stem().string();
  return shape;
}

ModelShape LoadModelShape(const std::string& text) {
  const std::string path = FindShape(text).string();
  std::string content = ReadWholeFile(path);
  // A study loads the same few shapes for each of its points, and parsing takes milliseconds.
  static std::mutex mutex;
  static std::map<std::string, std::pair<std::string, ModelShape>> known;  // content, by path
  const std::lock_guard lock(mutex);
  const auto found = known.find(path);
  if (found != known.end() && found->second.first == content) return found->second.second;
  ModelShape shape = ParseModelShape(content, path);
  known[path] = {std::move(content), shape};
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
