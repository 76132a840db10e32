// Texts as numbers, and their caches.
#include "trainer/data/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <map>

#include "base/error.h"
#include "tests/trainer/data/temporary_folder.h"
#include "trainer/data/cache/cache_file.h"
#include "trainer/data/grammar.h"

namespace legacy::corpus_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// A Texts is a data root with three files, and functions that read them.
class Texts : public testing::Test {
 protected:
  Corpus Read(const std::string& train, const std::string& valid, const std::string& test,
              const std::string& options = "unit=words") {
    root_.WriteText("a", train);
    root_.WriteText("b", valid);
    root_.WriteText("c", test);
    return Load(options);
  }
  Corpus Load(const std::string& options = "unit=words") {
    const std::string in = root_.path().string() + "/";
    return LoadCorpus(
        FindInCatalog("text:train=" + in + "a,valid=" + in + "b,test=" + in + "c," + options),
        root_.path());
  }
  Corpus ReadOne(const std::string& text, const std::string& options) {
    const std::string file = root_.WriteText("one", text).string();
    return LoadCorpus(FindInCatalog("text:file=" + file + "," + options), root_.path());
  }
  template <typename Call>
  static void Refuses(Call call, const std::string& where, const std::string& found) {
    EXPECT_THAT(call, ThrowsMessage<Error>(AllOf(HasSubstr(where), HasSubstr(found))));
  }
  std::filesystem::path CacheFile() {
    const std::filesystem::path folder = root_.path() / "cache";
    return std::filesystem::directory_iterator(folder)->path();
  }

  TemporaryFolder root_;
};

TEST_F(Texts, WordsAreNumberedByFrequencyThenByFirstAppearance) {
  const Corpus corpus = Read("b a <unk>\n\na c\n", "a z\n", "c\tb  y");
  EXPECT_THAT(corpus.vocabulary, ElementsAre("<eos>", "a", "b", "<unk>", "c"));
  EXPECT_THAT(corpus.train.tokens(), ElementsAre(2, 1, 3, 0, 0, 1, 4, 0));
  EXPECT_THAT(corpus.valid.tokens(), ElementsAre(1, 3, 0));
  EXPECT_THAT(corpus.test.tokens(), ElementsAre(4, 2, 3, 0));
  EXPECT_EQ(corpus.unknown, 2);
  EXPECT_EQ(corpus.unit, TextUnit::kWords);
  EXPECT_THAT(corpus.train.First(2).tokens(), ElementsAre(2, 1));
}

TEST_F(Texts, RareWordsBecomeUnknown) {
  const Corpus corpus = Read("a a a b b c d\n", "a d e\n", "b\n", "unit=words,vocabulary=3");
  EXPECT_THAT(corpus.vocabulary, ElementsAre("a", "<unk>", "b"));  // 3, c + d + <eos>, 2
  EXPECT_THAT(corpus.train.tokens(), ElementsAre(0, 0, 0, 2, 2, 1, 1, 1));
  EXPECT_THAT(corpus.valid.tokens(), ElementsAre(0, 1, 1, 1));
  EXPECT_EQ(corpus.unknown, 1);  // e
}

TEST_F(Texts, UnknownWordsAreRefusedWhereThereIsNoUnk) {
  Refuses([&] { Read("a b\n", "a\nb\na x\n", "a\n"); }, "/b:3: word", "'x'");
  // In one file lines are those of the file.
  std::string text;
  for (int i = 0; i < 30; ++i) text += i == 28 ? "new\n" : "old\n";
  Refuses([&] { ReadOne(text, "unit=words"); }, "/one:29: word", "'new'");
}

TEST_F(Texts, OneFileIsSplitInOrder) {
  std::string text;
  for (int i = 0; i < 1003; ++i) text += static_cast<char>('a' + i % 26);
  const Corpus corpus = ReadOne(text, "unit=characters");
  EXPECT_EQ(corpus.train.size(), 902);
  EXPECT_EQ(corpus.valid.size(), 50);
  EXPECT_EQ(corpus.test.size(), 51);
  std::string back;
  for (const TokenFile* file : {&corpus.train, &corpus.valid, &corpus.test}) {
    for (const int32_t id : file->tokens()) back += corpus.vocabulary[static_cast<size_t>(id)];
  }
  EXPECT_EQ(back, text);
}

