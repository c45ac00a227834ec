// What the head of an emitted source says of its launch, as a reader without the generator takes it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convtgen::testing {

/// Sizes of a call by their names in the head: "batch", "in_height", "out_width".
using Sizes = std::map<std::string, std::int64_t, std::less<>>;

struct HeadSize {
  std::string name;
  std::optional<std::int64_t> known;
  std::string formula;  // of an open extent of the output: "2 * in_height + 1"
};

/// "Cout / groups 16", "H in_height"
struct HeadAxis {
  std::string name, extent;
};

/// "tensor y: 64 * batch elements, written, 16-byte aligned", "shape (N batch, Cout 64), contiguous"
struct HeadTensor {
  std::string name, elements;
  std::vector<HeadAxis> axes = {};
  bool written = false;
  std::int64_t alignment = 0;
};

/// "region packed: 524288 bytes, a packed copy of the weights; kept for later calls"
struct HeadRegion {
  std::string name, bytes, what;
  bool kept = false;
};

/// "tensor map weights of packed: u16, sizes (64, 128), byte pitches (128), box (64, 8), ..."
struct HeadMap {
  std::string name, of, element;
  std::vector<std::string> sizes, pitches, box, steps;
  std::int64_t swizzle = 0;
  std::string fill;
};

struct HeadArgument {
  std::string type, value;  // "const float*", "x"; "int", "in_height"
};

struct HeadKernel {
  std::string symbol, grid;
  std::vector<HeadArgument> arguments;
  std::int64_t threads = 0, cluster = 1, shared_bytes = 0;
  // What its attributes must allow before the first launch, by the driver's function and the runtime's; 0: nothing.
  std::int64_t driver_opt_in = 0, runtime_opt_in = 0;
  bool overlaps_own_launch = false;   // programmatic stream serialization after a launch of this call
  bool for_new_weights = false;       // launched only if the weights have changed
  std::vector<HeadSize> bounds = {};  // largest legal sizes
};

struct Head {
  std::vector<HeadSize> sizes;
  std::string compiler_flags;  // of nvcc
  std::vector<HeadTensor> tensors;
  std::int64_t workspace_alignment = 0;
  std::vector<HeadRegion> regions;
  std::vector<HeadMap> maps;
  std::string encoding;                           // of all maps: "interleave none, L2 promotion 128 bytes"
  std::int64_t map_bytes = 0, map_alignment = 0;  // of the source's own type
  std::vector<HeadKernel> kernels;
};

/// Throws std::runtime_error for a line of the head that it does not know.
[[nodiscard]] Head read_head(std::string_view source);

/// All sizes of a call, from those that the head leaves open ("batch", "in_height").
/// Throws std::runtime_error where one is missing.
[[nodiscard]] Sizes sizes_of(const Head& head, const Sizes& open);

/// The value of "4 * min(33, ceil(out_height / 16) * batch)". Throws std::runtime_error where it is no expression.
[[nodiscard]] std::int64_t evaluate(std::string_view expression, const Sizes& sizes);

/// From the workspace's beginning; the last is the workspace's bytes.
[[nodiscard]] std::vector<std::int64_t> region_offsets(const Head& head, const Sizes& sizes);

}  // namespace convtgen::testing
