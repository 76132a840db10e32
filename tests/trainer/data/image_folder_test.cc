// Folders of images: their lists, and what happens to broken images.
#include "trainer/data/image_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "tests/trainer/data/temporary_folder.h"
#include "trainer/bench/drawn_jpeg.h"

namespace legacy::image_folder_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Bytes = std::vector<uint8_t>;

class ImageFolderTest : public testing::Test {
 protected:
  static Bytes Jpeg(uint32_t number) {
    return DrawJpeg({.width = 40, .height = 30, .number = number});
  }
  ImageFolder Open(bool strict = false) const {
    return ImageFolder({.folder = folder_.path(), .size = 16, .strict = strict, .cache = cache_});
  }
  static Bytes Decode(const ImageFolder& images, const ImageJob& job) {
    Bytes out(static_cast<size_t>(images.image_bytes()));
    images.Decode(job, out);
    return out;
  }
  void Refuses(const std::string& where, const std::string& found, const std::string& allowed) {
    EXPECT_THAT([&] { Open(); }, ThrowsMessage<Error>(AllOf(HasSubstr(where), HasSubstr(found),
                                                            HasSubstr(allowed))));
  }
  // Two classes of training images, one of validation images.
  void WriteSmall() {
    folder_.Write("train/b/1.jpg", Jpeg(1));
    folder_.Write("train/b/0.JPEG", Jpeg(2));
    folder_.Write("train/a/x.jpeg", Jpeg(3));
    folder_.WriteText("train/a/readme.txt", std::string("no image"));
    folder_.WriteText("train/notes", std::string("no class"));
    folder_.Write("train/.git/x.jpg", Jpeg(4));
    folder_.Write("val/b/9.jpg", Jpeg(5));
  }
  // Makes the folders older than the resolution of the file system's clock.
  void Age() {
    using namespace std::chrono_literals;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (!entry.is_directory()) continue;
      std::filesystem::last_write_time(entry, std::filesystem::file_time_type::clock::now() - 1h);
    }
  }

  TemporaryFolder folder_;
  std::filesystem::path cache_;
};

TEST_F(ImageFolderTest, ClassesAndFilesAreInTheOrderOfTheirNames) {
  WriteSmall();
  const ImageFolder images = Open();
  EXPECT_THAT(images.classes(), ElementsAre("a", "b"));
  EXPECT_EQ(images.samples(true), 3);
  EXPECT_EQ(images.samples(false), 1);
  EXPECT_EQ(images.label(true, 0), 0);
  EXPECT_EQ(images.label(true, 2), 1);
  EXPECT_EQ(images.label(false, 0), 1);
  EXPECT_EQ(images.file(true, 1), folder_.path() / "train/b/0.JPEG");
  const Bytes plain = Decode(images, {.training = true, .sample = 1});
  EXPECT_EQ(plain, Decode(images, {.training = true, .sample = 1}));
  EXPECT_NE(plain, Decode(images, {.training = true, .sample = 2}));
  const RandomKey key = {.seed = 2, .purpose = Purpose::kAugment};
  const Bytes drawn = Decode(images, {true, 1, key});
  EXPECT_NE(drawn, plain);
  EXPECT_EQ(drawn, Decode(images, {true, 1, key}));
}

