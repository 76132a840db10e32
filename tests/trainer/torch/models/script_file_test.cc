// Crafted and broken files of TorchScript modules are refused; none ends the program.
#include "trainer/torch/models/script_file.h"

#include <caffe2/serialize/inline_container.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "tests/trainer/torch/models/script_module.h"
#include "trainer/torch/models/model.h"

namespace legacy::script_file_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Good() {
  torch::jit::Module module =
      test::Scripted({{"weight", test::Weights({10, 784})}},
                     "def forward(self, x):\n  return torch.linear(x.flatten(1), self.weight)\n");
  return test::SaveScript(module, "good");
}

// Writes the records of a good file again, each as `change` returns it.
std::string Changed(
    const std::string& name,
    const std::function<std::string(const std::string& record, std::string)>& change) {
  const std::string good = Good();
  const std::string file = good.substr(0, good.rfind("good")) + name + ".pt";
  caffe2::serialize::PyTorchStreamReader reader(good);
  caffe2::serialize::PyTorchStreamWriter writer(file);
  for (const std::string& record : reader.getAllRecords()) {
    if (record == "version" || record.starts_with(".")) continue;
    const auto [data, size] = reader.getRecord(record);
    const std::string content = change(record, {static_cast<const char*>(data.get()), size});
    writer.writeRecord(record, content.data(), content.size());
  }
  writer.writeEndOfFile();
  return file;
}

// Returns the message about a file; "" if it is a model.
std::string Said(const std::string& file) {
  std::string said;
  try {
    MakeModel(test::SomeImages().RequestFor(file, 1));
  } catch (const Error& error) {
    said = error.what();
    EXPECT_TRUE(error.IsRefusal()) << said;
    EXPECT_THAT(said, Not(HasSubstr("got ''")));
  }
  std::filesystem::remove(file);
  EXPECT_THAT(said, Not(HasSubstr("\n")));
  return said;
}

TEST(ScriptFile, RecordsHaveTheBytesOfTheirTensors) {
  const auto with_weights = [](size_t bytes) {
    return Changed("weights-" + std::to_string(bytes),
                   [=](const std::string& record, std::string all) {
                     return record.starts_with("data/") ? all.substr(0, bytes) : all;
                   });
  };
  EXPECT_EQ(Said(with_weights(31'360)), "");
  for (const size_t bytes : {0, 3, 31'356}) {
    EXPECT_THAT(Said(with_weights(bytes)),
                AllOf(HasSubstr("record data/0: got '" + std::to_string(bytes) + " bytes'"),
                      HasSubstr("allowed: 31360 bytes")));
  }
}

TEST(ScriptFile, WhatMakesLibTorchCrashIsRefused) {
  const auto with_code = [](const std::string& name, const std::string& code) {
    return Changed(name, [=](const std::string& record, const std::string& all) {
      return record.ends_with(".py") ? code : all;
    });
  };
  constexpr size_t kMany = 100'000;
  const std::string brackets =
      "class Scripted(Module):\n  __parameters__ = [\"weight\", ]\n"
      "  weight : Tensor\n  def forward(self, x: Tensor) -> Tensor:\n"
      "    return " +
      std::string(kMany, '(') + "x" + std::string(kMany, ')') + "\n";
  EXPECT_THAT(Said(with_code("brackets", brackets)),
              HasSubstr("a file whose loading fails: it ended by"));
  EXPECT_THAT(Said(with_code("no-code", "")), HasSubstr("allowed: a TorchScript module"));
  // LibTorch's message of a syntax error begins with an empty line.
  EXPECT_THAT(Said(with_code("one-bracket", "class Scripted(Module):\n  weight : (Tensor\n")),
              HasSubstr("allowed: a TorchScript module"));
  EXPECT_THAT(Said(Changed("pickle",
                           [](const std::string& record, const std::string& all) {
                             return record == "data.pkl" ? all.substr(0, all.size() / 2) : all;
                           })),
              HasSubstr("allowed: a TorchScript module"));
  // A pickle of lists within lists.
  EXPECT_NE(Said(Changed("lists",
                         [](const std::string& record, const std::string& all) {
                           if (record != "data.pkl") return all;
                           std::string nested = "\x80\x02";
                           for (size_t i = 0; i < kMany; ++i) nested += "](";
                           for (size_t i = 0; i < kMany; ++i) nested += "e";
                           return nested + ".";
                         })),
            "");
}

TEST(ScriptFile, FilesThatAreCutAreRefused) {
  std::string whole;
  {
    std::ifstream in(Good(), std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (const size_t part : {0, 1, 2, 3}) {
    const std::string file = Good() + std::to_string(part) + ".pt";
    std::ofstream(file, std::ios::binary) << whole.substr(0, whole.size() * part / 4);
    EXPECT_THAT(Said(file), HasSubstr("allowed: a TorchScript module"));
  }
  std::filesystem::remove(Good());
}

}  // namespace
}  // namespace legacy::script_file_test
