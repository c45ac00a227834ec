#include "tests/end_to_end/net.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"

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

}  // namespace

std::string text_of(const NetLine& line) {
  return fmt::format("{}{}{}{}{}", canonical_form(line.drawn.layer), kSeparator, text_of_sizes(line.drawn), kSeparator,
                     line.plans);
}

Result<NetLine> parse_net_line(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, kSeparator);
  if (parts.size() != 3) {
    return fail(
        "a line is LAYER | BATCHxHEIGHTxWIDTH | PLANS, with three axes LAYER | BATCHxDEPTHxHEIGHTxWIDTH | PLANS");
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
  const bool has_depth = layer->dimensions == 3;
  if (sizes.size() != (has_depth ? 4 : 3)) {
    return fail(fmt::format("sizes '{}' are not BATCHx{}HEIGHTxWIDTH", parts[1], has_depth ? "DEPTHx" : ""));
  }
  line.drawn.sizes = {sizes[0], {has_depth ? sizes[1] : 1, sizes[sizes.size() - 2], sizes.back()}};
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

namespace {

/// Of convtgen's own templates of forward layers.
const std::vector<const TemplateFacts*>& forward_facts() {
  static const std::vector<const TemplateFacts*> all = [] {
    std::vector<const TemplateFacts*> forward = shipped_facts();
    std::erase_if(forward, [](const TemplateFacts* facts) {
      return template_named(facts->name).value()->direction != Direction::kForward;
    });
    return forward;
  }();
  return all;
}

bool takes(const TemplateFacts& facts, Compute compute) {
  return std::ranges::find(facts.computes, compute) != facts.computes.end();
}

/// The facts of each place that random layers are drawn for (LayerDrawer::place).
const std::vector<std::vector<const TemplateFacts*>>& facts_of_places() {
  static const std::vector<std::vector<const TemplateFacts*>> all = [] {
    std::vector<std::vector<const TemplateFacts*>> places;
    for (const TemplateFacts* facts : forward_facts()) {
      const auto place = static_cast<std::size_t>(facts->drawer.place);
      places.resize(std::max(places.size(), place + 1));
      places[place].push_back(facts);
    }
    return places;
  }();
  return all;
}

}  // namespace

std::string mode_of(const Layer& layer, const Plan& plan) {
  return fmt::format("{} {} {}", plan.template_name, name_of(layer.compute), name_of(layer.layout));
}

std::set<std::string> all_modes() {
  std::set<std::string> modes;
  for (const TemplateFacts* facts : forward_facts()) {
    for (const Compute compute : facts->computes) {
      for (const Layout layout : facts->layouts) {
        modes.insert(fmt::format("{} {} {}", facts->name, name_of(compute), name_of(layout)));
      }
    }
  }
  return modes;
}

std::vector<std::string> kinds_of(const Layer& layer, const Plan& plan) {
  Kinds kinds(layer, plan);
  for (const auto& [name, value] : plan.parameters) {
    if (const bool* flag = std::get_if<bool>(&value);
        flag != nullptr && name != "has_bias" && name != "channels_last" && name != "weight_channels_last") {
      kinds.is(*flag, name);
    }
  }
  for (const Activation& step : layer.fuse) {
    kinds.add(fmt::format("fuse {}", name_of(step.kind)));
  }
  facts_of(plan.template_name).kinds(kinds);
  return std::move(kinds).words();
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
  const auto& places = facts_of_places();
  const auto is_plain = [](const auto& place) { return takes(*place.front(), Compute::kF32); };
  const auto plain = static_cast<std::size_t>(std::ranges::count_if(places, is_plain));
  Wanted wanted;
  wanted.compute = all_computes()[random() % all_computes().size()];
  wanted.layout = all_layouts()[random() % all_layouts().size()];
  const bool has_tensor_cores = wanted.compute != Compute::kF64 && wanted.compute != Compute::kF32;
  const auto& place = places[random() % (has_tensor_cores ? places.size() : plain)];
  const auto taking =
      std::ranges::find_if(place, [&](const TemplateFacts* each) { return takes(*each, *wanted.compute); });
  const TemplateFacts& facts = taking != place.end() ? **taking : *place.front();
  wanted.drawer = &facts.drawer;
  if (facts.drawer.own_compute) {
    wanted.compute = facts.computes[random() % facts.computes.size()];
  }
  if (facts.layouts.size() == 1) {
    wanted.layout = facts.layouts.front();
  }
  for (int i = 0; i < 2; ++i) {
    const std::size_t property = random() % (facts.drawer.depth ? properties().size() : kFlatProperties);
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
  layer.fuse_input.clear();
  layer.bias |= direction == Direction::kGradBias;
  layer.directions = {direction};
  if (is_exchanged(template_name, direction)) {
    std::swap(layer.in_channels, layer.out_channels);
    if (!facts_of(template_name).drawer.strided_grad_input || random() % 4 == 0) {
      for (Axis& axis : layer.axes) {
        axis.stride = 1;
        axis.output_padding = std::min(axis.output_padding, axis.dilation - 1);
      }
    }
  }
}

/// Cuts half of the batches that a template may cut, whatever their size.
void cut_batch(const Problem& problem, std::int64_t batch, std::mt19937_64& random, Plan& plan) {
  const auto cut = plan.parameters.find("chunk_images");
  if (cut != plan.parameters.end() && cut->second != ParameterValue(std::int64_t{0}) && batch > 1 &&
      random() % 2 == 0) {
    const std::int64_t images =
        1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(std::min<std::int64_t>(batch - 1, 3)));
    if ((batch + images - 1) / images <= 3) {
      plan.parameters.find("chunks")->second = (batch + images - 1) / images;
      cut->second = images;
      plan.launch = launch_plan_of(problem, plan);
    }
  }
}

}  // namespace

DrawnPlan draw_plan(std::mt19937_64& random, std::string_view template_name, const std::function<bool(Layer&)>& has,
                    Direction direction, Use use) {
  LayerSource source(random(), use);
  const bool is_forward = direction == Direction::kForward;
  constexpr int kMostDraws = 50'000;
  for (int draws = 0; draws < kMostDraws; ++draws) {
    Wanted wanted = random_wish(random);
    wanted.drawer = &facts_of(template_name).drawer;
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
  throw std::runtime_error(fmt::format("{} takes none of {} layers that were drawn for it and have the property",
                                       template_name, kMostDraws));
}

std::string words(const std::pair<Coverage::Class, Coverage::Class>& pair) {
  const auto word = [](Coverage::Class each) {
    const Property& property = properties()[each.first];
    return fmt::format("{}={}", property.name, property.classes[static_cast<std::size_t>(each.second)]);
  };
  return fmt::format("{} & {}", word(pair.first), word(pair.second));
}

}  // namespace convtgen::testing
