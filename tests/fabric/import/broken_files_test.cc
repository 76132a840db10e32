// Broken files: each gives one message, on one line, that says where and what is wrong. The folder
// broken/ has the files, and messages.txt the message of each; a file without one fails the test.
#include <algorithm>
#include <map>
#include <sstream>

#include "tests/fabric/import/import_testing.h"

namespace legacy::fabric::broken_files_test {
namespace {

const std::string kFolder = std::string(LEGACY_SOURCE_DIR) + "/tests/fabric/import/broken/";

// Returns the text that asks for a file.
std::string RequestFor(const std::string& name) {
  const std::string extension = std::filesystem::path(name).extension().string();
  if (extension == ".rtt") return "rtt-matrix:" + kFolder + name + ",unit=ms";
  const auto ends = [&name](const std::string& end) {
    return name.size() > end.size() && name.substr(name.size() - end.size()) == end;
  };
  if (ends(".astra.yml")) return "astra-sim:" + kFolder + name;
  if (ends(".regions.yaml")) return "regions:" + kFolder + name;
  return kFolder + name;
}

// Returns the messages by file, from lines "NAME:REST OF THE MESSAGE".
std::map<std::string, std::string> Messages() {
  std::map<std::string, std::string> messages;
  std::ifstream file(kFolder + "messages.txt");
  for (std::string line; std::getline(file, line);) {
    EXPECT_TRUE(messages.emplace(line.substr(0, line.find(':')), line).second) << line;
  }
  return messages;
}

bool HasControlCharacter(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

TEST(BrokenFiles, GiveOneMessageWithFileAndLine) {
  const std::map<std::string, std::string> messages = Messages();
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    if (name == "messages.txt") continue;
    ++files;
    const std::string message = ImportError(RequestFor(name), kFolder);
    const auto expected = messages.find(name);
    EXPECT_EQ(message, expected == messages.end() ? "" : expected->second);
    EXPECT_FALSE(HasControlCharacter(message)) << message;
    EXPECT_LT(message.size(), 300) << message;
    // "NAME:" and the number of a line.
    ASSERT_GT(message.size(), name.size() + 1) << name;
    EXPECT_EQ(message.substr(0, name.size() + 1), name + ":");
    EXPECT_TRUE(std::isdigit(static_cast<unsigned char>(message[name.size() + 1]))) << message;
  }
  EXPECT_GE(files, 40);
  EXPECT_EQ(files, messages.size());
}

TEST(BrokenFiles, OfNoTextAreRefusedToo) {
  const ImportFiles files;
  for (const char* name : {"a.gml", "a.graphml", "a.xml", "a.txt", "a.topo", "a.yaml"}) {
    const std::string path = files.Write(name, std::string("\0\x01\xFF\xFE\n\x1F\x8B\0\0", 9));
    const std::string message = ImportError(path, files.folder());
    EXPECT_FALSE(message.empty()) << name;
    EXPECT_FALSE(HasControlCharacter(message)) << message;
  }
  EXPECT_NE(ImportError("gml:" + files.folder(), files.folder()), "");
  EXPECT_EQ(
      ImportError("missing.gml", files.folder()),
      "topology: got 'missing.gml'; allowed: a readable file, or a topology's name (no such file "
      "or folder)");
}

}  // namespace
}  // namespace legacy::fabric::broken_files_test
