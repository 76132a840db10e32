#include "trainer/federated/client_store.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "base/error.h"
#include "base/random.h"

namespace legacy::client_store_test {
namespace {

namespace fs = std::filesystem;

Bytes Of(size_t size, int value) { return Bytes(size, static_cast<std::byte>(value)); }

class ClientStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static Bytes Saved(ClientStore& store) {
    StateWriter out;
    store.Save(out);
    return out.Take();
  }
  static void Load(ClientStore& store, const Bytes& saved) {
    StateReader in(saved);
    store.Load(in);
    in.ExpectEnd();
  }
  std::string ErrorOfLoad(const Bytes& saved) {
    ClientStore store(folder_, 1000);
    try {
      Load(store, saved);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  size_t Logs() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_ = fs::path(testing::TempDir()) / "client_store_test";
};

// A map is the oracle of random calls; at any moment memory is within its limit, and what is saved
// is found again.
TEST_F(ClientStoreTest, KeepsWhatItIsGiven) {
  for (const int64_t memory : {0, 300, 1'000'000}) {
    SetUp();
    ClientStore store(folder_, memory);
    std::map<std::pair<int64_t, int>, Bytes> oracle;
    RandomStream random({.seed = 1, .step = static_cast<uint64_t>(memory)});
    std::map<std::pair<int64_t, int>, Bytes> at_save;
    Bytes saved;
    for (int i = 0; i < 3000; ++i) {
      const std::pair<int64_t, int> key = {random.Below(40), static_cast<int>(random.Below(3))};
      const auto kind = static_cast<StateKind>(key.second);
      switch (random.Below(4)) {
        case 0:
        case 1:
          oracle[key] = Of(random.Below(60), i % 251);
          store.Put(key.first, kind, oracle[key]);
          break;
        case 2: {
          const auto found = oracle.find(key);
          const std::optional<Bytes> got = store.Get(key.first, kind);
          ASSERT_EQ(got.has_value(), found != oracle.end());
          if (got) {
            ASSERT_EQ(*got, found->second);
          }
          break;
        }
        default:
          oracle.erase(key);
          store.Drop(key.first, kind);
      }
      ASSERT_LE(store.memory_bytes(), memory);
      ASSERT_EQ(store.states(), std::ssize(oracle));
      if (i % 400 == 399) {
        saved = Saved(store);
        at_save = oracle;
      }
    }
    EXPECT_LE(Logs(), 4U);
    ClientStore other(folder_, memory);
    Load(other, saved);
    EXPECT_EQ(other.states(), std::ssize(at_save));
    for (const auto& [key, bytes] : at_save) {
      EXPECT_EQ(other.Get(key.first, static_cast<StateKind>(key.second)), bytes);
    }
    other.Remove();
  }
}

TEST_F(ClientStoreTest, WritesNothingWhileMemoryIsEnough) {
  ClientStore store(folder_, 1000);
  for (int client = 0; client < 10; ++client) store.Put(client, StateKind::kResidual, Of(100, 1));
  EXPECT_EQ(Logs(), 0U);
  store.Put(10, StateKind::kResidual, Of(100, 1));
  EXPECT_EQ(store.log_bytes(), 132);  // the state that was used longest ago
  EXPECT_EQ(store.Get(0, StateKind::kResidual), Of(100, 1));
}

// A log is not rewritten, and so a checkpoint stays good whatever comes after it.
TEST_F(ClientStoreTest, GoesBackToItsLastTwoCheckpoints) {
  ClientStore store(folder_, 0);
  std::vector<Bytes> saves;
  for (int version = 0; version < 9; ++version) {
    for (int client = 0; client < 4; ++client) {
      store.Put(client, StateKind::kControl, Of(50, version));
    }
    saves.push_back(Saved(store));
  }
  for (int version : {7, 8}) {
    ClientStore other(folder_, 100);
    Load(other, saves[version]);
    for (int client = 0; client < 4; ++client) {
      EXPECT_EQ(other.Get(client, StateKind::kControl), Of(50, version));
    }
  }
  EXPECT_LE(Logs(), 3U);  // logs that are half garbage were left
  store.Remove();
  EXPECT_EQ(Logs(), 0U);
}

TEST_F(ClientStoreTest, CutsWhatFollowsACheckpoint) {
  ClientStore store(folder_, 0);
  store.Put(1, StateKind::kResidual, Of(10, 1));
  const Bytes saved = Saved(store);
  store.Put(2, StateKind::kResidual, Of(10, 2));
  EXPECT_EQ(fs::file_size(folder_ / "clients-0.log"), 84U);
  Load(store, saved);
  EXPECT_EQ(fs::file_size(folder_ / "clients-0.log"), 42U);
  EXPECT_FALSE(store.Get(2, StateKind::kResidual));
  EXPECT_EQ(store.Get(1, StateKind::kResidual), Of(10, 1));
}

TEST_F(ClientStoreTest, NamesALogThatIsDamaged) {
  const fs::path log = folder_ / "clients-0.log";
  ClientStore store(folder_, 0);
  for (int client = 0; client < 2; ++client) store.Put(client, StateKind::kResidual, Of(10, 1));
  const Bytes saved = Saved(store);
  std::fstream(log, std::ios::in | std::ios::out).seekp(80).put('x');
  EXPECT_EQ(store.Get(0, StateKind::kResidual), Of(10, 1));
  try {
    store.Get(1, StateKind::kResidual);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), log.string() + ": offset 42: the state of client 1 is damaged");
  }
  fs::resize_file(log, 60);
  EXPECT_EQ(ErrorOfLoad(saved), log.string() + ": it has 60 bytes, and the checkpoint needs 84");
  fs::remove(log);
  EXPECT_NE(ErrorOfLoad(saved).find("cannot be read"), std::string::npos);
  // Every cut of an index is refused, and so is every change that points elsewhere.
  for (size_t length = 0; length < saved.size(); ++length) {
    EXPECT_NE(ErrorOfLoad({saved.begin(), saved.begin() + static_cast<ptrdiff_t>(length)}),
              "no error");
  }
}

TEST_F(ClientStoreTest, SaysThatItCannotWrite) {
  ClientStore store(folder_ / "missing", 0);
  EXPECT_THROW(store.Put(1, StateKind::kResidual, Of(10, 1)), Error);
}

}  // namespace
}  // namespace legacy::client_store_test
