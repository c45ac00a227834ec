// Offsets of more elements than 32 bits count: the last tiles of a layer whose tensors are that large give the bits of
// a small one's, and do not where any offset is narrowed to an int.
//
// Tensors take address space, and memory only where they are touched. All tiles but the last are left out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/run_layer.h"
#include "tests/end_to_end/narrow_offsets.h"
#include "tests/planner/problems.h"

namespace convtgen::testing {
namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 31;
constexpr std::size_t kPlaces = 2;  // of a template, that a run narrows

struct Case {
  const char* name;
  const char* template_name;
  const char* layer;     // of stride 1 and without padding where it is `flat`
  bool by_rows = false;  // its height grows, and there are images before; else its batch grows
  bool flat = false;
  std::optional<bool> bulk = {};
  std::optional<bool> staged_epilogue = {};
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

struct Setup {
  Problem problem;
  Plan plan;
  KernelSource source;
};

Setup set_up(const Case& what) {
  const Problem problem{parse_layer(what.layer).value(), Direction::kForward, target_named("sm_90a").value()};
  const std::vector<Plan> plans = plan(problem).value();
  const auto found = std::ranges::find_if(plans, [&](const Plan& each) {
    const auto is = [&](const char* name, bool value) {
      const auto parameter = each.parameters.find(name);
      return parameter == each.parameters.end() || std::get<bool>(parameter->second) == value;
    };
    return each.template_name == what.template_name && is("flat", what.flat) &&
           (!what.bulk || is("bulk", *what.bulk)) &&
           (!what.staged_epilogue || is("staged_epilogue", *what.staged_epilogue));
  });
  if (found == plans.end()) {
    throw std::runtime_error("the planner has no such plan");
  }
  Plan chosen = *found;
  const bool is_phase = what.template_name == std::string_view("phase_gemm");
  if (what.template_name == std::string_view("overlap_gemm") || is_phase) {
    chosen.parameters.at("tile_n") = std::int64_t{1};  // far images begin where tiles do
  }
  if (is_phase) {
    chosen.parameters.at("rows") = std::int64_t{4};  // a small image has one tile
  }
  chosen.launch = launch_plan_of(problem, chosen);
  return {problem, chosen, specialize(problem, chosen).value()};
}

/// Rows of positions of a tile, and all tiles of a call.
std::int64_t tile_rows(const Plan& plan) {
  return plan.template_name == "roll_gemm" || plan.template_name == "phase_gemm" ? integer(plan, "rows")
         : plan.template_name == "patch_gemm" ? 1  // its tiles are pixels of whatever rows
         : plan.template_name == "direct"     ? integer(plan, "threads_y") * integer(plan, "rows_per_thread")
         : plan.template_name == "direct_rows" || plan.template_name == "mma_rows" ? integer(plan, "tile_rows")
                                                                                   : integer(plan, "tile_h");
}
/// The same of positions that a tile makes all outputs of: overlap_gemm's rows have a halo.
std::int64_t made_rows(const Setup& setup) {
  const Axis& rows = setup.problem.layer.axes[kHeight];
  const bool has_halo = setup.plan.template_name == "overlap_gemm" && !rows.extent;
  return tile_rows(setup.plan) - (has_halo ? ceil_div(rows.kernel, rows.stride) - 1 : 0);
}
/// Blocks of a tile.
std::int64_t tile_blocks(const Setup& setup) {
  return setup.plan.template_name == "mma_phases" || setup.plan.template_name == "phase_gemm" ? 1
         : setup.plan.template_name == "overlap_gemm" || setup.plan.template_name == "patch_gemm"
             ? ceil_div(setup.problem.layer.out_channels, integer(setup.plan, "block_c"))
             : setup.plan.launch.main().grid.blocks_per_tile;
}
std::int64_t tiles_of(const Setup& setup, bool flat, const Shape& shape) {
  const Layer& l = setup.problem.layer;
  const Plan& plan = setup.plan;
  if (plan.template_name == "halo_gemm") {
    const auto positions = [](std::int64_t out, const Axis& axis) {
      return (out - 1 + axis.padding.before) / axis.stride - axis.padding.before / axis.stride + 1;
    };
    return flat ? ceil_div(shape.batch * shape.out[kHeight] * shape.out[kWidth], integer(plan, "tile_w"))
                : shape.batch * ceil_div(positions(shape.out[kHeight], l.axes[kHeight]), tile_rows(plan)) *
                      ceil_div(positions(shape.out[kWidth], l.axes[kWidth]), integer(plan, "tile_w"));
  }
  if (plan.template_name == "roll_gemm" && flat) {
    const std::int64_t unit = l.layout == Layout::kNhwc ? integer(plan, "thread_positions") : 16 / bytes_of(l.dtype);
    const std::int64_t pitch = ceil_div(shape.out[kWidth], unit) * unit;
    return ceil_div(shape.batch * pitch, 64 * integer(plan, "thread_positions")) *
           ceil_div(shape.out[kHeight], tile_rows(plan));
  }
  if (plan.template_name == "overlap_gemm" || plan.template_name == "patch_gemm" ||
      plan.template_name == "phase_gemm" || plan.template_name == "mma_phases") {
    Grid grid = setup.source.main().grid;
    grid.most_tiles = 0;
    return grid.blocks(quantities_of(shape)).value() / tile_blocks(setup);
  }
  Grid grid = plan.launch.main().grid;
  grid.most_tiles = 0;
  return grid.blocks(quantities_of(shape)).value() / grid.blocks_per_tile;
}

std::byte* memory_of(const Buffer& buffer) {
  return reinterpret_cast<std::byte*>(buffer.address());
}

/// A layer at two sizes: all of it at the small one, and as much of its end as that at the far one.
class FarLayer {
 public:
  explicit FarLayer(const Case& what) : case_(what), setup_(set_up(what)) {
    const Layer& l = setup_.problem.layer;
    const std::int64_t rows = made_rows(setup_);
    small_ = {what.by_rows ? 1
              : what.flat  ? 96
                           : 3,
              {l.axes[kHeight].extent.value_or(what.by_rows ? 3 * rows - 1 : 3), l.axes[kWidth].extent.value_or(9)}};
    far_ = small_;
    if (what.by_rows) {
      far_.extents[kHeight] += ceil_div(kFar, small_.extents[kWidth] * rows) * rows;
      // The last image is the first of its tile.
      far_.batch += setup_.plan.template_name == "shift_gemm" || setup_.plan.template_name == "f32x3_gemm"
                        ? integer(setup_.plan, "tile_n")
                        : 1;
    } else {
      far_.batch += ceil_div(kFar, std::min(l.in_channels, l.out_channels) * 4096) * 4096;
    }
    inputs_ = random_inputs(l, shape_of(l, small_).value(), 11);
  }

