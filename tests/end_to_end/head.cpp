#include "tests/end_to_end/head.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <stdexcept>
#include <utility>

namespace convtgen::testing {
namespace {

[[noreturn]] void refuse(std::string_view what, std::string_view text) {
  throw std::runtime_error(fmt::format("{}: '{}'", what, text));
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

/// The text before the first `end`, which is taken too; all of it without one.
std::string_view until(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  return part;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    parts.push_back(until(text, separator));
  }
  return parts;
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc() || end != text.end()) {
    refuse("no number", text);
  }
  return value;
}

/// sum = product {("+" | "-") product}; product = factor {"*" factor};
/// factor = number | name | "(" sum ")" | "min(" sum "," sum ")" | "ceil(" sum " / " number ")"
class Expression {
 public:
  Expression(std::string_view text, const Sizes& sizes) : text_(text), rest_(text), sizes_(sizes) {}
  std::int64_t value() {
    const std::int64_t result = sum();
    if (!rest_.empty()) {
      refuse("no expression", text_);
    }
    return result;
  }

 private:
  void expect(std::string_view what) {
    if (!take(rest_, what)) {
      refuse(fmt::format("'{}' is missing", what), text_);
    }
  }
  std::int64_t sum() {
    std::int64_t result = product();
    while (true) {
      if (take(rest_, " + ")) {
        result += product();
      } else if (take(rest_, " - ")) {
        result -= product();
      } else {
        return result;
      }
    }
  }
  std::int64_t product() {
    std::int64_t result = factor();
    while (take(rest_, " * ")) {
      result *= factor();
    }
    return result;
  }
  std::int64_t factor() {
    if (take(rest_, "min(")) {
      const std::int64_t first = sum();
      expect(", ");
      const std::int64_t second = sum();
      expect(")");
      return std::min(first, second);
    }
    if (take(rest_, "ceil(")) {
      const std::int64_t extent = sum();
      expect(" / ");
      const std::int64_t tile = factor();
      expect(")");
      return (extent + tile - 1) / tile;
    }
    if (take(rest_, "(")) {
      const std::int64_t result = sum();
      expect(")");
      return result;
    }
    const std::size_t end = std::min(rest_.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (const auto known = sizes_.find(word); known != sizes_.end()) {
      return known->second;
    }
    return number(word);
  }

  std::string_view text_, rest_;
  const Sizes& sizes_;
};

/// "batch 8", "in_height", "out_height = 2 * in_height + 1"
HeadSize read_size(std::string_view text) {
  const std::size_t end = text.find(' ');
  HeadSize size{.name = std::string(text.substr(0, end)), .known = {}, .formula = {}};
  if (end != std::string_view::npos) {
    std::string_view rest = text.substr(end + 1);
    if (take(rest, "= ")) {
      size.formula = rest;
    } else {
      size.known = number(rest);
    }
  }
  return size;
}

std::vector<HeadSize> read_sizes(std::string_view text) {
  std::vector<HeadSize> sizes;
  for (const std::string_view group : split(text, "; ")) {
    for (const std::string_view size : split(group, ", ")) {
      sizes.push_back(read_size(size));
    }
  }
  return sizes;
}

HeadTensor read_tensor(std::string_view text) {
  HeadTensor tensor;
  tensor.name = until(text, ": ");
  tensor.elements = until(text, " elements, ");
  tensor.written = until(text, ", ") == "written";
  tensor.alignment = number(until(text, "-byte aligned"));
  return tensor;
}

/// "(N batch, Cin 64, H in_height, W 8), contiguous"
std::vector<HeadAxis> read_shape(std::string_view text) {
  if (!take(text, "(") || !text.ends_with("), contiguous")) {
    refuse("no shape", text);
  }
  std::vector<HeadAxis> axes;
  for (const std::string_view axis : split(until(text, "), "), ", ")) {
    const std::size_t space = axis.rfind(' ');
    axes.push_back({.name = std::string(axis.substr(0, space)), .extent = std::string(axis.substr(space + 1))});
  }
  return axes;
}

/// The lines that follow a first one must be these: their text is for people.
void expect_lines(std::string_view& source, std::initializer_list<std::string_view> lines) {
  for (const std::string_view expected : lines) {
    if (const std::string_view line = until(source, "\n"); line != expected) {
      refuse(fmt::format("not '{}'", expected), line);
    }
  }
}

/// "//       cuFuncSetAttribute(kernel, CU_FUNC_..., 164896)"
std::int64_t read_opt_in(std::string_view& source, std::string_view begin) {
  std::string_view line = until(source, "\n");
  if (!take(line, begin) || !line.ends_with(")")) {
    refuse("no opt-in to shared memory", line);
  }
  return number(line.substr(0, line.size() - 1));
}

HeadRegion read_region(std::string_view text) {
  HeadRegion region;
  region.name = until(text, ": ");
  region.bytes = until(text, " bytes, ");
  region.what = until(text, "; ");
  region.kept = text == "kept for later calls";
  return region;
}

std::vector<std::string> read_list(std::string_view& text, std::string_view name) {
  if (!take(text, name) || !take(text, " (")) {
    refuse(fmt::format("no {}", name), text);
  }
  const auto parts = split(until(text, "), "), ", ");
  return {parts.begin(), parts.end()};
}

HeadMap read_map(std::string_view text) {
  HeadMap map;
  map.name = until(text, " of ");
  map.of = until(text, ": ");
  map.element = until(text, ", ");
  map.sizes = read_list(text, "sizes");
  map.pitches = read_list(text, "byte pitches");
  map.box = read_list(text, "box");
  map.steps = read_list(text, "element strides");
  if (!take(text, "swizzle ")) {
    refuse("no swizzle", text);
  }
  map.swizzle = number(until(text, ", fill "));
  map.fill = text;
  return map;
}

HeadArgument read_argument(std::string_view text) {
  const std::size_t space = text.rfind(' ');
  return {.type = std::string(text.substr(0, space)), .value = std::string(text.substr(space + 1))};
}

void read_launch(std::string_view text, HeadKernel& kernel) {
  for (std::string_view part : split(text, "; ")) {
    if (take(part, "block ")) {
      kernel.threads = number(part);
    } else if (take(part, "cluster ")) {
      kernel.cluster = number(until(part, " by the source"));
    } else if (take(part, "shared ")) {
      kernel.shared_bytes = number(part);
    } else {
      refuse("unknown in a launch", part);
    }
  }
}

}  // namespace

Head read_head(std::string_view source) {
  Head head;
  std::string_view line;
  do {
    line = until(source, "\n");
  } while (line != "// Launch" && !source.empty());
  while (!source.empty()) {
    line = until(source, "\n");
    if (take(line, "//     arguments ")) {
      std::string arguments(line);
      while (arguments.ends_with(',')) {
        line = until(source, "\n");
        if (!take(line, "//       ")) {
          refuse("no more arguments", line);
        }
        arguments += fmt::format(" {}", line);
      }
      for (const std::string_view argument : split(arguments, ", ")) {
        head.kernels.back().arguments.push_back(read_argument(argument));
      }
    } else if (take(line, "//     grid ")) {
      head.kernels.back().grid = until(line, "; ");
      read_launch(line, head.kernels.back());
    } else if (line == "//     shared memory above 48 KiB: before the first launch on a device, either of") {
      head.kernels.back().driver_opt_in =
          read_opt_in(source, "//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, ");
      head.kernels.back().runtime_opt_in =
          read_opt_in(source, "//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ");
    } else if (line ==
               "//     attribute programmatic stream serialization, only if the launch before it on the stream is of "
               "this call:") {
      head.kernels.back().overlaps_own_launch = true;
      expect_lines(source,
                   {"//       the kernel waits before it reads what that launch wrote; it reads and writes tensors "
                    "without a wait"});
    } else if (line == "//     only if the weights have changed") {
      head.kernels.back().for_new_weights = true;
    } else if (take(line, "//     shape ")) {
      head.tensors.back().axes = read_shape(line);
    } else if (take(line, "//     at most ")) {
      head.kernels.back().bounds = read_sizes(line);
    } else if (!take(line, "//   ")) {
      return head;
    } else if (take(line, "sizes: ")) {
      head.sizes = read_sizes(line);
    } else if (take(line, "compile: nvcc ")) {
      head.compiler_flags = line;
    } else if (take(line, "tensor maps: by cuTensorMapEncodeTiled, ")) {
      head.encoding = line;
      line = until(source, "\n");
      if (!take(line,
                "//     a TensorMap, in this source's namespace, is a CUtensorMap under its own name: memcpy its ")) {
        refuse("no type of tensor maps", line);
      }
      head.map_bytes = number(until(line, " bytes, which are"));
      line = until(source, "\n");
      take(line, "//     ");
      head.map_alignment = number(until(line, "-byte aligned in both, or give "));
    } else if (take(line, "tensor map ")) {
      head.maps.push_back(read_map(line));
    } else if (take(line, "tensor ")) {
      head.tensors.push_back(read_tensor(line));
    } else if (take(line, "workspace: ")) {
      head.workspace_alignment = number(until(line, "-byte aligned"));
    } else if (take(line, "region ")) {
      head.regions.push_back(read_region(line));
    } else if (take(line, "kernel ")) {
      head.kernels.push_back({.symbol = std::string(line), .grid = {}, .arguments = {}});
    } else {
      refuse("unknown in a head", line);
    }
  }
  return head;
}

Sizes sizes_of(const Head& head, const Sizes& open) {
  Sizes sizes;
  for (const HeadSize& size : head.sizes) {
    if (size.known) {
      sizes[size.name] = *size.known;
    } else if (!size.formula.empty()) {
      sizes[size.name] = evaluate(size.formula, sizes);
    } else if (const auto given = open.find(size.name); given != open.end()) {
      sizes[size.name] = given->second;
    } else {
      refuse("no size", size.name);
    }
  }
  return sizes;
}

std::int64_t evaluate(std::string_view expression, const Sizes& sizes) {
  return Expression(expression, sizes).value();
}

std::vector<std::int64_t> region_offsets(const Head& head, const Sizes& sizes) {
  std::vector<std::int64_t> offsets = {0};
  for (std::size_t i = 0; i < head.regions.size(); ++i) {
    const std::int64_t end = offsets.back() + evaluate(head.regions[i].bytes, sizes);
    const std::int64_t unit = head.workspace_alignment;
    offsets.push_back(i + 1 == head.regions.size() ? end : (end + unit - 1) / unit * unit);
  }
  return offsets;
}

}  // namespace convtgen::testing
