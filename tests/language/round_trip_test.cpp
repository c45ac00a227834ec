// parse(print(layer)) == layer, on random layers that reach every property.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "generator/language/language.h"
#include "generator/layer/shape.h"
#include "tests/language/random_layer.h"

namespace convtgen {
namespace {

using testing_support::random_layer;
using testing_support::seeded;

constexpr int kLayers = 5000;

TEST(RoundTrip, CanonicalForm) {
  for (int seed = 0; seed < kLayers; ++seed) {
    const Layer layer = random_layer(seeded(static_cast<std::uint64_t>(seed)));
    ASSERT_TRUE(check_limits(layer).empty()) << "seed " << seed << ": " << check_limits(layer).front().message;
    const std::string text = canonical_form(layer);
    const auto parsed = parse_layer(text);
    ASSERT_TRUE(parsed) << "seed " << seed << "\n" << render_text(parsed.error(), text, "layer", false);
    ASSERT_EQ(*parsed, layer) << "seed " << seed << ": " << text;
    ASSERT_EQ(canonical_form(*parsed), text);
    ASSERT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST(RoundTrip, Blocks) {
  std::string file;
  std::vector<NamedLayer> layers;
  for (int seed = 0; seed < 1000; ++seed) {
    layers.push_back(
        {"layer_" + std::to_string(seed), random_layer(seeded(static_cast<std::uint64_t>(seed) + kLayers))});
    file += (seed > 0 ? "\n" : "") + print_layer(layers.back());
  }
  const auto parsed = parse_file(file);
  ASSERT_TRUE(parsed) << render_text(parsed.error(), file, "file", false);
  ASSERT_EQ(parsed->size(), layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    ASSERT_EQ((*parsed)[i], layers[i]) << print_layer(layers[i]);
  }
  // What print_layer writes is laid out as the formatter would.
  const auto formatted = format_file(file);
  ASSERT_TRUE(formatted);
  EXPECT_EQ(*formatted, file);
}

TEST(RoundTrip, TheLayersReachEveryProperty) {
  std::map<std::string, int> seen;
  for (int seed = 0; seed < kLayers; ++seed) {
    const Layer layer = random_layer(seeded(static_cast<std::uint64_t>(seed)));
    ++seen["dimensions " + std::to_string(layer.dimensions)];
    for (const auto& [word, property] :
         {std::pair{"stride", &Axis::stride}, std::pair{"output_padding", &Axis::output_padding},
          std::pair{"dilation", &Axis::dilation}}) {
      const bool is_usual =
          std::ranges::all_of(layer.axes, [&](const Axis& axis) { return axis.*property == kNoAxis.*property; });
      ++seen[fmt::format("{}{}", word, is_usual ? fmt::format(" {}", kNoAxis.*property) : "")];
    }
    const auto is_even = [](const Axis& axis) { return axis.padding.before == axis.padding.after; };
    const auto has_padding = [](const Axis& axis) { return axis.padding != Padding(); };
    ++seen[!std::ranges::any_of(layer.axes, has_padding) ? "padding 0"
           : std::ranges::all_of(layer.axes, is_even)    ? "padding"
                                                         : "padding before:after"];
    ++seen[layer.groups == 1 ? "groups 1" : "groups"];
    ++seen[layer.batch ? "batch" : "batch ?"];
    ++seen[layer.axes[kDepth].extent ? "depth" : "depth ?"];
    ++seen[layer.axes[kHeight].extent ? "height" : "height ?"];
    ++seen[layer.axes[kWidth].extent ? "width" : "width ?"];
    ++seen[layer.bias ? "bias" : "no bias"];
    ++seen[layer.fuse.empty() ? "no fuse" : "fuse"];
    ++seen[layer.fuse_input.empty() ? "no fuse_input" : "fuse_input"];
    for (const Activation& step : layer.fuse) {
      ++seen["activation " + std::string(name_of(step.kind))];
    }
    ++seen["dtype " + std::string(name_of(layer.dtype))];
    ++seen["compute " + std::string(name_of(layer.compute))];
    ++seen["layout " + std::string(name_of(layer.layout))];
    ++seen["weight_layout " + std::string(name_of(layer.weight_layout))];
    ++seen[layer.streaming ? "streaming" : "no streaming"];
    for (const Direction direction : layer.directions) {
      ++seen["direction " + std::string(name_of(direction))];
    }
  }
  EXPECT_EQ(seen.size(), 2U * 12 + 2 + 2 + 13 + 4 + 6 + 2 + 2 + 2 + 4);
  for (const auto& [property, count] : seen) {
    EXPECT_GE(count, 50) << property;
  }
}

TEST(RoundTrip, DifferentLayersHaveDifferentForms) {
  std::map<std::string, Layer> forms;
  for (int seed = 0; seed < kLayers; ++seed) {
    const Layer layer = random_layer(seeded(static_cast<std::uint64_t>(seed)));
    const auto [found, is_new] = forms.emplace(canonical_form(layer), layer);
    ASSERT_TRUE(is_new || found->second == layer) << found->first;
  }
}

}  // namespace
}  // namespace convtgen