  [[nodiscard]] const KernelSource& source() const { return setup_.source; }

  /// Empty where the far layer's end has the bits of the small one, whose source is right; else what is wrong.
  std::string judge(const KernelSource& far_source) {
    const Layer& l = setup_.problem.layer;
    if (!want_) {
      LoadedLayer loaded = load_source(*device_, setup_.problem, setup_.plan, setup_.source).value();
      const LayerCall call = make_call(*device_, loaded, small_, inputs_).value();
      if (const Result<void> run = run_call(*device_, loaded, call); !run) {
        return "small: " + run.error().message;
      }
      const Verification verified = verify_call(*device_, l, call, inputs_).value();
      if (!verified.passed()) {
        return "small: " + describe(verified, l);
      }
      want_ = read_output(*device_, l, call).value();
    }
    Result<LoadedLayer> loaded = load_source(*device_, setup_.problem, setup_.plan, far_source);
    if (!loaded) {
      return fmt::format("{}: {}", kDoesNotCompile, loaded.error().message);
    }
    LayerCall call = make_call(*device_, *loaded, small_, inputs_).value();
    Launch& launch = call.launches.back();
    for (std::size_t i = 0; i + 1 < call.launches.size(); ++i) {
      if (const Result<void> packed = device_->run(*loaded->kernels[i], call.launches[i]); !packed) {
        return packed.error().message;
      }
    }
    const Shape shape = shape_of(l, far_).value();
    const auto bytes = [&](std::int64_t elements) { return static_cast<std::size_t>(elements * bytes_of(l.dtype)); };
    const std::unique_ptr<Buffer> x = device_->allocate(bytes(shape.input_elements)).value();
    const std::unique_ptr<Buffer> y = device_->allocate(bytes(shape.output_elements)).value();
    std::size_t from = 0;
    for (const auto& [begin, count] : ends(l.in_channels, small_.extents[kHeight], far_.extents[kHeight],
                                           small_.extents[kWidth], shape.input_elements)) {
      std::memcpy(memory_of(*x) + bytes(begin), inputs_.x.bytes.data() + from, bytes(count));
      // Whole 16-byte vectors are copied, also where a row ends within one.
      const std::int64_t behind = std::min(shape.input_elements, begin + count + 4);
      EXPECT_TRUE(device_->mark_written(*x, bytes(begin - 4), bytes(behind - begin + 4)));
      from += bytes(count);
    }
    const Shape small = shape_of(l, small_).value();
    const std::int64_t blocks = tile_blocks(setup_);
    const std::int64_t tiles = tiles_of(setup_, case_.flat, shape);
    EXPECT_LT(tiles, kFar / 2) << "a block steps over all of them";
    const std::int64_t of_rows = ceil_div(small.out[kHeight], made_rows(setup_) * l.axes[kHeight].stride);
    const std::int64_t across = tiles_of(setup_, case_.flat, small) / of_rows;
    const bool by_strips = setup_.plan.template_name == "roll_gemm";  // whose segments follow one another
    const std::int64_t last = case_.by_rows ? 2 * across
                              : case_.flat  ? (by_strips ? 2 * of_rows : 2)
                                            : across * of_rows;
    launch.blocks = tiles * blocks;
    set_argument(launch, far_source, "x", x->address());
    set_argument(launch, far_source, "y", y->address());
    set_argument(launch, far_source, "batch", static_cast<std::uint64_t>(far_.batch));
    set_argument(launch, far_source, "height", static_cast<std::uint64_t>(far_.extents[kHeight]));
    for (std::size_t i = 0; i < launch.tensor_maps.size(); ++i) {
      set_map(launch.tensor_maps[i].map, far_source.recipe.maps[i], quantities_of(shape), x->address());
    }
    if (const Result<void> run = device_->run_from(*loaded->kernels.back(), launch, (tiles - last) * blocks); !run) {
      return run.error().message;
    }
    return compare(*y, shape, small);
  }

