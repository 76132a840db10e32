#include "base/files/yaml.h"

#include <yaml-cpp/depthguard.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/files/yaml_text.h"
#include "base/parse.h"
#include "base/words.h"

namespace legacy {
namespace {

// Throws Error if the text has control characters. yaml-cpp prints a carriage return as a line
// break; others have no meaning.
const std::string& CheckedText(const std::string& text, const std::string& key) {
  const auto refused = [](char c) { return IsControl(c) && c != '\n' && c != '\t'; };
  if (std::ranges::none_of(text, refused)) return text;
  throw Error::Refusal(key + ": has control characters; allowed: text");
}

// Throws Error if the text is not UTF-8. yaml-cpp accepts other bytes, and prints something else in
// their place.
void CheckUtf8(const std::string& text, const std::string& where) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (IsUtf8(line)) continue;
    throw Error::Refusal(where + ":" + std::to_string(number) +
                         ": bytes that are no text; allowed: UTF-8");
  }
}

}  // namespace

std::string MarkText(const std::string& where, const YAML::Mark& mark) {
  return where + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1) + ": ";
}

YAML::Node ParseYaml(const std::string& text, const std::string& where) {
  CheckUtf8(text, where);
  try {
    return LoadYaml(text);
  } catch (const YAML::DeepRecursion& error) {
    throw Error::Refusal(MarkText(where, error.mark) + "nested deeper than yaml-cpp allows");
  } catch (const YAML::Exception& error) {
    std::string what = error.msg;  // which may quote a control character
    std::ranges::replace_if(what, IsControl, '?');
    throw Error::Refusal(MarkText(where, error.mark) + what);
  }
}

std::string ScalarText(const YAML::Node& node, const std::string& key) {
  if (node.IsScalar()) return CheckedText(node.Scalar(), key);
  if (node.IsNull()) return "";
  if (!node.IsSequence()) throw Error::Refusal(key + ": expected a value or a list of values");
  std::vector<std::string> items;
  for (const YAML::Node& item : node) {
    if (!item.IsScalar()) throw Error::Refusal(key + ": expected a list of plain values");
    items.push_back(CheckedText(item.Scalar(), key));
  }
  return Join(items, ",");
}

void ReadMap(const YAML::Node& map, const std::string& name, const std::string& where,
             const std::function<void(const std::string&, const YAML::Node&)>& each) {
  if (map.IsNull()) return;
  const std::string prefix = name.empty() ? "" : name + ": ";
  if (!map.IsMap())
    throw Error::Refusal(MarkText(where, map.Mark()) + prefix + "expected keys and values");
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const std::string mark = MarkText(where, entry.first.Mark());
    if (!entry.first.IsScalar()) throw Error::Refusal(mark + prefix + "expected plain keys");
    const std::string& key = entry.first.Scalar();
    if (!seen.insert(key).second) {
      throw Error::Refusal(mark + (name.empty() ? "" : name + ".") + key + ": is given twice");
    }
    try {
      CheckedText(key, "a key");
      each(key, entry.second);
    } catch (const Error& error) {
      const std::string what = error.what();
      if (what.rfind(where + ":", 0) == 0) throw;
      throw Error::Refusal(mark + what);
    }
  }
}

}  // namespace legacy
