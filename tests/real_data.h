// Where tests find data of others, which the project does not ship.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace legacy {

// Returns the folder of the real data sets that tests may read; "" if there is none.
inline std::filesystem::path RealData() {
  const char* given = std::getenv("LEGACY_TEST_DATA");
  const std::filesystem::path folder =
      given != nullptr ? given
                       : std::filesystem::path(LEGACY_SOURCE_DIR) / ".." / "shared" / "data";
  return std::filesystem::exists(folder) ? folder : std::filesystem::path();
}

}  // namespace legacy
