#include "cli/run_inputs.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

#include "cli/npy.h"
#include "cli/shapes.h"
#include "cli/terminal.h"

namespace convtgen::cli {
namespace {

/// An array that a file may give.
struct ArrayOption {
  Role role;
  std::string_view option;
  std::string ArrayFiles::* file;
};

constexpr ArrayOption kArrayOptions[] = {{Role::kX, "--x", &ArrayFiles::x},
                                         {Role::kWeight, "--w", &ArrayFiles::weight},
                                         {Role::kBias, "--bias", &ArrayFiles::bias},
                                         {Role::kGradY, "--grad-y", &ArrayFiles::grad_y}};

/// The path, or empty.
const std::string& file_of(const ArrayFiles& files, Role role) {
  return files.*std::ranges::find(kArrayOptions, role, &ArrayOption::role)->file;
}

/// Puts the height that 1-D users leave out back in.
void add_height(const Layer& layer, Role role, std::vector<std::int64_t>& shape) {
  if (layer.dimensions == 1 && shape.size() == 3) {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(height_axis(layer, role)), 1);
  }
}

std::string image_order_text(const Layer& layer) {
  if (layer.dimensions == 1) {
    return layer.layout == Layout::kNhwc ? "(N, L, C)" : "(N, C, L)";
  }
  if (layer.dimensions == 3) {
    return layer.layout == Layout::kNhwc ? "(N, D, H, W, C)" : "(N, C, D, H, W)";
  }
  return layer.layout == Layout::kNhwc ? "(N, H, W, C)" : "(N, C, H, W)";
}

std::string order_text(const Layer& layer, Role role) {
  if (role == Role::kBias) {
    return "(Cout)";
  }
  if (role != Role::kWeight) {
    return fmt::format("{} for layout {}", image_order_text(layer), name_of(layer.layout));
  }
  const std::string_view taps = layer.dimensions == 3 ? "KD, KH, KW" : "KH, KW";
  return fmt::format("{} for weight_layout {}",
                     layer.weight_layout == WeightLayout::kChannelsLast ? fmt::format("(Cin, {}, Cout/groups)", taps)
                                                                        : fmt::format("(Cin, Cout/groups, {})", taps),
                     name_of(layer.weight_layout));
}

/// "x and grad_y"
std::string names_text(const std::vector<Role>& roles) {
  std::string text;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    text += i == 0 ? "" : i + 1 < roles.size() ? ", " : " and ";
    text += name_of(roles[i]);
  }
  return text;
}

/// Errors: a file of what the direction does not read.
Result<void> check_files(const Layer& layer, Direction direction, const ArrayFiles& files) {
  const std::vector<Role> read = roles_of(layer, direction).read;
  for (const auto& [role, option, file] : kArrayOptions) {
    const std::string& path = files.*file;
    if (path.empty() || std::ranges::find(read, role) != read.end()) {
      continue;
    }
    if (role == Role::kBias && direction == Direction::kForward) {
      return fail(fmt::format("{}: a bias was given, and the layer has none; write 'bias' in the layer", path));
    }
    return fail(
        fmt::format("{}: {} gives {}, and {} reads {}; leave it out, or choose another direction with "
                    "--direction",
                    path, option, name_of(role), name_of(direction), names_text(read)));
  }
  return {};
}

/// The file's array, if its shape is the one that is wanted.
Result<HostArray> read_array(const std::string& path, Role role, const Layer& layer,
                             const std::vector<std::int64_t>& wanted) {
  Result<HostArray> array = read_npy(path, layer.dtype);
  if (!array) {
    return array;
  }
  if (role != Role::kBias) {
    add_height(layer, role, array->shape);
  }
  if (array->shape != wanted) {
    return fail(fmt::format("{}: {} is {}, and the layer takes {} {}", path, name_of(role), shape_text(array->shape),
                            shape_text(wanted), order_text(layer, role)));
  }
  return array;
}

/// The batch and the extents of x or grad_y.
struct ImageSizes {
  std::int64_t batch = 0;
  Extents extents = {1, 1, 1};
};

Result<std::pair<HostArray, ImageSizes>> read_images(const std::string& path, Role role, const Layer& layer) {
  Result<HostArray> array = read_npy(path, layer.dtype);
  if (!array) {
    return std::unexpected(array.error());
  }
  const std::vector<std::int64_t> stored = array->shape;
  add_height(layer, role, array->shape);
  const bool last = layer.layout == Layout::kNhwc;
  const std::size_t axes = layer.dimensions == 3 ? 3 : 2;
  const std::int64_t channels = role == Role::kX ? layer.in_channels : layer.out_channels;
  if (array->shape.size() != 2 + axes || array->shape[last ? 1 + axes : 1] != channels) {
    return fail(fmt::format("{}: {} is {}, and the layer (layout {}) takes {} with C = {}", path, name_of(role),
                            shape_text(stored), name_of(layer.layout), image_order_text(layer), channels));
  }
  ImageSizes sizes{.batch = array->shape[0]};
  std::copy_n(array->shape.begin() + (last ? 1 : 2), axes, sizes.extents.end() - static_cast<std::ptrdiff_t>(axes));
  if (layer.dimensions == 1 && sizes.extents[kHeight] != 1) {
    return fail(
        fmt::format("{}: {} has height {}; a conv_transpose1d takes 1", path, name_of(role), sizes.extents[kHeight]));
  }
  return std::pair{*std::move(array), sizes};
}

