// The table of congestion controls, their texts, and the pacing of queue pairs.
#include "ns3-module/fabric/roce/controls.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "base/hash.h"
#include "ns3-module/fabric/roce/pacer.h"
#include "tests/fabric/fabric_testing.h"
#include "tests/fabric/roce/roce_testing.h"

namespace {
std::atomic<int64_t> allocations{0};
}

// Counts allocations of this program.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size > 0 ? size : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace legacy::fabric {
namespace {

TEST(RoceControls, NoneSendsAtLineRate) {
  const auto control = MakeRoceControl("none", "--transport");
  alignas(kRoceStateAlignment) std::array<std::byte, 64> memory;
  ASSERT_LE(control->StateBytes(3), memory.size());
  const RoceState* state = control->Begin(memory.data(), {1e11, 5'000'000, 4178, 3}, 0);
  EXPECT_EQ(state->rate, 1e11);
  EXPECT_EQ(state->window, kNoWindow);
  EXPECT_EQ(state->timer, kNoTimer);
}

TEST(RoceControls, UnknownNamesAndKeysNameTheNearest) {
  const std::string start = "cc: got 'nine'; did you mean none?; allowed: dcqcn, ";
  EXPECT_EQ(MessageOf([] { MakeRoceControl("nine", "cc"); }).substr(0, start.size()), start);
  EXPECT_EQ(MessageOf([] { MakeRoceControl("none:eta=1", "cc"); }),
            "cc: unknown key of none: got 'eta'; allowed: no keys");
  EXPECT_EQ(MessageOf([] { MakeRoceControl("none:", "cc"); }),
            "cc: got 'none:'; allowed: name:key=value+key=value; '' is not key=value");
}

TEST(RoceControls, TextsAreCanonical) {
  EXPECT_EQ(CanonicalRoceControl("x:b=2+a=1", "cc"), "x:a=1+b=2");
  EXPECT_EQ(CanonicalRoceControl("none", "cc"), "none");
}

TEST(RoceControls, TakeTheirDefaults) {
  for (const RoceControlRow& row : RoceControls()) {
    for (const RoceKey& key : row.keys) {
      EXPECT_NE(key.fallback.empty(), key.depends.empty()) << row.name << " " << key.name;
      EXPECT_FALSE(key.source.empty()) << row.name << " " << key.name;
      if (key.fallback.empty()) continue;
      EXPECT_NE(MakeRoceControl(row.name + ":" + key.name + "=" + key.fallback, "cc"), nullptr);
    }
  }
}

TEST(RoceControls, TheDocumentListsEveryKey) {
  std::ostringstream page;
  page << std::ifstream(LEGACY_SOURCE_DIR "/docs/rdma.md").rdbuf();
  for (const RoceControlRow& row : RoceControls()) {
    EXPECT_NE(page.str().find("`" + row.name + "`"), std::string::npos) << row.name;
    for (const RoceKey& key : row.keys) {
      const std::string line = "| `" + key.name + "` | " +
                               (key.fallback.empty() ? key.depends : key.fallback) + " | " +
                               key.allowed + " | " + key.help + " | " + key.source + " |\n";
      EXPECT_NE(page.str().find(line), std::string::npos) << line;
    }
  }
}

// Mutated texts make a control, or throw Error.
TEST(RoceControls, AnyTextIsReadOrRefused) {
  std::vector<std::vector<std::string>> pairs;  // of each control with keys
  std::vector<std::string> names;
  for (const RoceControlRow& row : RoceControls()) {
    if (row.keys.empty()) continue;
    names.push_back(row.name);
    pairs.emplace_back();
    for (const RoceKey& key : row.keys) {
      pairs.back().push_back(key.name + "=" + (key.fallback.empty() ? "1" : key.fallback));
    }
  }
  const std::string letters = "abcdefghijklmnopqrstuvwxyz0123456789:=+.-,/ ";
  int made = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    const size_t row = Reduce(HashWords({i, 0}), names.size());
    const std::vector<std::string>& keys = pairs[row];
    std::string text = names[row] + ":" + keys[Reduce(HashWords({i, 1}), keys.size())] + "+" +
                       keys[Reduce(HashWords({i, 2}), keys.size())];
    for (uint64_t edit = 0; edit < 3; ++edit) {
      const size_t place = Reduce(HashWords({i, edit, 3}), text.size());
      if (i % 2) text[place] = letters[Reduce(HashWords({i, edit, 4}), letters.size())];
    }
    try {
      made += MakeRoceControl(text, "cc") != nullptr;
    } catch (const Error& error) {
      ASSERT_NE(std::string(error.what()).find("allowed"), std::string::npos) << text;
    }
  }
  EXPECT_GT(made, 1000);
}

