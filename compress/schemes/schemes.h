// The rows of SchemeTable(), each made in its own file.
#pragma once

#include "compress/exchange.h"

namespace legacy {

SchemeRow ArTopKRow();        // ar_topk.cc
SchemeRow FlexibleTopKRow();  // ar_topk.cc

}  // namespace legacy
