#include "base/files/yaml_text.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>

namespace legacy {
namespace {

// Refuses the start of a second document, and ignores all else.
class OneDocument : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_) {
      throw YAML::ParserException(mark, "a second document; allowed: one");
    }
    started_ = true;
  }

  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  bool started_{false};
};

}  // namespace

YAML::Node LoadYaml(const std::string& text) {
  YAML::Node root = YAML::Load(text);
  std::istringstream again(text);
  YAML::Parser parser(again);
  OneDocument one;
  while (parser.HandleNextDocument(one)) {  // which YAML::Load calls once
  }
  return root;
}

std::string MarkLocation(const std::string& path, const YAML::Mark& mark) {
  if (mark.is_null()) {
    return path + ":1";
  }
  return path + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
}

}  // namespace legacy
