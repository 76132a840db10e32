// Downloads from file:// URLs, which take the same way as those from a server.
#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/data/temporary_folder.h"
#include "trainer/data/contact_sheet.h"
#include "trainer/data/data_fetch.h"

namespace legacy::fetch_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string Content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Writes a tar.gz, or a zip, of files whose content is their name.
void WriteArchive(const std::filesystem::path& file, const std::vector<std::string>& names) {
  archive* out = archive_write_new();
  if (file.extension() == ".zip") {
    archive_write_set_format_zip(out);
  } else {
    archive_write_add_filter_gzip(out);
    archive_write_set_format_pax_restricted(out);
  }
  ASSERT_EQ(archive_write_open_filename(out, file.c_str()), ARCHIVE_OK);
  for (const auto& name : names) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(name.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_write_header(out, entry);
    archive_write_data(out, name.data(), name.size());
    archive_entry_free(entry);
  }
  archive_write_free(out);
}

class FetchTest : public testing::Test {
 protected:
  RemoteFile Source(const std::filesystem::path& file, bool is_archive) {
    return {"file://" + file.string(), "sha256:" + FileDigest(file, "sha256"),
            static_cast<int64_t>(std::filesystem::file_size(file)), is_archive};
  }

  TemporaryFolder server_;
  TemporaryFolder root_;
  CatalogEntry entry_{.name = "toy", .folder = "toy", .files = {"a.bin", "b.bin"}};
};

