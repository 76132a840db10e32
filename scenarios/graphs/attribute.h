// An attribute of a Chakra node or file: a name, with a value of any of protobuf's types. Internal
// to scenarios/graphs/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace legacy::graphs {

// An Attribute is read from the bytes of an AttributeProto. Texts point into these.
class Attribute {
 public:
  // Throws Error on bytes that are none.
  void Read(std::string_view message);

  std::string_view Name() const { return name_; }
  // Returns the value as a whole number from `least` to `most`, whatever its type. Throws Error
  // naming the attribute.
  int64_t Whole(int64_t least, int64_t most) const;
  double Real() const;
  // Returns the text; a number as its digits.
  std::string Text() const;
  std::vector<int64_t> WholeList(int64_t least, int64_t most) const;
  std::vector<std::string> TextList() const;

 private:
  double AsReal() const;

  std::string_view name_;
  int field_ = 0;  // of the value; 0: there is none
  uint64_t bits_ = 0;
  std::string_view bytes_;
};

}  // namespace legacy::graphs
