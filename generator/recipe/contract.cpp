#include "generator/recipe/contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "generator/layer/shape.h"
#include "generator/recipe/array_axes.h"

namespace convtgen {
namespace {

constexpr std::size_t kColumns = 120;

/// A product of a number and names of sizes that are open.
struct Product {
  std::int64_t factor = 1;
  std::vector<std::string> names = {};

  void multiply(const Product& other) {
    factor *= other.factor;
    names.insert(names.end(), other.names.begin(), other.names.end());
  }
  [[nodiscard]] std::string text() const {
    if (names.empty()) {
      return fmt::format("{}", factor);
    }
    const std::string open = fmt::format("{}", fmt::join(names, " * "));
    return factor == 1 ? open : fmt::format("{} * {}", factor, open);
  }
};

constexpr std::array kIn = {Quantity::kInDepth, Quantity::kInHeight, Quantity::kInWidth};
constexpr std::array kOut = {Quantity::kOutDepth, Quantity::kOutHeight, Quantity::kOutWidth};

/// A size of a call: known, or open.
Product size_of(const Layer& layer, Quantity quantity) {
  const auto one = [&](Size size) {
    return size ? Product{*size} : Product{.factor = 1, .names = {std::string(name_of(quantity))}};
  };
  const auto all = [&](std::span<const Quantity> extents, bool of_batch) {
    Product product;
    if (of_batch) {
      product = size_of(layer, Quantity::kBatch);
    }
    for (const Quantity extent : extents) {
      product.multiply(size_of(layer, extent));
    }
    return product;
  };
  const auto in = std::ranges::find(kIn, quantity), out = std::ranges::find(kOut, quantity);
  if (in != kIn.end()) {
    return one(layer.axes[static_cast<std::size_t>(in - kIn.begin())].extent);
  }
  if (out != kOut.end()) {
    const Axis& axis = layer.axes[static_cast<std::size_t>(out - kOut.begin())];
    return one(axis.extent ? Size(output_extent(axis, *axis.extent)) : Size());
  }
  switch (quantity) {
    case Quantity::kBatch:
      return one(layer.batch);
    case Quantity::kInImage:
    case Quantity::kInPixels:
      return all(kIn, quantity == Quantity::kInPixels);
    case Quantity::kOutImage:
    case Quantity::kOutPixels:
      return all(kOut, quantity == Quantity::kOutPixels);
    case Quantity::kInPlane:
      return all(std::span(kIn).subspan(1), false);
    case Quantity::kOutPlane:
      return all(std::span(kOut).subspan(1), false);
    default:
      return {};
  }
}

std::string amount_text(const Layer& layer, const Amount& amount) {
  Product product = size_of(layer, amount.per);
  product.factor *= amount.factor;
  if (product.factor == 0) {
    return fmt::format("{}", amount.constant);
  }
  if (product.names.empty()) {
    return fmt::format("{}", amount.constant + product.factor);
  }
  return amount.constant < 0    ? fmt::format("{} - {}", product.text(), -amount.constant)
         : amount.constant == 0 ? product.text()
                                : fmt::format("{} + {}", amount.constant, product.text());
}

/// "in_height 32", or "in_height" where it is open; an open extent of the output with its formula.
std::string sizes_text(const Layer& layer) {
  const auto shown = [&](Quantity quantity) {
    const Product size = size_of(layer, quantity);
    return size.names.empty() ? fmt::format("{} {}", name_of(quantity), size.factor) : std::string(name_of(quantity));
  };
  std::string text = shown(Quantity::kBatch);
  for (const std::size_t axis : axes_of(layer)) {
    text += ", " + shown(kIn[axis]);
  }
  std::string separator = "; ";
  for (const std::size_t axis : axes_of(layer)) {
    text += separator + shown(kOut[axis]);
    if (!layer.axes[axis].extent) {
      const std::int64_t stride = layer.axes[axis].stride, rest = output_extent(layer.axes[axis], 1) - stride;
      text += fmt::format(" = {}", Product{stride, {std::string(name_of(kIn[axis]))}}.text());
      text += rest == 0 ? "" : rest < 0 ? fmt::format(" - {}", -rest) : fmt::format(" + {}", rest);
    }
    separator = ", ";
  }
  return text;
}

/// "Cin 128, Cout 64, KH 4, KW 4": an array's axes in memory order.
std::string shape_text(const Layer& layer, Role role) {
  std::vector<std::string> axes;
  for (const ArrayAxis& axis : axes_of_array(layer, role)) {
    axes.push_back(fmt::format("{} {}", axis.name, amount_text(layer, axis.extent)));
  }
  return fmt::format("{}", fmt::join(axes, ", "));
}

/// "contiguous", or how many channels the tensor has in all, and from one index to the next of each axis.
std::string order_text(const Layer& layer, const Tensor& tensor) {
  const Size all = tensor_channels(layer, tensor.role);
  if (!all) {
    return "contiguous";
  }
  const std::vector<ArrayAxis> axes = axes_of_array(layer, tensor.role);
  const std::size_t channels = layer.layout == Layout::kNhwc ? axes.size() - 1 : 1;
  std::vector<std::string> strides(axes.size());
  Product step;
  for (std::size_t i = axes.size(); i-- > 0;) {
    strides[i] = step.text();
    Product extent = size_of(layer, axes[i].extent.per);
    extent.factor = i == channels ? *all : axes[i].extent.factor == 0 ? axes[i].extent.constant : extent.factor;
    step.multiply(extent);
  }
  return fmt::format("channels of a tensor of {}\n//     element strides ({})", *all, fmt::join(strides, ", "));
}

std::string grid_text(const Layer& layer, const Grid& grid) {
  Product tiles;
  for (const Grid::Axis& axis : grid.axes) {
    Product extent = size_of(layer, axis.extent.per);
    extent.factor *= axis.extent.factor;
    if (extent.names.empty() || axis.extent.factor == 0) {
      tiles.factor *= (axis.extent.constant + extent.factor + axis.tile - 1) / axis.tile;
    } else if (axis.tile == 1 && axis.extent.constant == 0) {
      tiles.multiply(extent);
    } else {
      const std::string amount = amount_text(layer, axis.extent);
      const std::string text = amount.contains(' ') ? fmt::format("({})", amount) : amount;
      tiles.names.push_back(axis.tile == 1 ? text : fmt::format("ceil({} / {})", text, axis.tile));
    }
  }
  if (grid.most_tiles > 0 && tiles.names.empty()) {
    tiles.factor = std::min(tiles.factor, grid.most_tiles);
  } else if (grid.most_tiles > 0) {
    tiles = {.factor = 1, .names = {fmt::format("min({}, {})", grid.most_tiles, tiles.text())}};
  }
  tiles.factor *= grid.blocks_per_tile;
  return tiles.text();
}

/// The largest legal values of sizes that are open, on a line of their own.
std::string bounds_text(const Layer& layer, const Grid& grid) {
  std::vector<std::string> bounds;
  for (const Grid::Bound& bound : grid.bounds) {
    if (!size_of(layer, bound.extent).names.empty()) {
      bounds.push_back(fmt::format("{} {}", name_of(bound.extent), bound.most));
    }
  }
  return bounds.empty() ? "" : fmt::format("//     at most {}\n", fmt::join(bounds, ", "));
}

/// What a launch gives for a parameter: "const float* x", "int in_height", "int 7".
std::string argument_text(const Recipe& recipe, const RecipeKernel& kernel, std::size_t i) {
  const KernelArgument& argument = kernel.arguments[i];
  const auto value = [&]() -> std::string {
    switch (argument.kind) {
      case KernelArgument::Kind::kTensor:
        return std::string(name_of(static_cast<Role>(argument.index)));
      case KernelArgument::Kind::kRegion:
        return recipe.regions[argument.index].name;
      case KernelArgument::Kind::kQuantity:
        return std::string(name_of(static_cast<Quantity>(argument.index)));
      case KernelArgument::Kind::kMap:
        return recipe.maps[argument.index].name;
      case KernelArgument::Kind::kConstant:
        break;
    }
    return fmt::format("{}", argument.value);
  };
  return fmt::format("{} {}", kernel.parameters[i].type, value());
}

std::string_view name_of(TensorMap::Element element) {
  constexpr std::array<std::string_view, 8> kNames = {"u8", "u16", "u32", "f16", "bf16", "f32", "tf32", "f64"};
  return kNames[static_cast<std::size_t>(element)];
}

std::string map_text(const Layer& layer, const Recipe& recipe, const MapRecipe& map) {
  const auto rank = static_cast<std::size_t>(map.form.rank);
  std::string sizes, pitches, box, steps;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::string_view separator = i == 0 ? "" : ", ";
    sizes += fmt::format("{}{}", separator, amount_text(layer, map.sizes[i]));
    pitches += i == 0 ? "" : fmt::format("{}{}", i == 1 ? "" : ", ", amount_text(layer, map.pitches[i]));
    box += fmt::format("{}{}", separator, map.form.box[i]);
    steps += fmt::format("{}{}", separator, map.form.steps[i]);
  }
  return fmt::format(
      "//   tensor map {} of {}: {}, sizes ({}), byte pitches ({}), box ({}), element strides ({}), swizzle {}, fill "
      "{}\n",
      map.name, map.of_region ? recipe.regions[map.region].name : std::string(name_of(map.role)),
      name_of(map.form.element), sizes, pitches, box, steps, swizzle_bytes(map.form.swizzle),
      map.form.fill == TensorMap::Fill::kNan ? "nan" : "zero");
}

/// What a launch gives for all parameters, in lines of at most kColumns. After a comma the next line goes on.
std::string arguments_text(const Recipe& recipe, const RecipeKernel& kernel) {
  std::string text = "//     arguments";
  std::size_t begin = 0;  // of the line
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const std::string argument = argument_text(recipe, kernel, i) + (i + 1 < kernel.parameters.size() ? "," : "");
    if (i > 0 && text.size() - begin + 1 + argument.size() > kColumns) {
      text += "\n";
      begin = text.size();
      text += "//      ";
    }
    text += " " + argument;
  }
  return text + "\n";
}

