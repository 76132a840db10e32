// The tables of methods, to which plugins add rows when a program starts (plugin.h). The toolkit's
// own rows are in registry.cc.
#pragma once

#include <cstddef>
#include <string>

#include "compress/codec.h"
#include "compress/policy.h"
#include "compress/quantiser.h"
#include "compress/sparsifier.h"

namespace legacy {

// What a plugin may add to each table: spans of tables stay valid until the program ends.
inline constexpr size_t kMostAdded = 8;

// What a plugin is given to add its methods to. Each Add throws Error where the name is empty, is
// not of a-z, 0-9 and '-', or is taken, where the row makes nothing, and where kMostAdded are
// there. Not thread safe: methods are added before any is made.
class MethodTables {
 public:
  // `plugin`: the file's name, for messages.
  explicit MethodTables(std::string plugin) : plugin_(std::move(plugin)) {}
  void Add(SparsifierRow row) const;
  void Add(QuantiserRow row) const;
  void Add(CodecRow row) const;
  void Add(PolicyRow row) const;

 private:
  std::string plugin_;
};

// Names of codecs, and of policies, that plugins added, in that order.
std::vector<std::string> AddedCodecs();
std::vector<std::string> AddedPolicies();

}  // namespace legacy
