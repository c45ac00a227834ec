// Gradients of tensors with more elements than 32 bits count: the last tiles, or the last slice of the positions, give
// exactly what the definition gives of a small layer that lies at the far one's end.
//
// Tensors take address space, and memory only where they are touched. All blocks but the last are left out. Values are
// small integers, so that sums are the same in each order and mode.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/language/language.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/layer_arrays.h"
#include "runtime/reference/run_layer.h"
#include "tests/end_to_end/narrow_offsets.h"

namespace convtgen::testing {
namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 31;
constexpr std::int64_t kSlicePositions = 1024;  // about
constexpr std::byte kPoison{0xff};
constexpr std::size_t kPlaces = 1;  // of a template, that a run narrows

struct Case {
  const char* name;
  const char* template_name;
  Direction direction;
  const char* layer;
  bool by_rows = false;                // its height grows; else its batch
  std::optional<bool> by_copies = {};  // rows are copied as they lie, and turned
  bool scans = false;                  // the kernel that finds the largest magnitudes of channels, alone
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::byte* memory_of(const Buffer& buffer) {
  return reinterpret_cast<std::byte*>(buffer.address());
}

Problem problem_of(std::string_view text, Direction direction) {
  Layer layer = parse_layer(text).value();
  layer.directions = {direction};
  return {layer, direction, target_named("sm_90a").value()};
}

/// The first of the template.
Plan plan_of(const Problem& problem, std::string_view template_name, std::optional<bool> by_copies = {}) {
  const std::vector<Plan> plans = plan(problem).value();
  const auto found = std::ranges::find_if(plans, [&](const Plan& each) {
    const auto rows = each.parameters.find("row_stages");
    return each.template_name == template_name &&
           (!by_copies || (std::get<std::int64_t>(rows->second) > 0) == *by_copies);
  });
  if (found == plans.end()) {
    throw std::runtime_error("the planner has no such plan");
  }
  return *found;
}

void set_if_there(Plan& plan, std::string_view name, std::int64_t value) {
  if (const auto parameter = plan.parameters.find(name); parameter != plan.parameters.end()) {
    parameter->second = value;
  }
}

std::int64_t integer(const Plan& plan, const char* name) {
  return std::get<std::int64_t>(plan.parameters.at(name));
}

/// The blocks of a call of this shape where each tile has its own.
std::int64_t blocks_of(const Plan& plan, const RecipeKernel& kernel, const Shape& shape) {
  Grid grid = kernel.grid;
  grid.most_tiles = 0;
  const std::int64_t all = grid.blocks(quantities_of(shape)).value();
  if (plan.template_name != "tap_gemm") {
    return all;
  }
  // Each box has a cluster there, and a cluster makes several.
  const std::int64_t boxes =
      integer(plan, "block_m") / (integer(plan, "box_n") * integer(plan, "box_h") * integer(plan, "box_w"));
  const std::int64_t channel_tiles = ceil_div(shape.in_channels, integer(plan, "block_n"));
  return ceil_div(all / kernel.cluster / channel_tiles, boxes * kernel.cluster) * channel_tiles * kernel.cluster;
}

/// Where a region of the workspace begins, and its bytes.
struct Place {
  std::size_t offset, bytes;
};
Place place_of(const Recipe& recipe, std::string_view region, const Shape& shape) {
  const auto found = std::ranges::find(recipe.regions, region, &Region::name);
  const auto index = static_cast<std::size_t>(found - recipe.regions.begin());
  return {static_cast<std::size_t>(recipe.offset_of(index, quantities_of(shape)).value()),
          static_cast<std::size_t>(found->bytes.constant)};
}

/// The largest magnitudes of channels: of -1, 0 and 1. A kernel finds them otherwise, among all positions.
void write_maxima(HostDevice& device, Buffer& workspace, const Recipe& recipe, const Shape& shape) {
  const Place place = place_of(recipe, "maxima", shape);
  const std::vector<float> ones(place.bytes / sizeof(float), 1);
  std::memcpy(memory_of(workspace) + place.offset, ones.data(), place.bytes);
  EXPECT_TRUE(device.mark_written(workspace, place.offset, place.bytes));
}

double small_integer(std::uint64_t seed) {
  return static_cast<double>(mix_bits(seed) % 3) - 1;
}

/// -1, 0 and 1.
HostArray small_integers(HostArray array, std::uint64_t seed) {
  for (std::int64_t i = 0; i < array.size(); ++i) {
    array.set(i, small_integer(seed + static_cast<std::uint64_t>(i)));
  }
  return array;
}

class FarGradient {
 public:
  explicit FarGradient(const Case& what) : case_(what), problem_(problem_of(what.layer, what.direction)) {
    const Layer& l = problem_.layer;
    plan_ = plan_of(problem_, what.template_name, what.by_copies);
    small_ = {what.by_rows ? 1 : 3, {l.axes[kHeight].extent.value_or(11), l.axes[kWidth].extent.value_or(7)}};
    far_ = small_;
    if (what.by_rows) {
      far_.extents[kHeight] += ceil_div(kFar, small_.extents[kWidth] * 256) * 256;
      // The last image is the first of its tile.
      const auto images = std::ranges::find_if(
          plan_.parameters, [](const auto& each) { return each.first == "tile_n" || each.first == "box_n"; });
      far_.batch += images == plan_.parameters.end() ? 1 : std::get<std::int64_t>(images->second);
    } else {
      far_.batch += ceil_div(kFar, std::min(l.in_channels, l.out_channels) * 4096) * 4096;
    }
    for (const Grid::Bound& bound : specialize(problem_, plan_).value().main().grid.bounds) {
      if (bound.extent == Quantity::kBatch) {
        far_.batch = std::min(far_.batch, bound.most);
      }
    }
    const Shape shape = far_shape();
    EXPECT_GT(std::min(shape.input_elements, shape.output_elements), kFar);
    slices_ = shape.batch * shape.in[kHeight] * shape.in[kWidth] / kSlicePositions;
    for (const std::string_view name : {"slices", "bias_slices"}) {
      set_if_there(plan_, name, what.scans ? 1 : slices_);
    }
    set_if_there(plan_, "scan_slices", what.scans ? slices_ : 1);
    source_ = specialize(problem_, plan_).value();
    inputs_ = random_inputs(l, small_shape(), 5, what.direction);
    for (const Role role : roles_of(l, what.direction).read) {
      inputs_.set(role, small_integers(*inputs_.of(role), 1 + static_cast<std::uint64_t>(role) * 1000003));
    }
    if (what.scans) {  // each channel has a largest magnitude of its own
      for (const Role role : {Role::kX, Role::kGradY}) {
        HostArray array = *inputs_.of(role);
        for (std::int64_t i = 0; i < array.size(); ++i) {
          array.set(i, array.at(i) * static_cast<double>(1 + position_of(l, small_shape(), role, i).c));
        }
        inputs_.set(role, array);
      }
    }
  }

