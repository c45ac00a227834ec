#include "tests/end_to_end/net.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>

#include "generator/language/language.h"
#include "generator/planner/templates.h"
#include "tests/planner/problems.h"

namespace convtgen::testing {
namespace {

constexpr std::string_view kSeparator = " | ";

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0 ? std::optional(number) : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (auto at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

/// The number in "plan 3"; nothing where plans are chosen by a template's name.
std::optional<std::int64_t> plan_number(std::string_view plans) {
  constexpr std::string_view kWord = "plan ";
  return plans.starts_with(kWord) ? number_of(plans.substr(kWord.size())) : std::nullopt;
}

/// The offset of each property's first class in a list of all classes, and their number.
struct Offsets {
  std::vector<std::size_t> of;
  std::size_t all = 0;
};
const Offsets& offsets() {
  static const Offsets made = [] {
    Offsets o;
    for (const Property& property : properties()) {
      o.of.push_back(o.all);
      o.all += property.classes.size();
    }
    return o;
  }();
  return made;
}
std::size_t index_of(Coverage::Class first, Coverage::Class second) {
  const Offsets& o = offsets();
  return (o.of[first.first] + static_cast<std::size_t>(first.second)) * o.all + o.of[second.first] +
         static_cast<std::size_t>(second.second);
}

/// Calls f(first, second) for each pair of the layer's classes.
template <typename F>
void each_pair(const Classes& classes, const F& f) {
  for (std::size_t p = 0; p < classes.size(); ++p) {
    for (std::size_t q = p + 1; q < classes.size(); ++q) {
      f(Coverage::Class(p, classes[p]), Coverage::Class(q, classes[q]));
    }
  }
}

std::int64_t integer(const Plan& plan, std::string_view name) {
  return std::get<std::int64_t>(plan.parameters.find(name)->second);
}

}  // namespace

std::string text_of(const NetLine& line) {
  return fmt::format("{}{}{}x{}x{}{}{}", canonical_form(line.drawn.layer), kSeparator, line.drawn.sizes.batch,
                     line.drawn.sizes.extents[kHeight], line.drawn.sizes.extents[kWidth], kSeparator, line.plans);
}

Result<NetLine> parse_net_line(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, kSeparator);
  if (parts.size() != 3) {
    return fail("a line is LAYER | BATCHxHEIGHTxWIDTH | PLANS");
  }
  NetLine line;
  const auto layer = parse_layer(parts[0]);
  if (!layer) {
    return fail(layer.error().front().message);
  }
  line.drawn.layer = *layer;
  std::vector<std::int64_t> sizes;
  for (const std::string_view size : split(parts[1], "x")) {
    sizes.push_back(number_of(size).value_or(-1));
  }
  if (sizes.size() != 3) {
    return fail(fmt::format("sizes '{}' are not BATCHxHEIGHTxWIDTH", parts[1]));
  }
  line.drawn.sizes = {sizes[0], {sizes[1], sizes[2]}};
  if (const auto shape = shape_of(line.drawn.layer, line.drawn.sizes); !shape) {
    return std::unexpected(shape.error());
  }
  line.plans = parts[2];
  if (!plan_number(line.plans)) {
    if (const auto known = template_named(line.plans); !known) {
      return fail(fmt::format("plans '{}' are no 'plan NUMBER', and {}", line.plans, known.error().message));
    }
  }
  return line;
}

Result<std::vector<NetLine>> read_net_lines(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return fail(fmt::format("{} can't be read", path));
  }
  std::vector<NetLine> lines;
  int number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    if (text.empty() || text.starts_with('#')) {
      continue;
    }
    auto line = parse_net_line(text);
    if (!line) {
      return fail(fmt::format("{}:{}: {}", path, number, line.error().message));
    }
    lines.push_back(*std::move(line));
  }
  return lines;
}

Result<std::vector<Plan>> net_plans(const Layer& layer) {
  auto plans = plan({layer, layer.directions.front(), target_named("sm_90a").value()});
  if (plans) {  // templates that are for tests alone have tests of their own
    std::erase_if(*plans, [](const Plan& plan) {
      return std::ranges::count(extra_templates(), plan.template_name, &Template::name) > 0;
    });
  }
  return plans;
}