// As torchvision walks: folder by folder in the order of their paths, links followed.
TEST_F(ImageFolderTest, FoldersBelowAClassBelongToIt) {
  folder_.Write("train/a/z.jpg", Jpeg(1));
  folder_.Write("train/a/more/b.jpg", Jpeg(2));
  folder_.Write("train/a/more/deep/a.png", Jpeg(3));
  folder_.Write("train/a/less/c.JPG", Jpeg(4));
  folder_.Write("val/a/deep/er/1.jpg", Jpeg(5));
  folder_.Write("elsewhere/linked.jpg", Jpeg(6));
  std::filesystem::create_directory_symlink(folder_.path() / "elsewhere",
                                            folder_.path() / "train/a/other");
  const ImageFolder images = Open();
  EXPECT_EQ(images.samples(true), 5);
  EXPECT_EQ(images.file(true, 0).filename(), "z.jpg");
  EXPECT_EQ(images.file(true, 1), folder_.path() / "train/a/less/c.JPG");
  EXPECT_EQ(images.file(true, 2), folder_.path() / "train/a/more/b.jpg");
  EXPECT_EQ(images.file(true, 3), folder_.path() / "train/a/more/deep/a.png");
  EXPECT_EQ(images.file(true, 4), folder_.path() / "train/a/other/linked.jpg");
  EXPECT_EQ(images.samples(false), 1);
  EXPECT_THAT(images.Unread(), ElementsAre("elsewhere/: a folder beside train/ and val/"));
  std::filesystem::create_directory_symlink(folder_.path() / "train/a",
                                            folder_.path() / "train/a/less/loop");
  EXPECT_THAT([&] { Open(); }, ThrowsMessage<Error>(HasSubstr("a link to a folder above it")));
}

TEST_F(ImageFolderTest, SaysWhatItDoesNotRead) {
  const TemporaryFolder root;
  WriteSmall();
  folder_.Write("train/b/1.webp", Jpeg(1));
  folder_.Write("train/b/deep/2.WEBP", Jpeg(1));
  folder_.Write("train/b/._1.jpg", Jpeg(1));
  folder_.Write("val/b/3.tif", Jpeg(1));
  const auto expect = [](const ImageFolder& images) {
    ASSERT_EQ(images.Unread().size(), 2u);
    EXPECT_THAT(images.Unread()[0],
                HasSubstr("train/: files that are no .jpg, .jpeg or .png: 1 .txt, 2 .webp, 2 "
                          "hidden, 1 without a suffix, such as "));
    EXPECT_THAT(images.Unread()[1], HasSubstr("val/: files that are no .jpg, .jpeg or .png: 1 "
                                              ".tif, such as "));
  };
  expect(Open());
  Age();
  cache_ = root.path();
  Open();
  const ImageFolder cached = Open();
  EXPECT_TRUE(cached.from_cache());
  expect(cached);
  // A file in a folder below a class is seen too.
  folder_.Write("train/b/deep/4.jpg", Jpeg(7));
  EXPECT_EQ(Open().samples(true), 4);
  folder_.Write("train/c/only.bmp", Jpeg(1));
  Refuses("/train/c", "a class without images (1 .bmp, such as ", ".png");
}

TEST_F(ImageFolderTest, AFolderThatIsNoneIsRefused) {
  Refuses("/train", "no such folder", "train/CLASS");
  std::filesystem::create_directories(folder_.path() / "train");
  Refuses("/val", "no such folder", "accuracy is measured on val/");
  std::filesystem::create_directories(folder_.path() / "val");
  Refuses("/train", "no classes", "train/CLASS");
  folder_.Write("train/a/1.jpg", Jpeg(1));
  Refuses("/val", "no classes", "val/CLASS");
  folder_.Write("val/b/1.jpg", Jpeg(1));
  Refuses("/val", "class b", "the classes of train/");
  std::filesystem::create_directories(folder_.path() / "train" / "b");
  Refuses("/train/b", "a class without images", ".png");
  EXPECT_THROW(ImageFolder({.folder = "/no/such", .size = 16, .cache = {}}), Error);
  EXPECT_THROW(ImageFolder({.folder = folder_.path(), .size = 4, .cache = {}}), Error);
}

TEST_F(ImageFolderTest, TheListIsCachedUntilAFileComesOrGoes) {
  const TemporaryFolder root;
  cache_ = root.path();
  WriteSmall();
  EXPECT_FALSE(Open().from_cache());
  EXPECT_EQ(root.Count(), 0) << "folders that have just changed may change again unseen";
  Age();
  EXPECT_FALSE(Open().from_cache());
  const ImageFolder cached = Open();
  EXPECT_TRUE(cached.from_cache());
  EXPECT_THAT(cached.classes(), ElementsAre("a", "b"));
  EXPECT_EQ(cached.label(true, 2), 1);
  EXPECT_EQ(cached.file(false, 0), folder_.path() / "val/b/9.jpg");
  folder_.Write("train/a/y.png", Jpeg(6));
  EXPECT_EQ(Open().samples(true), 4);
  Age();
  // A list would be believed if files changed but times did not, which no file system allows; a
  // damaged list is not.
  Open();
  EXPECT_TRUE(Open().from_cache());
  const std::filesystem::path file = std::filesystem::directory_iterator(root.path())->path();
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_FALSE(Open().from_cache());
  EXPECT_EQ(Open().samples(true), 4);
}

