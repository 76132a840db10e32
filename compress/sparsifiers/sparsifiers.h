// The rows of SparsifierTable(), each defined in its own file.
#pragma once

#include "compress/sparsifier.h"

namespace legacy {

SparsifierRow TopKRow();       // topk.cc
SparsifierRow RandomKRow();    // randomk.cc
SparsifierRow ThresholdRow();  // threshold.cc
SparsifierRow SampledRow();    // sampled.cc
SparsifierRow RedSyncRow();    // redsync.cc
SparsifierRow SidcoRow();      // sidco.cc
SparsifierRow AdaCompRow();    // adacomp.cc
SparsifierRow CatRow();        // cat.cc
SparsifierRow GaussianRow();   // gaussian.cc

}  // namespace legacy
