// The shape of a model that nobody trains here: its parameter tensors, and what the operations of
// its forward pass cost. Shipped ones are files of trainer/shapes; docs/shapes.md describes both
// forms of a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compress/unit.h"
#include "trainer/clock/operation_cost.h"

namespace legacy {

struct ModelShape {
  std::string name;
  std::string title;
  std::string source;                // of the architecture
  std::string sample;                // what the costs are for: "one 3x224x224 image"
  std::string note;                  // what the costs leave out
  std::vector<Unit> layers;          // in forward order, contiguous from offset 0
  std::vector<OperationCost> costs;  // in forward order; each layer belongs to exactly one
  bool has_costs = true;             // false: a list without costs, whose operations take no time

  int64_t Elements() const { return layers.back().offset + layers.back().numel; }
  double MultiplyAdds() const;  // of the forward pass of one sample
};

// `text`: a name, looked up as <name>.yaml in $LEGACY_SHAPES, the source tree and the installation;
// or the path of a file (it contains '/' or '.'). Throws Error with file, line and column on what
// is no shape, and with the known names where there is none of that name.
ModelShape LoadModelShape(const std::string& text);

// Parses the text of a file. YAML where it has operations, else a list, one tensor a line: name,
// shape and, where they are known, multiply-adds and bytes of the operation that it belongs to,
// with spaces or commas between them. `where` (the file's name) is for messages.
ModelShape ParseModelShape(const std::string& text, const std::string& where);

// Names that LoadModelShape finds, ascending.
std::vector<std::string> ModelShapeNames();

// A line for each of them: name, parameters, tensors, multiply-adds, what it is.
std::string ModelShapeTable();

}  // namespace legacy
