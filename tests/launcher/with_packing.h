// A kernel that reads packed weights, for tests of launch code.
#pragma once

#include "generator/launcher/launcher.h"

namespace convtgen::test {

/// A kernel that reads its weights as they are, as one that reads them from the workspace, where a second kernel with
/// blocks of 32 threads copies them.
[[nodiscard]] TargetKernel with_packing(const Layer& layer, TargetKernel made);

}  // namespace convtgen::test
