// Folders of files that come with the toolkit: profiles, shapes, published steps, validation.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace legacy {

// Returns where to look for such files, in this order: the folder that the environment variable
// names, if it is set (null: there is none); share/legacy/NAME below the prefix where this library
// is installed or, where it is not, the folder `source` that it was built from.
std::vector<std::filesystem::path> ShippedFolders(const char* variable, const std::string& name,
                                                  const std::filesystem::path& source);

}  // namespace legacy
