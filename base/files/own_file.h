// Files that a program keeps in a folder of its own. Somebody else may have prepared that folder,
// so that what is opened is checked, and not its name: nothing outside of the folder is changed.
#pragma once

#include <filesystem>
#include <string>

namespace legacy {

// Opens a file of ours with these flags of open(2), without waiting. Returns -1 and says why in
// `reason` where it cannot be opened, or is a link, is not a plain file, or is a file that has a
// second name (a hard link), which may lie in another folder.
int OpenOwnFile(const std::filesystem::path& path, int flags, std::string& reason);

// Makes the folder `below` in `folder`, and those between them. Throws Error where one of them
// cannot be made, or is a link or another file.
void MakeFolderIn(const std::filesystem::path& folder, const std::filesystem::path& below);

// Throws Error where one of the folders from `folder`, which is not looked at, down to the file
// `below` is a link or another file. Those that do not exist are right.
void CheckFoldersIn(const std::filesystem::path& folder, const std::filesystem::path& below);

}  // namespace legacy
