// A gradient of tensors with more than 2^31 elements: what the far end has, against a small layer that lies there.
#pragma once

#include <gtest/gtest.h>

#include "generator/planner/candidates.h"
#include "tests/end_to_end/far_layer.h"
#include "tests/template_facts/facts.h"

namespace convtgen::testing {

inline constexpr std::int64_t kSlicePositions = 1024;  // about

class FarGradient {
 public:
  explicit FarGradient(const OfTemplate<FarGradientLayer>& of)
      : case_(of.fact), direction_(gradient_of(of.template_name)), problem_(problem_of(case_.layer, direction_)) {
    const Layer& l = problem_.layer;
    plan_ = plan_of(problem_, of.template_name, case_.by_copies, case_.scans);
    small_ = {
        case_.by_rows || case_.by_planes ? 1 : 3,
        {l.axes[kDepth].extent.value_or(4), l.axes[kHeight].extent.value_or(11), l.axes[kWidth].extent.value_or(7)}};
    far_ = small_;
    if (case_.by_rows) {
      far_.extents[kHeight] += ceil_div(kFar, small_.extents[kWidth] * 256) * 256;
      // The last image is the first of its tile.
      const auto images = std::ranges::find_if(
          plan_.parameters, [](const auto& each) { return each.first == "tile_n" || each.first == "box_n"; });
      far_.batch += images == plan_.parameters.end() ? 1 : std::get<std::int64_t>(images->second);
    } else if (case_.by_planes) {
      far_.extents[kDepth] += ceil_div(kFar, small_.extents[kHeight] * small_.extents[kWidth] * 256) * 256;
      ++far_.batch;
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
    slices_ = shape.batch * shape.in[kDepth] * shape.in[kHeight] * shape.in[kWidth] / kSlicePositions;
    for (const std::string_view name : {"slices", "bias_slices"}) {
      set_if_there(plan_, name, case_.scans ? 1 : slices_);
    }
    set_if_there(plan_, "scan_slices", case_.scans ? slices_ : 1);
    plan_.launch = launch_plan_of(problem_, plan_);
    source_ = specialize(problem_, plan_).value();
    inputs_ = random_inputs(l, small_shape(), 5, direction_);
    for (const Role role : roles_of(l, direction_).read) {
      inputs_.set(role, small_integers(*inputs_.of(role), 1 + static_cast<std::uint64_t>(role) * 1000003));
    }
    if (case_.scans) {  // each channel has a largest magnitude of its own
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
    for (const Role role : roles_of(l, direction_).written) {
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

  /// Whether images grow, not the batch.
  [[nodiscard]] bool grows_within() const { return case_.by_rows || case_.by_planes; }

  /// There are more slices here than there is time to add.
  [[nodiscard]] bool adds_slices(const RecipeKernel& kernel, const KernelSource& source) const {
    return kernel.symbol.ends_with("_add") || (direction_ == Direction::kGradBias && kernel.symbol == source.symbol);
  }

  /// Where the small array lies in the far one, in the small one's order.
  [[nodiscard]] std::vector<Part> ends(Role role) const {
    const std::int64_t count = element_count(small_shape(), role);
    const std::int64_t all = element_count(far_shape(), role);
    if (!grows_within() || problem_.layer.layout == Layout::kNhwc) {
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
    const bool of_a_channel = grows_within() && problem_.layer.layout == Layout::kNchw;
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
      const std::int64_t end = std::min(element_count(far_shape(), role), begin + count + 8);
      EXPECT_TRUE(device_->mark_written(buffer, static_cast<std::size_t>(first) * size,
                                        static_cast<std::size_t>(end - first) * size));
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

  /// Of the blocks that are run: those of the last slice, or of the last positions, of all.
  std::int64_t first_block(const RecipeKernel& kernel, Launch& launch) const {
    if (direction_ != Direction::kGradInput) {
      return launch.blocks - launch.blocks / slices_;
    }
    const auto blocks = [&](const InputSizes& sizes) {
      return blocks_of(plan_, kernel, shape_of(problem_.layer, sizes).value());
    };
    InputSizes all = far_;
    InputSizes without = far_;
    if (grows_within()) {
      const std::size_t axis = case_.by_planes ? kDepth : kHeight;
      all.batch = without.batch = 1;
      without.extents[axis] -= small_.extents[axis];
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
      const bool is_last = case_.by_planes ? position.at[kDepth] == small_.extents[kDepth] - 1
                           : case_.by_rows ? position.at[kHeight] == small_.extents[kHeight] - 1
                                           : position.n == small_.batch - 1;
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

  FarGradientLayer case_;
  Direction direction_;
  Problem problem_;
  InputSizes small_, far_;
  std::int64_t slices_ = 1;
  Plan plan_;
  KernelSource source_;
  LayerInputs inputs_;
  std::unique_ptr<HostDevice> device_ = open_host_device(HostOptions{.workers = 1}).value();
  std::unique_ptr<Buffer> workspace_;
};

}  // namespace convtgen::testing
