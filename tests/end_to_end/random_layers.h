// Random legal layers, most of a size that the host device can run, and the classes that their properties fall in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "tests/template_facts/drawer.h"

namespace convtgen::testing {

/// A layer with the sizes to run it at (sizes the layer leaves open are drawn too).
struct RandomLayer {
  Layer layer;
  InputSizes sizes;
};

/// "2x5x7": batch, height and width; with three axes "2x4x5x7".
[[nodiscard]] std::string text_of_sizes(const RandomLayer& drawn);

/// A property of a layer, or of the sizes that it is run at, and the classes of its values.
struct Property {
  std::string_view name;                  // "padding_w"
  std::vector<std::string_view> classes;  // "0", "below the reach", ...
};
[[nodiscard]] std::span<const Property> properties();
/// So many of them are of layers of one and two axes; the others are of the depth.
inline constexpr std::size_t kFlatProperties = 27;

/// For each of properties() the index of the layer's class.
using Classes = std::vector<int>;
[[nodiscard]] Classes classes_of(const RandomLayer& drawn);

/// What a drawn layer must be.
struct Wanted {
  std::optional<Compute> compute = {};
  std::optional<Layout> layout = {};
  const LayerDrawer* drawer = nullptr;                    // of the template that probably takes it
  std::vector<std::pair<std::size_t, int>> classes = {};  // of these properties
};

/// What is to be done with the layers that are drawn.
enum class Use : std::uint8_t { kRun, kCompile };  // kRun: what the host device runs in about a second

/// Draws layers one after the other. The same seed, use and wishes give the same layers.
class LayerSource {
 public:
  explicit LayerSource(std::uint64_t seed, Use use = Use::kRun) : random_(seed), use_(use) {}

  [[nodiscard]] RandomLayer next();
  /// Nothing where many attempts found none.
  [[nodiscard]] std::optional<RandomLayer> next(const Wanted& wanted);

 private:
  void draw_axis(const Wanted& wanted, std::size_t axis, RandomLayer& drawn);
  [[nodiscard]] std::int64_t draw_channels(int kind, std::int64_t most);
  [[nodiscard]] Activation draw_activation();
  [[nodiscard]] RandomLayer draw(const Wanted& wanted);

  RandomNumbers random_;
  Use use_;
};

}  // namespace convtgen::testing
