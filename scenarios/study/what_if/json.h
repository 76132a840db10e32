// Answers of what-if as JSON, in the API of `legacy-study serve` (docs/what-if.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/study/what_if/what_if.h"

namespace legacy {

// Returns {"policies": [...]}; a time to target whose target was not reached is null.
nlohmann::json ToJson(const WhatIfAnswer& answer);

// Returns {"groups": [{"id", "label", "kind", "defaults", "unread"}], "refused": [...], "policies":
// [...], "seeds": [...]}.
nlohmann::json GroupsDocument(const WhatIf& what_if);

}  // namespace legacy
