#include "base/files/json.h"

#include <cassert>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"

namespace legacy {
namespace {

constexpr size_t kMostShown = 80;

// Returns the number of members of all objects. Throws Error if brackets are nested too deeply, and
// on a NUL, which the parser would take for the end of the text. The contents of strings do not
// count. Text that is not JSON may be miscounted, but the parser refuses it.
int64_t CheckDepth(std::string_view text, const std::string& where) {
  int depth = 0;
  int64_t members = 0;
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\0') throw Error(where + ": byte " + std::to_string(at + 1) + ": not valid JSON");
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == ':') ++members;
    if (c == '}' || c == ']') --depth;
    if ((c == '{' || c == '[') && ++depth > kMostJsonDepth) {
      throw Error(where + ": byte " + std::to_string(at + 1) + ": nested deeper than " +
                  std::to_string(kMostJsonDepth) + " levels");
    }
  }
  return members;
}

template <class Json>
int64_t Members(const Json& value) {
  if (!value.is_structured()) return 0;
  int64_t members = value.is_object() ? static_cast<int64_t>(value.size()) : 0;
  for (const Json& part : value) members += Members(part);
  return members;
}

// Throws Error that names the first key that an object of valid text has twice.
void RefuseTwice(std::string_view text, const std::string& where) {
  std::vector<std::set<std::string>> open;  // keys of the objects that are not closed yet
  using Event = nlohmann::json::parse_event_t;
  const auto look = [&](int, Event event, nlohmann::json& value) {
    if (event == Event::object_start) open.emplace_back();
    if (event == Event::object_end) open.pop_back();
    if (event == Event::key && !open.back().insert(value.get<std::string>()).second) {
      throw Error(where + ": key " + Shown(value) + " is given twice in one object");
    }
    return true;
  };
  [[maybe_unused]] const nlohmann::json whole = nlohmann::json::parse(text, look);
  assert(whole.is_structured());
}

template <class Json>
Json Parse(std::string_view text, const std::string& where) {
  const int64_t members = CheckDepth(text, where);
  try {
    Json document = Json::parse(text);
    // The parser keeps one of two members of the same name.
    if (Members(document) != members) RefuseTwice(text, where);
    return document;
  } catch (const nlohmann::json::parse_error& error) {
    throw Error(where + ": byte " + std::to_string(error.byte) + ": not valid JSON");
  } catch (const nlohmann::json::out_of_range&) {
    throw Error(where + ": a number in it is too large");
  }
}

}  // namespace

nlohmann::json ParseJson(std::string_view text, const std::string& where) {
  return Parse<nlohmann::json>(text, where);
}

nlohmann::ordered_json ParseOrderedJson(std::string_view text, const std::string& where) {
  return Parse<nlohmann::ordered_json>(text, where);
}

int64_t WholeNumber(const nlohmann::json& value, const std::string& what, int64_t least,
                    int64_t most) {
  const bool whole = value.is_number_integer() &&
                     !(value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX);
  if (!whole || value.get<int64_t>() < least || value.get<int64_t>() > most) {
    throw Error(what, Shown(value),
                "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value.get<int64_t>();
}

nlohmann::json NumberOrNull(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

std::string Shown(const nlohmann::json& value) {
  if (value.is_structured()) return value.type_name();
  const auto replace = nlohmann::json::error_handler_t::replace;
  return value.dump(-1, ' ', false, replace).substr(0, kMostShown);
}

}  // namespace legacy
