// Gloo's group, whose processes are threads here, each with a line of its own to the store.
#include "trainer/torch/processes/gloo_group.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "base/error.h"
#include "tests/trainer/torch/thread_processes.h"

namespace legacy {
namespace {

using test::ThreadProcesses;

constexpr int kProcesses = 2;
const StopFlag kNever = 0;

std::vector<Launch> Launches() {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  std::vector<Launch> launches(
      kProcesses,
      {.size = kProcesses, .local_size = kProcesses, .by = "a test", .host = "127.0.0.1"});
  launches[0].pipe_out = ends[1];
  launches[1].pipe_in = ends[0];
  launches[1].rank = launches[1].local_rank = 1;
  return launches;
}

Bytes Filled(size_t size, int with) { return Bytes(size, std::byte(with)); }

// A CountedCarrier has the threads meet in a place other than the group's.
class CountedCarrier : public Carrier {
 public:
  CountedCarrier(ProcessGroup& place, std::vector<size_t>& lengths)
      : place_(place), lengths_(lengths) {}
  void AllGather(ByteSpan own, std::span<std::byte> all) override {
    lengths_.push_back(own.size());
    auto out = all.begin();
    for (const Bytes& bytes : place_.AllGather(own)) out = std::ranges::copy(bytes, out).out;
    EXPECT_EQ(out, all.end());
  }

 private:
  ProcessGroup& place_;
  std::vector<size_t>& lengths_;
};

class GlooGroupTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      JoinGlooGroup({.by = "a test", .host = ""}, kNever);
    } catch (const Error& error) {
      if (std::string(error.what()).find("without Gloo") != std::string::npos) {
        GTEST_SKIP() << error.what();
      }
    }
  }
  std::vector<Launch> launches_ = Launches();
  ThreadProcesses threads_{kProcesses};
};

// Messages that a carrier gathers are padded to the longest and cut again; short ones do without a
// carrier.
TEST_F(GlooGroupTest, ACarrierTakesWhatIsLong) {
  std::vector<std::vector<size_t>> lengths(kProcesses);
  const std::string reason = threads_.Run([&](int rank) {
    const auto group = JoinGlooGroup(launches_[rank], kNever);
    EXPECT_EQ(group->local_rank(), rank);
    group->Meet("same");
    const auto gather = [&](size_t ours, size_t theirs) {
      const std::vector<size_t> sizes = {ours, theirs};
      EXPECT_EQ(group->AllGather(Filled(sizes[rank], rank + 1)),
                (std::vector<Bytes>{Filled(ours, 1), Filled(theirs, 2)}));
    };
    gather(5000, 3);
    EXPECT_TRUE(lengths[rank].empty()) << "Gloo carries everything";
    group->CarryBy(std::make_unique<CountedCarrier>(threads_[rank], lengths[rank]));
    gather(5000, 3);
    gather(0, 70'001);
    gather(10, 1000);
    gather(0, 0);
    group->CarryBy(nullptr);
    gather(2000, 2000);
    group->Check();
    group->End();
  });
  EXPECT_EQ(reason, "");
  for (const auto& of_rank : lengths) EXPECT_EQ(of_rank, (std::vector<size_t>{5000, 70'001}));
}

// A process that waits for a carrier learns why the group ends.
TEST_F(GlooGroupTest, ChecksKnowWhyTheGroupEnds) {
  std::string heard;
  threads_.Run([&](int rank) {
    const auto group = JoinGlooGroup(launches_[rank], kNever);
    group->Meet("same");
    group->Check();
    if (rank == 1) {
      group->Fail("no more of it");
      return;
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(8);
    while (heard.empty() && std::chrono::steady_clock::now() < until) {
      try {
        group->Check();
      } catch (const GroupError& error) {
        heard = error.what();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    group->Fail("it was heard");
  });
  EXPECT_EQ(heard, "no more of it");
}

}  // namespace
}  // namespace legacy
