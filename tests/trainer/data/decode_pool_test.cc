// Decoding ahead, on any number of threads.
#include "trainer/data/decode_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "tests/trainer/data/temporary_folder.h"
#include "trainer/bench/drawn_jpeg.h"

namespace legacy::decode_pool_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class DecodePoolTest : public testing::Test {
 protected:
  DecodePoolTest() {
    for (uint32_t i = 0; i < 6; ++i) {
      const std::vector<uint8_t> file =
          DrawJpeg({.width = 60 + static_cast<int>(i), .height = 50, .number = i});
      files_.Write("train/c/" + std::to_string(i) + ".jpg", file);
      files_.Write("val/c/" + std::to_string(i) + ".jpg", file);
    }
  }
  ImageFolder Open() const {
    return ImageFolder({.folder = files_.path(), .size = 24, .strict = true, .cache = {}});
  }
  static std::vector<ImageJob> Jobs(uint64_t batch, int count) {
    std::vector<ImageJob> jobs;
    for (int i = 0; i < count; ++i) {
      jobs.push_back({true, static_cast<int64_t>((batch + static_cast<uint64_t>(i)) % 6),
                      RandomKey{.step = batch, .worker = static_cast<uint32_t>(i)}});
    }
    return jobs;
  }
  static std::vector<uint8_t> Alone(const ImageFolder& folder, const std::vector<ImageJob>& jobs) {
    const auto bytes = static_cast<size_t>(folder.image_bytes());
    std::vector<uint8_t> pixels(jobs.size() * bytes);
    for (size_t i = 0; i < jobs.size(); ++i) {
      folder.Decode(jobs[i], std::span(pixels).subspan(i * bytes, bytes));
    }
    return pixels;
  }
  static std::vector<uint8_t> Bytes(const DecodedImages& images) {
    return {images.span().begin(), images.span().end()};
  }

  TemporaryFolder files_;
};

TEST_F(DecodePoolTest, PixelsAreThoseOfOneThread) {
  const ImageFolder folder = Open();
  for (const int threads : {0, 1, 4}) {
    for (const int64_t most : {0, 5, 1000}) {
      DecodePool pool(folder, threads, most);
      std::vector<DecodePool::Ticket> tickets;
      for (uint64_t batch = 0; batch < 8; ++batch) tickets.push_back(pool.Prefetch(Jobs(batch, 4)));
      // Out of order, so that some wait for memory that others hold.
      for (const uint64_t batch : {7u, 0u, 3u, 2u, 1u, 6u, 5u, 4u}) {
        EXPECT_EQ(Bytes(pool.Take(tickets[batch])), Alone(folder, Jobs(batch, 4)))
            << threads << " " << most << " " << batch;
      }
      EXPECT_EQ(pool.waiting(), 0);
    }
  }
}

TEST_F(DecodePoolTest, NoMoreImagesWaitThanAllowed) {
  const ImageFolder folder = Open();
  DecodePool pool(folder, 2, 10);
  std::vector<DecodePool::Ticket> tickets;
  for (uint64_t batch = 0; batch < 20; ++batch) tickets.push_back(pool.Prefetch(Jobs(batch, 4)));
  for (const DecodePool::Ticket ticket : tickets) {
    EXPECT_LE(pool.waiting(), 10);
    pool.Take(ticket);
  }
  // Two batches are decoded ahead, before any thread takes them.
  const auto ahead = pool.Prefetch(Jobs(1, 4));
  const auto further = pool.Prefetch(Jobs(2, 4));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (pool.waiting() < 8 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(pool.waiting(), 8);
  pool.Take(ahead);
  pool.Take(further);
}

TEST_F(DecodePoolTest, ManyThreadsTake) {
  const ImageFolder folder = Open();
  DecodePool pool(folder, 2, 16);
  std::vector<DecodePool::Ticket> tickets;
  for (uint64_t batch = 0; batch < 24; ++batch) tickets.push_back(pool.Prefetch(Jobs(batch, 3)));
  std::vector<std::vector<uint8_t>> taken(24);
  std::vector<std::thread> workers;
  for (size_t worker = 0; worker < 4; ++worker) {
    workers.emplace_back([&, worker] {
      for (size_t batch = worker; batch < 24; batch += 4)
        taken[batch] = Bytes(pool.Take(tickets[batch]));
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (uint64_t batch = 0; batch < 24; ++batch) {
    EXPECT_EQ(taken[batch], Alone(folder, Jobs(batch, 3)));
  }
}

TEST_F(DecodePoolTest, TheErrorIsThatOfTheFirstJobThatFails) {
  const ImageFolder folder = Open();
  files_.WriteText("train/c/2.jpg", std::string("no image"));
  files_.WriteText("train/c/4.jpg", std::string());
  for (const int threads : {0, 3}) {
    DecodePool pool(folder, threads, 100);
    const auto bad = pool.Prefetch(Jobs(0, 6));
    const auto good = pool.Prefetch({{true, 0, {}}, {true, 1, {}}});
    EXPECT_THAT([&] { pool.Take(bad); }, ThrowsMessage<Error>(HasSubstr("train/c/2.jpg")));
    EXPECT_EQ(pool.Take(good).bytes, 2 * folder.image_bytes());
    EXPECT_THAT([&] { pool.Take(good); }, ThrowsMessage<Error>(HasSubstr("not yet taken")));
    EXPECT_THROW(pool.Take(99), Error);
    EXPECT_EQ(pool.waiting(), 0);
  }
}

TEST_F(DecodePoolTest, EndsWithWorkLeft) {
  const ImageFolder folder = Open();
  DecodePool pool(folder, 3, 1000);
  for (uint64_t batch = 0; batch < 50; ++batch) pool.Prefetch(Jobs(batch, 6));
}

TEST_F(DecodePoolTest, NegativeCountsAreRefused) {
  const ImageFolder folder = Open();
  EXPECT_THROW(DecodePool(folder, -1, 10), Error);
  EXPECT_THROW(DecodePool(folder, 1, -1), Error);
}

}  // namespace
}  // namespace legacy::decode_pool_test
