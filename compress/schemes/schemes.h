// The rows of SchemeTable(), each defined in its own file.
#pragma once

#include "compress/exchange.h"

namespace legacy {

SchemeRow ArTopKRow();          // ar_topk.cc
SchemeRow DgcRow();             // dgc.cc
SchemeRow FlexibleTopKRow();    // ar_topk.cc
SchemeRow OneBitAdamRow();      // onebit_adam.cc
SchemeRow PowerSgdRow();        // powersgd.cc
SchemeRow SignSgdRow();         // signsgd.cc
SchemeRow TernGradSharedRow();  // terngrad_shared.cc
SchemeRow VarianceRow();        // variance.cc

}  // namespace legacy
