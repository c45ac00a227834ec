// Sizes as callers give them.
#pragma once

#include <convtgen/convtgen.h>

#include "generator/layer/shape.h"

namespace convtgen::api {

/// CONVTGEN_DYNAMIC stands for the layer's own size, where it has one.
[[nodiscard]] inline InputSizes sizes_given(const Layer& layer, std::int64_t batch, std::int64_t height,
                                            std::int64_t width) {
  const auto size = [](std::int64_t given, const Size& own) {
    return given == CONVTGEN_DYNAMIC ? own.value_or(given) : given;
  };
  return {size(batch, layer.batch),
          {layer.axes[kDepth].extent.value_or(CONVTGEN_DYNAMIC), size(height, layer.axes[kHeight].extent),
           size(width, layer.axes[kWidth].extent)}};
}

}  // namespace convtgen::api
