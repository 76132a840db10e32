#include "trainer/torch/models/script_file.h"

#include <ATen/Parallel.h>
#include <caffe2/serialize/inline_container.h>
#include <sys/stat.h>
#include <torch/csrc/jit/serialization/unpickler.h>
#include <torch/script.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/programs/apart.h"

namespace legacy {
namespace {

constexpr unsigned kMostSeconds = 120;  // after which loading counts as hanging

// An Archive is one pickle of the file, "data" or "constants", with the tensors that it names.
class Archive {
 public:
  Archive(caffe2::serialize::PyTorchStreamReader& reader, std::string file, std::string name)
      : reader_(reader), file_(std::move(file)), name_(std::move(name)) {}

  // Throws Error if a tensor needs more bytes than its record has.
  void Check() {
    if (!reader_.hasRecord(name_ + ".pkl")) return;
    const auto [pickle, size] = reader_.getRecord(name_ + ".pkl");
    const std::string_view text(static_cast<const char*>(pickle.get()), size);
    size_t read = 0;
    torch::jit::Unpickler unpickler(
        [&](char* to, size_t most) {
          const size_t count = std::min(most, text.size() - read);
          std::memcpy(to, text.data() + read, count);
          read += count;
          return count;
        },
        [&](const c10::QualifiedName& name) { return TypeOf(name); },
        [&](const at::StrongTypePtr& type, const c10::IValue& content) {
          contents_.push_back(content);
          return c10::ivalue::Object::create(type, 0);
        },
        [&](const std::string& key) { return ReadRecord(key); }, torch::kCPU,
        /*use_storage_device=*/false);
    contents_.push_back(unpickler.parse_ivalue());
    for (const c10::IValue& content : contents_) {
      content.visit([&](const c10::IValue& value) {
        if (value.isTensor()) CheckRecord(value.toTensor());
        return false;
      });
    }
  }

 private:
  // Returns a type of that name: "List[str]", "__torch__.Encoder". What it holds does not matter.
  c10::StrongTypePtr TypeOf(const c10::QualifiedName& name) const {
    const c10::TypePtr any = c10::AnyType::get();
    const std::string& text = name.qualifiedName();
    if (text.starts_with("List[")) return {unit_, c10::ListType::create(any)};
    if (text.starts_with("Dict[")) return {unit_, c10::DictType::create(any, any)};
    return {unit_, c10::ClassType::create(name, unit_)};
  }

  at::DataPtr ReadRecord(const std::string& key) {
    auto [data, size] = reader_.getRecord(name_ + "/" + key);
    records_[data.get()] = {name_ + "/" + key, size};
    return std::move(data);
  }

  void CheckRecord(const torch::Tensor& tensor) const {
    if (!tensor.defined() || !tensor.has_storage() || tensor.storage().nbytes() == 0) return;
    const auto record = records_.find(tensor.storage().data());
    if (record == records_.end()) return;  // computed while it was read
    const auto& [name, size] = record->second;
    if (size >= tensor.storage().nbytes()) return;
    throw Error("model " + file_ + ": record " + name, std::to_string(size) + " bytes",
                std::to_string(tensor.storage().nbytes()) + " bytes, as its tensors need");
  }

  caffe2::serialize::PyTorchStreamReader& reader_;
  std::string file_;
  std::string name_;
  std::shared_ptr<torch::jit::CompilationUnit> unit_ =
      std::make_shared<torch::jit::CompilationUnit>();
  std::map<const void*, std::pair<std::string, size_t>> records_;  // by their memory
  std::vector<c10::IValue> contents_;
};

// The properties that tell one state of a file from another.
using FileState = std::tuple<std::string, dev_t, ino_t, off_t, time_t, long>;

FileState StateOfFile(const std::string& file) {
  struct stat state = {};
  stat(file.c_str(), &state);
  return {file,          state.st_dev,         state.st_ino,
          state.st_size, state.st_mtim.tv_sec, state.st_mtim.tv_nsec};
}

}  // namespace

std::string ScriptMessage(const std::exception& error) {
  std::string text = error.what();
  if (const auto* known = dynamic_cast<const c10::Error*>(&error)) {
    text = known->what_without_backtrace();
  }
  // An error inside a script ends with its own line: "RuntimeError: ..", "builtins.ValueError: ..".
  const size_t name = std::max(text.rfind("Error: ") + 1, text.rfind("Exception: ") + 1);
  if (text.starts_with("The following operation failed") && name > 0) {
    text = text.substr(text.rfind('\n', name) + 1);
    for (const std::string_view prefix : {"RuntimeError: ", "builtins."}) {
      if (text.starts_with(prefix)) text = text.substr(prefix.size());
    }
  }
  const size_t begin = std::min(text.find_first_not_of("\n "), text.size());
  return text.substr(begin, text.find('\n', begin) - begin);
}

Error NotLoadable(const std::string& file, const std::string& why) {
  return {"model " + file, why,
          "a TorchScript module with a forward, as torch.jit.script(model).save(FILE) writes"};
}

void CheckScriptFile(const std::string& file, const std::function<void()>& load) {
  static std::mutex mutex;
  static std::set<FileState> checked;
  const FileState state = StateOfFile(file);
  const std::lock_guard lock(mutex);
  if (checked.contains(state)) return;
  std::string wrong;
  try {
    wrong = RunApart(kMostSeconds, [&]() -> std::string {
      at::set_num_threads(1);  // a copy of a process has no threads of its pool
      try {
        caffe2::serialize::PyTorchStreamReader reader(file);
        for (const char* archive : {"constants", "data"}) Archive(reader, file, archive).Check();
        load();
      } catch (const Error& error) {
        return error.what();
      } catch (const std::exception& error) {
        return NotLoadable(file, ScriptMessage(error)).what();
      }
      return "";
    });
  } catch (const Error& error) {
    throw NotLoadable(file, "a file whose loading fails: " + std::string(error.what()));
  }
  if (!wrong.empty()) throw Error::Refusal(wrong);
  checked.insert(state);
}

}  // namespace legacy