class BrokenImages : public ImageFolderTest {
 protected:
  // Writes a thousand images of ten classes, of which those in `broken` cannot be read.
  void WriteThousand(const std::set<int>& broken) {
    const Bytes good = Jpeg(1);
    for (int i = 0; i < 1000; ++i) {
      char name[40];
      std::snprintf(name, sizeof(name), "train/%d/%03d.jpg", i / 100, i);
      folder_.Write(name, broken.contains(i) ? Bytes{0xFF, 0xD8, 0xFF} : good);
    }
    folder_.Write("train/5/599.jpg", Jpeg(2));
    folder_.Write("train/5/500.jpg", Jpeg(3));
    folder_.Write("val/0/0.jpg", good);
  }
};

TEST_F(BrokenImages, OneInAThousandIsReplacedByTheNextOfItsClass) {
  WriteThousand({555});
  const ImageFolder images = Open();
  EXPECT_THAT(images.Broken(), ElementsAre());
  EXPECT_EQ(Decode(images, {true, 555, {}}), Decode(images, {true, 556, {}}));
  EXPECT_EQ(Decode(images, {true, 555, {}}), Decode(images, {true, 556, {}}));
  EXPECT_THAT(images.Broken(),
              ElementsAre(AllOf(HasSubstr("train/5/555.jpg"), HasSubstr("a complete JPEG image"))));
  const ImageFolder strict = Open(true);
  EXPECT_NO_THROW(Decode(strict, {true, 556, {}}));
  EXPECT_THAT(
      [&] {
        Decode(strict, {true, 555, {}});
      },
      ThrowsMessage<Error>(HasSubstr("train/5/555.jpg")));
}

TEST_F(BrokenImages, TheLastOfAClassIsReplacedByTheFirst) {
  WriteThousand({});
  folder_.WriteText("train/5/599.jpg", std::string());
  const ImageFolder images = Open();
  EXPECT_EQ(Decode(images, {true, 599, {}}), Decode(images, {true, 500, {}}));
}

TEST_F(BrokenImages, MoreAreAnError) {
  WriteThousand({100, 200});
  const ImageFolder images = Open();
  EXPECT_NO_THROW(Decode(images, {true, 100, {}}));
  EXPECT_THAT(
      [&] {
        Decode(images, {true, 200, {}});
      },
      ThrowsMessage<Error>(AllOf(HasSubstr("2 broken images of 1000"), HasSubstr("train/2/200.jpg"),
                                 HasSubstr("at most 1, one in a thousand"))));
}

TEST_F(BrokenImages, SmallFoldersHaveNoneToSpare) {
  WriteSmall();
  folder_.WriteText("train/b/1.jpg", std::string("nothing"));
  const ImageFolder images = Open();
  EXPECT_THAT(
      [&] {
        Decode(images, {true, 2, {}});
      },
      ThrowsMessage<Error>(HasSubstr("1 broken images of 3")));
}

// A crop may miss the damage, but a check reads all.
TEST_F(ImageFolderTest, AnImageThatIsCutShortIsFoundByACheck) {
  WriteSmall();
  Bytes cut = DrawJpeg({.width = 400, .height = 300, .number = 1});
  cut.resize(cut.size() * 9 / 10);
  folder_.Write("train/b/1.jpg", cut);
  const ImageFolder images = Open();
  EXPECT_NO_THROW(images.Check(true, 1));
  EXPECT_THAT([&] { images.Check(true, 2); }, ThrowsMessage<Error>(HasSubstr("train/b/1.jpg")));
}

}  // namespace
}  // namespace legacy::image_folder_test
