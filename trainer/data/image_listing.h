// The list of the images of a folder, and its cache.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/cache/cache_file.h"

namespace legacy {

// Returns the name of a split's folder.
inline const char* SplitName(bool training) { return training ? "train" : "val"; }

// An ImageListing is what a cache holds: the files of both splits.
struct ImageListing {
  std::vector<std::string> folders;  // all that were listed, below the set's folder
  std::vector<std::string> unread;   // what Unread() returns
  std::vector<std::string> classes;
  std::array<std::vector<std::string>, 2> names;  // of val, of train
  std::array<std::vector<int32_t>, 2> counts;     // of each class
};

// Lists the folder's classes and its files. Throws Error, which says what `layout` it must have.
ImageListing ListFolder(const std::filesystem::path& folder, const std::string& layout);

// Returns a text that changes with every file that is added to one of the folders or removed from
// it, as the times of folders do; "" where one is too young to tell, or not there.
std::string FolderKey(const std::filesystem::path& folder, const std::vector<std::string>& listed);

// Returns what a cache keeps of a listing, with the key of its folders.
std::vector<Section> ListingSections(const ImageListing& listing, const std::string& key);
// Returns the listing of a cache, or nothing where a folder that it listed has changed since.
std::optional<ImageListing> TakeListing(std::span<const Section> sections,
                                        const std::filesystem::path& folder);

}  // namespace legacy
