// Packets of pcap files.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace legacy::packet_test {

// A Captured packet has its first bytes, and the number of all.
struct Captured {
  uint64_t nanoseconds = 0;
  std::vector<uint8_t> bytes;
  size_t all = 0;

  uint64_t Number(size_t at, size_t length) const {
    uint64_t number = 0;
    for (size_t i = 0; i < length; ++i) number = number << 8 | bytes.at(at + i);
    return number;
  }
};

// Reads a pcap file of nanoseconds in this machine's byte order, with packets of that link type.
inline std::vector<Captured> ReadCapture(const std::string& path, uint32_t link_type) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream read;
  read << in.rdbuf();
  const std::string text = read.str();
  const auto word = [&](size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, text.data() + at, sizeof value);
    return value;
  };
  std::vector<Captured> packets;
  if (text.size() < 24) return packets;
  EXPECT_EQ(word(0), 0xa1b23c4du);  // nanoseconds
  EXPECT_EQ(word(20), link_type);
  for (size_t at = 24; at < text.size();) {
    const size_t length = word(at + 8);
    Captured packet;
    packet.nanoseconds = uint64_t{1'000'000'000} * word(at) + word(at + 4);
    packet.bytes.assign(text.begin() + static_cast<ptrdiff_t>(at + 16),
                        text.begin() + static_cast<ptrdiff_t>(at + 16 + length));
    packet.all = word(at + 12);
    packets.push_back(packet);
    at += 16 + length;
  }
  return packets;
}

}  // namespace legacy::packet_test
