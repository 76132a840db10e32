#include "compress/random.h"
