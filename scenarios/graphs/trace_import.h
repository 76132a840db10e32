// Traces of others are found in files, read, and made into a plan.
#pragma once

#include <string>

#include "scenarios/graphs/plan_maker.h"

namespace legacy::graphs {

// Reads the trace at `path`: a folder with a Chakra file for each rank (NAME.RANK.et,
// NAME.RANK.et-diff beside those, or NAME.RANK.json), "FOLDER/NAME" of such files where the folder
// has several names, one such file, which is a trace of one rank, or a GOAL text (any other file).
// `groups` is the file of groups;
// "": comm_group.json beside Chakra's files, if there is one. Throws Error with file, node and name
// on what cannot be a plan.
ImportedPlan ImportTrace(const std::string& path, const std::string& groups,
                         const ImportOptions& options);

}  // namespace legacy::graphs
