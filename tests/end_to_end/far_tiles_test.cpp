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
#include "generator/planner/candidates.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/layer_arrays.h"
#include "runtime/reference/run_layer.h"
#include "tests/end_to_end/narrow_offsets.h"
#include "tests/planner/problems.h"
#include "tests/sample/sample.h"
#include "tests/template_facts/facts.h"
#include "tests/template_facts/window.h"

namespace convtgen::testing {
namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 31;
constexpr std::size_t kLayers = 32;                // of all templates, that a run has
constexpr std::size_t kPlaces = 2;                 // of a template, that a run narrows
constexpr std::int64_t kArrangedBefore = 1 << 19;  // elements before the small layer's that last blocks arrange
constexpr std::size_t kScannedBefore = 1 << 16;    // bytes of maxima before the small layer's
constexpr std::int64_t kLastPlanes = 2;            // of outputs, whose taps read none before the small layer's first

using Case = OfTemplate<FarTile>;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

struct Setup {
  Problem problem;
  Plan plan;
  KernelSource source;
};

Setup set_up(const Case& what) {
  const Problem problem{parse_layer(what.fact.layer).value(), Direction::kForward, target_named("sm_90a").value()};
  const std::vector<Plan> plans = plan(problem).value();
  const auto found = std::ranges::find_if(plans, [&](const Plan& each) {
    const auto is = [&](const char* name, bool value) {
      const auto parameter = each.parameters.find(name);
      return parameter == each.parameters.end() || std::get<bool>(parameter->second) == value;
    };
    return each.template_name == what.template_name && is("flat", what.fact.flat) &&
           (!what.fact.bulk || is("bulk", *what.fact.bulk)) &&
           (!what.fact.staged_epilogue || is("staged_epilogue", *what.fact.staged_epilogue));
  });
  if (found == plans.end()) {
    throw std::runtime_error("the planner has no such plan");
  }
  Plan chosen = *found;
  for (const auto& [name, value] : facts_of(what.template_name).far.parameters) {
    chosen.parameters.at(name) = value;
  }
  chosen.launch = launch_plan_of(problem, chosen);
  return {problem, chosen, specialize(problem, chosen).value()};
}

const FarTileFacts& far_facts(const Setup& setup) {
  return facts_of(setup.plan.template_name).far;
}

/// Rows of positions that a tile makes all outputs of.
std::int64_t made_rows(const Setup& setup) {
  const auto rows = far_facts(setup).rows;
  return rows != nullptr ? rows(setup.problem.layer, setup.plan) : integer(setup.plan, "tile_h");
}
/// Blocks of a tile.
std::int64_t tile_blocks(const Setup& setup) {
  const auto blocks = far_facts(setup).blocks;
  return blocks != nullptr ? blocks(setup.problem.layer, setup.plan) : setup.source.main().grid.blocks_per_tile;
}
/// All tiles of a call.
std::int64_t tiles_of(const Setup& setup, bool flat, const Shape& shape) {
  const FarTileFacts& facts = far_facts(setup);
  if (const auto tiles = flat && facts.tiles_of_sequence != nullptr ? facts.tiles_of_sequence : facts.tiles) {
    return tiles(setup.problem.layer, setup.plan, shape);
  }
  Grid grid = setup.source.main().grid;
  grid.most_tiles = 0;
  return grid.blocks(quantities_of(shape)).value() / tile_blocks(setup);
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
    small_ = {what.fact.by_rows || what.fact.by_planes ? 1
              : what.fact.flat                         ? 96
                                                       : 3,
              {l.axes[kDepth].extent.value_or(6), l.axes[kHeight].extent.value_or(what.fact.by_rows ? 3 * rows - 1 : 3),
               l.axes[kWidth].extent.value_or(9)}};
    far_ = small_;
    if (what.fact.by_rows) {
      far_.extents[kHeight] += ceil_div(kFar, small_.extents[kWidth] * rows) * rows;
      // The last image is the first of its tile.
      far_.batch += far_facts(setup_).images_share_tiles ? integer(setup_.plan, "tile_n") : 1;
    } else if (what.fact.by_planes) {
      far_.extents[kDepth] += ceil_div(kFar, small_.extents[kHeight] * small_.extents[kWidth]);
      ++far_.batch;
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
      if (region_of(setup_.source, "maxima")) {
        const Place place = place_of(setup_.source, "maxima", call.shape);
        const std::byte* from = memory_of(*call.workspace) + place.offset;
        small_maxima_.assign(from, from + place.bytes);
      }
    }
    Result<LoadedLayer> loaded = load_source(*device_, setup_.problem, setup_.plan, far_source);
    if (!loaded) {
      return fmt::format("{}: {}", kDoesNotCompile, loaded.error().message);
    }
    LayerCall call = make_call(*device_, *loaded, small_, inputs_).value();
    Launch& launch = call.launches.back();
    const Shape shape = shape_of(l, far_).value();
    const auto bytes = [&](std::int64_t elements) { return static_cast<std::size_t>(elements * bytes_of(l.dtype)); };
    const std::unique_ptr<Buffer> x = device_->allocate(bytes(shape.input_elements)).value();
    const std::unique_ptr<Buffer> y = device_->allocate(bytes(shape.output_elements)).value();
    std::size_t from = 0;
    for (const auto& [begin, count] : ends(Role::kX)) {
      std::memcpy(memory_of(*x) + bytes(begin), inputs_.x.bytes.data() + from, bytes(count));
      // Whole 16-byte vectors are copied, also where a row ends within one; a block arranges what lies before, too.
      const std::int64_t end = std::min(shape.input_elements, begin + count + 4);
      const std::int64_t before = region_of(far_source, "arranged") ? kArrangedBefore : 4;
      EXPECT_TRUE(device_->mark_written(*x, bytes(begin - before), bytes(end - begin + before)));
      from += bytes(count);
    }
    const Shape small = shape_of(l, small_).value();
    const std::int64_t blocks = tile_blocks(setup_);
    const std::int64_t tiles = tiles_of(setup_, case_.fact.flat, shape);
    EXPECT_LT(tiles, kFar / 2) << "a block steps over all of them";
    const std::int64_t of_rows = ceil_div(small.out[kHeight], made_rows(setup_) * l.axes[kHeight].stride);
    const std::int64_t across = tiles_of(setup_, case_.fact.flat, small) / of_rows;
    const bool by_strips = far_facts(setup_).by_strips;
    const std::int64_t depth_tiles = tiles_along_depth(setup_.problem.layer, setup_.plan, small);
    const std::int64_t last =
        case_.fact.by_planes ? ceil_div(kLastPlanes * depth_tiles, small.out[kDepth]) * (across * of_rows / depth_tiles)
        : case_.fact.by_rows ? 2 * across
        : case_.fact.flat    ? (by_strips ? 2 * of_rows : 2)
                             : across * of_rows;
    // Where another kernel adds products of pixels, that is the last one.
    const bool adds = region_of(far_source, "products").has_value();
    const std::int64_t small_blocks = launch.blocks;
    launch.blocks = adds ? far_source.recipe.kernels.back().grid.blocks(quantities_of(shape)).value() : tiles * blocks;
    const std::int64_t first = adds ? launch.blocks - small_blocks - 1 : (tiles - last) * blocks;
    const std::unique_ptr<Buffer> workspace = far_workspace(*loaded, far_source, shape);
    for (std::size_t i = 0; i < call.launches.size(); ++i) {
      const RecipeKernel& kernel = far_source.recipe.kernels[i];
      set_argument(call.launches[i], kernel, "x", x->address());
      set_argument(call.launches[i], kernel, "y", y->address());
      set_argument(call.launches[i], kernel, "batch", static_cast<std::uint64_t>(far_.batch));
      set_argument(call.launches[i], kernel, "depth", static_cast<std::uint64_t>(far_.extents[kDepth]));
      set_argument(call.launches[i], kernel, "height", static_cast<std::uint64_t>(far_.extents[kHeight]));
      for (const Region& region : workspace ? far_source.recipe.regions : std::vector<Region>()) {
        set_argument(call.launches[i], kernel, region.name,
                     workspace->address() + place_of(far_source, region.name, shape).offset);
      }
    }
    for (std::size_t i = 0; i < launch.tensor_maps.size(); ++i) {
      set_map(launch.tensor_maps[i].map, far_source.recipe.maps[i], quantities_of(shape), x->address());
    }
    for (std::size_t i = 0; i + 1 < call.launches.size(); ++i) {
      if (const Result<void> run = run_before(*loaded, far_source, call, i, workspace.get()); !run) {
        return run.error().message;
      }
    }
    if (adds) {  // its first block has outputs before those of the small layer
      const Place place = place_of(far_source, "products", shape);
      const std::size_t before = place.bytes - place_of(setup_.source, "products", small).bytes;
      EXPECT_TRUE(device_->mark_written(*workspace, place.offset + before - kScannedBefore, kScannedBefore));
    }
    if (const Result<void> run = device_->run_from(*loaded->kernels.back(), launch, first); !run) {
      return run.error().message;
    }
    return compare(*y, small);
  }

