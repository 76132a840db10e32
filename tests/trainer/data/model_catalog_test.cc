// Texts of models, and what is wrong with them.
#include "trainer/data/model_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "trainer/torch/models/model.h"

namespace legacy::model_catalog_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ModelCatalog, EveryRowMakesAModelWithItsDefaults) {
  for (const ModelRow& row : ModelCatalog()) {
    const MethodInfo& info = row.info;
    SCOPED_TRACE(info.name);
    EXPECT_FALSE(info.help.empty());
    ModelRequest request = {.name = info.name, .channels = 3, .height = 32, .width = 32};
    request.length = 8;
    request.users = request.items = 20;
    if (row.input == ModelRow::Input::kTokens) request.task = TaskKind::kLanguageModelling;
    if (row.input == ModelRow::Input::kPairs) request.task = TaskKind::kRecommendation;
    EXPECT_FALSE(LayersOf(request).empty());
    EXPECT_NE(ModelList().find(info.name + ": " + info.help), std::string::npos);
  }
}

TEST(ModelCatalog, WrongTextsAreRefusedWithWhatIsAllowed) {
  const auto refuses = [](const std::string& text, const std::string& got,
                          const std::string& allowed) {
    EXPECT_THAT(([&] { MakeModel({.name = text, .channels = 3, .height = 32, .width = 32}); }),
                ThrowsMessage<Error>(AllOf(HasSubstr(got), HasSubstr(allowed))))
        << text;
  };
  refuses("resnet-18", "'resnet-18'", "resnet18");
  refuses("resnet18:depth=3", "'depth'", "width");
  refuses("lenet5:width=3", "'width'", "no options");
  refuses("resnet18:width=0", "'0'", "1 to 4096");
  refuses("resnet18:width=x", "'x'", "1 to 4096");
  refuses("resnet18+vgg16", "'resnet18+vgg16'", "one model");
  refuses("vgg16:batchnorm=maybe", "'maybe'", "auto, on, off");
  refuses("vit-small:heads=5", "'5'", "a divisor of the width, 384");
  refuses("gpt-tiny", "'gpt-tiny'", "a model for classification: small-cnn");
  refuses("vit-small:patch=5", "'5'", "a divisor of the image's sides, 32 and 32");
}

}  // namespace
}  // namespace legacy::model_catalog_test
