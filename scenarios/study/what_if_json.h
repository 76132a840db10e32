// Questions and answers of what-if as JSON, in the API of `legacy-study serve` (docs/studies.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "scenarios/study/what_if.h"

namespace legacy {

// Reads a question. Throws Error naming the key where the text is no JSON object, and on unknown
// keys and values of the wrong type. WhatIf checks what the values mean.
WhatIfQuestion ParseQuestion(const std::string& text);

// Returns {"policies": [...]}; a time to target whose target was not reached is null.
nlohmann::json ToJson(const WhatIfAnswer& answer);

// Returns {"groups": [{"id", "label", "defaults"}], "policies": [...], "seeds": [...]}.
nlohmann::json GroupsDocument(const WhatIf& what_if);

}  // namespace legacy