TEST_F(Texts, CharactersAreCodePoints) {
  const Corpus corpus = Read("é\U0001F600é\n", "é€", "\nZ", "unit=characters");
  EXPECT_THAT(corpus.vocabulary, ElementsAre("é", "\U0001F600", "\n", "€", "Z"));
  EXPECT_THAT(corpus.train.tokens(), ElementsAre(0, 1, 0, 2));
  EXPECT_THAT(corpus.valid.tokens(), ElementsAre(0, 3));
}

TEST_F(Texts, BytesAreTheirOwnIds) {
  const Corpus corpus = Read(std::string("\0\xFF\xC0", 3), "ab", "cd", "unit=bytes");
  EXPECT_EQ(corpus.vocabulary_size(), 256);
  EXPECT_THAT(corpus.train.tokens(), ElementsAre(0, 255, 192));
}

// Files are read in parts of a megabyte, which cut words and characters.
TEST_F(Texts, PartsOfAFileJoin) {
  constexpr size_t kWords = 400'000;
  std::string text;
  for (size_t i = 0; i < kWords; ++i) text += i % 2 == 0 ? "äö " : "word\n";
  const Corpus words = Read(text, "äö\n", "word\n");
  EXPECT_EQ(words.train.size(), static_cast<int64_t>(kWords + kWords / 2));
  EXPECT_EQ(words.vocabulary_size(), 3);
  const Corpus characters = Read(text, "äö\n", "word\n", "unit=characters");
  EXPECT_EQ(characters.train.size(), static_cast<int64_t>(kWords * 4));  // 3 and 5
  EXPECT_EQ(characters.vocabulary_size(), 8);  // ä ö w o r d, blank, newline
}

