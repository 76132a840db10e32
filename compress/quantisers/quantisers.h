// The rows of QuantiserTable(), each defined in its own file.
#pragma once

#include "compress/quantiser.h"

namespace legacy {

QuantiserRow Float32Row();   // float32.cc
QuantiserRow Float16Row();   // half.cc
QuantiserRow Bfloat16Row();  // half.cc
QuantiserRow UniformRow();   // uniform.cc
QuantiserRow RbfRow();       // rbf.cc
QuantiserRow QsgdRow();      // qsgd.cc
QuantiserRow MaxMinRow();    // maxmin.cc
QuantiserRow TernGradRow();  // terngrad.cc
QuantiserRow NaturalRow();   // natural.cc
QuantiserRow SignRow();      // sign.cc
QuantiserRow OneBitRow();    // sign.cc
QuantiserRow MeanRow();      // mean.cc

}  // namespace legacy