/// Two functions that do the same: of the driver and of the runtime.
std::string opt_in_text(std::int64_t shared_bytes) {
  return fmt::format(
      "//     shared memory above 48 KiB: before the first launch on a device, either of\n"
      "//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, {0})\n"
      "//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, {0})\n",
      shared_bytes);
}
static_assert(kSharedWithoutOptIn == 48 * 1024);

/// Without the condition the kernel would race with the launch before it, for whose tensors it does not wait.
constexpr std::string_view kOverlapText =
    "//     attribute programmatic stream serialization, only if the launch before it on the stream is of this call:\n"
    "//       the kernel waits before it reads what that launch wrote; it reads and writes tensors without a wait\n";

constexpr std::string_view kMapsText =
    "//   tensor maps: by cuTensorMapEncodeTiled, interleave none, L2 promotion 128 bytes\n"
    "//     a TensorMap, in this source's namespace, is a CUtensorMap under its own name: memcpy its 128 bytes, which "
    "are\n"
    "//     64-byte aligned in both, or give cuLaunchKernel the address of the CUtensorMap itself\n";

std::string kernel_text(const Layer& layer, const Recipe& recipe, const RecipeKernel& kernel) {
  std::string text = fmt::format("//   kernel {}\n{}//     grid {}; block {}", kernel.symbol,
                                 arguments_text(recipe, kernel), grid_text(layer, kernel.grid), kernel.threads);
  if (kernel.cluster > 1) {
    text += fmt::format("; cluster {} by the source", kernel.cluster);
  }
  text += fmt::format("; shared {}\n", kernel.shared_bytes);
  if (kernel.shared_bytes > kSharedWithoutOptIn) {
    text += opt_in_text(kernel.shared_bytes);
  }
  if (kernel.waits) {
    text += kOverlapText;
  }
  if (kernel.once) {
    text += "//     only if the weights have changed\n";
  }
  return text + bounds_text(layer, kernel.grid);
}

}  // namespace

