// The public header of a layer set.
#pragma once

#include <string>
#include <vector>

#include "generator/launcher/launcher.h"

namespace convtgen {

[[nodiscard]] std::string header_text(const LayerSet& set, const std::vector<SetKernel>& kernels);

}  // namespace convtgen
