// The page of a single run is the page of a study (analysis/study/report/html.h): its networks are
// the places of one axis. The run's verdict, tables, pictures and files are placed around the
// figures.
#pragma once

#include <string>

#include "analysis/report/report.h"

namespace legacy::analysis {

// Returns index.html of the run's directory. It links to the files that the directory has, and
// `report` lists the pictures that it shows. Equal runs give equal pages.
std::string RunHtml(const RunDirectory& run, const Report& report);

// Returns the page of what has no trainings.
std::string PartsHtml(const std::string& title, const RunParts& parts);

}  // namespace legacy::analysis