  [[nodiscard]] const KernelSource& source() const { return source_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }

  /// Empty where the far layer's end is what the definition gives; else what is wrong.
  std::string judge(const KernelSource& source) {
    Result<LoadedLayer> loaded = load_source(*device_, problem_, plan_, source);
    if (!loaded) {
      return fmt::format("{}: {}", kDoesNotCompile, loaded.error().message);
    }
    const Layer& l = problem_.layer;
    RoleBuffers buffers;
    Arrays arrays;
    for (const Tensor& tensor : source.recipe.tensors) {
      const std::int64_t bytes = element_count(far_shape(), tensor.role) * bytes_of(l.dtype);
      buffers.set(tensor.role, device_->allocate(static_cast<std::size_t>(bytes)).value());
      const Buffer& buffer = *buffers.of(tensor.role);
      arrays.set(tensor.role, memory_of(buffer));
      if (tensor.written) {
        poison_end(buffer, tensor.role);
      } else {
        write_end(*buffers.of(tensor.role), tensor.role);
      }
    }
    const std::int64_t bytes = loaded->form.workspace_bytes(far_shape()).value();
    workspace_ = device_->allocate(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))).value();
    arrays.workspace = memory_of(*workspace_);
    const Result<Call> call = loaded->form.call(arrays, far_);
    if (!call) {
      return call.error().message;
    }
    std::vector<Launch> launches = launches_of(loaded->form, arrays, *call).value();
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const RecipeKernel& kernel = source.recipe.kernels[i];
      const bool is_main = kernel.symbol == source.symbol;
      const bool is_scan = kernel.symbol.ends_with("_scan");
      const bool is_sum = kernel.symbol.ends_with("_channels");
      if (case_.scans ? !is_scan : adds_slices(kernel, source)) {
        continue;
      }
      if (is_scan && !case_.scans) {
        write_maxima(*device_, *workspace_, source.recipe, far_shape());
        continue;
      }
      const std::int64_t first = is_main || is_scan || is_sum ? first_block(kernel, launches[i]) : 0;
      if (const Result<void> run = device_->run_from(*loaded->kernels[i], launches[i], first); !run) {
        return run.error().message;
      }
    }
    if (case_.scans) {
      return compare_maxima();
    }
    std::string wrong;
    for (const Role role : roles_of(l, case_.direction).written) {
      const Definition definition = define_all(l, small_shape(), inputs_, role);
      wrong += role == Role::kGradX ? compare_image(*buffers.of(role), definition)
                                    : compare_slice(role == Role::kGradBias ? "partial_bias" : "partial", definition);
    }
    return wrong;
  }

 private:
  struct Part {
    std::int64_t begin, count;
  };

  [[nodiscard]] Shape small_shape() const { return shape_of(problem_.layer, small_).value(); }
  [[nodiscard]] Shape far_shape() const { return shape_of(problem_.layer, far_).value(); }
  [[nodiscard]] bool grows(Role role) const {
    return role != Role::kWeight && role != Role::kGradWeight && role != Role::kGradBias;
  }

  /// There are more slices here than there is time to add.
  [[nodiscard]] bool adds_slices(const RecipeKernel& kernel, const KernelSource& source) const {
    return kernel.symbol.ends_with("_add") ||
           (case_.direction == Direction::kGradBias && kernel.symbol == source.symbol);
  }

  /// Where the small array lies in the far one, in the small one's order.
  [[nodiscard]] std::vector<Part> ends(Role role) const {
    const std::int64_t count = element_count(small_shape(), role);
    const std::int64_t all = element_count(far_shape(), role);
    if (!case_.by_rows || problem_.layer.layout == Layout::kNhwc) {
      return {{all - count, count}};
    }
    const Images small = images_of(small_shape(), role);
    const Images far = images_of(far_shape(), role);
    std::vector<Part> parts;  // the end of each channel of the last image
    for (std::int64_t left = small.channels - 1; left >= 0; --left) {
      parts.push_back({all - left * far.places() - small.places(), small.places()});
    }
    return parts;
  }

  /// Elements before these that last blocks read too: zeros.
  [[nodiscard]] std::int64_t before(Role role) const {
    const bool of_a_channel = case_.by_rows && problem_.layer.layout == Layout::kNchw;
    return 16 * kSlicePositions * (of_a_channel ? 1 : images_of(small_shape(), role).channels);
  }

  void write_end(Buffer& buffer, Role role) {
    const HostArray& array = *inputs_.of(role);
    if (!grows(role)) {
      EXPECT_TRUE(device_->upload(buffer, array.bytes));
      return;
    }
    const auto size = static_cast<std::size_t>(bytes_of(problem_.layer.dtype));
    std::size_t from = 0;
    for (const auto& [begin, count] : ends(role)) {
      std::memcpy(memory_of(buffer) + static_cast<std::size_t>(begin) * size, array.bytes.data() + from,
                  static_cast<std::size_t>(count) * size);
      // Whole 16-byte vectors are copied, also where a row ends within one.
      const std::int64_t first = begin - before(role);
      const std::int64_t behind = std::min(element_count(far_shape(), role), begin + count + 8);
      EXPECT_TRUE(device_->mark_written(buffer, static_cast<std::size_t>(first) * size,
                                        static_cast<std::size_t>(behind - first) * size));
      from += static_cast<std::size_t>(count) * size;
    }
    // Copies of rows that do not exist bring some of the first image, which nobody looks at.
    const Images images = images_of(small_shape(), role);
    EXPECT_TRUE(device_->mark_written(buffer, 0, static_cast<std::size_t>(images.channels * images.places()) * size));
  }

  void poison_end(const Buffer& buffer, Role role) {
    const auto size = static_cast<std::size_t>(bytes_of(problem_.layer.dtype));
    for (const auto& [begin, count] : grows(role) ? ends(role) : std::vector<Part>()) {
      std::memset(memory_of(buffer) + static_cast<std::size_t>(begin) * size, static_cast<int>(kPoison),
                  static_cast<std::size_t>(count) * size);
    }
  }

  /// Of the blocks that are run: those of the last slice, or of the last positions, of all that there are.
  std::int64_t first_block(const RecipeKernel& kernel, Launch& launch) const {
    if (case_.direction != Direction::kGradInput) {
      return launch.blocks - launch.blocks / slices_;
    }
    const auto blocks = [&](const InputSizes& sizes) {
      return blocks_of(plan_, kernel, shape_of(problem_.layer, sizes).value());
    };
    InputSizes all = far_;
    InputSizes without = far_;
    if (case_.by_rows) {
      all.batch = without.batch = 1;
      without.extents[kHeight] -= small_.extents[kHeight];
    } else {
      without.batch -= small_.batch;
    }
    launch.blocks = blocks(far_);
    EXPECT_LT(launch.blocks / kernel.grid.blocks_per_tile, kFar / 2) << "a block steps over all of them";
    const std::int64_t own = std::max(blocks(all) - blocks(without), kernel.grid.blocks_per_tile);
    return (launch.blocks - own) / kernel.cluster * kernel.cluster;
  }

  [[nodiscard]] std::string compare_image(const Buffer& buffer, const Definition& definition) const {
    const Layer& l = problem_.layer;
    const auto size = static_cast<std::size_t>(bytes_of(l.dtype));
    HostArray array = make_array(l.dtype, array_shape(l, small_shape(), Role::kGradX));
    std::size_t to = 0;
    for (const auto& [begin, count] : ends(Role::kGradX)) {
      std::memcpy(array.bytes.data() + to, memory_of(buffer) + static_cast<std::size_t>(begin) * size,
                  static_cast<std::size_t>(count) * size);
      to += static_cast<std::size_t>(count) * size;
    }
    for (std::int64_t i = 0; i < array.size(); ++i) {
      const ElementPosition position = position_of(l, small_shape(), Role::kGradX, i);
      const bool is_last =
          case_.by_rows ? position.at[kHeight] == small_.extents[kHeight] - 1 : position.n == small_.batch - 1;
      const bool is_poison = std::all_of(array.bytes.begin() + i * static_cast<std::int64_t>(size),
                                         array.bytes.begin() + (i + 1) * static_cast<std::int64_t>(size),
                                         [](std::byte byte) { return byte == kPoison; });
      const double want = definition.sum[static_cast<std::size_t>(i)];
      if (is_poison ? is_last : array.at(i) != want) {
        return fmt::format("{} is {}, not {}", position_text(l, Role::kGradX, position), array.at(i), want);
      }
    }
    return "";
  }

  /// The sums of the last slice.
  [[nodiscard]] std::string compare_slice(std::string_view region, const Definition& definition) const {
    const std::size_t count = definition.sum.size();
    const float* sums =
        reinterpret_cast<const float*>(memory_of(*workspace_) + place_of(source_.recipe, region, far_shape()).offset) +
        static_cast<std::size_t>(slices_ - 1) * count;
    for (std::size_t i = 0; i < count; ++i) {
      if (sums[i] != definition.sum[i]) {
        return fmt::format("{} {} of {} is {}, not {}", region, i, count, sums[i], definition.sum[i]);
      }
    }
    return "";
  }

  /// The largest magnitudes of the last slice, of the channels of x and of grad_y.
  [[nodiscard]] std::string compare_maxima() const {
    const Layer& l = problem_.layer;
    std::vector<float> want;
    for (const Role role : {Role::kX, Role::kGradY}) {
      const HostArray& array = *inputs_.of(role);
      const std::size_t before = want.size();
      want.resize(before + static_cast<std::size_t>(images_of(small_shape(), role).channels));
      for (std::int64_t i = 0; i < array.size(); ++i) {
        float& most = want[before + static_cast<std::size_t>(position_of(l, small_shape(), role, i).c)];
        most = std::max(most, std::abs(static_cast<float>(array.at(i))));
      }
    }
    const float* maxima = reinterpret_cast<const float*>(memory_of(*workspace_) +
                                                         place_of(source_.recipe, "maxima", far_shape()).offset) +
                          static_cast<std::size_t>(slices_ - 1) * want.size();
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (maxima[i] != want[i]) {
        return fmt::format("the largest magnitude of channel {} of {} is {}, not {}", i, want.size(), maxima[i],
                           want[i]);
      }
    }
    return "";
  }

  Case case_;
  Problem problem_;
  InputSizes small_, far_;
  std::int64_t slices_ = 1;
  Plan plan_;
  KernelSource source_;
  LayerInputs inputs_;
  std::unique_ptr<HostDevice> device_ = open_host_device(HostOptions{.workers = 1}).value();
  std::unique_ptr<Buffer> workspace_;
};

