// $CONVTGEN_DUMP: a folder where every source that is made ready is written, for people to read.
#pragma once

#include "generator/specializer/kernel_source.h"

namespace convtgen::jit {

/// Writes "<symbol>.cu" where $CONVTGEN_DUMP names a folder, which is made. A failure is only logged.
void dump(const KernelSource& source);

}  // namespace convtgen::jit
