// The launch contract: what a host must do to launch a source's kernels, as the text at the head of the source.
#pragma once

#include <string>
#include <string_view>

#include "generator/layer/layer.h"
#include "generator/recipe/recipe.h"

namespace convtgen {

/// Comment lines with all that a launch needs: sizes, compiler flags, tensors with elements, alignments and shapes, the
/// workspace, tensor maps, and in the order in which they run the kernels with arguments, grid, block, cluster, dynamic
/// shared memory and launch attributes. Amounts are numbers where the layer's sizes are known, and products of the open
/// sizes elsewhere ("8192 * batch"). `recipe` has its arguments bound; `architecture` is exact ("sm_90a").
///
///     // Launch
///     //   sizes: batch, in_height 32, in_width 32; out_height 64, out_width 64
///     //   compile: nvcc -gencode arch=compute_90a,code=sm_90a
///     //   tensor x: 131072 * batch elements, read, 16-byte aligned
///     //     shape (N batch, Cin 128, H 32, W 32), contiguous
///     //   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
///     //   region packed: 524288 bytes, a packed copy of the weights; kept for later calls
///     //   kernel k_pack
///     //     arguments const float* weight, unsigned char* packed
///     //     grid 32; block 256; shared 0
///     //     only if the weights have changed
///     //   kernel k
///     //     arguments const float* x, const unsigned char* packed, float* y, int batch
///     //     grid 4 * min(33, 2 * batch); block 384; shared 229944
///     //     shared memory above 48 KiB: before the first launch on a device, either of
///     //       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 229944)
///     //       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 229944)
///     //     attribute programmatic stream serialization, only if the launch before it on the stream is of this call:
///     //       the kernel waits before it reads what that launch wrote; it reads and writes tensors without a wait
///
/// For channels of a larger tensor there is, instead of "contiguous":
///
///     //     shape (N batch, Cin 128, H 32, W 32), channels of a tensor of 256
///     //     element strides (262144, 1024, 32, 1)
[[nodiscard]] std::string contract_text(const Layer& layer, const Recipe& recipe, std::string_view architecture);

}  // namespace convtgen
