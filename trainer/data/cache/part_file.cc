#include "trainer/data/cache/part_file.h"

#include "base/error.h"
#include "base/whole_file.h"

namespace legacy {
namespace {

OutputFile CreatePart(const std::filesystem::path& final_name) {
  MakeFolder(final_name.parent_path());
  return CreateBeside(final_name);
}

}  // namespace

PartFile::PartFile(const std::filesystem::path& final_name)
    : final_(final_name), file_(CreatePart(final_name)) {}

PartFile::~PartFile() {
  std::error_code ignored;
  std::filesystem::remove(file_.path(), ignored);
}

void PartFile::Keep() {
  file_.Close();
  std::error_code error;
  std::filesystem::rename(file_.path(), final_, error);
  if (error) throw Error(final_.string() + ": cannot be written: " + error.message());
}

}  // namespace legacy
