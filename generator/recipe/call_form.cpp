#include "generator/recipe/call_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace convtgen {
namespace {

bool fits(const Size& known, std::int64_t value, std::int64_t least) {
  return value >= least && value <= kMaxExtent && (!known || *known == value);
}

// False where the product has more than 63 bits.
bool multiply(std::int64_t a, std::int64_t b, std::int64_t& product) {
  return !__builtin_mul_overflow(a, b, &product);
}

// Whether an array of `bytes` that begins there would end beyond the last address.
bool wraps(const void* begin, std::int64_t bytes) {
  std::uintptr_t end = 0;
  return __builtin_add_overflow(reinterpret_cast<std::uintptr_t>(begin), static_cast<std::uintptr_t>(bytes), &end);
}

std::unexpected<Error> beyond_addresses(std::string_view name, const void* begin, std::int64_t bytes) {
  return fail(fmt::format("{} ({}) has {} bytes: more than there are addresses after it", name, begin, bytes));
}

// Of arrays that don't wrap.
bool overlap(const void* a, std::int64_t a_bytes, const void* b, std::int64_t b_bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(a);
  const auto second = reinterpret_cast<std::uintptr_t>(b);
  return first < second + static_cast<std::uintptr_t>(b_bytes) && second < first + static_cast<std::uintptr_t>(a_bytes);
}

// Whether runs of one array lie between those of another, as channels of one tensor do: in each pitch first those of
// `a`, then those of `b`, or the other way round.
bool alternate(const void* a, std::int64_t a_run, const void* b, std::int64_t b_run, std::int64_t pitch) {
  const auto apart =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(b) - reinterpret_cast<std::uintptr_t>(a));
  const std::int64_t after = (apart % pitch + pitch) % pitch;
  return after >= a_run && after + b_run <= pitch;
}

// Of a power of two.
bool is_multiple(const void* address, std::int64_t of) {
  return (reinterpret_cast<std::uintptr_t>(address) & static_cast<std::uintptr_t>(of - 1)) == 0;
}

bool is_of_bias(Role role) {
  return role == Role::kBias || role == Role::kGradBias;
}

// "y, x and weight"
std::string tensor_names(const Recipe& recipe) {
  std::string names;
  for (std::size_t i = 0; i < recipe.tensors.size(); ++i) {
    names += i == 0 ? "" : i + 1 < recipe.tensors.size() ? ", " : " and ";
    names += name_of(recipe.tensors[i].role);
  }
  return names;
}

std::uint64_t address_of(const void* array) {
  return reinterpret_cast<std::uint64_t>(array);
}

/// Of a recipe that does not let calls leave the weights out.
std::unexpected<Error> weight_is_null(const Recipe& recipe) {
  const auto reads = [](const RecipeKernel& kernel) {
    return !kernel.once && std::ranges::any_of(kernel.arguments, [](const KernelArgument& argument) {
      return argument.kind == KernelArgument::Kind::kTensor && argument.index == static_cast<int>(Role::kWeight);
    });
  };
  const auto kernel = std::ranges::find_if(recipe.kernels, reads);
  const std::string symbol = kernel != recipe.kernels.end() ? kernel->symbol : std::string();
  return fail(fmt::format(
      "weight is null: the kernel {} keeps no packed copy and reads the weights in each call, so each call needs them",
      symbol));
}

}  // namespace

Arrays forward_arrays(const void* x, const void* weight, const void* bias, void* y, void* workspace) {
  Arrays arrays;
  arrays.set(Role::kX, const_cast<void*>(x));
  arrays.set(Role::kWeight, const_cast<void*>(weight));
  arrays.set(Role::kBias, const_cast<void*>(bias));
  arrays.set(Role::kY, y);
  arrays.workspace = workspace;
  return arrays;
}

