#include "trainer/clock/record_lines.h"

#include "base/error.h"

namespace legacy {

using nlohmann::json;

void RowReader::Amount(const char* key, double& value) const {
  Field(key, value);
  if (value < 0) Fail(key, At(key), "a number of at least 0");
}

void RowReader::Require(bool ok, const std::string& what) const {
  if (!ok) throw Error(place_ + ": " + what);
}

void RowReader::Fail(const char* key, const json& value, const std::string& allowed) const {
  throw Error(place_ + ": " + key, Shown(value), allowed);
}

const json& RowReader::At(const char* key) const {
  Require(line_.is_object() && line_.contains(key), std::string("without '") + key + "'");
  return line_.at(key);
}

const json& RowReader::List(const json& value, const char* key) const {
  if (!value.is_array()) Fail(key, value, "a list");
  return value;
}

void RowReader::Read(const json& value, const char* key, double& number, Allowed) const {
  if (!value.is_number()) Fail(key, value, "a number");
  number = value.get<double>();
}

void RowReader::Read(const json& value, const char* key, std::string& text, Allowed) const {
  if (!value.is_string()) Fail(key, value, "a text");
  text = value.get<std::string>();
}

}  // namespace legacy
