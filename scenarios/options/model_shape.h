// A model shape describes a model that is not trained here: its parameter tensors, and the costs of
// the operations of its forward pass. Shipped shapes are files of trainer/shapes; docs/shapes.md
// describes both forms of a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compress/unit.h"
#include "trainer/clock/operation_cost.h"

namespace legacy {

// Batch of shapes whose files do not say which one is usual.
inline constexpr int kUnknownBatch = 32;

// A ModelShape is such a file in memory.
struct ModelShape {
  std::string name;
  std::string title;
  std::string source;         // source of the architecture
  std::string sample;         // sample that the costs are for: "one 3x224x224 image"
  std::string note;           // what the costs leave out
  int64_t tokens = 0;         // tokens of a sample; 0: samples have none
  int batch = kUnknownBatch;  // usual batch of a worker, in samples
  std::string batch_source;   // who trains with it
  std::vector<Unit> layers;   // layers in forward order, contiguous from offset 0
  // Costs in forward order; each layer belongs to exactly one.
  std::vector<OperationCost> costs;
  bool has_costs = true;  // false: a list without costs, whose operations take no time

  int64_t Elements() const { return layers.back().offset + layers.back().numel; }
  // Returns the multiply-adds of the forward pass of one sample.
  double MultiplyAdds() const;
};

// Loads a shape. `text` is a name, looked up as <name>.yaml in $LEGACY_SHAPES, the source tree and
// the installation, or the path of a file (it contains '/' or '.'). Where samples have tokens,
// ":tokens=4096" after it takes another number than the file's. Throws Error with file, line and
// column on what is not a shape, and with the known names where there is none of that name.
ModelShape LoadModelShape(const std::string& text);

// Parses the text of a file: YAML where it has operations, else a list, one tensor a line: name,
// shape and, where they are known, multiply-adds and bytes of the operation that it belongs to,
// with spaces or commas between them. `where` is the file's name, for messages. `tokens` are those
// of a sample; 0: as the file says.
ModelShape ParseModelShape(const std::string& text, const std::string& where, int64_t tokens = 0);

// Returns the names that LoadModelShape finds, ascending.
std::vector<std::string> ModelShapeNames();

// Returns a line for each of them: name, parameters, tensors, multiply-adds, and title.
std::string ModelShapeTable();

}  // namespace legacy
