// What a data set has that no training reads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trainer/data/data_catalog.h"

namespace legacy {

// Returns a line for each part of the files that is not read: other labels, values of ratings; and
// for each file of a set that is absent but not needed. Folders of images say it themselves
// (ImageFolder::Unread).
std::vector<std::string> UnreadParts(const CatalogEntry& entry, const std::filesystem::path& root);

}  // namespace legacy
