#include "scenarios/graphs/attribute.h"

#include <google/protobuf/wire_format_lite.h>

#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/number.h"
#include "base/words.h"
#include "scenarios/graphs/chakra_format.h"
#include "scenarios/graphs/protobuf_fields.h"

namespace legacy::graphs {
namespace {

using google::protobuf::internal::WireFormatLite;

// Values are within 65 bits, so that both 2^64 - 1 and -2^63 are among them.
__extension__ using Wide = __int128;

// Returns the number that bits stand for in a field of AttributeProto which is no fraction.
Wide WideOf(int field, uint64_t bits) {
  switch (field) {
    case chakra::kInt32:
    case chakra::kInt64:
    case chakra::kSfixed64:
      return static_cast<int64_t>(bits);
    case chakra::kSfixed32:
      return static_cast<int32_t>(static_cast<uint32_t>(bits));
    case chakra::kSint32:
      return WireFormatLite::ZigZagDecode32(static_cast<uint32_t>(bits));
    case chakra::kSint64:
      return WireFormatLite::ZigZagDecode64(bits);
    default:
      return bits;
  }
}

std::string TextOf(Wide value) {
  if (value < 0) return std::to_string(static_cast<int64_t>(value));
  return std::to_string(static_cast<uint64_t>(value));
}

int64_t Checked(Wide value, std::string_view name, int64_t least, int64_t most) {
  if (value < least || value > most) {
    throw Error("attribute " + Shown(name), TextOf(value),
                std::to_string(least) + " to " + std::to_string(most));
  }
  return static_cast<int64_t>(value);
}

}  // namespace

void Attribute::Read(std::string_view message) {
  *this = Attribute();
  for (Fields fields(message); fields.Next();) {
    if (fields->number == chakra::kAttributeName) {
      name_ = fields->Text();
    } else if (fields->number >= chakra::kDouble && fields->number <= chakra::kBytes + 1) {
      field_ = fields->number;
      bits_ = fields->bits;
      bytes_ = fields->bytes;
    }
  }
}

double Attribute::AsReal() const {
  if (field_ == chakra::kDouble) return std::bit_cast<double>(bits_);
  if (field_ == chakra::kFloat) return std::bit_cast<float>(static_cast<uint32_t>(bits_));
  return static_cast<double>(WideOf(field_, bits_));
}

int64_t Attribute::Whole(int64_t least, int64_t most) const {
  if (field_ == chakra::kString)
    return ParseWhole(bytes_, "attribute " + Shown(name_), least, most);
  const bool fraction = field_ == chakra::kDouble || field_ == chakra::kFloat;
  if (fraction) {
    const double value = AsReal();
    constexpr double kExact = 9007199254740992;  // 2^53
    if (!(std::abs(value) <= kExact) || value != std::floor(value)) {
      throw Error("attribute " + Shown(name_), FormatNumber(value), "a whole number");
    }
    return Checked(static_cast<Wide>(value), name_, least, most);
  }
  if (field_ != 0 && (field_ % 2 == 0 || field_ > chakra::kBool)) {
    throw Error("attribute " + Shown(name_), "a list, or bytes", "a number");
  }
  return Checked(WideOf(field_, bits_), name_, least, most);
}

double Attribute::Real() const {
  const double value = AsReal();
  if (!std::isfinite(value) || value < 0) {
    throw Error("attribute " + Shown(name_), FormatNumber(value), "0 or more");
  }
  return value;
}

std::string Attribute::Text() const {
  if (field_ == chakra::kString || field_ == chakra::kBytes) return std::string(bytes_);
  return std::to_string(Whole(INT64_MIN, INT64_MAX));
}

std::vector<int64_t> Attribute::WholeList(int64_t least, int64_t most) const {
  const int element = field_ - 1;  // the type of the values
  const bool whole = element % 2 == 1 && element >= chakra::kInt32 && element <= chakra::kBool;
  if (field_ != 0 && !whole) throw Error("attribute " + Shown(name_), "other values", "numbers");
  std::vector<uint64_t> bits;
  const bool fixed = element >= chakra::kFixed32 && element <= chakra::kSfixed64;
  for (Fields fields(bytes_); fields.Next();) {
    if (fields->number != chakra::kValues) continue;
    if (fixed) throw Error("attribute " + Shown(name_), "numbers of fixed size", "varints");
    fields->AppendNumbers(bits);
  }
  std::vector<int64_t> values;
  for (const uint64_t value : bits) {
    values.push_back(Checked(WideOf(element, value), name_, least, most));
  }
  return values;
}

std::vector<std::string> Attribute::TextList() const {
  std::vector<std::string> texts;
  for (Fields fields(bytes_); fields.Next();) {
    if (fields->number == chakra::kValues) texts.emplace_back(fields->Text());
  }
  return texts;
}

}  // namespace legacy::graphs