std::string contract_text(const Layer& layer, const Recipe& recipe, std::string_view architecture) {
  std::string text = fmt::format("// Launch\n//   sizes: {}\n", sizes_text(layer));
  text += fmt::format("//   compile: nvcc -gencode arch=compute_{0},code=sm_{0}\n", architecture.substr(3));
  for (const Tensor& tensor : recipe.tensors) {
    text += fmt::format("//   tensor {}: {} elements, {}, {}-byte aligned\n", name_of(tensor.role),
                        amount_text(layer, tensor.elements), tensor.written ? "written" : "read", tensor.alignment);
    text += fmt::format("//     shape ({}), {}\n", shape_text(layer, tensor.role), order_text(layer, tensor));
  }
  if (!recipe.regions.empty()) {
    text += fmt::format("//   workspace: {0}-byte aligned; each region begins at a multiple of {0} bytes\n",
                        kWorkspaceAlignment);
  }
  for (const Region& region : recipe.regions) {
    text += fmt::format("//   region {}: {} bytes, {}{}\n", region.name, amount_text(layer, region.bytes), region.what,
                        region.kept ? "; kept for later calls" : "");
  }
  if (!recipe.maps.empty()) {
    text += kMapsText;
  }
  for (const MapRecipe& map : recipe.maps) {
    text += map_text(layer, recipe, map);
  }
  for (const RecipeKernel& kernel : recipe.kernels) {
    text += kernel_text(layer, recipe, kernel);
  }
  text.pop_back();  // the last line's end
  return text;
}

}  // namespace convtgen