std::vector<Plan> plans_to_run(const NetLine& line, const std::vector<Plan>& plans) {
  std::vector<Plan> chosen = {plans.front()};
  const auto add = [&](const Plan& plan) {
    const bool is_first =
        plan.template_name == chosen.front().template_name && plan.parameters == chosen.front().parameters;
    if (!is_first) {
      chosen.push_back(plan);
    }
  };
  std::map<std::string, std::vector<const Plan*>> by_template;
  for (const Plan& plan : plans) {
    by_template[plan.template_name].push_back(&plan);
  }
  const std::optional<std::int64_t> number = plan_number(line.plans);
  for (const auto& [name, of_template] : by_template) {
    if (number) {
      add(*of_template[static_cast<std::size_t>(*number) % of_template.size()]);
    } else if (name == line.plans) {
      std::ranges::for_each(of_template, [&](const Plan* plan) { add(*plan); });
    }
  }
  return chosen;
}

std::string mode_of(const Layer& layer, const Plan& plan) {
  return fmt::format("{} {} {}", plan.template_name, name_of(layer.compute), name_of(layer.layout));
}

std::vector<std::string> kinds_of(const Layer& layer, const Plan& plan) {
  std::vector<std::string> kinds;
  const auto is = [&](bool value, std::string_view name) {
    kinds.push_back(fmt::format("{}{}", value ? "" : "not ", name));
  };
  for (const auto& [name, value] : plan.parameters) {
    if (const bool* flag = std::get_if<bool>(&value);
        flag != nullptr && name != "has_bias" && name != "channels_last" && name != "weight_channels_last") {
      is(*flag, name);
    }
  }
  for (const Activation& step : layer.fuse) {
    kinds.push_back(fmt::format("fuse {}", name_of(step.kind)));
  }
  const std::int64_t group_in = layer.in_channels / layer.groups;
  const std::int64_t group_out = layer.out_channels / layer.groups;
  const std::int64_t bytes = layer.dtype == Dtype::kF64 ? 8 : layer.dtype == Dtype::kF32 ? 4 : 2;
  if (plan.template_name == "direct_rows") {
    const std::int64_t lanes_c = integer(plan, "lanes_c"), lanes_x = integer(plan, "lanes_x");
    const std::int64_t channels = integer(plan, "warps_c") * lanes_c * integer(plan, "channels_per_thread");
    kinds.push_back(fmt::format("vector {}", integer(plan, "vector")));
    kinds.push_back(fmt::format("whole vectors {}", plan.alignment == 16));
    is(layer.groups > 1 && channels >= group_out, "whole groups");
    is(layer.groups > 1 && channels > group_out, "several groups");
    is(channels < group_out, "several channel tiles");
    is((channels > group_out ? layer.out_channels : group_out) % channels != 0, "channels beyond");
    is(channels == layer.out_channels && integer(plan, "warps_c") == 1, "all channels of a pixel");
    is(lanes_c * lanes_x < 32, "idle lanes");
    is(lanes_c > 1, "lanes along channels");
    is(integer(plan, "channels_per_thread") % 2 == 1, "an odd number of channels");
    is(integer(plan, "tile_rows") > integer(plan, "warps_y"), "several rows of a warp");
    kinds.push_back("offsets " + std::get<TypeName>(plan.parameters.at("Offset")).spelling);
    return kinds;
  }
  if (plan.template_name == "mma_rows") {
    const std::int64_t channels = integer(plan, "tile_channels"), products = integer(plan, "products");
    is(layer.groups > 1 && channels >= group_out, "whole groups");
    is(layer.groups > 1 && channels > group_out, "several groups");
    is(channels < layer.out_channels, "several channel tiles");
    is(channels > 8 * products, "channels one part after another");
    is(group_in % 16 == 8, "a last unit of channels");
    is(group_in >= 16, "pairs of units");
    is(group_in >= 32, "several pairs of units");
    is(integer(plan, "tile_rows") * integer(plan, "column_tiles") > integer(plan, "warps"), "several rows of a warp");
    kinds.push_back(fmt::format("warps {}", integer(plan, "warps")));
    kinds.push_back("offsets " + std::get<TypeName>(plan.parameters.at("Offset")).spelling);
    return kinds;
  }
  const std::int64_t block_k = integer(plan, "block_k");
  is(block_k < group_in, "several k-blocks");
  is(group_in % block_k != 0, "a k-block in part");
  if (plan.template_name == "direct") {
    is(group_out > integer(plan, "threads_z") * integer(plan, "channels_per_thread"), "several channel tiles");
    is(integer(plan, "group_phases_h") < layer.axes[kHeight].stride ||
           integer(plan, "group_phases_w") < layer.axes[kWidth].stride,
       "several phase groups");
    kinds.push_back(fmt::format("stores {} bytes", plan.alignment));
    kinds.push_back("offsets " + std::get<TypeName>(plan.parameters.at("Offset")).spelling);
    return kinds;
  }
  if (plan.template_name == "overlap_gemm") {
    const std::int64_t block_c = integer(plan, "block_c");
    const std::int64_t pixels = integer(plan, "tile_n") * integer(plan, "tile_h") * integer(plan, "tile_w");
    const std::int64_t block_m = 64 * integer(plan, "warpgroups") * integer(plan, "thread_tiles");
    const auto whole = [&](std::size_t axis, std::string_view tile) {
      return layer.axes[axis].extent == Size(integer(plan, tile));
    };
    const bool whole_h = whole(kHeight, "tile_h"), whole_w = whole(kWidth, "tile_w");
    const bool turned = flag(plan, "weight_channels_last");
    is(whole_h, "all rows");
    is(whole_w, "all columns");
    is(integer(plan, "tile_n") > 1, "tiles of several images");
    is(pixels < block_m, "rows behind the pixels");
    is(block_c < group_out, "several channel tiles");
    is(group_out % block_c != 0, "channels beyond");
    is((group_in + block_k - 1) / block_k > integer(plan, "stages"), "more k-blocks than stages");
    is(block_c % integer(plan, "store") != 0, "vectors of several pixels");
    is(turned && block_c % 8 == 0 && integer(plan, "store") == 8, "products read as vectors");
    kinds.push_back(fmt::format("k-blocks of {}", block_k));
    kinds.push_back(fmt::format("store {}", integer(plan, "store")));
    kinds.push_back(fmt::format("tiles of a thread {}", integer(plan, "thread_tiles")));
    if (turned && block_c < group_out) {
      kinds.push_back(fmt::format("boxes of {} channels", block_c));
    }
    return kinds;
  }
  if (plan.template_name == "patch_gemm") {
    const std::int64_t block_c = integer(plan, "block_c");
    is(block_c < group_out, "several channel tiles");
    is(group_out % block_c != 0, "channels beyond");
    is((group_in + block_k - 1) / block_k > integer(plan, "stages"), "more k-blocks than stages");
    kinds.push_back(fmt::format("k-blocks of {}", block_k));
    kinds.push_back(flag(plan, "weight_channels_last")
                        ? fmt::format("boxes of {} channels", block_c)
                        : fmt::format("{} taps of {} channels", tap_count(layer), block_c));
    return kinds;
  }
  if (plan.template_name == "phase_gemm") {
    const Axis &rows = layer.axes[kHeight], &columns = layer.axes[kWidth];
    const std::int64_t outputs = layer.out_channels * rows.stride * columns.stride;
    const std::int64_t tiles = integer(plan, "warpgroups") * integer(plan, "thread_tiles");
    is(integer(plan, "tile_n") > 1, "tiles of several images");
    is(tiles > 1, "several products of a row");
    is(outputs % 8 != 0, "columns beyond");
    is(rows.kernel % rows.stride != 0 || columns.kernel % columns.stride != 0, "joined by weights of zero");
    is(rows.kernel > rows.stride, "rows that are rolled");
    is(columns.kernel > columns.stride, "shifts");
    is(integer(plan, "rows") > 1, "tiles of several rows");
    is(group_in > block_k, "several k-blocks");
    kinds.push_back(fmt::format("k-blocks of {}", block_k));
    kinds.push_back(fmt::format("store {}", integer(plan, "store")));
    return kinds;
  }
  if (plan.template_name == "mma_phases") {
    const Axis &rows = layer.axes[kHeight], &columns = layer.axes[kWidth];
    const std::int64_t product_rows = layer.out_channels * rows.stride * columns.stride;
    is(product_rows > 16, "several tiles of rows");
    is(product_rows % 16 != 0, "rows beyond");
    is(rows.kernel % rows.stride != 0 || columns.kernel % columns.stride != 0, "joined by weights of zero");
    is(rows.kernel > rows.stride, "rows of shifts");
    is(columns.kernel > columns.stride, "columns of shifts");
    is(integer(plan, "tile_h") > 1, "tiles of several rows");
    kinds.push_back(fmt::format("k-blocks of {}", block_k));
    kinds.push_back(fmt::format("chunks of a warp {}", integer(plan, "warp_chunks")));
    return kinds;
  }
  const std::int64_t block_n = integer(plan, "block_n");
  is(block_n < group_out, "several channel tiles");
  is(group_out % block_n != 0, "channels beyond");
  kinds.push_back(fmt::format("store {}", integer(plan, "store")));
  if (plan.template_name == "roll_gemm") {
    const std::int64_t pixel = layer.in_channels * bytes;
    kinds.push_back(fmt::format("positions {}", integer(plan, "thread_positions")));
    const Axis& rows = layer.axes[kHeight];
    is(!rows.extent || integer(plan, "rows") < output_extent(rows, *rows.extent), "several segments");
    is(layer.axes[kHeight].extent && *layer.axes[kHeight].extent < layer.axes[kHeight].kernel,
       "fewer rows than the kernel's");
    if (layer.layout == Layout::kNhwc) {
      is(layer.axes[kWidth].extent && *layer.axes[kWidth].extent % 2 == 1, "an odd width");
      is((pixel + 31) / 32 % 2 == 1, "an odd number of steps");
      is(pixel % 128 == 64, "pixels crossed");
    }
    return kinds;
  }
  is(integer(plan, "phase_rows") < layer.axes[kHeight].stride, "phase rows parted");
  kinds.push_back(fmt::format("adjacent channels {}", integer(plan, "adjacent_channels")));
  kinds.push_back(fmt::format("copies of {}", integer(plan, "copy_bytes")));
  kinds.push_back(fmt::format("k-blocks of {}", block_k));
  if (plan.template_name == "halo_gemm") {
    const bool divides = layer.axes[kHeight].kernel % layer.axes[kHeight].stride == 0 &&
                         layer.axes[kWidth].kernel % layer.axes[kWidth].stride == 0;
    const bool is_fused = flag(plan, "fused_phases");
    is(is_fused && !divides, "joined by weights of zero");
    is(is_fused && layer.axes[kHeight].stride * layer.axes[kWidth].stride > 1, "phases joined");
    is(flag(plan, "flat") && layer.axes[kHeight].kernel > layer.axes[kHeight].stride, "flat with rows of taps");
    kinds.push_back(fmt::format("vector {}", integer(plan, "vector")));
    kinds.push_back(fmt::format("parts of {}", integer(plan, "part_w")));
    kinds.push_back(fmt::format("producers {}", integer(plan, "producers")));
    return kinds;
  }
  const bool is_bulk = flag(plan, "bulk");
  kinds.push_back(fmt::format("positions {}", integer(plan, "thread_positions")));
  kinds.push_back(fmt::format("clusters of {}", plan.launch.main().cluster));
  is(integer(plan, "tile_n") > 1, "tiles of several images");
  is(is_bulk && plan.reason.contains("whole images"), "images in one row");
  is(is_bulk && !(layer.axes[kWidth].extent && *layer.axes[kWidth].extent * bytes % 16 == 0),
     "rows that begin anywhere in 16 bytes");
  is(is_bulk && group_in > block_k, "several k-blocks by bulk copies");
  is(is_bulk && group_in % block_k != 0, "a k-block in part by bulk copies");
  is(plan.template_name == "shift_gemm" && flag(plan, "ping_pong") && group_in > block_k * integer(plan, "stages"),
     "more k-blocks than stages by ping-pong warpgroups");
  is(plan.launch.main().cluster > 1 && is_bulk, "clusters with bulk copies");
  is(plan.launch.main().cluster > 1 && integer(plan, "phase_rows") < layer.axes[kHeight].stride,
     "clusters with phase rows parted");
  is(plan.launch.main().cluster > 1 && group_out % block_n != 0, "clusters with channels beyond");
  is(layer.groups > 1, "groups");
  is(layer.groups > 1 && is_bulk, "groups with bulk copies");
  is(layer.groups > 1 && block_n < group_out, "groups of several channel tiles");
  return kinds;
}

