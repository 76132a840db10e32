#include "analysis/event_file.h"

#include <array>
#include <bit>
#include <cmath>
#include <concepts>

namespace legacy::analysis {
namespace {

// Appends the value in little-endian order, whatever the order of this machine.
void AppendFixed(std::unsigned_integral auto value, std::string& out) {
  for (size_t i = 0; i < sizeof(value); ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

void AppendVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  out += static_cast<char>(value);
}

// A WireType says how the value of a field is encoded after its key.
enum WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

void AppendKey(int field, WireType type, std::string& out) {
  AppendVarint(static_cast<uint64_t>(field) << 3 | type, out);
}

void AppendBytes(int field, std::string_view bytes, std::string& out) {
  AppendKey(field, kBytes, out);
  AppendVarint(bytes.size(), out);
  out += bytes;
}

// Event { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
std::string EventHead(double wall_time, int64_t step) {
  std::string event;
  AppendKey(1, kFixed64, event);
  AppendFixed(std::bit_cast<uint64_t>(wall_time), event);
  AppendKey(2, kVarint, event);
  AppendVarint(static_cast<uint64_t>(step), event);
  return event;
}

// Summary.Value { string tag = 1; float simple_value = 2; }
std::string ValueOf(const Scalar& scalar) {
  std::string value;
  AppendBytes(1, scalar.tag, value);
  AppendKey(2, kFixed32, value);
  AppendFixed(std::bit_cast<uint32_t>(static_cast<float>(scalar.value)), value);
  return value;
}

// Returns the remainder of each byte by the reflected polynomial 0x1EDC6F41.
constexpr std::array<uint32_t, 256> CrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    table[byte] = crc;
  }
  return table;
}

// Returns the checksum as records store it. It is rotated and shifted, because records may contain
// checksums of their own.
uint32_t Masked(uint32_t crc) { return std::rotr(crc, 15) + 0xA282EAD8U; }

}  // namespace

uint32_t Crc32c(std::string_view data) {
  static constexpr std::array<uint32_t, 256> kTable = CrcTable();
  uint32_t crc = ~0U;
  for (const char c : data) crc = crc >> 8 ^ kTable[(crc ^ static_cast<uint8_t>(c)) & 0xFF];
  return ~crc;
}

EventFile::EventFile(const std::filesystem::path& path, bool goes_on)
    : file_(path, goes_on ? OutputFile::Mode::kAppend : OutputFile::Mode::kReplace) {
  if (goes_on) return;
  std::string event = EventHead(0, 0);
  AppendBytes(3, "brain.Event:2", event);
  WriteRecord(event);
}

void EventFile::Write(double wall_time, int64_t step, std::span<const Scalar> scalars) {
  std::string summary;  // Summary { repeated Value value = 1; }
  for (const Scalar& scalar : scalars) {
    if (!std::isnan(scalar.value)) AppendBytes(1, ValueOf(scalar), summary);
  }
  std::string event = EventHead(wall_time, step);
  AppendBytes(5, summary, event);
  WriteRecord(event);
}

void EventFile::WriteRecord(std::string_view data) {
  std::string record;
  AppendFixed(uint64_t{data.size()}, record);
  AppendFixed(Masked(Crc32c(record)), record);
  record += data;
  AppendFixed(Masked(Crc32c(data)), record);
  file_.Write(record);
}

}  // namespace legacy::analysis