/// A template that makes the last weights of so many, or reads them.
struct WeightCase {
  const char* template_name;
  Direction direction;
  const char* rest;  // of the layer
};

class FarWeight {
 public:
  explicit FarWeight(const WeightCase& what)
      : problem_(problem_of(
            fmt::format("conv_transpose2d {} -> {}; kernel 1x2; stride 1x2; input 1x1x8{}", kIns, kOuts, what.rest),
            what.direction)),
        shape_(shape_of(problem_.layer, known_sizes(problem_.layer).value()).value()),
        plan_(plan_of(problem_, what.template_name)) {
    EXPECT_GT(shape_.weight_elements, kFar);
    set_if_there(plan_, "scan_slices", 1);
    source_ = specialize(problem_, plan_).value();
    for (const Role role : {Role::kX, Role::kGradY}) {
      inputs_.set(role, small_integers(make_array(problem_.layer.dtype, array_shape(problem_.layer, shape_, role)),
                                       static_cast<std::uint64_t>(role) * 1000003));
    }
  }

  [[nodiscard]] const KernelSource& source() const { return source_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }

  /// Empty where the last elements are what the definition gives; else what is wrong.
  std::string judge(const KernelSource& source) {
    Result<LoadedLayer> loaded = load_source(*device_, problem_, plan_, source);
    if (!loaded) {
      return fmt::format("{}: {}", kDoesNotCompile, loaded.error().message);
    }
    RoleBuffers buffers;
    Arrays arrays;
    for (const Tensor& tensor : source.recipe.tensors) {
      const std::size_t bytes = static_cast<std::size_t>(element_count(shape_, tensor.role)) * size();
      buffers.set(tensor.role, device_->allocate(bytes).value());
      Buffer& buffer = *buffers.of(tensor.role);
      arrays.set(tensor.role, memory_of(buffer));
      if (tensor.role == Role::kWeight) {
        write_weights(buffer);
      } else if (tensor.written) {
        std::memset(memory_of(buffer) + (bytes - kCompared * size()), static_cast<int>(kPoison), kCompared * size());
      } else {
        EXPECT_TRUE(device_->upload(buffer, inputs_.of(tensor.role)->bytes));
      }
    }
    const std::int64_t bytes = std::max<std::int64_t>(loaded->form.workspace_bytes(shape_).value(), 1);
    const std::unique_ptr<Buffer> workspace = device_->allocate(static_cast<std::size_t>(bytes)).value();
    arrays.workspace = memory_of(*workspace);
    const Result<Call> call = loaded->form.call(arrays, known_sizes(problem_.layer).value());
    if (!call) {
      return call.error().message;
    }
    std::vector<Launch> launches = launches_of(loaded->form, arrays, *call).value();
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const RecipeKernel& kernel = source.recipe.kernels[i];
      if (kernel.symbol.ends_with("_scan")) {
        write_maxima(*device_, *workspace, source.recipe, shape_);
        continue;
      }
      std::int64_t count = kernel.cluster;  // of the last blocks
      if (kernel.symbol == source.symbol) {
        launches[i].blocks = blocks_of(plan_, kernel, shape_);
      } else {  // the packing of the last tile of channels
        count = ceil_div(launches[i].blocks, kIns / integer(plan_, "block_n"));
      }
      if (const Result<void> run = device_->run_from(*loaded->kernels[i], launches[i], launches[i].blocks - count);
          !run) {
        return run.error().message;
      }
    }
    const Role role = problem_.direction == Direction::kGradInput ? Role::kGradX : Role::kGradWeight;
    return compare(*buffers.of(role), role);
  }

 private:
  static constexpr std::int64_t kIns = std::int64_t{1} << 20;
  static constexpr std::int64_t kOuts = 2048;
  static constexpr std::int64_t kCompared = 2;   // of the last elements: of one tap, or of one channel
  static constexpr std::int64_t kWritten = 256;  // input channels: as many as a tile has, at least

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(bytes_of(problem_.layer.dtype)); }

  static double weight_at(std::int64_t offset) { return small_integer(static_cast<std::uint64_t>(offset)); }

  void write_weights(Buffer& buffer) {
    const std::int64_t first = shape_.weight_elements - kWritten * kOuts * 2;
    HostArray array = make_array(problem_.layer.dtype, {shape_.weight_elements - first});
    for (std::int64_t i = 0; i < array.size(); ++i) {
      array.set(i, weight_at(first + i));
    }
    const std::size_t offset = static_cast<std::size_t>(first) * size();
    std::memcpy(memory_of(buffer) + offset, array.bytes.data(), array.bytes.size());
    EXPECT_TRUE(device_->mark_written(buffer, offset, array.bytes.size()));
  }

  /// What the element is. Of grad_x in NCHW.
  [[nodiscard]] double defined(Role role, std::int64_t offset) const {
    if (role == Role::kGradWeight) {
      return define_at(problem_.layer, shape_, inputs_, std::span(&offset, 1), role).sum.front();
    }
    const ElementPosition position = position_of(problem_.layer, shape_, role, offset);
    double sum = 0;
    for (std::int64_t out = 0; out < kOuts; ++out) {
      for (std::int64_t tap = 0; tap < 2; ++tap) {
        const std::int64_t y = offset_of(problem_.layer, shape_, Role::kGradY,
                                         {.n = 0, .c = out, .at = {0, 0, position.at[kWidth] * 2 + tap}});
        sum += inputs_.grad_y.at(y) * weight_at((position.c * kOuts + out) * 2 + tap);
      }
    }
    return sum;
  }

  [[nodiscard]] std::string compare(const Buffer& buffer, Role role) const {
    HostArray array = make_array(problem_.layer.dtype, {kCompared});
    const std::int64_t first = element_count(shape_, role) - kCompared;
    std::memcpy(array.bytes.data(), memory_of(buffer) + static_cast<std::size_t>(first) * size(), array.bytes.size());
    for (std::int64_t i = 0; i < kCompared; ++i) {
      // Of grad_weight one tap alone: a block need not have the others.
      const bool is_made = role == Role::kGradX || i + 1 == kCompared;
      if (const double want = defined(role, first + i); is_made && array.at(i) != want) {
        return fmt::format("{} {} is {}, not {}", name_of(role), first + i, array.at(i), want);
      }
    }
    return "";
  }

  Problem problem_;
  Shape shape_;
  Plan plan_;
  KernelSource source_;
  LayerInputs inputs_;
  std::unique_ptr<HostDevice> device_ = open_host_device(HostOptions{.workers = 1}).value();
};

