// The static parameters of the template that includes this: `struct Parameters` of its own parameters.h, or what
// CONVTGEN_PARAMETERS names.
#pragma once

#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
