#include "tests/end_to_end/random_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "generator/planner/search/cost.h"

namespace convtgen::testing {
namespace {

// Those of the columns follow those of the rows, in the same order, and those of the depth are the last.
enum Index : std::size_t {
  kKernelH,
  kStrideH,
  kDilationH,
  kPaddingH,
  kPaddingEndH,
  kOutputPaddingH,
  kStrideOverKernelH,
  kKernelOverImageH,
  kExtentH,
  kKernelW,
  kStrideW,
  kDilationW,
  kPaddingW,
  kPaddingEndW,
  kOutputPaddingW,
  kStrideOverKernelW,
  kKernelOverImageW,
  kExtentW,
  kDimensions,
  kBatch,
  kGroups,
  kIn,
  kOut,
  kBias,
  kFuse,
  kFuseInput,
  kWeights,
  kKernelD,
  kStrideD,
  kDilationD,
  kPaddingD,
  kPaddingEndD,
  kOutputPaddingD,
  kStrideOverKernelD,
  kKernelOverImageD,
  kExtentD,
};
static_assert(kKernelD == kFlatProperties);
constexpr std::size_t kOfAnAxis = kKernelW - kKernelH;

// Of layers to run.
constexpr std::int64_t kMostMultiplyAdds = 4'000'000;
constexpr std::int64_t kMostOutputs = 80'000;
constexpr std::int64_t kMostWeights = 300'000;
constexpr std::int64_t kMostPlanes = 6'000;  // times channels: each plane has blocks of its own, however small it is

bool is_of_many_planes(const Layer& layer, const Shape& shape) {
  const std::int64_t planes = shape.batch * std::max(shape.in[kDepth], shape.out[kDepth]);
  const std::int64_t channels = std::max(layer.in_channels, layer.out_channels) / layer.groups;
  return layer.dimensions == 3 && planes * channels > kMostPlanes;
}

int class_of_size(bool is_known, std::int64_t size, std::int64_t planned) {
  return is_known ? 0 : size <= planned ? 1 : 2;
}

std::array<int, kOfAnAxis> classes_of_axis(const Axis& a, std::int64_t size, std::int64_t planned) {
  const std::int64_t reach = a.dilation * (a.kernel - 1);
  return {a.kernel == 1   ? 0
          : a.kernel < 5  ? 1
          : a.kernel < 11 ? 2
                          : 3,
          a.stride < 3   ? static_cast<int>(a.stride) - 1
          : a.stride < 6 ? 2
                         : 3,
          static_cast<int>(std::min<std::int64_t>(a.dilation, 3)) - 1,
          a.padding.before == 0      ? 0
          : a.padding.before < reach ? 1
          : a.padding.before > reach ? 3
                                     : 2,
          a.padding.after == a.padding.before  ? 0
          : a.padding.after < a.padding.before ? 1
                                               : 2,
          a.output_padding == 0         ? 0
          : a.output_padding < a.stride ? 1
                                        : 2,
          a.stride > a.kernel ? 1 : 0,
          a.kernel > size ? 1 : 0,
          class_of_size(a.extent.has_value(), size, planned)};
}

int class_of_channels(std::int64_t channels) {
  return channels % 8 == 0 ? 2 : channels < 8 ? 0 : 1;
}

/// The sizes that a planner takes for open ones.
InputSizes planned_for_open_sizes() {
  Layer open;
  open.dimensions = 3;
  open.axes[kDepth] = {};
  return planned_sizes(open);
}

constexpr std::array<Compute, 6> kModes = {Compute::kF64,   Compute::kF32, Compute::kTf32,
                                           Compute::kF32x3, Compute::kF16, Compute::kBf16};

Dtype dtype_of(Compute compute) {
  return compute == Compute::kF64    ? Dtype::kF64
         : compute == Compute::kF16  ? Dtype::kF16
         : compute == Compute::kBf16 ? Dtype::kBf16
                                     : Dtype::kF32;
}

}  // namespace

std::string text_of_sizes(const RandomLayer& drawn) {
  const Extents& extents = drawn.sizes.extents;
  const std::string depth = drawn.layer.dimensions == 3 ? fmt::format("{}x", extents[kDepth]) : "";
  return fmt::format("{}x{}{}x{}", drawn.sizes.batch, depth, extents[kHeight], extents[kWidth]);
}

std::span<const Property> properties() {
  static const std::vector<Property> all = [] {
    const std::vector<std::string_view> kernel = {"1", "2 to 4", "5 to 10", "11 to 33"};
    const std::vector<std::string_view> stride = {"1", "2", "3 to 5", "6 to 20"};
    const std::vector<std::string_view> dilation = {"1", "2", "3 to 12"};
    const std::vector<std::string_view> padding = {"0", "below the reach", "at the reach", "beyond the reach"};
    const std::vector<std::string_view> end = {"the same", "less", "more"};
    const std::vector<std::string_view> output_padding = {"0", "below the stride", "from the stride on"};
    const std::vector<std::string_view> no_yes = {"no", "yes"};
    const std::vector<std::string_view> size = {"known", "open, as planned or less", "open, more than planned"};
    const std::vector<std::string_view> channels = {"1 to 7", "more, ragged", "whole eights"};
    return std::vector<Property>{{"kernel_h", kernel},
                                 {"stride_h", stride},
                                 {"dilation_h", dilation},
                                 {"padding_h", padding},
                                 {"padding_h at the end", end},
                                 {"output_padding_h", output_padding},
                                 {"stride_h over the kernel", no_yes},
                                 {"kernel_h over the image", no_yes},
                                 {"height", size},
                                 {"kernel_w", kernel},
                                 {"stride_w", stride},
                                 {"dilation_w", dilation},
                                 {"padding_w", padding},
                                 {"padding_w at the end", end},
                                 {"output_padding_w", output_padding},
                                 {"stride_w over the kernel", no_yes},
                                 {"kernel_w over the image", no_yes},
                                 {"width", size},
                                 {"dimensions", {"1", "2", "3"}},
                                 {"batch", {"known", "open, as planned or less", "open, more than planned", "none"}},
                                 {"groups", {"1", "some", "each channel"}},
                                 {"channels in of a group", channels},
                                 {"channels out of a group", channels},
                                 {"bias", no_yes},
                                 {"fuse", {"none", "one", "several"}},
                                 {"fuse_input", {"none", "keeps zero", "makes another number of zero"}},
                                 {"weights", {"contiguous", "channels last"}},
                                 {"kernel_d", kernel},
                                 {"stride_d", stride},
                                 {"dilation_d", dilation},
                                 {"padding_d", padding},
                                 {"padding_d at the end", end},
                                 {"output_padding_d", output_padding},
                                 {"stride_d over the kernel", no_yes},
                                 {"kernel_d over the image", no_yes},
                                 {"depth", size}};
  }();
  return all;
}

Classes classes_of(const RandomLayer& drawn) {
  const auto& [l, sizes] = drawn;
  const InputSizes planned = planned_for_open_sizes();
  Classes classes;
  const auto add_axis = [&](std::size_t axis) {
    std::ranges::copy(classes_of_axis(l.axes[axis], sizes.extents[axis], planned.extents[axis]),
                      std::back_inserter(classes));
  };
  add_axis(kHeight);
  add_axis(kWidth);
  const std::int64_t group_in = l.in_channels / l.groups;
  classes.insert(classes.end(), {l.dimensions - 1,
                                 sizes.batch == 0 ? 3 : class_of_size(l.batch.has_value(), sizes.batch, planned.batch),
                                 l.groups == 1   ? 0
                                 : group_in == 1 ? 2
                                                 : 1,
                                 class_of_channels(group_in), class_of_channels(l.out_channels / l.groups),
                                 l.bias ? 1 : 0, static_cast<int>(std::min<std::size_t>(l.fuse.size(), 2)),
                                 l.fuse_input.empty()                            ? 0
                                 : std::ranges::all_of(l.fuse_input, keeps_zero) ? 1
                                                                                 : 2,
                                 l.weight_layout == WeightLayout::kChannelsLast ? 1 : 0});
  add_axis(kDepth);
  return classes;
}

void LayerSource::draw_axis(const Wanted& wanted, std::size_t axis, RandomLayer& drawn) {
  const bool is_rows = axis == kHeight;
  constexpr int kAttempts = 300;
  const std::size_t first = axis == kDepth ? kKernelD : is_rows ? kKernelH : kKernelW;
  const std::int64_t planned = planned_for_open_sizes().extents[axis];
  const LayerDrawer drawer = wanted.drawer != nullptr ? *wanted.drawer : LayerDrawer{};
  Axis& a = drawn.layer.axes[axis];
  std::int64_t& size = drawn.sizes.extents[axis];
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    a = {};
    // To compile many taps costs little, and what they are made of in the machine code shows most.
    const bool many_taps = use_ == Use::kCompile;
    a.kernel = random_.one_of(many_taps ? random_.weighted({1, 4, 4, 1}) : random_.weighted({2, 6, 2, 1}),
                              {{1, 1}, {2, 4}, {5, 10}, {11, 33}});
    a.stride = random_.one_of(many_taps ? random_.weighted({3, 4, 3, 1}) : random_.weighted({4, 3, 2, 1}),
                              {{1, 1}, {2, 2}, {3, 5}, {6, 20}});
    a.dilation = random_.one_of(random_.weighted({4, 1, 1}), {{1, 1}, {2, 2}, {3, 12}});
    DrawnAxis of_template{.axis = a, .is_rows = is_rows, .layout = wanted.layout, .rows = drawn.sizes.extents[kHeight]};
    if (drawer.shape != nullptr) {
      drawer.shape(of_template, random_);
      a = of_template.axis;
    }
    const std::int64_t reach = a.dilation * (a.kernel - 1);
    const auto draw_padding = [&] {
      return random_.one_of(random_.weighted({3, 4, 1, 1}),
                            {{0, 0}, {1, reach - 1}, {reach, reach}, {reach + 1, reach + 3}});
    };
    a.padding = draw_padding();
    a.padding.after = random_() % 4 == 0 ? draw_padding() : a.padding.after;
    a.output_padding =
        random_.one_of(random_.weighted({3, 2, 2}), {{0, 0}, {1, a.stride - 1}, {a.stride, a.dilation - 1}});
    if (!drawer.padded) {
      a.padding = {};
      a.output_padding = 0;
    }
    // Small sizes come more often, and planes are few.
    const double most = axis == kDepth ? 6 : random_() % 8 == 0 ? 150 : 30;
    size = static_cast<std::int64_t>(std::pow(most, random_.fraction()));
    const std::size_t kind = random_.weighted({4, 2, 1});
    size = kind == 2 ? random_.between(planned + 1, planned + 44) : size;
    of_template.size = size;
    of_template.is_known = kind == 0;
    if (drawer.size != nullptr && axis != kDepth) {
      drawer.size(of_template);
      size = of_template.size;
    }
    a.extent = of_template.is_known ? Size(size) : std::nullopt;
    const std::array<int, kOfAnAxis> classes = classes_of_axis(a, size, planned);
    const bool is_wanted = std::ranges::all_of(wanted.classes, [&](const auto& each) {
      return each.first < first || each.first >= first + kOfAnAxis || classes[each.first - first] == each.second;
    });
    if (is_wanted && a.output_padding < std::max(a.stride, a.dilation) && output_extent(a, size) > 0) {
      break;
    }
  }
}

