// The rows of SparsifierTable(), each made in its own file.
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

// A threshold for a budget of `count` elements that a whole model may send in a step: 1 / (2
// sqrt(count)), at which `count` elements have the norm 1/2 together. 0.00473 for 11,174.
double ThresholdForBudget(double count);

}  // namespace legacy