void Coverage::add_pairs(const std::string& mode, const Classes& classes) {
  std::vector<bool>& pairs = seen_[mode].pairs;
  pairs.resize(offsets().all * offsets().all);
  each_pair(classes, [&](Class first, Class second) { pairs[index_of(first, second)] = true; });
}

void Coverage::add_kinds(const std::string& mode, const std::vector<std::string>& kinds) {
  seen_[mode].kinds.insert(kinds.begin(), kinds.end());
}

bool Coverage::has(const std::string& mode, Class first, Class second) const {
  const auto found = seen_.find(mode);
  return found != seen_.end() && !found->second.pairs.empty() && found->second.pairs[index_of(first, second)];
}

std::vector<std::pair<Coverage::Class, Coverage::Class>> Coverage::missing_pairs(const std::string& mode,
                                                                                 const Classes& classes) const {
  const auto found = seen_.find(mode);
  const std::vector<bool> none;
  const std::vector<bool>& pairs = found != seen_.end() ? found->second.pairs : none;
  std::vector<std::pair<Class, Class>> missing;
  each_pair(classes, [&](Class first, Class second) {
    if (pairs.empty() || !pairs[index_of(first, second)]) {
      missing.emplace_back(first, second);
    }
  });
  return missing;
}

std::vector<std::string> Coverage::missing_kinds(const std::string& mode, const std::vector<std::string>& kinds) const {
  const auto found = seen_.find(mode);
  std::vector<std::string> missing;
  std::ranges::copy_if(kinds, std::back_inserter(missing), [&](const std::string& kind) {
    return found == seen_.end() || !found->second.kinds.contains(kind);
  });
  return missing;
}

