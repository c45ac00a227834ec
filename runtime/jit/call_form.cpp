#include "runtime/jit/call_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace convtgen::jit {
namespace {

constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();

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

std::unexpected<Failure> beyond_addresses(const char* name, const void* begin, std::int64_t bytes) {
  return fail_with(Status::kInvalidArgument,
                   fmt::format("{} ({}) has {} bytes: more than there are addresses behind it", name, begin, bytes));
}

// Of arrays that don't wrap.
bool overlap(const void* a, std::int64_t a_bytes, const void* b, std::int64_t b_bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(a);
  const auto second = reinterpret_cast<std::uintptr_t>(b);
  return first < second + static_cast<std::uintptr_t>(b_bytes) && second < first + static_cast<std::uintptr_t>(a_bytes);
}

}  // namespace

template <std::size_t kMost>
Outcome<void> CallForm::Parameters<kMost>::bind(std::span<const KernelParameter> parameters) {
  static constexpr std::pair<std::string_view, Source> kKnown[] = {
      {"x", Source::kX}, {"weight", Source::kWeight}, {"packed", Source::kPacked}, {"bias", Source::kBias},
      {"y", Source::kY}, {"batch", Source::kBatch},   {"height", Source::kHeight}, {"width", Source::kWidth},
  };
  for (const KernelParameter& parameter : parameters) {
    const auto* found =
        std::ranges::find(kKnown, std::string_view(parameter.name), [](const auto& each) { return each.first; });
    if (found == std::end(kKnown) || count == kMost) {
      return fail_with(Status::kInternal, fmt::format("the kernel has a parameter '{} {}' that no caller knows",
                                                      parameter.type, parameter.name));
    }
    sources[count] = found->second;
    is_int[count] = parameter.type == "int";
    ++count;
  }
  return {};
}

template <std::size_t kMost>
Outcome<void> CallForm::Parameters<kMost>::fill(std::array<std::uint64_t, kMost>& slots, const Pointers& pointers,
                                                const InputSizes& sizes) const {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t slot = 0;
    switch (sources[i]) {
      case Source::kX:
        slot = reinterpret_cast<std::uint64_t>(pointers.x);
        break;
      case Source::kWeight:
        slot = reinterpret_cast<std::uint64_t>(pointers.weight);
        break;
      case Source::kPacked:
        slot = reinterpret_cast<std::uint64_t>(pointers.workspace);
        break;
      case Source::kBias:
        slot = reinterpret_cast<std::uint64_t>(pointers.bias);
        break;
      case Source::kY:
        slot = reinterpret_cast<std::uint64_t>(pointers.y);
        break;
      case Source::kBatch:
        slot = static_cast<std::uint64_t>(sizes.batch);
        break;
      case Source::kHeight:
        slot = static_cast<std::uint64_t>(sizes.extents[kHeight]);
        break;
      case Source::kWidth:
        slot = static_cast<std::uint64_t>(sizes.extents[kWidth]);
        break;
    }
    if (is_int[i] && slot > static_cast<std::uint64_t>(kIntMax)) {
      return fail_with(Status::kInvalidArgument,
                       fmt::format("a size of {} does not fit the kernel's int; at most {}", slot, kIntMax));
    }
    slots[i] = slot;
  }
  return {};
}

template <std::size_t kMost>
bool CallForm::Parameters<kMost>::has(Source source) const {
  return std::find(sources.begin(), sources.begin() + count, source) != sources.begin() + count;
}

Outcome<CallForm> CallForm::make(const Problem& problem, const Plan& plan, const KernelSource& source) {
  CallForm form;
  form.problem_ = problem;
  form.plan_ = plan;
  form.grid_ = grid_of(problem, plan);
  const Layer& layer = problem.layer;
  form.element_bytes_ = bytes_of(layer.dtype);
  form.alignment_ = std::max(plan.alignment, form.element_bytes_);
  form.weight_elements_ = weight_elements(layer);
  if (auto bound = form.parameters_.bind(source.parameters); !bound) {
    return std::unexpected(std::move(bound.error()));
  }
  if (source.packing) {
    if (auto bound = form.packing_parameters_.bind(source.packing->parameters); !bound) {
      return std::unexpected(std::move(bound.error()));
    }
    form.workspace_bytes_ = source.packing->bytes;
    form.packing_blocks_ = source.packing->blocks;
    form.may_omit_weight_ = !form.parameters_.has(Source::kWeight);
  } else if (form.parameters_.has(Source::kPacked)) {
    return fail_with(Status::kInternal, "the kernel reads packed weights, and nothing packs them");
  }
  return form;
}

bool CallForm::quick_shape(const InputSizes& sizes, Shape& shape) const {
  const Layer& layer = problem_.layer;
  shape.batch = sizes.batch;
  shape.in_channels = layer.in_channels;
  shape.out_channels = layer.out_channels;
  shape.weight_elements = weight_elements_;
  // A batch of zero is legal, and all its products are zero.
  if (!fits(layer.batch, sizes.batch, 0) || !multiply(sizes.batch, layer.in_channels, shape.input_elements) ||
      !multiply(sizes.batch, layer.out_channels, shape.output_elements)) {
    return false;
  }
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const std::int64_t in = sizes.extents[axis];
    if (!fits(layer.axes[axis].extent, in, 1)) {
      return false;
    }
    const std::int64_t out = output_extent(layer.axes[axis], in);
    if (out < 1 || out > kMaxExtent || !multiply(shape.input_elements, in, shape.input_elements) ||
        !multiply(shape.output_elements, out, shape.output_elements)) {
      return false;
    }
    shape.in[axis] = in;
    shape.out[axis] = out;
  }
  return true;
}