// Reports 20,000 random events to a queue pair.
void ExpectAnyEventsAreTaken(const std::string& text, double line) {
  const RocePath path{line, 10 * kUs, 4178, 3};
  QueuePairOf<RoceState> pair(text, path);
  EXPECT_TRUE(pair.AtBeginOfMemory()) << text;
  std::array<IntRecord, 3> records;
  Picoseconds now = 0;
  const int64_t before = allocations;
  for (uint64_t i = 0; i < 20'000; ++i) {
    const uint64_t hash = HashWords({i});
    now += static_cast<Picoseconds>(Reduce(hash, hash % 100 == 0 ? 1'000'000'000 : 10'000'000));
    pair.Advance(now);
    switch (hash % 5) {
      case 0:
        pair.Cnp(now);
        break;
      case 1:
        pair.control().OnLoss(pair.state(), {now, hash % 2 == 0});
        break;
      case 2:
        pair.Sent(now, static_cast<int64_t>(Reduce(Mix64(hash), 9000)));
        break;
      default:
        for (IntRecord& record : records) {
          record = {line, now - 1000, record.sentBytes + int64_t(hash % 1'000'000),
                    int64_t(Mix64(hash) % 10'000'000)};
        }
        RoceAck ack;
        ack.now = now;
        ack.sent = now - int64_t(hash % 1'000'000'000);
        ack.answeredBytes = 4178;
        ack.payload = int64_t(hash % 100'000);
        ack.frames = 1;
        ack.endsMessage = hash % 11 == 0;
        ack.acknowledged = i;
        ack.next = i + 20;
        ack.switches = 3;
        ack.records = records.data();
        pair.Ack(ack);
    }
    ASSERT_GT(pair.state().rate, 0) << i;
    ASSERT_LE(pair.state().rate, line * (1 + 1e-12)) << i;
    ASSERT_GT(pair.state().window, 0) << i;
    ASSERT_GT(pair.state().timer, now) << i;
  }
  EXPECT_EQ(allocations, before);
}

// Whatever happens, a queue pair may continue, and no call allocates.
TEST(RoceControls, AnyEventsLeaveARateAndAWindowAndAllocateNothing) {
  for (const char* text : {"none", "dcqcn", "dcqcn:parameters=mellanox", "dcqcn:parameters=hpcc",
                           "hpcc", "timely", "timely:patched=on", "swift", "swift:ai=1000000"}) {
    for (const double line : {1e6, 100e9, 1.6e12}) {
      SCOPED_TRACE(text);
      ExpectAnyEventsAreTaken(text, line);
    }
  }
  ExpectAnyEventsAreTaken("hpcc:int=wire", 1.6e12);
}

// 1,000 bytes at 10 Gbit/s take 800 ns.
TEST(RocePacer, PacesFramesFromTheirBegin) {
  RocePacer pacer;
  pacer.OnSent(5'000, 1000, 918, false, 0, 1e10);
  EXPECT_EQ(pacer.next, 5'000 + 800'000);
  pacer.OnRate(100'000, 5e9);
  EXPECT_EQ(pacer.next, 5'000 + 1'600'000);
  pacer.OnRate(900'000, 1e11);  // would have been 80 ns after its beginning
  EXPECT_EQ(pacer.next, 900'000);
}

TEST(RocePacer, PacesBurstsAsAWhole) {
  RocePacer pacer;
  pacer.OnSent(0, 1082, 1000, false, 2000, 1e10);
  EXPECT_EQ(pacer.next, 0);  // the second frame follows at once
  pacer.OnSent(86'560, 1082, 1000, false, 2000, 1e10);
  EXPECT_EQ(pacer.next, 2 * 865'600);
  pacer.OnSent(2'000'000, 582, 500, true, 2000, 1e10);  // the message ends, and the burst
  EXPECT_EQ(pacer.next, 2'000'000 + 465'600);
}

}  // namespace
}  // namespace legacy::fabric