class FarGradients : public ::testing::TestWithParam<Case> {};

TEST_P(FarGradients, AreThoseOfNearOnes) {
  FarGradient gradient(GetParam());
  EXPECT_EQ(gradient.judge(gradient.source()), "") << gradient.plan().summary << "; " << gradient.plan().reason;
}

constexpr Direction kIn = Direction::kGradInput;
constexpr Direction kWeights = Direction::kGradWeight;
constexpr Direction kBias = Direction::kGradBias;
constexpr Case kCases[] = {
    {"direct_grad_input_images", "direct_grad_input", kIn,
     "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; input ?x5x9"},
    {"direct_grad_input_images_channels_last", "direct_grad_input", kIn,
     "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; input ?x5x9; layout nhwc"},
    {"direct_grad_input_rows", "direct_grad_input", kIn, "conv_transpose2d 4 -> 2; kernel 3x3; stride 2x2; input ?x?x?",
     true},
    {"direct_grad_input_rows_channels_last", "direct_grad_input", kIn,
     "conv_transpose2d 4 -> 2; kernel 3x3; input ?x?x?; layout nhwc", true},
    {"direct_grad_input_unstaged_rows", "direct_grad_input", kIn,
     "conv_transpose2d 4 -> 2; kernel 2x2; dilation 60000x1; input ?x?x?", true},
    {"shift_gemm_images", "shift_gemm", kIn,
     "conv_transpose2d 16 -> 16; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; compute tf32"},
    {"shift_gemm_images_channels_last", "shift_gemm", kIn,
     "conv_transpose2d 16 -> 16; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; layout nhwc"},
    {"shift_gemm_rows", "shift_gemm", kIn,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute tf32", true},
    {"shift_gemm_rows_channels_last", "shift_gemm", kIn,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; dtype f16; layout nhwc", true},
    {"f32x3_gemm_images", "f32x3_gemm", kIn,
     "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; compute f32x3"},
    {"f32x3_gemm_rows", "f32x3_gemm", kIn,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute f32x3", true},
    {"f32x3_gemm_rows_channels_last", "f32x3_gemm", kIn,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute f32x3; layout nhwc", true},
    {"tap_gemm_images", "tap_gemm", kIn,
     "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; layout nhwc"},
    {"tap_gemm_images_of_any_size", "tap_gemm", kIn,
     "conv_transpose2d 32 -> 16; kernel 3x3; stride 2x2; input ?x?x?; dtype f16; layout nhwc"},
    {"tap_gemm_rows", "tap_gemm", kIn,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; dtype f16; layout nhwc", true},
    {"direct_grad_weight_images", "direct_grad_weight", kWeights,
     "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; bias; input ?x5x9"},
    {"direct_grad_weight_images_channels_last", "direct_grad_weight", kWeights,
     "conv_transpose2d 4 -> 6; kernel 3x3; stride 2x1; padding 1x1; bias; input ?x5x9; layout nhwc"},
    {"direct_grad_weight_rows", "direct_grad_weight", kWeights,
     "conv_transpose2d 4 -> 2; kernel 3x3; stride 2x2; bias; input ?x?x?", true},
    {"direct_grad_weight_rows_channels_last", "direct_grad_weight", kWeights,
     "conv_transpose2d 4 -> 2; kernel 3x3; bias; input ?x?x?; layout nhwc", true},
    {"grad_weight_gemm_images", "grad_weight_gemm", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; padding 1x1; input ?x5x7; dtype f16", false, false},
    {"grad_weight_gemm_images_channels_last", "grad_weight_gemm", kWeights,
     "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; layout nhwc"},
    {"grad_weight_gemm_copied_images", "grad_weight_gemm", kWeights,
     "conv_transpose2d 16 -> 16; kernel 3x3; padding 1x1; input ?x4x8; dtype f16", false, true},
    {"grad_weight_gemm_copied_rows", "grad_weight_gemm", kWeights,
     "conv_transpose2d 16 -> 16; kernel 3x3; padding 1x1; input ?x16x16; dtype f16", false, true},
    {"grad_weight_gemm_images_of_any_size", "grad_weight_gemm", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute tf32"},
    {"grad_weight_gemm_rows", "grad_weight_gemm", kWeights,
     "conv_transpose2d 32 -> 16; kernel 3x3; stride 2x2; groups 2; input ?x?x?; compute tf32", true},
    {"grad_weight_gemm_rows_channels_last", "grad_weight_gemm", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; dtype bf16; layout nhwc", true},
    {"grad_weight_rows_images", "grad_weight_rows", kWeights,
     "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x16; compute tf32"},
    {"grad_weight_rows_images_through_registers", "grad_weight_rows", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; padding 1x1; input ?x5x6; dtype f16"},
    {"grad_weight_rows_rows", "grad_weight_rows", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; padding 0x1; input ?x?x16; compute tf32", true},
    {"grad_weight_rows_rows_through_registers", "grad_weight_rows", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; padding 0x1; input ?x?x6; dtype f16", true},
    {"grad_weight_pixels_images", "grad_weight_pixels", kWeights,
     "conv_transpose2d 16 -> 8; kernel 4x4; stride 2x2; padding 1x1; input ?x5x7; dtype f16; layout nhwc"},
    {"grad_weight_pixels_rows", "grad_weight_pixels", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; dtype f16; layout nhwc", true},
    {"f32x3_grad_weight_copied_images", "f32x3_grad_weight", kWeights,
     "conv_transpose2d 16 -> 16; kernel 3x3; padding 1x1; input ?x4x8; compute f32x3", false, true},
    {"f32x3_grad_weight_images_of_any_size", "f32x3_grad_weight", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; stride 2x2; input ?x?x?; compute f32x3"},
    {"f32x3_grad_weight_rows", "f32x3_grad_weight", kWeights,
     "conv_transpose2d 32 -> 16; kernel 3x3; stride 2x2; groups 2; input ?x?x?; compute f32x3", true},
    {"f32x3_grad_weight_rows_channels_last", "f32x3_grad_weight", kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3; layout nhwc", true},
    {"f32x3_scanned_images",
     "f32x3_grad_weight",
     kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; input ?x5x7; compute f32x3",
     false,
     {},
     true},
    {"f32x3_scanned_rows",
     "f32x3_grad_weight",
     kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3",
     true,
     {},
     true},
    {"f32x3_scanned_rows_channels_last",
     "f32x3_grad_weight",
     kWeights,
     "conv_transpose2d 16 -> 8; kernel 3x3; input ?x?x?; compute f32x3; layout nhwc",
     true,
     {},
     true},
    {"grad_bias_images", "grad_bias", kBias, "conv_transpose2d 4 -> 6; kernel 3x3; bias; input ?x5x9"},
    {"grad_bias_images_channels_last", "grad_bias", kBias,
     "conv_transpose2d 4 -> 6; kernel 3x3; bias; input ?x5x9; layout nhwc"},
    {"grad_bias_rows", "grad_bias", kBias, "conv_transpose2d 4 -> 6; kernel 3x3; bias; input ?x?x?", true},
    {"grad_bias_rows_channels_last", "grad_bias", kBias,
     "conv_transpose2d 4 -> 6; kernel 3x3; bias; input ?x?x?; layout nhwc", true}};

constexpr WeightCase kWeightCases[] = {{"direct_grad_input", kIn, ""},
                                       {"shift_gemm", kIn, "; compute tf32"},
                                       {"tap_gemm", kIn, "; dtype f16; layout nhwc"},
                                       {"direct_grad_weight", kWeights, ""},
                                       {"grad_weight_gemm", kWeights, "; dtype f16"},
                                       {"grad_weight_rows", kWeights, "; compute tf32"},
                                       {"grad_weight_pixels", kWeights, "; dtype f16; layout nhwc"},
                                       {"f32x3_grad_weight", kWeights, "; compute f32x3"}};

class FarWeights : public ::testing::TestWithParam<WeightCase> {};

TEST_P(FarWeights, AreTheDefinitions) {
  FarWeight weight(GetParam());
  EXPECT_EQ(weight.judge(weight.source()), "") << weight.plan().summary << "; " << weight.plan().reason;
}

INSTANTIATE_TEST_SUITE_P(Templates, FarWeights, ::testing::ValuesIn(kWeightCases),
                         [](const auto& info) { return std::string(info.param.template_name); });

/// A template, and its places that need not be 64-bit in any of the layers, each with the reason.
struct Template {
  const char* name;
  std::set<std::string> unseen;
};

class FarGradientsOfMutants : public ::testing::TestWithParam<Template> {};

TEST_P(FarGradientsOfMutants, ShowEachNarrowOffset) {
  const auto& [template_name, unseen] = GetParam();
  NarrowOffsets offsets(template_name, unseen);
  std::vector<std::unique_ptr<FarGradient>> gradients;
  for (const Case& each : kCases) {
    if (each.template_name == std::string_view(template_name)) {
      FarGradient& gradient = *gradients.emplace_back(std::make_unique<FarGradient>(each));
      offsets.add(each.name, gradient.source(), each.direction == kIn ? behind_packing(gradient.source()) : 0,
                  [&gradient](const KernelSource& mutant) { return gradient.judge(mutant); });
    }
  }
  std::vector<std::unique_ptr<FarWeight>> weights;
  for (const WeightCase& each : kWeightCases) {
    if (each.template_name == std::string_view(template_name)) {
      FarWeight& weight = *weights.emplace_back(std::make_unique<FarWeight>(each));
      offsets.add(each.template_name, weight.source(), 0,
                  [&weight](const KernelSource& mutant) { return weight.judge(mutant); });
    }
  }
  offsets.expect_shown(kPlaces);
}

// Partial results of slices take at most 64 MiB: a thread each adds them.
constexpr const char* kAdding = "kernel: const long long i";
constexpr const char* kAddingBlock = "kernel: static_cast<long long>(blockIdx.x)";
constexpr const char* kMove = "wgmma_descriptor_move: static_cast<long long>(bytes / 16)";  // in shared memory
// No memory holds the positions of as many tiles.
constexpr const char* kFirstTile = "kernel: const long long first_tile";
constexpr const char* kTiles = "kernel: static_cast<long long>(batch)";

const Template kTemplates[] = {
    {"direct_grad_input",
     {"kernel: static_cast<long long>(image)",  // its factor is wide
      "kernel: static_cast<long long>(tile)",   // one image
      // A few channels; the others are far by their product.
      "kernel: static_cast<long long>(channel)", "multiply_add_unstaged: static_cast<long long>(channel)",
      "stage_weights: static_cast<long long>(channel)"}},
    {"shift_gemm",
     {"stage_bulk_pixels: static_cast<long long>(image)",       // of a tile
      "store_tile: static_cast<long long>(co)",                 // a few channels of a known size
      "store_tile: static_cast<long long>(i / 2 * 8 + i % 2)",  // likewise
      "weight_at: static_cast<long long>(ci)"}},                // it becomes an int
    {"f32x3_gemm", {}},
    {"tap_gemm", {kMove}},
    {"direct_grad_weight",
     {kAdding, kAddingBlock, "kernel: const long long end",  // tiles, as below
      "kernel: const long long image", "kernel: static_cast<long long>(thread)",
      "kernel: static_cast<long long>(thread / 8)",  // of a block
      "stage_input: static_cast<long long>(ci)",     // a few channels of a known size
      "stage_window: static_cast<long long>(co)"}},  // likewise
    {"grad_weight_gemm",
     {kAdding, kAddingBlock, kMove, kFirstTile, "kernel: * #ll",  // totals take at most 64 MiB too
                                                                  // A few channels of a known size.
      "load_input: * #ll", "load_unit: * #ll", "load_unit_2: * #ll", "load_window: * #ll", "source_of: * #ll"}},
    {"grad_weight_rows", {kAdding, kAddingBlock, kMove, kFirstTile, kTiles}},
    {"grad_weight_pixels",
     {kAdding, kAddingBlock, kMove, kFirstTile, kTiles, "kernel: const long long image_tiles",
      "copy_tile: const long long tile"}},
    {"f32x3_grad_weight",
     {kAdding, kAddingBlock, kMove, kFirstTile, "scan_slice: const long long image",
      "scan_slice_2: const long long image", "scan_slice: static_cast<long long>(thread % 16)",
      "scan_slice_2: static_cast<long long>(thread % 16)"}},
    {"grad_bias",
     {"kernel: const long long end", "kernel: const long long image", "kernel: static_cast<long long>(thread)",
      "kernel: static_cast<long long>(thread / 8)"}}};
INSTANTIATE_TEST_SUITE_P(Templates, FarGradientsOfMutants, ::testing::ValuesIn(kTemplates),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Layers, FarGradients, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace convtgen::testing
