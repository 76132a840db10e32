// A shape builder makes a model's shape from either form of a file (model_shape.h).
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "scenarios/options/model_shape.h"

namespace legacy {

inline constexpr double kShapeFloat = 4;         // bytes of a number in costs
inline constexpr int64_t kMostTokens = 1 << 24;  // of a sample
inline constexpr double kMostWork =
    1e18;  // largest number of multiply-adds or bytes of an operation

class ShapeBuilder {
 public:
  // Adds a tensor to the operation that is added next. Throws Error that names `key`.
  void AddTensor(const std::string& name, const std::string& shape, const std::string& key);

  // Return the number of elements in the tensors of that operation, the first of them that is a
  // matrix or a filter (nullptr: there is none), and whether they have a bias: a vector beside one
  // of these at most. Recurrent layers, which have several, add theirs in the gates.
  double Elements() const { return elements_; }
  const Unit* Weight() const;
  bool HasBias() const;

  // Adds the operation: its kind, costs, products and block. Its parameters are the tensors that
  // were added.
  void AddOperation(OperationCost operation);

  ModelShape& shape() { return shape_; }
  ModelShape Take(const std::string& where);

 private:
  ModelShape shape_;
  std::vector<int> parameters_;  // of the operation that is added next
  double elements_ = 0;
  std::set<std::string> names_;
};

// Returns the shape of a file in YAML. `tokens` are those of a sample; 0: as many as the file says.
// Throws Error with `where`, line and column on what is not a shape.
ModelShape ReadYamlShape(const std::string& text, const std::string& where, int64_t tokens);

}  // namespace legacy