 private:
  struct Part {
    std::int64_t begin, count;
  };

  /// Where the small tensor lies at the end of the far one of so many elements, in the small one's order.
  [[nodiscard]] std::vector<Part> ends(std::int64_t channels, std::int64_t small_rows, std::int64_t far_rows,
                                       std::int64_t width, std::int64_t elements) const {
    if (!case_.by_rows || setup_.problem.layer.layout == Layout::kNhwc) {
      const std::int64_t count = small_.batch * channels * small_rows * width;
      return {{elements - count, count}};
    }
    std::vector<Part> parts;  // the end of each channel of the last image
    for (std::int64_t left = channels - 1; left >= 0; --left) {
      parts.push_back({elements - left * far_rows * width - small_rows * width, small_rows * width});
    }
    return parts;
  }

  static void set_argument(Launch& launch, const KernelSource& source, std::string_view name, std::uint64_t value) {
    for (std::size_t i = 0; i < source.main().parameters.size(); ++i) {
      if (source.main().parameters[i].name == name) {
        launch.arguments[i] = value;
      }
    }
  }

  /// The map of the far input; that of the weights stays.
  static void set_map(TensorMap& map, const MapRecipe& recipe, const Quantities& quantities, std::uint64_t x) {
    if (recipe.role != Role::kX) {
      return;
    }
    map.address = x;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(map.rank); ++axis) {
      map.sizes[axis] = static_cast<std::uint64_t>(recipe.sizes[axis].in(quantities).value());
      map.pitches[axis] = static_cast<std::uint64_t>(recipe.pitches[axis].in(quantities).value());
    }
  }

