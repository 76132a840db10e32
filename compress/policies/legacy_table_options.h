// The options of LEGACY's tables, for every program that takes them.
#pragma once

#include "base/options.h"
#include "compress/policies/legacy_table.h"

namespace legacy {

// Returns the rows, whose keys belong to no section.
OptionTable<LegacyTable> LegacyTableOptions();

}  // namespace legacy
