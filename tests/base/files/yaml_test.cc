#include "base/files/yaml.h"

#include <gtest/gtest.h>

#include "tests/message_of.h"

namespace legacy::yaml_test {
namespace {

TEST(Yaml, HasOneDocument) {
  EXPECT_TRUE(ParseYaml("", "f").IsNull());
  EXPECT_EQ(ParseYaml("---\na: 1\n...\n", "f")["a"].as<int>(), 1);
  EXPECT_TRUE(ParseYaml("---\n# none\n", "f").IsNull());
  EXPECT_EQ(MessageOf([] { ParseYaml("a: 1\n---\nb: 2\n", "f"); }),
            "f:2:1: a second document; allowed: one");
  EXPECT_EQ(MessageOf([] { ParseYaml("{\"a\": 1}\nb", "f"); }),
            "f:2:1: a second document; allowed: one");
  EXPECT_EQ(MessageOf([] { ParseYaml("a: 1\n}\n", "f"); }),  // where YAML::LoadAll has no end
            "f:2:1: illegal flow end");
}

}  // namespace
}  // namespace legacy::yaml_test
