#include "trainer/data/images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include "base/error.h"
#include "tests/trainer/data/temporary_folder.h"
#include "trainer/data/data_catalog.h"

namespace legacy::images_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using Raw = std::vector<uint8_t>;

Raw BigEndian(const std::vector<uint32_t>& words) {
  Raw bytes;
  for (uint32_t word : words) {
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<uint8_t>(word >> shift));
  }
  return bytes;
}

// Returns `samples` images of 2 x 3 pixels with values 0, 1, 2, ...
Raw IdxImages(uint32_t samples) {
  Raw bytes = BigEndian({0x803, samples, 2, 3});
  for (uint32_t i = 0; i < samples * 6; ++i) bytes.push_back(static_cast<uint8_t>(i));
  return bytes;
}

Raw IdxLabels(const Raw& labels) {
  Raw bytes = BigEndian({0x801, static_cast<uint32_t>(labels.size())});
  bytes.insert(bytes.end(), labels.begin(), labels.end());
  return bytes;
}

void WriteGzip(const std::filesystem::path& file, const Raw& bytes) {
  gzFile out = gzopen(file.c_str(), "wb");
  ASSERT_EQ(gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size())), int(bytes.size()));
  gzclose(out);
}

class IdxTest : public testing::Test {
 protected:
  auto Reading(const Raw& images, const Raw& labels) {
    return [=, this] {
      ReadIdx(folder_.Write("images", images), folder_.Write("labels", labels), 10);
    };
  }
  TemporaryFolder folder_;
};

TEST_F(IdxTest, ReadsPlainAndGzippedFilesOfAnyLength) {
  const auto labels = folder_.Write("labels", IdxLabels({3, 9, 0}));
  WriteGzip(folder_.path() / "images.gz", IdxImages(3));
  for (const auto& images : {folder_.Write("images", IdxImages(3)), folder_.path() / "images.gz"}) {
    const ImageSet set = ReadIdx(images, labels, 10);
    EXPECT_EQ(set.samples(), 3);
    EXPECT_EQ(set.height, 2);
    EXPECT_EQ(set.width, 3);
    EXPECT_EQ(set.labels, (Raw{3, 9, 0}));
    for (size_t i = 0; i < 18; ++i) EXPECT_EQ(set.pixels[i], i);
  }
}

TEST_F(IdxTest, NamesFileOffsetFoundAndExpected) {
  Raw wrong_magic = IdxImages(1);
  wrong_magic[3] = 1;
  EXPECT_THAT(Reading(wrong_magic, IdxLabels({1})),
              ThrowsMessage<Error>(AllOf(HasSubstr("/images: offset 0"), HasSubstr("magic 2049"),
                                         HasSubstr("magic 2051"))));
  EXPECT_THAT(Reading(BigEndian({0x803, 1}), IdxLabels({1})),
              ThrowsMessage<Error>(HasSubstr("offset 8: got 'end of file'")));
  EXPECT_THAT(Reading(BigEndian({0x803, 1, 0, 3}), IdxLabels({1})),
              ThrowsMessage<Error>(AllOf(HasSubstr("offset 8"), HasSubstr("rows 0"))));
  EXPECT_THAT(Reading(BigEndian({0x803, 0x7FFFFFFF, 4096, 4096}), IdxLabels({1})),
              ThrowsMessage<Error>(HasSubstr("offset 4: got '36028797002186752 bytes of pixels'")));
  EXPECT_THAT(Reading(BigEndian({0x803, 100'000, 100, 100}), IdxLabels({1})),
              ThrowsMessage<Error>(HasSubstr("offset 16: got 'end of file'")));
  EXPECT_THAT(Reading(IdxImages(2), IdxLabels({1})),
              ThrowsMessage<Error>(AllOf(HasSubstr("/labels: offset 4"), HasSubstr("1 samples"))));
  EXPECT_THAT(Reading(IdxImages(2), IdxLabels({1, 10})),
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("/labels: offset 9: got 'label 10'"), HasSubstr("0 to 9"))));
}

TEST_F(IdxTest, RefusesMissingAndSurplusBytes) {
  Raw images = IdxImages(2);
  images.push_back(0);
  EXPECT_THROW(Reading(images, IdxLabels({1, 2}))(), Error);
  images.resize(images.size() - 2);
  EXPECT_THROW(Reading(images, IdxLabels({1, 2}))(), Error);
}

TEST_F(IdxTest, RefusesATruncatedOrDamagedGzipFile) {
  const auto labels = folder_.Write("labels", IdxLabels({1, 2}));
  const auto file = folder_.path() / "images.gz";
  WriteGzip(file, IdxImages(2));
  const Raw whole = [&] {
    std::ifstream in(file, std::ios::binary);
    return Raw(std::istreambuf_iterator<char>(in), {});
  }();
  EXPECT_EQ(ReadIdx(file, labels, 10).samples(), 2);
  for (size_t cut : {size_t{1}, size_t{5}, whole.size() / 2}) {
    folder_.Write("images.gz", Raw(whole.begin(), whole.end() - static_cast<std::ptrdiff_t>(cut)));
    EXPECT_THROW(ReadIdx(file, labels, 10), Error) << cut;
  }
  Raw damaged = whole;
  damaged[damaged.size() - 6] ^= 1;  // in the checksum
  folder_.Write("images.gz", damaged);
  EXPECT_THROW(ReadIdx(file, labels, 10), Error);
}

// Returns the largest memory that this process ever had, in bytes.
int64_t PeakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{1024} * usage.ru_maxrss;
}

