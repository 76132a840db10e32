// Makes a WhatIfStudy from a study's folder.
#pragma once

#include <filesystem>

#include "scenarios/study/plan.h"
#include "scenarios/study/what_if/what_if.h"

namespace legacy {

// Reads the record of every training of the plan that is there and may be replayed; others that are
// there are listed with the reason. A group represents one combination of the axes that shape
// trainings, and starts from the network of its first point. Throws Error as ReadRecording does.
WhatIfStudy ReadWhatIfStudy(const std::filesystem::path& folder, const StudyPlan& plan);

}  // namespace legacy
