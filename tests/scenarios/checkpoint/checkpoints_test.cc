// Checkpoints of other versions are refused, and the format number follows the fields.
#include "scenarios/checkpoint/checkpoints.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "base/state.h"
#include "scenarios/checkpoint/fields.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

fs::path OwnFolder(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / ("checkpoints-" + name);
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

// Writes what versions without a format wrote: the lengths of no files, and a state.
void WriteOld(const fs::path& path) {
  SectionWriter out(path);
  StateWriter files;
  files.Number(0);
  out.Begin("files");
  out.Write(files.Take());
  out.Begin("state");
  StateWriter state;
  state.Number(7);
  out.Write(state.Take());
  out.Finish();
}

TEST(Checkpoints, OfThisVersionAreReadBack) {
  const fs::path folder = OwnFolder("same");
  Checkpoints checkpoints(folder, {std::chrono::seconds(1), nullptr}, stderr);
  ASSERT_TRUE(checkpoints.Write({}, [](SectionWriter& out) {
    StateWriter state;
    state.Number(7);
    out.Begin("state");
    out.Write(state.Take());
  }));
  const auto newest = checkpoints.Newest();
  ASSERT_NE(newest, nullptr);
  EXPECT_TRUE(newest->Has("state"));
}

TEST(Checkpoints, OfOtherVersionsAreRefusedWithOneMessage) {
  const fs::path folder = OwnFolder("old");
  fs::create_directories(folder / kCheckpointFolder);
  for (const char* name : {"checkpoint-1", "checkpoint-2"}) {
    WriteOld(folder / kCheckpointFolder / name);
  }
  std::FILE* const log = std::tmpfile();
  Checkpoints checkpoints(folder, {}, log);
  std::string message;
  try {
    checkpoints.Newest();
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("checkpoint-2: checkpoint of another version of this program: got "
                         "'format 1'; allowed: format 12; resume the run with the version"),
            std::string::npos)
      << message;
  EXPECT_EQ(std::ftell(log), 0) << "nothing else is said";
  std::fclose(log);
}

// A new, missing or moved field changes these bytes: give kCheckpointFormat the next number then,
// and put the new sum here.
TEST(CheckpointFormat, ChangesWithTheFieldsOfCollectives) {
  fabric::CollectiveSpec spec;
  spec.algorithm = fabric::CollectiveAlgorithm::NvlsAllReduce;
  spec.root = 2;
  spec.bytes = {3, 4};
  spec.members = {1, 0};
  spec.pullBytes = 5;
  spec.serve = 15;
  spec.servers = 6;
  spec.shards = {{18, 19}};
  spec.slots = 16;
  spec.blockBytes = 17;
  spec.group = 7;
  spec.channels = 8;
  spec.protocol = fabric::Protocol::Simple;
  spec.sumBytes = {9};
  spec.parents = {10};
  spec.firstAggregator = 11;
  spec.pairBytes = {12};
  spec.order = fabric::PeerOrder::Index;
  spec.relays = true;
  spec.pieceBytes = 13;
  spec.window = 14;
  spec.times = {20, 21};
  StateWriter out;
  ToArchive(out, spec);
  uint64_t sum = 14695981039346656037ULL;  // FNV-1a
  for (const std::byte byte : out.Take()) {
    sum = (sum ^ static_cast<uint64_t>(byte)) * 1099511628211ULL;
  }
  EXPECT_EQ(kCheckpointFormat, 12u);
  EXPECT_EQ(sum, 16604183591375523681u);
}

}  // namespace
}  // namespace legacy
