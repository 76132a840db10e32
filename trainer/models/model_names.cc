#include "trainer/models/model_names.h"

namespace legacy {

std::vector<std::string> ModelNames() {
  return {"small-cnn", "medium-cnn", "lenet5", "resnet9", "resnet20", "patch-resnet20"};
}

}  // namespace legacy
