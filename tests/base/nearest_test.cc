// Names that are not known, and the names that may be meant.
#include "base/nearest.h"

#include <gtest/gtest.h>

namespace legacy::nearest_test {
namespace {

const std::vector<std::string> kOptions = {"--policies", "--learning-rate", "--steps", "--topo",
                                           "--batch"};

TEST(Nearest, IsTheSameWordWithOtherHyphensAndCapitals) {
  EXPECT_EQ(Nearest("top-k", {"dense", "topk-global", "topk"}), "topk");
  EXPECT_EQ(Nearest("ResNet-50", {"resnet18", "resnet50"}), "resnet50");
  EXPECT_EQ(Nearest("fattree", {"fat-tree", "star"}), "fat-tree");
}

TEST(Nearest, KnowsTheWordsOfOtherPrograms) {
  EXPECT_EQ(Nearest("--lr", kOptions), "--learning-rate");
  EXPECT_EQ(Nearest("--methods", kOptions), "--policies");
  EXPECT_EQ(Nearest("--epochs", kOptions), "--steps");
  EXPECT_EQ(Nearest("--topology", kOptions), "--topo");
  EXPECT_EQ(Nearest("--compression", {"--congestion", "--policies"}), "--policies");
  EXPECT_EQ(Nearest("gpt2", {"gpt2-small", "vgg16"}), "gpt2-small");
  EXPECT_EQ(Nearest("gpu", {"cpu", "cuda"}), "cuda");
  EXPECT_EQ(Nearest("rdma", {"datacenter", "wan", "roce"}), "roce");
  EXPECT_EQ(Nearest("rdma", {"red", "green"}), "");  // no word for it here
}

TEST(Nearest, IsTheOneOfTheFewestChanges) {
  EXPECT_EQ(Nearest("--policy", kOptions), "--policies");
  EXPECT_EQ(Nearest("urn", {"run", "resume"}), "run");  // two letters that changed places
  EXPECT_EQ(Nearest("red", {"run"}), "");               // two of three letters are others
  EXPECT_EQ(Nearest("elsewhere", {"run", "resume"}), "");
  EXPECT_EQ(Nearest("8", {"4", "16"}), "");  // too short to be a slip
  EXPECT_EQ(Nearest("", {"run"}), "");
}

TEST(NotAmong, NamesAllValuesUnlessACommandPrintsThem) {
  EXPECT_STREQ(NotAmong("--order", "indx", {"index", "rotated"}).what(),
               "--order: got 'indx'; did you mean index?; allowed: index, rotated");
  EXPECT_STREQ(NotAmong("--order", "x", {"index"}, "PROGRAM --order=list", "a file").what(),
               "--order: got 'x'; allowed: index, or a file");
  std::vector<std::string> many;
  for (int i = 0; i < 20; ++i) many.push_back("resnet" + std::to_string(i));
  EXPECT_STREQ(NotAmong("--model", "vgg", many, "PROGRAM --model=list").what(),
               "--model: got 'vgg'; PROGRAM --model=list prints all 20");
}

}  // namespace
}  // namespace legacy::nearest_test
