// The tables of methods, to which plugins add rows when a program starts (plugin.h). The toolkit's
// own rows are in the methods' sources.
#pragma once

#include <cstddef>
#include <string>

#include "compress/codec.h"
#include "compress/policy.h"
#include "compress/quantiser.h"
#include "compress/sparsifier.h"

namespace legacy {

// Number of rows that plugins may add to each table. It is fixed so that spans of tables stay valid
// until the program ends.
inline constexpr size_t kMostAdded = 64;

// The tables to which a plugin adds its methods. Each Add throws Error if the name is empty, is not
// of a-z, 0-9 and '-', or is taken, if the row makes nothing, or if kMostAdded rows were added. It
// is not thread safe: methods are added before any is made.
class MethodTables {
 public:
  // `plugin` is the file's name, for messages.
  explicit MethodTables(std::string plugin) : plugin_(std::move(plugin)) {}
  void Add(SparsifierRow row) const;
  void Add(QuantiserRow row) const;
  void Add(CodecRow row) const;
  void Add(PolicyRow row) const;

 private:
  std::string plugin_;
};

// Return the names of codecs, and of policies, that plugins added, in the order in which they were
// added.
std::vector<std::string> AddedCodecs();
std::vector<std::string> AddedPolicies();

}  // namespace legacy