Result<CallForm> CallForm::make(const Layer& layer, const Recipe& recipe) {
  if (auto checked = check_recipe(recipe); !checked) {
    return std::unexpected(checked.error());
  }
  CallForm form;
  form.layer_ = layer;
  form.recipe_ = recipe;
  form.element_bytes_ = bytes_of(layer.dtype);
  form.weight_elements_ = weight_elements(layer);
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    form.reaches_[axis] = {layer.axes[axis].stride, output_extent(layer.axes[axis], 1)};
  }
  form.may_omit_weight_ = recipe.may_omit_weight();
  for (const Tensor& tensor : recipe.tensors) {
    form.takes_[static_cast<std::size_t>(tensor.role)] = true;
    form.writes_always_ |= tensor.written && tensor.elements.constant > 0;
  }
  for (std::size_t i = 0; i < recipe.kernels.size(); ++i) {
    const Grid& grid = recipe.kernels[i].grid;
    if (grid.bounds.empty() &&
        std::ranges::all_of(grid.axes, [](const Grid::Axis& axis) { return axis.extent.factor == 0; })) {
      form.fixed_blocks_[i] = grid.blocks({}).value_or(0);
    }
  }
  for (const Region& region : recipe.regions) {
    if (region.kept) {
      const auto index = static_cast<std::size_t>(&region - recipe.regions.data());
      form.kept_bytes_ = recipe.offset_of(index, {}).value_or(0) + region.bytes.constant;
    }
  }
  return form;
}

bool CallForm::quick_shape(const InputSizes& sizes, Shape& shape) const {
  shape.batch = sizes.batch;
  shape.in_channels = layer_.in_channels;
  shape.out_channels = layer_.out_channels;
  shape.weight_elements = weight_elements_;
  // A batch of zero is legal, and all its products are zero.
  if (!fits(layer_.batch, sizes.batch, 0) || !multiply(sizes.batch, layer_.in_channels, shape.input_elements) ||
      !multiply(sizes.batch, layer_.out_channels, shape.output_elements)) {
    return false;
  }
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const std::int64_t in = sizes.extents[axis];
    if (!fits(layer_.axes[axis].extent, in, 1)) {
      return false;
    }
    const std::int64_t out = (in - 1) * reaches_[axis].stride + reaches_[axis].reach;  // of 63 bits: limits of layers
    if (out < 1 || out > kMaxExtent || !multiply(shape.input_elements, in, shape.input_elements) ||
        !multiply(shape.output_elements, out, shape.output_elements)) {
      return false;
    }
    shape.in[axis] = in;
    shape.out[axis] = out;
  }
  std::int64_t all = 0;  // of a tensor that x or y is a part of
  return (!layer_.x_channels || multiply(shape.input_elements / layer_.in_channels, *layer_.x_channels, all)) &&
         (!layer_.y_channels || multiply(shape.output_elements / layer_.out_channels, *layer_.y_channels, all));
}

Result<Shape> CallForm::shape(const InputSizes& sizes) const {
  Shape shape;
  return quick_shape(sizes, shape) ? Result<Shape>(shape) : shape_of(layer_, sizes);
}

Result<std::int64_t> CallForm::workspace_bytes(const Shape& shape) const {
  return recipe_.regions.empty() ? Result<std::int64_t>(0) : workspace_bytes(quantities_of(shape));
}

Result<std::int64_t> CallForm::workspace_bytes(const Quantities& quantities) const {
  const std::optional<std::int64_t> bytes = recipe_.offset_of(recipe_.regions.size(), quantities);
  if (!bytes) {
    return fail("workspace: the call needs more bytes there than 63 bits can count");
  }
  return *bytes;
}

