// Texts, ratings, their caches, and photographs.
#include <algorithm>

#include "base/files/whole_file.h"
#include "tests/fuzz/readers.h"
#include "trainer/bench/drawn_jpeg.h"
#include "trainer/data/cache/cache_file.h"
#include "trainer/data/corpus.h"
#include "trainer/data/image_decoder.h"
#include "trainer/data/ratings.h"

namespace legacy::fuzz {
namespace {

void RequireWhole(const Corpus& corpus) {
  for (const TokenFile* file : {&corpus.train, &corpus.valid, &corpus.test}) {
    Require(file->size() >= 2);
    for (const int32_t id : file->tokens()) Require(id >= 0 && id < corpus.vocabulary_size());
  }
}

void RequireWhole(const Ratings& ratings) {
  Require(std::ssize(ratings.starts) == ratings.users + 1);
  Require(ratings.starts.back() == ratings.pairs());
  for (int32_t user = 0; user < ratings.users; ++user) {
    const auto items = ratings.ItemsOf(user);
    for (const int32_t item : items) Require(item >= 0 && item < ratings.items);
    Require(std::ranges::is_sorted(items));
    Require(ratings.held_out[static_cast<size_t>(user)] < ratings.items);
  }
}

// Cuts the input into sections, whose lengths come first.
std::vector<Section> TakeSections(Input& input, size_t count) {
  std::vector<size_t> lengths;
  for (size_t i = 0; i < count; ++i) lengths.push_back(input.Take(2));
  ByteSpan rest = input.Rest();
  std::vector<Section> sections;
  for (const size_t length : lengths) {
    const ByteSpan part = rest.first(std::min(length, rest.size()));
    rest = rest.subspan(part.size());
    sections.push_back(Section::Of(Bytes(part.begin(), part.end())));
  }
  return sections;
}

Bytes SectionSeed(uint8_t choice, const std::vector<Section>& sections) {
  Output seed;
  seed.Put(choice, 1);
  for (const Section& section : sections) {
    seed.Put(static_cast<uint32_t>(section.bytes().size()));
  }
  for (const Section& section : sections) seed.Put(section.bytes());
  return seed.Take();
}

Bytes CacheSeed(const std::vector<Section>& sections) {
  MemoryFolder folder({"unused"});
  const std::filesystem::path file = folder.path() / "it.cache";
  WriteCacheFile(file, "fuzz", sections);
  const std::string text = ReadWholeFile(file);
  return BytesOf('\4' + text);
}

Corpus SmallCorpus() {
  Corpus corpus;
  corpus.train = TokenFile(std::vector<int32_t>{0, 1, 2, 0});
  corpus.valid = TokenFile(std::vector<int32_t>{0, 2});
  corpus.test = TokenFile(std::vector<int32_t>{1, 2});
  corpus.vocabulary = {"<eos>", "a", "bc"};
  return corpus;
}

constexpr const char* kUnits[] = {"words", "characters", "bytes"};

}  // namespace

// The first byte chooses: a text in words, characters or bytes; the sections of a cache; a cache.
void FuzzText(ByteSpan bytes) {
  static MemoryFile file;
  Input input(bytes);
  const uint32_t choice = input.Take(1) % 5;
  Refusable([&] {
    if (choice < 3) {
      file.Put(input.Rest());
      const std::string text = "text:file=" + file.path() + ",unit=" + kUnits[choice] +
                               (choice == 0 ? ",vocabulary=3" : "");
      RequireWhole(ReadCorpus(FindInCatalog(text), ""));
    } else if (choice == 3) {
      Corpus corpus;
      if (TakeCorpus(TakeSections(input, 6), corpus)) RequireWhole(corpus);
    } else {
      file.Put(input.Rest());
      const auto sections = ReadCacheFile(file.path(), "fuzz");
      if (!sections) return;
      size_t sum = 0;
      for (const Section& section : *sections) {
        for (const std::byte byte : section.bytes()) sum += std::to_integer<size_t>(byte);
      }
      Require(sum <= 255 * 64 * input.Rest().size());
    }
  });
}

std::vector<Bytes> TextFileSeeds() {
  std::vector<Bytes> seeds =
      TextSeeds({"a b\nc <unk> a\nb a\na\nb\na b a b a b a b\na b a b\n"}, std::string(1, '\0'));
  for (Bytes& seed :
       TextSeeds({"h\xC3\xA9llo w\xC3\xB6rld, \xE2\x82\xAC\xF0\x9F\x98\x80 and more"}, "\1")) {
    seeds.push_back(std::move(seed));
  }
  seeds.push_back(BytesOf(std::string("\2\0\xFF zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", 45)));
  seeds.push_back(SectionSeed(3, SectionsOf(SmallCorpus())));
  seeds.push_back(CacheSeed(SectionsOf(SmallCorpus())));
  return seeds;
}

// The first byte chooses: lines of a file, or the sections of a cache.
void FuzzRatings(ByteSpan bytes) {
  static MemoryFile file;
  Input input(bytes);
  const bool lines = input.Take(1) % 2 == 0;
  Refusable([&] {
    Ratings ratings;
    if (lines) {
      file.Put(input.Rest());
      ratings = ReadRatings(file.path(), 0.5, 5);
    } else if (!TakeRatings(TakeSections(input, 4), ratings)) {
      return;
    }
    RequireWhole(ratings);
    for (const int32_t item : EvaluationNegatives(ratings, 0, 2, 1)) {
      Require(!ratings.Has(0, item));
    }
  });
}

std::vector<Bytes> RatingsSeeds() {
  std::vector<Bytes> seeds =
      TextSeeds({"userId,movieId,rating,timestamp\n1,2,3.5,10\n1,3,4,20\n2,9,5,5\n3,7,0.5,1\n",
                 "1::1193::5::978300760\n1::661::3::978302109\n2::661::3::978302109\n"},
                std::string(1, '\0'));
  Ratings ratings;
  ratings.users = 2;
  ratings.items = 4;
  ratings.starts = {0, 2, 3};
  ratings.train_items = {0, 2, 1};
  ratings.held_out = {3, -1};
  seeds.push_back(SectionSeed(1, SectionsOf(ratings)));
  return seeds;
}

// The first bytes are the side of the output, and whether the crop is drawn.
void FuzzPhotographs(ByteSpan bytes) {
  constexpr int64_t kMostPixels = 1 << 20;  // larger ones take long, and show nothing else
  Input input(bytes);
  const int size = 8 + static_cast<int>(input.Below(64));
  const bool drawn = input.Take(1) % 2 == 1;
  const ByteSpan rest = input.Rest();
  const std::span file(reinterpret_cast<const uint8_t*>(rest.data()), rest.size());
  Refusable([&] {
    const ImageShape shape = ReadImageShape(file, "it");
    if (int64_t{1} * shape.width * shape.height > kMostPixels) return;
    const CropChoice crop =
        drawn ? DrawCrop(shape, {.step = input.Rest().size()}) : CentreCrop(shape, size);
    std::vector<uint8_t> out(size_t{3} * size * size);
    DecodeImage(file, "it", crop, size, out);
    CheckImage(file, "it");
  });
}

std::vector<Bytes> PhotographsSeeds() {
  using Colours = DrawnJpeg::Colours;
  std::vector<Bytes> seeds;
  for (const Colours colours : {Colours::kRgb, Colours::kGrey, Colours::kCmyk}) {
    for (const bool progressive : {false, true}) {
      const std::vector<uint8_t> file = DrawJpeg({.width = 50,
                                                  .height = 37,
                                                  .quality = 60,
                                                  .colours = colours,
                                                  .progressive = progressive});
      for (const uint32_t drawn : {0u, 1u}) {
        const ByteSpan bytes = std::as_bytes(std::span(file));
        seeds.push_back(Output().Put(16).Put(drawn, 1).Put(bytes).Take());
      }
    }
  }
  // A grey PNG of 2 x 1 pixels (PNG specification, sections 5 and 11)
  const std::string png(
      "\211\120\116\107\015\012\032\012\000\000\000\015\111\110\104\122\000\000\000\002\000\000"
      "\000\001\010\000\000\000\000\321\111\040\126\000\000\000\013\111\104\101\124\170\234\143"
      "\020\150\000\000\000\243\000\221\016\145\053\260\000\000\000\000\111\105\116\104\256\102"
      "\140\202",
      68);
  seeds.push_back(Output().Put(0).Put(0, 1).Put(BytesOf(png)).Take());
  return seeds;
}

}  // namespace legacy::fuzz