TEST_F(IdxTest, TakesNoMoreOfAGzipFileThanItsHeaderPromises) {
  constexpr unsigned kMegabytes = 400;
  const auto file = folder_.path() / "images.gz";
  gzFile out = gzopen(file.c_str(), "wb1");
  const Raw images = IdxImages(2);
  const Raw zeros(1 << 20);
  gzwrite(out, images.data(), static_cast<unsigned>(images.size()));
  for (unsigned i = 0; i < kMegabytes; ++i) gzwrite(out, zeros.data(), 1 << 20);
  gzclose(out);
  const auto labels = folder_.Write("labels", IdxLabels({1, 2}));
  const int64_t before = PeakMemory();
  EXPECT_THAT([&] { ReadIdx(file, labels, 10); },
              ThrowsMessage<Error>(HasSubstr("offset 28: got 'more bytes'")));
  EXPECT_LT(PeakMemory() - before, 100 << 20);
}

Raw CifarRecord(const Raw& labels, uint8_t pixel) {
  Raw record = labels;
  record.insert(record.end(), 3072, pixel);
  return record;
}

TEST(CifarTest, ReadsRecordsOfBothKinds) {
  const TemporaryFolder folder;
  const auto a = folder.Write("a", CifarRecord({7}, 1));
  const auto b = folder.Write("b", CifarRecord({2}, 5));
  const ImageSet ten = ReadCifar({a, b}, 1, 10);
  EXPECT_EQ(ten.labels, (Raw{7, 2}));
  EXPECT_EQ(ten.pixels[3071], 1);
  EXPECT_EQ(ten.pixels[3072], 5);
  const ImageSet hundred = ReadCifar({folder.Write("c", CifarRecord({19, 99}, 3))}, 2, 100);
  EXPECT_EQ(hundred.labels, Raw{99});
  EXPECT_EQ(hundred.pixels, Raw(3072, 3));
}

TEST(CifarTest, NamesWhatIsWrong) {
  const TemporaryFolder folder;
  const auto reading = [&](const Raw& bytes, int labels, int classes) {
    return [=, &folder] { ReadCifar({folder.Write("f.bin", bytes)}, labels, classes); };
  };
  EXPECT_THAT(reading({}, 1, 10), ThrowsMessage<Error>(HasSubstr("f.bin: offset 0")));
  EXPECT_THAT(reading(CifarRecord({1, 1}, 0), 1, 10), ThrowsMessage<Error>(HasSubstr("3073")));
  Raw two = CifarRecord({1}, 0);
  const Raw bad = CifarRecord({10}, 0);
  two.insert(two.end(), bad.begin(), bad.end());
  EXPECT_THAT(reading(two, 1, 10), ThrowsMessage<Error>(HasSubstr("offset 3073: got 'label 10'")));
  EXPECT_THAT(reading(CifarRecord({20, 1}, 0), 2, 100),
              ThrowsMessage<Error>(AllOf(HasSubstr("offset 0"), HasSubstr("0 to 19"))));
}

TEST(CatalogTest, ReadsTheCifarTrainingBatchesThatExist) {
  const TemporaryFolder root;
  const CatalogEntry& entry = FindInCatalog("cifar10");
  root.Write("cifar-10-batches-bin/test_batch.bin", CifarRecord({0}, 0));
  EXPECT_THAT([&] { LoadImages(entry, root.path(), true, 0); },
              ThrowsMessage<Error>(AllOf(HasSubstr("data_batch_1.bin"),
                                         HasSubstr("legacy-data fetch cifar10"),
                                         HasSubstr("--data-root"), HasSubstr("LEGACY_DATA"))));
  root.Write("cifar-10-batches-bin/data_batch_4.bin", CifarRecord({4}, 0));
  root.Write("cifar-10-batches-bin/data_batch_2.bin", CifarRecord({2}, 0));
  EXPECT_EQ(LoadImages(entry, root.path(), true, 0).labels, (Raw{2, 4}));
  EXPECT_EQ(LoadImages(entry, root.path(), true, 1).labels, Raw{2});
  EXPECT_EQ(LoadImages(entry, root.path(), false, 0).labels, Raw{0});
  EXPECT_THROW(LoadImages(entry, root.path(), true, -1), Error);
}

TEST(CatalogTest, UnknownNamesListTheKnown) {
  EXPECT_THAT([] { FindInCatalog("imagenets"); },
              ThrowsMessage<Error>(AllOf(HasSubstr("'imagenets'; did you mean imagenet?"),
                                         HasSubstr("legacy-scenario --dataset=list prints"))));
}

TEST(RealDataTest, FashionMnistIsWhole) {
  if (RealData().empty()) GTEST_SKIP() << "no real data; set LEGACY_TEST_DATA";
  const std::filesystem::path folder = RealData() / "fashion_mnist";
  const ImageSet train =
      ReadIdx(folder / "train-images-idx3-ubyte.gz", folder / "train-labels-idx1-ubyte.gz", 10);
  ASSERT_EQ(train.samples(), 60000);
  EXPECT_EQ(train.height, 28);
  for (int label = 0; label < 10; ++label) {
    EXPECT_EQ(std::count(train.labels.begin(), train.labels.end(), label), 6000);
  }
  double sum = 0;
  for (uint8_t pixel : train.pixels) sum += pixel;
  EXPECT_NEAR(sum / 255 / static_cast<double>(train.pixels.size()),
              FindInCatalog("fashion-mnist").mean[0], 1e-4);
}

}  // namespace
}  // namespace legacy::images_test