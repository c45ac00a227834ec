// What the caller of an import chooses.
#pragma once

namespace convtgen::onnx {

/// Whose reading of auto_pad and output_shape is taken where the standard's sources contradict each other.
enum class AutoPadAs {
  kStandard,     // nobody's: such nodes are refused
  kOnnxRuntime,  // ONNX Runtime's, since its version 1.14
};

struct ImportOptions {
  AutoPadAs auto_pad_as = AutoPadAs::kStandard;
};

}  // namespace convtgen::onnx