Result<void> CallForm::check_arrays(const Arrays& arrays, const Call& call, TensorBytes& all_bytes) const {
  for (std::size_t role = 0; role < kRoles; ++role) {
    if (!takes_[role] && arrays.tensors[role] != nullptr) {
      const auto name = name_of(static_cast<Role>(role));
      return fail(!layer_.bias && is_of_bias(static_cast<Role>(role))
                      ? fmt::format("{} must be null: the layer has no bias", name)
                      : fmt::format("{} must be null: the call has {}", name, tensor_names(recipe_)));
    }
  }
  for (const Role role : {Role::kBias, Role::kGradBias}) {
    if (takes_[static_cast<std::size_t>(role)] && arrays.of(role) == nullptr) {
      return fail(fmt::format("{} is null, and the layer has a bias", name_of(role)));
    }
  }
  std::array<Array, kRoles> written;  // NOLINT: filled up to written_count
  std::size_t written_count = 0;
  for (std::size_t i = 0; i < recipe_.tensors.size(); ++i) {
    const Tensor& tensor = recipe_.tensors[i];
    const void* const array = arrays.of(tensor.role);
    std::int64_t& bytes = all_bytes[i];
    bytes = 0;
    if (tensor.role == Role::kWeight && may_omit_weight_ && array == nullptr) {
      continue;
    }
    const std::optional<std::int64_t> elements = tensor.span(call.quantities);
    if (elements == 0) {
      continue;
    }
    const auto name = [&] { return name_of(tensor.role); };
    if (array == nullptr && tensor.role == Role::kWeight) {
      return weight_is_null(recipe_);
    }
    if (array == nullptr) {
      return fail(fmt::format("{} is null", name()));
    }
    if (!elements || __builtin_mul_overflow(*elements, element_bytes_, &bytes)) {
      return fail(fmt::format("{} has {} elements of {} bytes: more than an address has", name(),
                              elements.value_or(std::numeric_limits<std::int64_t>::max()), element_bytes_));
    }
    if (!is_multiple(array, tensor.alignment)) {
      return fail(
          fmt::format("{} ({}) is misaligned: a multiple of {} bytes is needed", name(), array, tensor.alignment));
    }
    if (wraps(array, bytes)) {
      return beyond_addresses(name(), array, bytes);
    }
    std::int64_t run = bytes, pitch = 0;
    if (tensor.runs != Quantity::kOne) {
      const std::int64_t gap = tensor.gap.in(call.quantities).value_or(0) * element_bytes_;
      run = tensor.elements.in(call.quantities).value_or(0) / value_of(tensor.runs, call.quantities) * element_bytes_;
      pitch = run + gap;
    }
    for (const Array& other : std::span(written).first(written_count)) {
      if (overlap(other.pointer, other.bytes, array, bytes) &&
          !(other.pitch > 0 && other.pitch == pitch && alternate(other.pointer, other.run, array, run, pitch))) {
        return fail(fmt::format("{} overlaps {}", name_of(other.role), name()));
      }
    }
    if (tensor.written) {
      written[written_count++] = {tensor.role, array, bytes, run, pitch};
    }
  }
  return {};
}

// After the checks of the other arrays.
Result<void> CallForm::check_workspace(const Arrays& arrays, const Call& call, const TensorBytes& tensor_bytes) const {
  const auto needed = workspace_bytes(call.quantities);
  if (!needed) {
    return std::unexpected(needed.error());
  }
  const std::int64_t bytes = *needed;
  const void* const begin = arrays.workspace;
  if (begin == nullptr) {
    return fail(
        fmt::format("workspace is null: the kernel needs {} bytes there, for {}", bytes, recipe_.workspace_words()));
  }
  if (bytes > arrays.workspace_bytes) {
    return fail(fmt::format("workspace: {} bytes are too few: the call needs {}, for {}", arrays.workspace_bytes, bytes,
                            recipe_.workspace_words()));
  }
  if (!is_multiple(begin, kWorkspaceAlignment)) {
    return fail(fmt::format("workspace ({}) is misaligned: its {} bytes must begin at a multiple of {}", begin, bytes,
                            kWorkspaceAlignment));
  }
  if (wraps(begin, bytes)) {
    return beyond_addresses("workspace", begin, bytes);
  }
  for (std::size_t i = 0; i < recipe_.tensors.size(); ++i) {
    const Role role = recipe_.tensors[i].role;
    if (tensor_bytes[i] > 0 && overlap(begin, bytes, arrays.of(role), tensor_bytes[i])) {
      return fail(fmt::format("workspace ({} bytes) overlaps {}", bytes, name_of(role)));
    }
  }
  return {};
}

Result<void> CallForm::fill(const RecipeKernel& kernel, KernelCall& launch, const Arrays& arrays,
                            const Quantities& quantities) const {
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
    const KernelArgument& argument = kernel.arguments[i];
    std::uint64_t slot = 0;
    switch (argument.kind) {
      case KernelArgument::Kind::kTensor:
        slot = address_of(arrays.tensors[argument.index]);
        break;
      case KernelArgument::Kind::kRegion:
        slot = address_of(arrays.workspace);
        if (argument.index != 0) {  // the first one begins where the workspace does
          slot += static_cast<std::uint64_t>(recipe_.offset_of(argument.index, quantities).value_or(0));
        }
        break;
      case KernelArgument::Kind::kQuantity:
        slot = static_cast<std::uint64_t>(quantities[argument.index]);
        if (argument.is_int && slot > static_cast<std::uint64_t>(kMostInt)) {
          return fail(fmt::format("a size of {} does not fit the kernel's int; at most {}", slot, kMostInt));
        }
        break;
      case KernelArgument::Kind::kConstant:
        slot = static_cast<std::uint64_t>(argument.value);
        break;
      case KernelArgument::Kind::kMap:
        break;
    }
    launch.slots[i] = slot;
  }
  return {};
}

