#include "trainer/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "base/error.h"

namespace legacy::worker_pool_test {
namespace {

TEST(WorkerPool, RunsEachIndexOnceOnAValidThread) {
  for (int threads : {1, 2, 5}) {
    WorkerPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t count : {0, 1, 3, 200}) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
      std::atomic<int> bad_threads = 0;
      pool.ForEach(count, [&](int64_t index, int thread) {
        ++runs[index];
        if (thread < 0 || thread >= threads) ++bad_threads;
      });
      for (const auto& run : runs) EXPECT_EQ(run, 1);
      EXPECT_EQ(bad_threads, 0);
    }
  }
}

TEST(WorkerPool, BeginsEachThreadOnce) {
  std::atomic<int> begun = 0;
  {
    WorkerPool pool(3, [&] { ++begun; });
  }
  EXPECT_EQ(begun, 3);
}

TEST(WorkerPool, ReportsTheLowestFailureAndGoesOn) {
  for (int threads : {1, 3}) {
    WorkerPool pool(threads);
    std::atomic<int> runs = 0;
    try {
      pool.ForEach(50, [&](int64_t index, int) {
        ++runs;
        if (index % 10 == 7) throw Error("index " + std::to_string(index));
      });
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "index 7");
    }
    EXPECT_EQ(runs, 50);
    pool.ForEach(5, [&](int64_t, int) { ++runs; });
    EXPECT_EQ(runs, 55);
  }
  EXPECT_THROW(WorkerPool(0), Error);
}

}  // namespace
}  // namespace legacy::worker_pool_test