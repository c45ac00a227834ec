// A block's pipeline, for gradients of weights by products over positions.
#pragma once

#include "device/ring.h"
#include "grad_weight/problem.h"
#include "grad_weight/target.h"