Result<Call> CallForm::call(const Arrays& arrays, const InputSizes& sizes) const {
  Result<Call> call(std::in_place);
  if (auto made = make_call(arrays, sizes, *call); !made) {
    return std::unexpected(std::move(made.error()));
  }
  return call;
}

Result<void> CallForm::make_call(const Arrays& arrays, const InputSizes& sizes, Call& call) const {
  if (!quick_shape(sizes, call.shape)) {
    auto judged = shape_of(layer_, sizes);
    if (!judged) {
      return std::unexpected(std::move(judged.error()));
    }
    call.shape = *judged;
  }
  call.is_empty = call.shape.batch == 0 && !writes_always_;
  if (call.is_empty) {
    return {};
  }
  find_quantities(call.shape, call.quantities);
  const std::size_t count = recipe_.kernels.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Grid& grid = recipe_.kernels[i].grid;
    if (fixed_blocks_[i] > 0) {
      call.kernels[i].blocks = fixed_blocks_[i];
      continue;
    }
    const std::optional<std::int64_t> blocks = grid.blocks(call.quantities);
    if (!blocks) {
      return std::unexpected(grid.checked_blocks(call.quantities).error());
    }
    call.kernels[i].blocks = *blocks;
  }
  TensorBytes bytes;  // NOLINT: filled by the first check
  if (auto checked = check_arrays(arrays, call, bytes); !checked) {
    return std::unexpected(std::move(checked.error()));
  }
  if (!recipe_.regions.empty()) {
    if (auto checked = check_workspace(arrays, call, bytes); !checked) {
      return std::unexpected(std::move(checked.error()));
    }
  }
  const bool packed_before = may_omit_weight_ && arrays.of(Role::kWeight) == nullptr;
  bool is_first = true;
  for (std::size_t i = 0; i < count; ++i) {
    const RecipeKernel& kernel = recipe_.kernels[i];
    KernelCall& launch = call.kernels[i];
    if (packed_before && kernel.once) {
      launch.blocks = 0;
    }
    if (launch.blocks == 0) {
      continue;
    }
    launch.waits = kernel.waits && !is_first;
    is_first = false;
    if (auto filled = fill(kernel, launch, arrays, call.quantities); !filled) {
      return std::unexpected(std::move(filled.error()));
    }
  }
  return {};
}

Result<TensorMap> CallForm::map(std::size_t index, const Arrays& arrays, const Call& call) const {
  const MapRecipe& recipe = recipe_.maps[index];
  TensorMap map = recipe.form;
  map.address = recipe.of_region
                    ? address_of(arrays.workspace) +
                          static_cast<std::uint64_t>(recipe_.offset_of(recipe.region, call.quantities).value_or(0))
                    : address_of(arrays.of(recipe.role));
  for (std::size_t d = 0; d < static_cast<std::size_t>(map.rank); ++d) {
    const std::optional<std::int64_t> size = recipe.sizes[d].in(call.quantities);
    const std::optional<std::int64_t> pitch = recipe.pitches[d].in(call.quantities);
    if (!size || !pitch) {
      return fail(fmt::format("{}: a size has more than 63 bits", recipe.name));
    }
    map.sizes[d] = static_cast<std::uint64_t>(*size);
    map.pitches[d] = static_cast<std::uint64_t>(*pitch);
    if (*size == 0) {  // nothing is copied of an empty tensor: a map has one element at the least, and an address
      map.sizes[d] = 1;
      map.address = std::max<std::uint64_t>(map.address, kWorkspaceAlignment);
    }
  }
  if (auto checked = check_tensor_map(map); !checked) {
    return fail(fmt::format("{}: {}", recipe.name, checked.error().message));
  }
  return map;
}

}  // namespace convtgen
