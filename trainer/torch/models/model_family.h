// Families of models, by file.
#pragma once

#include <memory>
#include <string>

#include "compress/options.h"
#include "trainer/torch/models/model.h"

namespace legacy {

// A family makes the models of the catalogue whose names it knows, and returns null for others. It
// may draw the weights itself; others stay LibTorch's own until MakeModel draws them.
using ModelFamily = std::shared_ptr<Model>(const ModelRequest& request, const std::string& name,
                                           const OptionReader& options);
ModelFamily MakePlainModel;
ModelFamily MakeResidualModel;
ModelFamily MakeDeepResidualModel;
ModelFamily MakeBranchedModel;
ModelFamily MakeStackedModel;
ModelFamily MakeVisionTransformer;
ModelFamily MakeLstm;
ModelFamily MakeGpt;
ModelFamily MakeTransformerXl;
ModelFamily MakeNcf;

}  // namespace legacy