std::map<std::string, std::pair<std::size_t, std::size_t>> Coverage::counts() const {
  std::map<std::string, std::pair<std::size_t, std::size_t>> counts;
  for (const auto& [mode, seen] : seen_) {
    counts[mode] = {static_cast<std::size_t>(std::ranges::count(seen.pairs, true)), seen.kinds.size()};
  }
  return counts;
}

void add_line(Coverage& coverage, const NetLine& line, const std::vector<Plan>& plans) {
  const Classes classes = classes_of(line.drawn);
  for (const Plan& plan : plans_to_run(line, plans)) {
    const std::string mode = mode_of(line.drawn.layer, plan);
    coverage.add_pairs(mode, classes);
    coverage.add_kinds(mode, kinds_of(line.drawn.layer, plan));
  }
}

Wanted random_wish(std::mt19937_64& random) {
  constexpr std::array<std::string_view, 10> kTemplates = {"direct",     "direct_rows", "shift_gemm",   "halo_gemm",
                                                           "roll_gemm",  "mma_rows",    "overlap_gemm", "patch_gemm",
                                                           "phase_gemm", "mma_phases"};
  Wanted wanted;
  wanted.compute = all_computes()[random() % all_computes().size()];
  wanted.layout = all_layouts()[random() % all_layouts().size()];
  const bool has_tensor_cores = wanted.compute != Compute::kF64 && wanted.compute != Compute::kF32;
  wanted.template_name = kTemplates[random() % (has_tensor_cores ? kTemplates.size() : 2)];
  if (wanted.template_name == "shift_gemm" && wanted.compute == Compute::kF32x3) {
    wanted.template_name = "f32x3_gemm";
  }
  if (wanted.template_name == "mma_rows" || wanted.template_name == "patch_gemm" ||
      wanted.template_name == "phase_gemm") {
    wanted.compute = random() % 2 == 0 ? Compute::kF16 : Compute::kBf16;
    wanted.layout = Layout::kNhwc;
  }
  if (wanted.template_name == "mma_phases") {
    wanted.layout = Layout::kNchw;
  }
  for (int i = 0; i < 2; ++i) {
    const std::size_t property = random() % properties().size();
    wanted.classes.emplace_back(property, static_cast<int>(random() % properties()[property].classes.size()));
  }
  return wanted;
}