std::int64_t LayerSource::draw_channels(int kind, std::int64_t most) {
  const auto some = static_cast<std::int64_t>(std::pow(static_cast<double>(most) / 8, random_.fraction()) * 8);
  return kind == 0 ? random_.between(1, 7) : kind == 1 ? some / 8 * 8 + random_.between(1, 7) : some / 8 * 8;
}

Activation LayerSource::draw_activation() {
  Activation step{all_activations()[random_() % all_activations().size()], 0, 0};
  // Numbers of few digits read well in the emitted source.
  const auto number = [&] { return static_cast<double>(random_.between(-96, 96)) / 64; };
  step.a = argument_count(step.kind) >= 1 ? number() : 0;
  step.b = argument_count(step.kind) == 2 ? number() : 0;
  if (step.a > step.b && argument_count(step.kind) == 2) {
    std::swap(step.a, step.b);
  }
  return step;
}

RandomLayer LayerSource::draw(const Wanted& wanted) {
  const auto class_wanted = [&](std::size_t property, std::size_t otherwise) {
    const auto found = std::ranges::find(wanted.classes, property, &std::pair<std::size_t, int>::first);
    return found != wanted.classes.end() ? found->second : static_cast<int>(otherwise);
  };
  RandomLayer result;
  Layer& l = result.layer;
  l.compute = wanted.compute.value_or(kModes[random_() % kModes.size()]);
  l.dtype = dtype_of(l.compute);
  l.layout = wanted.layout.value_or(random_() % 2 == 0 ? Layout::kNchw : Layout::kNhwc);
  static const LayerDrawer kOfAny{};
  const LayerDrawer& drawer = wanted.drawer != nullptr ? *wanted.drawer : kOfAny;
  const bool of_depth = std::ranges::any_of(wanted.classes, [](const auto& each) { return each.first >= kKernelD; });
  const std::size_t axes = random_.weighted({1, 5, drawer.depth ? 3 : 0});
  l.dimensions = class_wanted(kDimensions, of_depth ? 2 : axes) + 1;
  if (l.dimensions == 1) {
    l.axes[kHeight] = kNoAxis;
  } else {
    draw_axis(wanted, kHeight, result);
  }
  draw_axis(wanted, kWidth, result);
  if (l.dimensions == 3) {
    draw_axis(wanted, kDepth, result);
  }
  const int batch = class_wanted(kBatch, random_.weighted({8, 4, 2, 1}));
  result.sizes.batch = batch == 3   ? 0
                       : batch == 2 ? planned_for_open_sizes().batch + random_.between(1, 4)
                                    : random_.between(1, random_() % 4 == 0 ? 9 : 3);
  l.batch = batch == 0 || (batch == 3 && random_() % 2 == 0) ? Size(result.sizes.batch) : std::nullopt;

  const int groups =
      class_wanted(kGroups, drawer.one_group ? 0 : random_.weighted({5, 3, drawer.no_depthwise ? 0 : 1}));
  l.groups = groups == 0 ? 1 : random_.between(2, 4);
  std::int64_t in = draw_channels(class_wanted(kIn, drawer.whole_in ? 2 : random_.weighted({2, 2, 3})),
                                  drawer.most_in       ? *drawer.most_in
                                  : random_() % 6 == 0 ? 1000
                                                       : 160);
  const std::int64_t out =
      draw_channels(class_wanted(kOut, drawer.whole_out ? 2 : random_.weighted({drawer.few_out ? 20 : 2, 2, 3})),
                    drawer.few_out ? 16 : 160);
  in = groups == 2 ? 1 : groups == 1 ? std::max<std::int64_t>(in, 2) : in;
  l.in_channels = l.groups * in;
  l.out_channels = l.groups * out;
  l.bias = class_wanted(kBias, random_() % 2) == 1;
  const int fuse = class_wanted(kFuse, random_.weighted({1, 2, 1}));
  for (int i = 0; i < (fuse == 2 ? 3 : fuse); ++i) {
    l.fuse.push_back(draw_activation());
  }
  const int fuse_input = class_wanted(kFuseInput, random_.weighted({4, 2, 1}));
  while (fuse_input > 0 &&
         (l.fuse_input.empty() || std::ranges::all_of(l.fuse_input, keeps_zero) != (fuse_input == 1))) {
    l.fuse_input = {draw_activation()};
  }
  l.weight_layout = all_weight_layouts()[static_cast<std::size_t>(class_wanted(kWeights, random_() % 2))];
  if (drawer.finish != nullptr) {
    drawer.finish(l);
  }
  return result;
}

RandomLayer LayerSource::next() {
  for (;;) {
    if (auto drawn = next(Wanted{})) {
      return *std::move(drawn);
    }
  }
}

std::optional<RandomLayer> LayerSource::next(const Wanted& wanted) {
  constexpr int kAttempts = 200;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    RandomLayer drawn = draw(wanted);
    if (!check_limits(drawn.layer).empty()) {
      continue;
    }
    const Result<Shape> shape = shape_of(drawn.layer, drawn.sizes);
    if (!shape || (use_ == Use::kRun &&
                   (shape->output_elements > kMostOutputs || shape->input_elements > kMostOutputs ||
                    shape->weight_elements > kMostWeights || multiply_adds(drawn.layer, *shape) > kMostMultiplyAdds ||
                    is_of_many_planes(drawn.layer, *shape)))) {
      continue;
    }
    const Classes classes = classes_of(drawn);
    if (std::ranges::all_of(wanted.classes, [&](const auto& each) { return classes[each.first] == each.second; })) {
      return drawn;
    }
  }
  return std::nullopt;
}

}  // namespace convtgen::testing