 private:
  struct Part {
    std::int64_t begin, count;
  };

  /// Where the small tensor lies at the end of the far one, in the small one's order.
  [[nodiscard]] std::vector<Part> ends(Role role) const {
    const Layer& l = setup_.problem.layer;
    const Shape small = shape_of(l, small_).value(), far = shape_of(l, far_).value();
    const std::int64_t count = element_count(small, role), all = element_count(far, role);
    const bool grows_within = case_.fact.by_rows || case_.fact.by_planes;
    if (!grows_within || l.layout == Layout::kNhwc) {
      return {{all - count, count}};
    }
    const std::int64_t places = images_of(small, role).places(), far_places = images_of(far, role).places();
    std::vector<Part> parts;  // the end of each channel of the last image
    for (std::int64_t left = images_of(small, role).channels - 1; left >= 0; --left) {
      parts.push_back({all - left * far_places - places, places});
    }
    return parts;
  }

  static void set_argument(Launch& launch, const RecipeKernel& kernel, std::string_view name, std::uint64_t value) {
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
      if (kernel.parameters[i].name == name) {
        launch.arguments[i] = value;
      }
    }
  }

  /// Where a region of the workspace begins, and its bytes.
  struct Place {
    std::size_t offset, bytes;
  };
  static std::optional<std::size_t> region_of(const KernelSource& source, std::string_view name) {
    const auto found = std::ranges::find(source.recipe.regions, name, &Region::name);
    return found == source.recipe.regions.end()
               ? std::nullopt
               : std::optional(static_cast<std::size_t>(found - source.recipe.regions.begin()));
  }
  static Place place_of(const KernelSource& source, std::string_view name, const Shape& shape) {
    const std::size_t region = region_of(source, name).value();
    const Quantities quantities = quantities_of(shape);
    return {static_cast<std::size_t>(source.recipe.offset_of(region, quantities).value()),
            static_cast<std::size_t>(source.recipe.regions[region].bytes.in(quantities).value())};
  }

  /// Null where no part of the workspace grows with the call.
  std::unique_ptr<Buffer> far_workspace(const LoadedLayer& loaded, const KernelSource& source, const Shape& shape) {
    if (!region_of(source, "arranged") && !region_of(source, "products")) {
      return nullptr;
    }
    return device_->allocate(static_cast<std::size_t>(loaded.form.workspace_bytes(shape).value())).value();
  }

  /// Runs a kernel before the last one: all of its blocks, or those of the input's end.
  Result<void> run_before(const LoadedLayer& loaded, const KernelSource& source, LayerCall& call, std::size_t number,
                          Buffer* workspace) {
    const Shape shape = shape_of(setup_.problem.layer, far_).value();
    const RecipeKernel& kernel = source.recipe.kernels[number];
    Launch& launch = call.launches[number];
    if (kernel.symbol.ends_with("_scan")) {  // as the small call has them: it would read all of the far image
      const Place from = place_of(source, "maxima", call.shape), to = place_of(source, "maxima", shape);
      const std::size_t count = std::min(to.bytes, std::max(from.bytes, kScannedBefore));
      EXPECT_TRUE(device_->mark_written(*workspace, to.offset + to.bytes - count, count));
      std::memcpy(memory_of(*workspace) + to.offset + to.bytes - from.bytes, small_maxima_.data(), from.bytes);
      return {};
    }
    std::int64_t first = 0;
    const bool makes_products = &kernel == &source.main() && region_of(source, "products");
    if (makes_products || kernel.symbol.ends_with("_arrange") || kernel.symbol.ends_with("_exponents")) {
      const std::int64_t small = launch.blocks + (makes_products ? 0 : kernel.grid.blocks_per_tile);
      launch.blocks = kernel.grid.blocks(quantities_of(shape)).value();
      first = std::max<std::int64_t>(0, launch.blocks - small);
    }
    return device_->run_from(*loaded.kernels[number], launch, first);
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

  [[nodiscard]] std::string compare(const Buffer& y, const Shape& small) const {
    const Layer& l = setup_.problem.layer;
    const auto size = static_cast<std::size_t>(bytes_of(l.dtype));
    const std::int64_t channels = l.out_channels;
    // Outputs of the tiles that were left out are not compared.
    const std::int64_t rows = made_rows(setup_) * l.axes[kHeight].stride;
    const std::int64_t first_row = case_.fact.by_rows ? (ceil_div(small.out[kHeight], rows) - 2) * rows : 0;
    const std::int64_t first_plane = case_.fact.by_planes ? small.out[kDepth] - kLastPlanes : 0;
    const std::int64_t first_image = case_.fact.flat ? small.batch - 4 : 0;
    std::int64_t index = 0;
    for (const auto& [begin, count] : ends(Role::kY)) {
      for (std::int64_t i = 0; i < count; ++i, ++index) {
        const std::int64_t pixel = l.layout == Layout::kNhwc ? index / channels : index;
        const std::int64_t image = index / (small.output_elements / small.batch);
        const std::int64_t plane = pixel / (small.out[kHeight] * small.out[kWidth]) % small.out[kDepth];
        if (pixel / small.out[kWidth] % small.out[kHeight] >= first_row && plane >= first_plane &&
            image >= first_image &&
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
  std::vector<std::byte> small_maxima_;  // of the channels of x, where a kernel finds them
};

class FarTiles : public ::testing::TestWithParam<Case> {};

TEST_P(FarTiles, HaveTheBitsOfNearOnes) {
  FarLayer layer(GetParam());
  EXPECT_EQ(layer.judge(layer.source()), "");
}

/// The templates that have such layers.
std::vector<std::string_view> far_templates() {
  std::vector<std::string_view> names;
  for (const TemplateFacts& facts : template_facts()) {
    if (!facts.far.layers.empty()) {
      names.push_back(facts.name);
    }
  }
  return names;
}

std::vector<Case> far_layers() {
  std::vector<Case> all, drawn;
  std::vector<Candidate> candidates;
  for (const std::string_view name : far_templates()) {
    for (const FarTile& layer : facts_of(name).far.layers) {
      all.push_back({name, layer});
      candidates.push_back({fmt::format("{}: {}", name, layer.name), {std::string(name)}});
    }
  }
  for (const std::size_t each : sample(candidates, kLayers)) {
    drawn.push_back(all[each]);
  }
  return drawn;
}

class FarTilesOfMutants : public ::testing::TestWithParam<std::string_view> {};

// A place of a template is narrowed in the sources of all layers until one of them shows it: in others its offset is
// small.
TEST_P(FarTilesOfMutants, ShowEachNarrowOffset) {
  const FarTileFacts& facts = facts_of(GetParam()).far;
  NarrowOffsets offsets(std::string(GetParam()), facts.unseen);
  std::vector<std::unique_ptr<FarLayer>> layers;
  for (const FarTile& each : facts.layers) {
    FarLayer& layer = *layers.emplace_back(std::make_unique<FarLayer>(Case{GetParam(), each}));
    offsets.add(each.name, layer.source(), after_packing(layer.source()),
                [&layer](const KernelSource& mutant) { return layer.judge(mutant); });
  }
  offsets.expect_shown(kPlaces);
}

INSTANTIATE_TEST_SUITE_P(Layers, FarTiles, ::testing::ValuesIn(far_layers()),
                         [](const auto& info) { return name_of_fact(info); });
INSTANTIATE_TEST_SUITE_P(Templates, FarTilesOfMutants, ::testing::ValuesIn(far_templates()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace convtgen::testing
