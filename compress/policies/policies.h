// The rows of PolicyTable(), each made in its own file.
#pragma once

#include "compress/policy.h"

namespace legacy {}