std::vector<RandomLayer> questions(std::uint64_t part) {
  constexpr int kOfAPart = 100;
  std::mt19937_64 random(part);
  LayerSource source(part);
  std::vector<RandomLayer> layers;
  for (int i = 0; i < kOfAPart; ++i) {
    if (auto drawn = source.next(random_wish(random))) {
      layers.push_back(*std::move(drawn));
    }
  }
  return layers;
}

namespace {

/// Whether a template of forward layers makes the gradient, of the layer with its input and output exchanged.
bool is_exchanged(std::string_view template_name, Direction direction) {
  return template_named(template_name).value()->direction != direction;
}

/// Makes a layer drawn for forward calls one for the direction. `template_name` takes the exchanged layer.
void turn_to(Direction direction, std::string_view template_name, std::mt19937_64& random, Layer& layer) {
  layer.fuse.clear();
  layer.bias |= direction == Direction::kGradBias;
  layer.directions = {direction};
  if (is_exchanged(template_name, direction)) {
    std::swap(layer.in_channels, layer.out_channels);
    if ((template_name != "shift_gemm" && template_name != "f32x3_gemm") || random() % 4 == 0) {  // which take strides
      for (Axis& axis : layer.axes) {
        axis.stride = 1;
        axis.output_padding = std::min(axis.output_padding, axis.dilation - 1);
      }
    }
  }
}

/// Cuts half of the batches that a template may cut, whatever their size.
void cut_batch(const Problem& problem, std::int64_t batch, std::mt19937_64& random, Plan& plan) {
  const auto chunks = plan.parameters.find("chunks");
  if (chunks != plan.parameters.end() && batch > 1 && random() % 2 == 0) {
    const std::int64_t images =
        1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(std::min<std::int64_t>(batch - 1, 3)));
    if ((batch + images - 1) / images <= 3) {
      chunks->second = (batch + images - 1) / images;
      plan.parameters.find("chunk_images")->second = images;
      plan.launch = launch_plan_of(problem, plan);
    }
  }
}

}  // namespace