/// The input's sizes for those of grad_y: each place more in the input makes the output a stride larger.
Result<ImageSizes> sizes_before(const std::string& path, const Layer& layer, ImageSizes sizes) {
  for (const std::size_t axis : axes_of(layer)) {
    const std::int64_t out = sizes.extents[axis];
    const std::int64_t stride = layer.axes[axis].stride;
    const std::int64_t least = output_extent(layer.axes[axis], 1);
    const std::int64_t in = out < least ? 1 : (out - least) / stride + 1;
    const std::int64_t given = output_extent(layer.axes[axis], in);
    if (given != out) {
      return fail(fmt::format("{}: grad_y has {} {}, and an output of this layer has {} or {} there", path,
                              axis_name(layer, axis), out, given, given + stride));
    }
    sizes.extents[axis] = in;
  }
  return sizes;
}

/// Whether these are sizes of the layer as it is.
bool fits(const Layer& layer, const ImageSizes& sizes) {
  return sizes.batch == layer.batch.value_or(sizes.batch) && std::ranges::all_of(axes_of(layer), [&](std::size_t axis) {
           return sizes.extents[axis] == layer.axes[axis].extent.value_or(sizes.extents[axis]);
         });
}

/// "2x5x?", as the language writes it.
std::string sizes_text(const Layer& layer) {
  const auto shown = [](const Size& size) { return size ? fmt::format("{}", *size) : std::string("?"); };
  std::string text = shown(layer.batch);
  for (const std::size_t axis : axes_of(layer)) {
    text += "x" + shown(layer.axes[axis].extent);
  }
  return text;
}

/// An allocation that is too large would end the process, or others on the machine.
Result<void> check_memory(const Layer& layer, const Shape& shape, Direction direction) {
  const std::vector<Role> read = roles_of(layer, direction).read;
  double wanted = 0;
  for (const Role role : read) {
    double bytes = bytes_of(layer.dtype);
    for (const std::int64_t size : array_shape(layer, shape, role)) {
      bytes *= static_cast<double>(size);
    }
    wanted += bytes;
  }
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (wanted > memory) {
    return fail(fmt::format("{} {} {}, and this machine has {} of memory; --input makes {} smaller", names_text(read),
                            read.size() > 1 ? "take" : "takes", bytes_text(wanted), bytes_text(memory),
                            name_of(read.front())));
  }
  return {};
}

}  // namespace

Result<RunInputs> make_inputs(const Layer& layer, Direction direction, const InputOption& input,
                              const ArrayFiles& files, std::uint64_t seed) {
  if (auto checked = check_files(layer, direction, files); !checked) {
    return std::unexpected(checked.error());
  }
  InputOption sizes = input;
  const Role first = files.x.empty() ? Role::kGradY : Role::kX;  // which the sizes come from
  std::optional<HostArray> images;
  if (const std::string& path = file_of(files, first); !path.empty()) {
    auto read = read_images(path, first, layer);
    if (!read) {
      return std::unexpected(read.error());
    }
    images = std::move(read->first);
    const auto given = first == Role::kX ? Result<ImageSizes>(read->second) : sizes_before(path, layer, read->second);
    if (!given) {
      return std::unexpected(given.error());
    }
    std::string text = fmt::format("{}", given->batch);
    for (const std::size_t axis : axes_of(layer)) {
      text += fmt::format("x{}", given->extents[axis]);
    }
    if (!sizes.text.empty() && sizes.text != text) {
      return fail(
          fmt::format("{}: {} is for --input {}, and --input {} was given", path, name_of(first), text, sizes.text));
    }
    if (sizes.text.empty() && !fits(layer, *given)) {
      return fail(
          fmt::format("{}: {} is for an input of {}, and this layer's is {}; --input {} changes the layer to that",
                      path, name_of(first), text, sizes_text(layer), text));
    }
    sizes.text = text;
  }
  Result<SizedLayer> sized = apply_input(layer, sizes);
  if (!sized) {
    return std::unexpected(sized.error());
  }
  Result<Shape> shape = shape_of(sized->layer, sized->sizes);
  if (!shape) {
    return std::unexpected(shape.error());
  }
  if (auto enough = check_memory(sized->layer, *shape, direction); !enough) {
    return std::unexpected(enough.error());
  }
  RunInputs inputs{*std::move(sized), *shape, {}, ""};
  const Layer& described = inputs.sized.layer;
  inputs.arrays = random_inputs(described, *shape, seed, direction);
  std::string random;
  for (const Role role : roles_of(described, direction).read) {
    const std::string& path = file_of(files, role);
    if (path.empty()) {
      random += fmt::format("{}{}", random.empty() ? "" : ", ", name_of(role));
      continue;
    }
    Result<HostArray> array = role == first && images
                                  ? Result<HostArray>(*std::move(images))
                                  : read_array(path, role, described, array_shape(described, *shape, role));
    if (!array) {
      return std::unexpected(array.error());
    }
    inputs.arrays.set(role, *std::move(array));
    inputs.origin += fmt::format("{}{} from {}", inputs.origin.empty() ? "" : "; ", name_of(role), path);
  }
  if (!random.empty()) {
    inputs.origin += fmt::format("{}{} random (seed {})", inputs.origin.empty() ? "" : "; ", random, seed);
  }
  return inputs;
}

}  // namespace convtgen::cli
