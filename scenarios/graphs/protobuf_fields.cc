#include "scenarios/graphs/protobuf_fields.h"

#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/wire_format_lite.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "base/files/plain_file.h"

namespace legacy::graphs {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr int kTypeBits = WireFormatLite::kTagTypeBits;

void AppendVarint(std::string& bytes, uint64_t value) {
  uint8_t buffer[10];
  const uint8_t* const end = CodedOutputStream::WriteVarint64ToArray(value, buffer);
  bytes.append(reinterpret_cast<const char*>(buffer), end - buffer);
}

void AppendTag(std::string& bytes, int field, WireType type) {
  AppendVarint(bytes, static_cast<uint64_t>(field) << kTypeBits | static_cast<uint64_t>(type));
}

std::string PlaceOf(const std::string& path, int64_t byte) {
  return path + ": byte " + std::to_string(byte) + ": ";
}

}  // namespace

uint64_t TakeVarint(std::string_view& bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<uint8_t>(bytes[i]);
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes.remove_prefix(i + 1);
      return value;
    }
  }
  throw Error::Refusal("a varint has no end");
}

uint64_t Field::Unsigned() const {
  if (type == WireType::kBytes) {
    throw Error::Refusal("field " + std::to_string(number) + " is not a number");
  }
  return bits;
}

std::string_view Field::Text() const {
  if (type != WireType::kBytes) {
    throw Error::Refusal("field " + std::to_string(number) + " is a number");
  }
  return bytes;
}

void Field::AppendNumbers(std::vector<uint64_t>& numbers) const {
  if (type != WireType::kBytes) {
    numbers.push_back(bits);
    return;
  }
  for (std::string_view left = bytes; !left.empty();) numbers.push_back(TakeVarint(left));
}

uint64_t Fields::TakeVarint() { return graphs::TakeVarint(left_); }

uint64_t Fields::TakeFixed(size_t bytes) {
  if (left_.size() < bytes) throw Error::Refusal("a number has no end");
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(left_[i])) << (8 * i);
  }
  left_.remove_prefix(bytes);
  return value;
}

bool Fields::Next() {
  if (left_.empty()) return false;
  const uint64_t tag = TakeVarint();
  const uint64_t number = tag >> kTypeBits;
  if (number == 0 || number > 0x1fffffff) {
    throw Error::Refusal("there is no field " + std::to_string(number));
  }
  field_ = {static_cast<int>(number), static_cast<WireType>(tag & ((1 << kTypeBits) - 1)), 0, {}};
  switch (field_.type) {
    case WireType::kVarint:
      field_.bits = TakeVarint();
      return true;
    case WireType::kFixed64:
      field_.bits = TakeFixed(8);
      return true;
    case WireType::kFixed32:
      field_.bits = TakeFixed(4);
      return true;
    case WireType::kBytes: {
      const uint64_t size = TakeVarint();
      if (size > left_.size()) {
        throw Error::Refusal("field " + std::to_string(number) + " of " + std::to_string(size) +
                             " bytes is longer than its message");
      }
      field_.bytes = left_.substr(0, size);
      left_.remove_prefix(size);
      return true;
    }
  }
  throw Error::Refusal("field " + std::to_string(number) + " has the unknown wire type " +
                       std::to_string(tag & ((1 << kTypeBits) - 1)));
}

void ForEachMessage(const std::string& path,
                    const std::function<bool(std::string_view message)>& use) {
  std::ifstream file = OpenToRead(path);
  std::error_code failed;
  const uintmax_t bytes = std::filesystem::file_size(path, failed);
  if (!file || failed) throw Error(path + ": cannot be read" + NoteOfMissing(path));
  if (bytes == 0) throw Error::Refusal(path + ": is empty");
  google::protobuf::io::IstreamInputStream stream(&file, 1 << 16);
  std::string message;
  while (true) {
    const int64_t start = stream.ByteCount();
    if (static_cast<uintmax_t>(start) >= bytes) return;
    CodedInputStream in(&stream);  // one for each message, as it reads at most 2 GiB
    uint32_t size = 0;
    if (!in.ReadVarint32(&size)) {
      throw Error::Refusal(PlaceOf(path, start) + "no length of a message");
    }
    const uintmax_t left = bytes - static_cast<uintmax_t>(start) - in.CurrentPosition();
    if (size > left) {
      throw Error::Refusal(PlaceOf(path, start) + "a message of " + std::to_string(size) +
                           " bytes begins, and the file has " + std::to_string(left) + " more");
    }
    if (!in.ReadString(&message, static_cast<int>(size))) {
      throw Error(PlaceOf(path, start) + "cannot be read");
    }
    try {
      if (!use(message)) return;
    } catch (const Error& e) {
      throw e.Within(PlaceOf(path, start));
    }
  }
}

void MessageWriter::Number(int field, uint64_t value, bool always) {
  if (value == 0 && !always) return;
  AppendTag(bytes_, field, WireType::kVarint);
  AppendVarint(bytes_, value);
}

void MessageWriter::Text(int field, std::string_view text, bool always) {
  if (text.empty() && !always) return;
  AppendTag(bytes_, field, WireType::kBytes);
  AppendVarint(bytes_, text.size());
  bytes_ += text;
}

void MessageWriter::Double(int field, double value) {
  AppendTag(bytes_, field, WireType::kFixed64);
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(bits >> (8 * i));
}

void MessageWriter::Packed(int field, const std::vector<uint64_t>& values) {
  if (values.empty()) return;
  std::string packed;
  for (const uint64_t value : values) AppendVarint(packed, value);
  Text(field, packed);
}

void AppendMessage(std::string& file, std::string_view message) {
  AppendVarint(file, message.size());
  file += message;
}

}  // namespace legacy::graphs