  [[nodiscard]] std::string compare(const Buffer& y, const Shape& shape, const Shape& small) const {
    const Layer& l = setup_.problem.layer;
    const auto size = static_cast<std::size_t>(bytes_of(l.dtype));
    const std::int64_t channels = l.out_channels;
    // Outputs of the tiles that were left out are not compared.
    const std::int64_t rows = made_rows(setup_) * l.axes[kHeight].stride;
    const std::int64_t first_row = case_.by_rows ? (ceil_div(small.out[kHeight], rows) - 2) * rows : 0;
    const std::int64_t first_image = case_.flat ? small.batch - 4 : 0;
    std::int64_t index = 0;
    for (const auto& [begin, count] :
         ends(channels, small.out[kHeight], shape.out[kHeight], small.out[kWidth], shape.output_elements)) {
      for (std::int64_t i = 0; i < count; ++i, ++index) {
        const std::int64_t pixel = l.layout == Layout::kNhwc ? index / channels : index;
        const std::int64_t image = index / (small.output_elements / small.batch);
        if (pixel / small.out[kWidth] % small.out[kHeight] >= first_row && image >= first_image &&
            std::memcmp(memory_of(y) + static_cast<std::size_t>(begin + i) * size,
                        want_->bytes.data() + static_cast<std::size_t>(index) * size, size) != 0) {
          return fmt::format("another output {} of {}", index, small.output_elements);
        }
      }
    }
    return "";
  }