Outcome<Shape> CallForm::shape(const InputSizes& sizes) const {
  Shape shape;
  if (quick_shape(sizes, shape)) {
    return shape;
  }
  const Result<Shape> judged = shape_of(problem_.layer, sizes);
  if (!judged) {
    return fail_with(Status::kInvalidArgument, judged.error());
  }
  return *judged;
}

Outcome<void> CallForm::check(const Pointers& pointers, const Shape& shape) const {
  const bool wants_bias = problem_.layer.bias;
  if (wants_bias != (pointers.bias != nullptr)) {
    return fail_with(Status::kInvalidArgument, wants_bias ? "bias is null, and the layer has a bias"
                                                          : "bias must be null: the layer has no bias");
  }
  const bool packed_before = may_omit_weight_ && pointers.weight == nullptr;
  struct Array {
    const char* name;
    const void* pointer;
    std::int64_t elements;
    bool wide;  // read or written by several elements at a time
  };
  const std::array<Array, 4> arrays = {{{"y", pointers.y, shape.output_elements, true},
                                        {"x", pointers.x, shape.input_elements, true},
                                        {"weight", pointers.weight, packed_before ? 0 : shape.weight_elements, false},
                                        {"bias", pointers.bias, wants_bias ? shape.out_channels : 0, false}}};
  for (const Array& array : arrays) {
    if (array.elements == 0) {
      continue;
    }
    if (array.pointer == nullptr) {
      return fail_with(Status::kInvalidArgument, fmt::format("{} is null", array.name));
    }
    if (array.elements > std::numeric_limits<std::int64_t>::max() / element_bytes_) {
      return fail_with(Status::kInvalidArgument, fmt::format("{} has {} elements of {} bytes: more than an address has",
                                                             array.name, array.elements, element_bytes_));
    }
    const std::int64_t alignment = array.wide ? alignment_ : element_bytes_;
    if (reinterpret_cast<std::uintptr_t>(array.pointer) % static_cast<std::uintptr_t>(alignment) != 0) {
      return fail_with(Status::kInvalidArgument, fmt::format("{} ({}) is misaligned: a multiple of {} bytes is needed",
                                                             array.name, array.pointer, alignment));
    }
    const std::int64_t bytes = array.elements * element_bytes_;
    if (wraps(array.pointer, bytes)) {
      return beyond_addresses(array.name, array.pointer, bytes);
    }
    if (&array != &arrays[0] && overlap(arrays[0].pointer, arrays[0].elements * element_bytes_, array.pointer, bytes)) {
      return fail_with(Status::kInvalidArgument, fmt::format("y overlaps {}", array.name));
    }
  }
  return workspace_bytes_ == 0 ? Outcome<void>() : check_workspace(pointers, shape);
}

// Behind the checks of the other arrays.
Outcome<void> CallForm::check_workspace(const Pointers& pointers, const Shape& shape) const {
  if (pointers.workspace == nullptr) {
    return fail_with(Status::kInvalidArgument,
                     fmt::format("workspace is null: the kernel needs {} bytes there, for a packed copy of the weights",
                                 workspace_bytes_));
  }
  if (reinterpret_cast<std::uintptr_t>(pointers.workspace) % kWorkspaceAlignment != 0) {
    return fail_with(Status::kInvalidArgument,
                     fmt::format("workspace ({}) is misaligned: its {} bytes must begin at a multiple of {}",
                                 pointers.workspace, workspace_bytes_, kWorkspaceAlignment));
  }
  if (wraps(pointers.workspace, workspace_bytes_)) {
    return beyond_addresses("workspace", pointers.workspace, workspace_bytes_);
  }
  struct Other {
    const char* name;
    const void* pointer;
    std::int64_t elements;
  };
  for (const Other& other :
       {Other{"y", pointers.y, shape.output_elements}, Other{"x", pointers.x, shape.input_elements},
        Other{"weight", pointers.weight, shape.weight_elements}, Other{"bias", pointers.bias, shape.out_channels}}) {
    if (other.pointer != nullptr &&
        overlap(pointers.workspace, workspace_bytes_, other.pointer, other.elements * element_bytes_)) {
      return fail_with(Status::kInvalidArgument,
                       fmt::format("workspace ({} bytes) overlaps {}", workspace_bytes_, other.name));
    }
  }
  return {};
}

Outcome<Call> CallForm::call(const Pointers& pointers, const InputSizes& sizes) const {
  Call call;
  if (!quick_shape(sizes, call.shape)) {
    auto judged = shape(sizes);
    if (!judged) {
      return std::unexpected(std::move(judged.error()));
    }
    call.shape = *judged;
  }
  if (call.shape.output_elements == 0) {
    return call;
  }
  const std::optional<std::int64_t> blocks = grid_.blocks(call.shape);
  if (!blocks) {
    return fail_with(Status::kInvalidArgument, grid_blocks(problem_, plan_, call.shape).error());
  }
  if (auto checked = check(pointers, call.shape); !checked) {
    return std::unexpected(std::move(checked.error()));
  }
  call.blocks = *blocks;
  if (auto filled = parameters_.fill(call.slots, pointers, sizes); !filled) {
    return std::unexpected(std::move(filled.error()));
  }
  if (packing_blocks_ > 0 && pointers.weight != nullptr) {
    call.packing_blocks = packing_blocks_;
    if (auto filled = packing_parameters_.fill(call.packing_slots, pointers, sizes); !filled) {
      return std::unexpected(std::move(filled.error()));
    }
  }
  return call;
}

}  // namespace convtgen::jit
