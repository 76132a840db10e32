// Names of data sets with options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/metric.h"
#include "tests/trainer/data/temporary_folder.h"
#include "trainer/data/corpus.h"
#include "trainer/data/data_catalog.h"

namespace legacy::data_options_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

auto Refuses(const std::string& text, const std::string& found, const std::string& allowed) {
  EXPECT_THAT([&] { FindInCatalog(text, "training.dataset"); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("training.dataset"), HasSubstr(found), HasSubstr(allowed))))
      << text;
}

TEST(DataOptionsTest, EveryRowHasATaskWhoseMetricsKnowItsTarget) {
  for (const CatalogEntry& row : DataCatalog()) {
    const Target target = ParseTarget(row.target);
    EXPECT_NO_THROW(FindMetric(target, InfoOf(row.task).metrics)) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_FALSE(row.licence.empty()) << row.name;
    EXPECT_EQ(row.mean.empty(), row.task != TaskKind::kClassification) << row.name;
    EXPECT_THAT("\n" + DatasetList(), HasSubstr("\n" + row.name + ": ")) << row.name;
    for (const OptionSpec& option : row.options) {
      EXPECT_THAT(DatasetList(), HasSubstr("    " + option.name + "=" + option.fallback + "  ("));
    }
  }
}

TEST(DataOptionsTest, OptionsDecideTheTask) {
  EXPECT_EQ(FindInCatalog("text:file=a").task, TaskKind::kCharacterModelling);
  EXPECT_EQ(FindInCatalog("text:file=a,unit=bytes").task, TaskKind::kCharacterModelling);
  const CatalogEntry words = FindInCatalog("text:file=a,unit=words");
  EXPECT_EQ(words.task, TaskKind::kLanguageModelling);
  EXPECT_EQ(ParseTarget(words.target).metric, "perplexity");
  EXPECT_EQ(FindInCatalog("ml-1m:negatives=999").Options().Integer("negatives", 1, 1000), 999);
}

TEST(DataOptionsTest, PathsHoldAnythingButCommas) {
  const CatalogEntry entry = FindInCatalog("text:file=/a b/c:d+e=f.txt");
  EXPECT_THAT(DataFiles(entry, "root"), ElementsAre("/a b/c:d+e=f.txt"));
  EXPECT_THAT(DataFiles(FindInCatalog("text:train=a,valid=b,test=c"), ""),
              ElementsAre("a", "b", "c"));
  EXPECT_THAT(DataFiles(FindInCatalog("images:folder=/x"), "root"), ElementsAre("/x"));
  EXPECT_THAT(DataFiles(FindInCatalog("imagenet"), "root"), ElementsAre("root/imagenet"));
  Refuses("text:file=a,b", "'b'", "paths hold no comma");
}

TEST(DataOptionsTest, BadOptionsAreRefused) {
  Refuses("imagenets", "'imagenets'; did you mean imagenet?", "--dataset=list prints all");
  Refuses("text", "text", "text:file=PATH");
  Refuses("text:file=a,train=b", "file=a,train=b", "text:file=PATH");
  Refuses("text:train=a,valid=b", "", "a path, as in text:test=PATH");
  Refuses("text:file=a,unit=letters", "'letters'", "words, characters, bytes");
  Refuses("text:file=a,vocabulary=100", "'100'", "all, where unit is not words");
  Refuses("text:file=a,unit=words,vocabulary=1", "'1'", "2 to 10000000");
  Refuses("tinyshakespeare:unit=words", "'words'", "characters, bytes");
  Refuses("cifar10:size=4", "size", "no options");
  Refuses("images", "", "images:folder=PATH");
  Refuses("images:folder=a,size=4", "'4'", "8 to 1024");
  Refuses("grammar:vocabulary=1", "'1'", "2 to 1000000");
  Refuses("tastes:items=10,per_user=10", "'10'", "1 to 9");
  Refuses("ratings:file=a,least=6", "'5'", "6 to");
  Refuses("ml-1m:negatives=0", "'0'", "1 to 100000");
}

TEST(DataOptionsTest, SaysWhichFileIsMissingAndHowToGetIt) {
  const TemporaryFolder root;
  const auto missing = [&](const std::string& text, const std::string& file,
                           const std::string& way) {
    const CatalogEntry entry = FindInCatalog(text);
    EXPECT_FALSE(IsHere(entry, root.path())) << text;
    EXPECT_THAT([&] { CheckIsHere(entry, root.path()); },
                ThrowsMessage<Error>(AllOf(HasSubstr(file), HasSubstr(way))));
  };
  missing("ptb", "ptb/ptb.train.txt (not there)", "legacy-data fetch ptb");
  missing("ml-20m", "ml-20m/ratings.csv", "legacy-data fetch ml-20m");
  missing("imagenet", "imagenet (not there)", "imagenet/val/CLASS/*.JPEG");
  missing("text:file=/no/such", "/no/such", "a path that exists");
  root.WriteText("ptb/ptb.train.txt.gz", "a");
  missing("ptb", "ptb/ptb.valid.txt", "legacy-data fetch ptb");
  for (const char* embedded : {"glyphs", "grammar", "tastes"}) {
    EXPECT_TRUE(IsHere(FindInCatalog(embedded), root.path()));
    EXPECT_NO_THROW(CheckIsHere(FindInCatalog(embedded), root.path()));
  }
}

TEST(DataOptionsTest, ReadersRefuseSetsOfOtherTasks) {
  EXPECT_THROW(LoadImages(FindInCatalog("ptb"), "", true, 0), Error);
  EXPECT_THROW(LoadCorpus(FindInCatalog("glyphs"), ""), Error);
}

}  // namespace
}  // namespace legacy::data_options_test
