// Questions and answers of what-if as JSON: what the API of `legacy-study serve` takes and gives
// (docs/studies.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/study/what_if.h"

namespace legacy {

// Throws Error naming the key where the text is no JSON object, and on unknown keys and values of
// the wrong type. What the values mean is WhatIf's to check.
WhatIfQuestion ParseQuestion(const std::string& text);

// {"policies": [...]}; a time-to-accuracy that was not reached is null.
nlohmann::json ToJson(const WhatIfAnswer& answer);

// {"groups": [{"id", "label", "defaults"}], "policies": [...], "seeds": [...]}
nlohmann::json GroupsDocument(const WhatIf& what_if);

}  // namespace legacy
