// Checkpoints: their sections, and the values in them.
#include <zlib.h>

#include <cmath>
#include <cstring>

#include "base/files/section_file.h"
#include "base/files/whole_file.h"
#include "scenarios/checkpoint/fields.h"
#include "scenarios/checkpoint/journal.h"
#include "tests/fuzz/readers.h"

namespace legacy::fuzz {
namespace {

constexpr size_t kChecksumFromEnd = 12;  // bytes from the checksum to the end

JournalStep ExampleStep() {
  JournalStep step;
  step.outcome.step = 3;
  step.outcome.loss = std::nan("");
  step.outcome.work.workers = 2;
  CollectiveCall call;
  call.encode = {{"topk.encode", 100, 1}};
  step.outcome.work.buckets = {{{0, 1}, 100, {{call, {7, 8}}}}};
  step.outcome.units = {{0.01, 10, 70}};
  step.decisions = {{.step = 1, .parameter = 0.5, .grounds = {.reason = "start"}}};
  step.evaluation = Evaluation{2, {0.1, 0.5}};
  return step;
}

fabric::StepTraffic ExampleTraffic() {
  fabric::StepTraffic traffic;
  traffic.workers = 2;
  traffic.deviceFree = {1, 2};
  fabric::CallTraffic call;
  call.collective.bytes = {5, 6};
  traffic.buckets = {{{1, 1}, {call}, {2, 2}}};
  return traffic;
}

Bytes ExampleState() {
  StateWriter out;
  const fabric::StepSimulator::State simulator = {1, 2, {}, {{{3, 4}}}};
  ToArchive(out, ExampleStep(), ExampleTraffic(), simulator);
  return out.Take();
}

void ReadState(ByteSpan bytes) {
  JournalStep step;
  fabric::StepTraffic traffic;
  fabric::StepSimulator::State simulator;
  StateReader in(bytes);
  FromArchive(in, step, traffic, simulator);
  in.ExpectEnd();
  // A checkpoint that was read is written again to the same bytes.
  StateWriter out;
  ToArchive(out, step, traffic, simulator);
  Require(std::ranges::equal(out.Take(), bytes));
}

void ReadFile(ByteSpan file) {
  for (const auto& [name, section] : ReadSections(file, "checkpoint")) {
    Require(section.empty() || (section.data() >= file.data() &&
                                section.data() + section.size() <= file.data() + file.size()));
    Refusable([&, part = section] { ReadState(part); });
  }
}

}  // namespace

void FuzzCheckpoint(ByteSpan input) {
  Refusable([&] { ReadState(input); });
  Refusable([&] { ReadFile(input); });
  if (input.size() < 2 * kChecksumFromEnd) return;
  // With the right length and checksum, the bytes before them are read as well.
  Bytes repaired(input.begin(), input.end());
  const uint64_t length = repaired.size();
  std::byte* const end = repaired.data() + length;
  std::memcpy(end - kChecksumFromEnd - sizeof length, &length, sizeof length);
  const uint32_t checksum = static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(repaired.data()), length - kChecksumFromEnd));
  std::memcpy(end - kChecksumFromEnd, &checksum, sizeof checksum);
  std::memcpy(end - (kChecksumFromEnd - sizeof checksum), "LGEND\0\0\0", 8);
  Refusable([&] { ReadFile(repaired); });
}

std::vector<Bytes> CheckpointSeeds() {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("fuzz-checkpoint-" + std::to_string(getpid()));
  SectionWriter out(path);
  out.Begin("state");
  out.Write(ExampleState());
  out.Begin("empty");
  out.Finish();
  const std::string file = ReadWholeFile(path);
  std::filesystem::remove(path);
  std::vector<Bytes> seeds = TextSeeds({file});
  seeds.push_back(ExampleState());
  return seeds;
}

}  // namespace legacy::fuzz
