// The same as isa.h, under the name that the matrix kernels use.
#pragma once

#include "providers/cpu/math/isa.h"
