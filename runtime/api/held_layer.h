// The object of a layer's handle.
#pragma once

#include <string>
#include <vector>

#include "convtgen/convtgen.h"
#include "runtime/jit/device.h"

namespace convtgen::api {

/// A layer with the keys of its kernels, which are made once.
class HeldLayer {
 public:
  explicit HeldLayer(Layer layer);
  [[nodiscard]] const Layer& layer() const { return layer_; }
  /// Its canonical form.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// Errors: a number that is not a direction; a direction that the layer lacks.
  [[nodiscard]] Outcome<const jit::KernelKey*> key(convtgen_direction direction) const;

 private:
  Layer layer_;
  std::string text_;
  std::vector<jit::KernelKey> keys_;  // one for each of the layer's directions
};

}  // namespace convtgen::api
