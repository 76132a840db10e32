// The table of break-evens: from which value of an axis on a method pays.
#pragma once

#include "analysis/study/study_tables.h"

namespace legacy::analysis {

StudyTable BreakEvenTable(const Study& study);

}  // namespace legacy::analysis