  Case case_;
  Setup setup_;
  InputSizes small_, far_;
  LayerInputs inputs_;
  std::unique_ptr<HostDevice> device_ = open_host_device(HostOptions{.workers = 1}).value();
  std::optional<HostArray> want_;
};

class FarTiles : public ::testing::TestWithParam<Case> {};

TEST_P(FarTiles, HaveTheBitsOfNearOnes) {
  FarLayer layer(GetParam());
  EXPECT_EQ(layer.judge(layer.source()), "");
}

constexpr Case kCases[] = {
    {"direct_images", "direct", "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; bias; input ?x5x9"},
    {"direct_images_channels_last", "direct",
     "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; input ?x5x9; layout nhwc"},
    {"direct_images_of_any_size", "direct", "conv_transpose2d 4 -> 6; kernel 3x3; input ?x?x?"},
    {"direct_rows", "direct", "conv_transpose2d 4 -> 2; kernel 3x3; input ?x?x?", true},
    {"direct_rows_channels_last", "direct", "conv_transpose2d 4 -> 2; kernel 3x3; input ?x?x?; layout nhwc", true},
    {"direct_rows_template_images", "direct_rows",
     "conv_transpose2d 16 -> 18; kernel 3x3; stride 2x1; padding 1x1; bias; input ?x5x9"},
    {"direct_rows_template_images_channels_last", "direct_rows",
     "conv_transpose2d 16 -> 18; kernel 3x3; stride 2x1; padding 1x1; input ?x5x9; layout nhwc"},
    {"direct_rows_template_images_by_vectors", "direct_rows",
     "conv_transpose2d 16 -> 16; kernel 3x3; stride 2x1; input ?x5x9; dtype f16; layout nhwc"},
    {"direct_rows_template_rows", "direct_rows", "conv_transpose2d 4 -> 2; kernel 3x3; input ?x?x?", true},
    {"direct_rows_template_rows_channels_last", "direct_rows",
     "conv_transpose2d 4 -> 2; kernel 3x3; input ?x?x?; layout nhwc", true},
    {"direct_rows_template_rows_by_vectors", "direct_rows",
     "conv_transpose2d 2 -> 16; kernel 3x3; input ?x?x?; dtype f16; layout nhwc", true},
    {"mma_rows_images", "mma_rows",
     "conv_transpose2d 16 -> 32; kernel 3x3; stride 2x1; padding 1x1; groups 2; bias; input ?x20x9; dtype f16; layout "
     "nhwc"},
    {"mma_rows_rows", "mma_rows", "conv_transpose2d 8 -> 16; kernel 3x3; input ?x?x?; dtype bf16; layout nhwc", true},
    {"shift_gemm_images", "shift_gemm",
     "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; compute tf32", false, false, false},
    {"shift_gemm_images_by_rows", "shift_gemm",
     "conv_transpose2d 32 -> 32; kernel 3x3; padding 1x1; input ?x5x16; compute tf32", false, false, true},
    {"shift_gemm_images_anywhere", "shift_gemm",
     "conv_transpose2d 32 -> 32; kernel 3x3; padding 1x1; input ?x5x7; compute tf32", false, false, true},
    {"shift_gemm_images_of_any_size", "shift_gemm", "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute tf32",
     false, false, true},
    {"shift_gemm_images_channels_last", "shift_gemm",
     "conv_transpose2d 16 -> 8; kernel 3x3; padding 1x1; input ?x5x7; dtype f16; layout nhwc"},
    {"shift_gemm_rows", "shift_gemm", "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x16; compute tf32", true, false,
     true},
    {"shift_gemm_rows_by_copies", "shift_gemm", "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute tf32", true,
     false, false},
    {"shift_gemm_rows_anywhere", "shift_gemm", "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute tf32", true,
     false, true},
    {"shift_gemm_rows_from_registers",
     "shift_gemm",
     "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute tf32",
     true,
     false,
     {},
     false},
    {"f32x3_gemm_rows", "f32x3_gemm", "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3", true},
    {"f32x3_gemm_rows_channels_last", "f32x3_gemm",
     "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3; layout nhwc", true},
    {"shift_gemm_rows_channels_last", "shift_gemm",
     "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; dtype bf16; layout nhwc", true},
    {"halo_gemm_images", "halo_gemm", "conv_transpose2d 16 -> 8; kernel 3x3; padding 1x1; input ?x5x7; compute tf32"},
    {"halo_gemm_images_channels_last", "halo_gemm",
     "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; layout nhwc"},
    {"halo_gemm_sequence", "halo_gemm", "conv_transpose2d 16 -> 8; kernel 2x2; input ?x3x4; dtype f16; layout nhwc",
     false, true},
    {"halo_gemm_rows", "halo_gemm", "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute tf32", true},
    {"halo_gemm_rows_channels_last", "halo_gemm",
     "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute tf32; layout nhwc", true},
    {"roll_gemm_sequence", "roll_gemm", "conv_transpose2d 16 -> 8; kernel 2x3; input ?x3x8; dtype f16", false, true},
    {"roll_gemm_sequence_channels_last", "roll_gemm",
     "conv_transpose2d 16 -> 8; kernel 2x3; input ?x3x5; dtype f16; layout nhwc", false, true},
    {"roll_gemm_images", "roll_gemm", "conv_transpose2d 32 -> 32; kernel 2x3; input ?x3x16; compute tf32"},
    {"roll_gemm_images_channels_last", "roll_gemm",
     "conv_transpose2d 16 -> 8; kernel 1x2; input ?x1x1; dtype f16; layout nhwc"},
    {"roll_gemm_rows", "roll_gemm", "conv_transpose2d 16 -> 8; kernel 2x3; input ?x?x16; compute tf32", true},
    {"roll_gemm_rows_channels_last", "roll_gemm",
     "conv_transpose2d 16 -> 8; kernel 2x3; input ?x?x?; dtype f16; layout nhwc", true},
    {"overlap_gemm_images", "overlap_gemm",
     "conv_transpose2d 16 -> 24; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; layout nhwc"},
    {"overlap_gemm_images_by_elements", "overlap_gemm",
     "conv_transpose2d 8 -> 3; kernel 5x3; stride 2x2; padding 2x1; input ?x4x4; dtype f16; layout nhwc"},
    {"overlap_gemm_planes", "overlap_gemm",
     "conv_transpose2d 16 -> 24; kernel 4x4; stride 2x2; padding 1x1; input ?x4x6; dtype f16"},
    {"overlap_gemm_rows", "overlap_gemm", "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; dtype bf16; layout nhwc",
     true},
    {"patch_gemm_images", "patch_gemm",
     "conv_transpose2d 64 -> 64; kernel 2x2; stride 2x2; input ?x2x4; dtype f16; layout nhwc", false, true},
    {"patch_gemm_images_of_any_width", "patch_gemm",
     "conv_transpose2d 64 -> 64; kernel 2x2; stride 2x2; input ?x1x?; dtype bf16; layout nhwc", false, true},
    {"phase_gemm_images", "phase_gemm",
     "conv_transpose2d 16 -> 5; kernel 2x3; stride 2x1; padding 0x1; input ?x3x7; dtype f16; layout nhwc"},
    {"phase_gemm_rows", "phase_gemm",
     "conv_transpose2d 8 -> 3; kernel 3x3; stride 2x2; input ?x?x?; dtype bf16; layout nhwc", true},
    {"mma_phases_images", "mma_phases",
     "conv_transpose2d 16 -> 16; kernel 2x3; stride 2x1; padding 0x1; input ?x3x8; compute tf32"},
    {"mma_phases_rows", "mma_phases", "conv_transpose2d 8 -> 2; kernel 3x3; stride 2x2; input ?x?x16; dtype f16",
     true}};
/// A template, and its places that need not be 64-bit in any of the layers, each with the reason.
struct Template {
  const char* name;
  std::set<std::string> unseen;
};

class FarTilesOfMutants : public ::testing::TestWithParam<Template> {};

// A place of a template is narrowed in the sources of all layers until one of them shows it: in others its offset is
// small.
TEST_P(FarTilesOfMutants, ShowEachNarrowOffset) {
  const auto& [template_name, unseen] = GetParam();
  NarrowOffsets offsets(template_name, unseen);
  std::vector<std::unique_ptr<FarLayer>> layers;
  for (const Case& each : kCases) {
    if (each.template_name == std::string_view(template_name)) {
      FarLayer& layer = *layers.emplace_back(std::make_unique<FarLayer>(each));
      offsets.add(each.name, layer.source(), behind_packing(layer.source()),
                  [&layer](const KernelSource& mutant) { return layer.judge(mutant); });
    }
  }
  offsets.expect_shown(kPlaces);
}

const Template kTemplates[] = {
    {"direct", {"stage_weights: static_cast<long long>(ci)"}},       // of weights
    {"direct_rows", {"stage_weights: static_cast<long long>(ci)"}},  // of weights
    {"mma_rows", {"stage_weights: static_cast<long long>(ci)"}},     // of weights
    {"shift_gemm",
     {"kernel: static_cast<long long>(n_tile)",                  // of packed weights
      "copy_rows: * #ll",                                        // a few known rows
      "copy_end_rows: * #ll",                                    // a few channels of a known size
      "find_copy: * #ll",                                        // a few channels of a known size
      "find_copy: static_cast<long long>(batch)",                // more rows count as x's last: slower
      "place_of: const long long plane",                         // the lowest bits count
      "place_of: static_cast<long long>(tile.image + image)"}},  // likewise
    {"f32x3_gemm", {}},
    {"halo_gemm",
     {"kernel: static_cast<long long>(n_tile)",  // of packed weights
      "flat_tile: const long long image",        // the low 32 bits of its multiple count
      "load_batch: * #ll"}},                     // a few channels of a known size
    {"roll_gemm",
     {"kernel: static_cast<long long>(n_tile)",                                       // of packed weights
      "copy_channels: * #ll",                                                         // a few channels of a known size
      "take_row: * #ll",                                                              // likewise
      "copy_pixels: * #ll",                                                           // a few images of a known size
      "copy_pixels: const long long pixel"}},                                         // a strip's
    {"overlap_gemm", {"wgmma_descriptor_move: static_cast<long long>(bytes / 16)"}},  // none is negative
    {"patch_gemm",
     {"wgmma_descriptor_move: static_cast<long long>(bytes / 16)",  // likewise
      "store_outputs: static_cast<long long>(tap / 2)"}},           // rows of a patch, of a known width
    {"phase_gemm",
     {"wgmma_descriptor_move: static_cast<long long>(bytes / 16)",  // likewise
      "defined_sum: const long long from",                          // of sums that are not finite
      "defined_sum: const long long of_tap", "defined_sum: static_cast<long long>(ci)",
      "defined_sum: static_cast<long long>(image)"}},
    {"mma_phases",
     {"stage_weights: static_cast<long long>(ci)",  // of weights
      "defined_sum: const long long from",          // of sums that are not finite
      "defined_sum: const long long of_tap", "defined_sum: static_cast<long long>(ci)",
      "defined_sum: static_cast<long long>(image)"}}};
std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Layers, FarTiles, ::testing::ValuesIn(kCases), name_of);
INSTANTIATE_TEST_SUITE_P(Templates, FarTilesOfMutants, ::testing::ValuesIn(kTemplates),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace convtgen::testing