TEST_F(FetchTest, DigestsAreTheStandards) {
  const auto file = server_.Write("abc", {'a', 'b', 'c'});  // RFC 1321 A.5; FIPS 180-2 B.1
  EXPECT_EQ(FileDigest(file, "md5"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(FileDigest(file, "sha256"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_THROW(FileDigest(file, "crc7"), Error);
}

TEST_F(FetchTest, PutsCheckedFilesInPlaceAndSkipsThemLater) {
  entry_.sources = {Source(server_.Write("a.bin", {1, 2, 3}), false)};
  FetchData(entry_, root_.path(), nullptr);
  EXPECT_EQ(Content(root_.path() / "toy" / "a.bin"), "\1\2\3");
  EXPECT_EQ(root_.Count(), 1);
  std::filesystem::remove(server_.path() / "a.bin");
  FetchData(entry_, root_.path(), nullptr);
}

TEST_F(FetchTest, AWrongDigestLeavesNothing) {
  const auto file = server_.Write("a.bin", {1, 2, 3});
  entry_.sources = {Source(file, false)};
  server_.Write("a.bin", {1, 2, 4});
  EXPECT_THAT([&] { FetchData(entry_, root_.path(), nullptr); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("sha256 digest"), HasSubstr(FileDigest(file, "sha256")))));
  EXPECT_EQ(root_.Count(), 0);
}

TEST_F(FetchTest, UnpacksOnlyWhatWeName) {
  for (const char* name : {"toy.tar.gz", "toy.zip"}) {
    const auto file = server_.path() / name;
    WriteArchive(file, {"x/readme", "x/a.bin", "../../evil", "/deep/er/b.bin"});
    entry_.folder = name;
    entry_.sources = {Source(file, true)};
    FetchData(entry_, root_.path(), nullptr);
    EXPECT_EQ(Content(root_.path() / name / "a.bin"), "x/a.bin");
    EXPECT_EQ(Content(root_.path() / name / "b.bin"), "/deep/er/b.bin");
  }
  EXPECT_EQ(root_.Count(), 4);
}

TEST_F(FetchTest, WhatCannotBeFetchedSaysWhatToDo) {
  EXPECT_THAT([&] { FetchData(FindInCatalog("imagenet"), root_.path(), nullptr); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("image-net.org"), HasSubstr("imagenet/val/CLASS/*.JPEG"))));
  entry_.sources = {Source(server_.Write("a.bin", {1, 2, 3}), false)};
  entry_.sources.front().digest.clear();
  EXPECT_THAT([&] { FetchData(entry_, root_.path(), nullptr); },
              ThrowsMessage<Error>(HasSubstr("no published digest")));
  EXPECT_EQ(root_.Count(), 0);
}

TEST_F(FetchTest, SaysWhatAnArchiveLacks) {
  const auto tar = server_.path() / "toy.tar.gz";
  WriteArchive(tar, {"x/a.bin"});
  entry_.sources = {Source(tar, true)};
  EXPECT_THAT([&] { FetchData(entry_, root_.path(), nullptr); },
              ThrowsMessage<Error>(HasSubstr("no b.bin")));
  const auto text = server_.Write("no.tar.gz", {'n', 'o'});
  entry_.sources = {Source(text, true)};
  EXPECT_THROW(FetchData(entry_, root_.path(), nullptr), Error);
}

TEST_F(FetchTest, TellsAMissingNetworkFromAMissingFile) {
  entry_.sources = {{"https://127.0.0.1:1/a.bin", "sha256:0"}};  // no server listens on port 1
  EXPECT_THROW(FetchData(entry_, root_.path(), nullptr), NetworkError);
  entry_.sources = {{"file://" + server_.path().string() + "/a.bin", "sha256:0"}};
  try {
    FetchData(entry_, root_.path(), nullptr);
    FAIL();
  } catch (const NetworkError&) {
    FAIL() << "there is no network in a file";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("failed"));
  }
  EXPECT_EQ(root_.Count(), 0);
}

TEST_F(FetchTest, StopsAtTheSizeThatTheCatalogueKnows) {
  entry_.sources = {Source(server_.Write("a.bin", {1, 2, 3}), false)};
  server_.Write("a.bin", std::vector<uint8_t>(100'000));
  EXPECT_THROW(FetchData(entry_, root_.path(), nullptr), Error);
  EXPECT_EQ(root_.Count(), 0);
}

TEST_F(FetchTest, TakesNothingOverHttp) {
  entry_.sources = {{"http://127.0.0.1:1/a.bin", "sha256:0", 3}};
  EXPECT_THAT([&] { FetchData(entry_, root_.path(), nullptr); },
              ThrowsMessage<Error>(HasSubstr("allowed: an address that begins with https://")));
}

// Another process may fetch the same set, and links that others made are not followed.
TEST_F(FetchTest, ItsPartialFilesAreItsOwn) {
  server_.Write("elsewhere", {'x'});
  for (const char* name : {"a.bin.part", "a.bin.tmp"}) {
    std::filesystem::create_directories(root_.path() / "toy");
    std::filesystem::create_symlink(server_.path() / "elsewhere", root_.path() / "toy" / name);
  }
  entry_.sources = {Source(server_.Write("a.bin", {1, 2, 3}), false)};
  FetchData(entry_, root_.path(), nullptr);
  EXPECT_EQ(Content(server_.path() / "elsewhere"), "x");
  EXPECT_EQ(Content(root_.path() / "toy" / "a.bin"), "\1\2\3");
}

TEST(CatalogTest, EveryFileHasASha256ASizeAndHttps) {
  for (const CatalogEntry& entry : DataCatalog()) {
    for (const RemoteFile& source : entry.sources) {
      EXPECT_TRUE(source.url.starts_with("https://")) << source.url;
      EXPECT_TRUE(source.digest.starts_with("sha256:")) << source.url;
      EXPECT_EQ(source.digest.size(), 7u + 64) << source.url;
      EXPECT_GT(source.bytes, 0) << source.url;
    }
  }
}

TEST(ContactSheetTest, LaysImagesOutInRows) {
  const TemporaryFolder folder;
  const ImageSet images{1, 1, 2, {10, 20, 30, 40, 50, 60}, {0, 0, 0}};
  WriteContactSheet(images, 2, 2, folder.path() / "s.pgm");
  const std::string pixels =
      "\x0A\x14\x60\x1E\x28"  // two images, one column of paper between
      "\x60\x60\x60\x60\x60"
      "\x32\x3C\x60\x60\x60";
  EXPECT_EQ(Content(folder.path() / "s.pgm"), "P5\n5 3\n255\n" + pixels);
  WriteContactSheet(images, 2, 2, folder.path() / "s.png");
  EXPECT_EQ(Content(folder.path() / "s.png").substr(1, 3), "PNG");
  EXPECT_THROW(WriteContactSheet(images, 2, 2, folder.path() / "s.jpeg"), Error);
  EXPECT_EQ(folder.Count(), 2);
}

}  // namespace
}  // namespace legacy::fetch_test