DrawnPlan draw_plan(std::mt19937_64& random, std::string_view template_name,
                    const std::function<bool(const Layer&)>& has, Direction direction, Use use) {
  LayerSource source(random(), use);
  const bool is_forward = direction == Direction::kForward;
  for (;;) {
    Wanted wanted = random_wish(random);
    wanted.template_name = is_forward || is_exchanged(template_name, direction) ? template_name : "direct";
    std::optional<RandomLayer> drawn = source.next(wanted);
    if (drawn && !is_forward) {
      turn_to(direction, template_name, random, drawn->layer);
    }
    if (!drawn || !has(drawn->layer) || !check_limits(drawn->layer).empty() || !shape_of(drawn->layer, drawn->sizes)) {
      continue;
    }
    const Problem problem{drawn->layer, direction, target_named("sm_90a").value()};
    std::vector<Plan> plans = plans_of(*template_named(template_name).value(), problem).value_or(std::vector<Plan>());
    if (!plans.empty()) {
      Plan& chosen = plans[random() % plans.size()];
      cut_batch(problem, drawn->sizes.batch, random, chosen);
      return {*drawn, std::move(chosen)};
    }
  }
}

std::string name_of(const DirectedTemplate& directed) {
  return directed.direction == Direction::kForward
             ? directed.template_name
             : fmt::format("{}_{}", name_of(directed.direction), directed.template_name);
}

std::vector<DirectedTemplate> gradient_templates() {
  return {{Direction::kGradInput, "direct_grad_input"},
          {Direction::kGradInput, "shift_gemm"},
          {Direction::kGradInput, "f32x3_gemm"},
          {Direction::kGradInput, "halo_gemm"},
          {Direction::kGradInput, "roll_gemm"},
          {Direction::kGradInput, "tap_gemm"},
          {Direction::kGradWeight, "direct_grad_weight"},
          {Direction::kGradWeight, "grad_weight_gemm"},
          {Direction::kGradWeight, "grad_weight_pixels"},
          {Direction::kGradWeight, "grad_weight_rows"},
          {Direction::kGradWeight, "f32x3_grad_weight"},
          {Direction::kGradWeight, "f32x3_grad_weight_pixels"},
          {Direction::kGradBias, "grad_bias"}};
}

std::string words(const std::pair<Coverage::Class, Coverage::Class>& pair) {
  const auto word = [](Coverage::Class each) {
    const Property& property = properties()[each.first];
    return fmt::format("{}={}", property.name, property.classes[static_cast<std::size_t>(each.second)]);
  };
  return fmt::format("{} & {}", word(pair.first), word(pair.second));
}

}  // namespace convtgen::testing
