// The templates of tests, each by the planner in its folder.
#pragma once

#include "generator/planner/table/templates.h"

namespace convtgen {

extern const Template kGather, kSplit, kTwoColumns;

}  // namespace convtgen