TEST_F(Texts, WhatIsNoTextIsRefusedWithItsOffset) {
  for (const char* unit : {"unit=words", "unit=characters"}) {
    Refuses([&] { Read("ab \xC3(\n", "a\n", "a\n", unit); }, "/a: offset 3", "byte 0xc3");
    Refuses([&] { Read("ab", "a\n", "a\xED\xA0\x80", unit); }, "/c: offset 1", "byte 0xed");
    Refuses([&] { Read("ab\xC0\x80", "a", "a", unit); }, "/a: offset 2", "byte 0xc0");
    Refuses([&] { Read("ab \xF4\x90\x80\x80", "a", "a", unit); }, "/a: offset 3", "byte 0xf4");
    Refuses([&] { Read(std::string("a\0b", 3), "a", "a", unit); }, "/a: offset 1", "a NUL byte");
    Refuses([&] { Read("a b", "a b", "a b\xE2\x82", unit); }, "/c: offset 3", "byte 0xe2");
    Refuses([&] { Read("a b", "", "a b", unit); }, "/b: offset 0", "an empty file");
  }
  Refuses([&] { Read("ab", "a", "ab", "unit=characters"); }, "/b: validation text",
          "'1 characters'");
  Refuses([&] { Read(std::string(70'000, 'x'), "a", "a"); }, "/a: offset 0", "65536 bytes");
}

TEST_F(Texts, TheCacheGivesTheSame) {
  const Corpus first = Read("b a <unk>\na c\n", "a z\n", "c\tb  y");
  EXPECT_FALSE(first.from_cache);
  const Corpus second = Load();
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(second.vocabulary, first.vocabulary);
  EXPECT_THAT(second.train.tokens(), ElementsAreArray(first.train.tokens()));
  EXPECT_THAT(second.test.tokens(), ElementsAreArray(first.test.tokens()));
  EXPECT_EQ(second.unknown, 2);
  EXPECT_FALSE(Load("unit=characters").from_cache);
  EXPECT_TRUE(Load().from_cache);
}

TEST_F(Texts, AChangedSourceMakesAnotherCache) {
  Read("a b\n", "a\n", "b\n");
  root_.WriteText("a", std::string("b a\n"));  // the same size, and maybe the same time
  const Corpus changed = Load();
  EXPECT_FALSE(changed.from_cache);
  EXPECT_EQ(changed.vocabulary.front(), "b");
  // A different time of the file alone changes nothing, and the time is then remembered.
  using namespace std::chrono_literals;
  std::filesystem::last_write_time(root_.path() / "a",
                                   std::filesystem::file_time_type::clock::now() - 1h);
  EXPECT_TRUE(Load().from_cache);
  EXPECT_TRUE(Load().from_cache);
}

TEST_F(Texts, ADamagedCacheIsMadeAgain) {
  Read("a b <unk>\n", "a\n", "b\n");
  const std::filesystem::path cache = CacheFile();
  std::string bytes;
  {
    std::ifstream in(cache, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  ASSERT_GT(bytes.size(), 500u);
  const auto put = [&](const std::string& changed) {
    std::ofstream(cache, std::ios::binary | std::ios::trunc) << changed;
  };
  for (size_t at = 0; at < bytes.size(); at += 7) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    put(changed);
    const bool unused = at >= 56 && at < 64;  // of the header
    EXPECT_EQ(Load().from_cache, unused) << at;
  }
  for (const size_t size : {size_t{0}, size_t{63}, bytes.size() - 1}) {
    put(bytes.substr(0, size));
    EXPECT_FALSE(Load().from_cache) << size;
    EXPECT_TRUE(Load().from_cache) << size;
  }
}

TEST_F(Texts, ARootThatCannotBeWrittenStaysWithoutACache) {
  root_.WriteText("cache", std::string("in the way"));
  for (int i = 0; i < 2; ++i) {
    const Corpus corpus = Read("a b\n", "a\n", "b\n");
    EXPECT_FALSE(corpus.from_cache);
    EXPECT_EQ(corpus.train.size(), 3);
  }
}

TEST(CacheFileTest, SectionsComeBackAndKindsDiffer) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "x.cache";
  const std::vector<Section> sections = {Section::Of(std::vector<int32_t>{1, -2, 3}), Section(),
                                         Section::Of(std::vector<char>{'x'})};
  WriteCacheFile(file, "numbers 1", sections);
  const auto read = ReadCacheFile(file, "numbers 1");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 3u);
  EXPECT_THAT((*read)[0].As<int32_t>().value(), ElementsAre(1, -2, 3));
  EXPECT_EQ((*read)[0].As<int64_t>(), std::nullopt);  // twelve bytes
  EXPECT_TRUE((*read)[1].bytes().empty());
  EXPECT_FALSE(ReadCacheFile(file, "numbers 2"));
  EXPECT_FALSE(ReadCacheFile(folder.path() / "none", "numbers 1"));
  EXPECT_EQ(folder.Count(), 1);
}

TEST(GrammarTest, ItsRowsAndItsLongRunAreDistributions) {
  constexpr int kWords = 50;
  const Grammar grammar(kWords);
  std::vector<double> next(kWords);
  double entropy = 0, sum = 0;
  for (int word = 0; word < kWords; ++word) {
    double row = 0;
    for (int v = 0; v < kWords; ++v) {
      const double p = grammar.Probability(word, v);
      row += p;
      next[static_cast<size_t>(v)] += grammar.stationary()[static_cast<size_t>(word)] * p;
      entropy -= grammar.stationary()[static_cast<size_t>(word)] * p * std::log(p);
    }
    EXPECT_NEAR(row, 1, 1e-12);
    sum += grammar.stationary()[static_cast<size_t>(word)];
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  for (int v = 0; v < kWords; ++v) {
    EXPECT_NEAR(next[static_cast<size_t>(v)], grammar.stationary()[static_cast<size_t>(v)], 1e-14);
  }
  EXPECT_NEAR(grammar.EntropyRate(), entropy, 1e-12);
  EXPECT_LT(grammar.EntropyRate(), grammar.WordEntropy());
}

// The loss of the source's own probabilities on the drawn words is the entropy rate.
TEST(GrammarTest, ItsWordsFollowIt) {
  const Corpus corpus = LoadCorpus(FindInCatalog("grammar:tokens=300000"), "/nowhere");
  EXPECT_EQ(corpus.train.size(), 300'000);
  EXPECT_EQ(corpus.valid.size(), 30'000);
  EXPECT_EQ(corpus.vocabulary_size(), 1000);
  EXPECT_EQ(std::set<std::string>(corpus.vocabulary.begin(), corpus.vocabulary.end()).size(),
            1000u);
  const Grammar grammar(1000);
  for (const TokenFile* file : {&corpus.train, &corpus.test}) {
    double loss = 0;
    int32_t before = 0;
    for (const int32_t word : file->tokens()) {
      loss -= std::log(grammar.Probability(before, word));
      before = word;
    }
    loss /= static_cast<double>(file->size());
    // One standard error of 30,000 words is about .008.
    EXPECT_NEAR(loss, std::log(*corpus.least_perplexity), file == &corpus.train ? .012 : .035);
  }
  // A prefix of a longer text, and other words elsewhere.
  EXPECT_THAT(grammar.Draw(0, 100), ElementsAreArray(corpus.train.First(100).tokens()));
  EXPECT_NE(grammar.Draw(1, 100), grammar.Draw(0, 100));
}

class RealTexts : public testing::Test {
 protected:
  void SetUp() override {
    if (RealData().empty()) GTEST_SKIP() << "no real data; set LEGACY_TEST_DATA";
  }
  // Links a folder of the real data into the root.
  void Link(const std::string& from, const std::string& to) {
    if (!std::filesystem::exists(RealData() / from)) GTEST_SKIP() << "no " << from;
    std::filesystem::create_directory_symlink(RealData() / from, root_.path() / to);
  }
  TemporaryFolder root_;
};

TEST_F(RealTexts, PennTreebankHasThePublishedCounts) {
  Link("ptb", "ptb");
  const Corpus corpus = LoadCorpus(FindInCatalog("ptb"), root_.path());
  EXPECT_EQ(corpus.train.size(), 929'589);
  EXPECT_EQ(corpus.valid.size(), 73'760);
  EXPECT_EQ(corpus.test.size(), 82'430);
  EXPECT_EQ(corpus.vocabulary_size(), 10'000);
  EXPECT_EQ(corpus.unknown, 0);
  EXPECT_THAT(std::vector(corpus.vocabulary.begin(), corpus.vocabulary.begin() + 3),
              ElementsAre("the", "<unk>", "<eos>"));
}

TEST_F(RealTexts, TinyShakespeareHasThePublishedCounts) {
  Link("tinyshakespeare", "tinyshakespeare");
  const Corpus corpus = LoadCorpus(FindInCatalog("tinyshakespeare"), root_.path());
  EXPECT_EQ(corpus.train.size() + corpus.valid.size() + corpus.test.size(), 1'115'394);
  EXPECT_EQ(corpus.vocabulary_size(), 65);
}

// The training text is not there, so that the validation text stands in for it.
TEST_F(RealTexts, WikiTextHasThePublishedCounts) {
  if (!std::filesystem::exists(RealData() / "wikitext2_partial")) GTEST_SKIP() << "no WikiText";
  const std::string in = (RealData() / "wikitext2_partial").string() + "/";
  const Corpus corpus =
      LoadCorpus(FindInCatalog("text:unit=words,train=" + in + "valid.txt.gz,valid=" + in +
                               "valid.txt.gz,test=" + in + "test.txt.gz"),
                 root_.path());
  EXPECT_EQ(corpus.valid.size(), 217'646);
  EXPECT_EQ(corpus.test.size(), 245'569);
}

}  // namespace
}  // namespace legacy::corpus_test
