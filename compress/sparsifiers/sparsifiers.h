// The rows of SparsifierTable(), each made in its own file.
#pragma once

#include "compress/sparsifier.h"

namespace legacy {

SparsifierRow TopKRow();     // topk.cc
SparsifierRow RandomKRow();  // randomk.cc

}  // namespace legacy
