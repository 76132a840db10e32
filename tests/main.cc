// The main function of all test programs. A process has a folder for temporary files of its own,
// which ends with it, so that tests that run at the same time may give files the same names.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string folder = testing::TempDir() + "legacy-test-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr || chmod(folder.c_str(), 0755) != 0) {  // others may look
    std::perror(folder.c_str());
    return EXIT_FAILURE;
  }
  unsetenv("TEST_TMPDIR");  // testing::TempDir prefers it
  setenv("TMPDIR", folder.c_str(), 1);
  const int status = RUN_ALL_TESTS();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return status;
}
