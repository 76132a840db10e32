// Fields of protobuf messages (protobuf.dev, "Encoding"), read without generated code, as files
// have a number in any of the types that a number can have. A file is messages, each after its
// length as a varint.
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace legacy::graphs {

// A WireType says how many bytes a field's value has.
enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// A Field is one field of a message. Its bytes point into the message.
struct Field {
  int number = 0;
  WireType type = WireType::kVarint;
  uint64_t bits = 0;       // of a number
  std::string_view bytes;  // of anything else

  // Return the number of a proto field of this type. Throw Error where the wire type is another.
  uint64_t Unsigned() const;
  std::string_view Text() const;
  // Appends the numbers of a repeated field, packed or not.
  void AppendNumbers(std::vector<uint64_t>& numbers) const;
};

// Fields walks over the fields of a message.
class Fields {
 public:
  explicit Fields(std::string_view message) : left_(message) {}

  // Goes to the next field. Returns false after the last one. Throws Error on bytes that are none.
  bool Next();
  const Field& operator*() const { return field_; }
  const Field* operator->() const { return &field_; }

 private:
  uint64_t TakeVarint();
  uint64_t TakeFixed(size_t bytes);

  std::string_view left_;
  Field field_;
};

// Returns the varint at the start of `bytes`, and takes it away. Throws Error where there is none.
uint64_t TakeVarint(std::string_view& bytes);

// Calls `use` with each message of a file, in order. Throws Error "PATH: byte N: ..." where the
// file cannot be read, ends inside a message, or has none.
void ForEachMessage(const std::string& path,
                    const std::function<bool(std::string_view message)>& use);

// A MessageWriter collects the fields of a message.
class MessageWriter {
 public:
  // Add a field. What is 0, or empty, is left out unless `always` says otherwise, as proto3 does.
  void Number(int field, uint64_t value, bool always = false);
  void Text(int field, std::string_view text, bool always = false);
  void Double(int field, double value);
  void Packed(int field, const std::vector<uint64_t>& values);

  const std::string& Bytes() const { return bytes_; }
  void Clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

// Appends a message to the text of a file.
void AppendMessage(std::string& file, std::string_view message);

}  // namespace legacy::graphs
