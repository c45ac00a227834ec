#include "cli/run_inputs.h"

#include <fmt/core.h>
#include <unistd.h>

#include "cli/npy.h"
#include "cli/terminal.h"

namespace convtgen::cli {
namespace {

std::size_t height_axis(const Layer& layer) {
  return layer.layout == Layout::kNhwc ? 1 : 2;
}

/// Puts the height that 1-D users leave out back in, at `axis`.
void add_height(const Layer& layer, std::vector<std::int64_t>& shape, std::size_t axis) {
  if (layer.dimensions == 1 && shape.size() == 3) {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  }
}

std::size_t weight_height_axis(const Layer& layer) {
  return layer.weight_layout == WeightLayout::kChannelsLast ? 1 : 2;
}

std::string weight_order_text(const Layer& layer) {
  const std::string_view taps = layer.dimensions == 3 ? "KD, KH, KW" : "KH, KW";
  return layer.weight_layout == WeightLayout::kChannelsLast ? fmt::format("(Cin, {}, Cout/groups)", taps)
                                                            : fmt::format("(Cin, Cout/groups, {})", taps);
}

std::string order_text(const Layer& layer) {
  if (layer.dimensions == 1) {
    return layer.layout == Layout::kNhwc ? "(N, L, C)" : "(N, C, L)";
  }
  if (layer.dimensions == 3) {
    return layer.layout == Layout::kNhwc ? "(N, D, H, W, C)" : "(N, C, D, H, W)";
  }
  return layer.layout == Layout::kNhwc ? "(N, H, W, C)" : "(N, C, H, W)";
}

/// The file's array, if its shape is the one that is wanted.
Result<HostArray> read_array(const std::string& path, std::string_view name, const Layer& layer,
                             const std::vector<std::int64_t>& wanted) {
  Result<HostArray> array = read_npy(path, layer.dtype);
  if (!array) {
    return array;
  }
  if (name == "weight") {
    add_height(layer, array->shape, weight_height_axis(layer));
  }
  if (array->shape != wanted) {
    return fail(
        fmt::format("{}: {} is {}, and the layer takes {} {}", path, name, shape_text(array->shape), shape_text(wanted),
                    name == "weight"
                        ? fmt::format("{} for weight_layout {}", weight_order_text(layer), name_of(layer.weight_layout))
                        : "(Cout)"));
  }
  return array;
}

/// x and the sizes it has.
Result<std::pair<HostArray, InputSizes>> read_x(const std::string& path, const Layer& layer) {
  Result<HostArray> x = read_npy(path, layer.dtype);
  if (!x) {
    return std::unexpected(x.error());
  }
  const std::vector<std::int64_t> stored = x->shape;
  add_height(layer, x->shape, height_axis(layer));
  const bool last = layer.layout == Layout::kNhwc;
  const std::size_t axes = layer.dimensions == 3 ? 3 : 2;
  if (x->shape.size() != 2 + axes || x->shape[last ? 1 + axes : 1] != layer.in_channels) {
    return fail(fmt::format("{}: x is {}, and the layer (layout {}) takes {} with C = {}", path, shape_text(stored),
                            name_of(layer.layout), order_text(layer), layer.in_channels));
  }
  InputSizes sizes{.batch = x->shape[0]};
  std::copy_n(x->shape.begin() + (last ? 1 : 2), axes, sizes.extents.end() - static_cast<std::ptrdiff_t>(axes));
  return std::pair{*std::move(x), sizes};
}

double bytes_in(const Layer& layer, const std::vector<std::int64_t>& shape) {
  double bytes = bytes_of(layer.dtype);
  for (const std::int64_t size : shape) {
    bytes *= static_cast<double>(size);
  }
  return bytes;
}

/// An allocation that is too large would end the process, or others on the machine.
Result<void> check_memory(const Layer& layer, const Shape& shape) {
  const double wanted = bytes_in(layer, input_shape(layer, shape)) + bytes_in(layer, weight_shape(layer));
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (wanted > memory) {
    return fail(fmt::format("x and weight take {}, and this machine has {} of memory; --input makes x smaller",
                            bytes_text(wanted), bytes_text(memory)));
  }
  return {};
}

}  // namespace

std::vector<std::int64_t> user_shape(const Layer& layer, std::vector<std::int64_t> shape) {
  if (layer.dimensions == 1) {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(height_axis(layer)));
  }
  return shape;
}

Result<RunInputs> make_inputs(const Layer& layer, const InputOption& input, const ArrayFiles& files,
                              std::uint64_t seed) {
  if (!files.bias.empty() && !layer.bias) {
    return fail(fmt::format("{}: a bias was given, and the layer has none; write 'bias' in the layer", files.bias));
  }
  InputOption sizes = input;
  std::optional<HostArray> x;
  if (!files.x.empty()) {
    auto read = read_x(files.x, layer);
    if (!read) {
      return std::unexpected(read.error());
    }
    x = std::move(read->first);
    const auto& [batch, extents] = read->second;
    std::string text = fmt::format("{}", batch);
    for (const std::size_t axis : axes_of(layer)) {
      text += fmt::format("x{}", extents[axis]);
    }
    if (!sizes.text.empty() && sizes.text != text) {
      return fail(fmt::format("{}: x is for --input {}, and --input {} was given", files.x, text, sizes.text));
    }
    if (layer.dimensions == 1 && extents[kHeight] != 1) {
      return fail(fmt::format("{}: x has height {}; a conv_transpose1d takes 1", files.x, extents[kHeight]));
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
  if (auto enough = check_memory(sized->layer, *shape); !enough) {
    return std::unexpected(enough.error());
  }
  RunInputs inputs{*std::move(sized), *shape, {}, ""};
  const Layer& described = inputs.sized.layer;
  inputs.arrays = random_inputs(described, *shape, seed);
  std::string random = x ? "" : "x";
  if (x) {
    inputs.arrays.x = *std::move(x);
    inputs.origin = "x from " + files.x;
  }
  const auto read_into = [&](const std::string& path, std::string_view name, const std::vector<std::int64_t>& wanted,
                             HostArray& into) -> Result<void> {
    if (path.empty()) {
      random += fmt::format("{}{}", random.empty() ? "" : ", ", name);
      return {};
    }
    Result<HostArray> array = read_array(path, name, described, wanted);
    if (!array) {
      return std::unexpected(array.error());
    }
    into = *std::move(array);
    inputs.origin += fmt::format("{}{} from {}", inputs.origin.empty() ? "" : "; ", name, path);
    return {};
  };
  if (auto read = read_into(files.weight, "weight", weight_shape(described), inputs.arrays.weight); !read) {
    return std::unexpected(read.error());
  }
  if (inputs.arrays.bias) {
    if (auto read = read_into(files.bias, "bias", {described.out_channels}, *inputs.arrays.bias); !read) {
      return std::unexpected(read.error());
    }
  }
  if (!random.empty()) {
    inputs.origin += fmt::format("{}{} random (seed {})", inputs.origin.empty() ? "" : "; ", random, seed);
  }
  return inputs;
}

}  // namespace convtgen::cli
