#include "runtime/reference/samples.h"

#include <algorithm>
#include <random>
#include <set>

#include "runtime/reference/layer_arrays.h"

namespace convtgen {
namespace {

/// Random numbers below others.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  [[nodiscard]] std::int64_t operator()(std::int64_t below) {
    return std::uniform_int_distribution<std::int64_t>(0, below - 1)(random_);
  }

 private:
  std::mt19937_64 random_;
};

/// The k-th place on the border of one plane, with depth 0: the first row, the last row, then the columns between them.
Extents border_place(const Extents& extents, std::int64_t k) {
  const std::int64_t full_rows = std::min<std::int64_t>(extents[kHeight], 2);
  if (k < full_rows * extents[kWidth]) {
    return {0, k / extents[kWidth] == 0 ? 0 : extents[kHeight] - 1, k % extents[kWidth]};
  }
  k -= full_rows * extents[kWidth];
  const std::int64_t columns = std::min<std::int64_t>(extents[kWidth], 2);
  return {0, 1 + k / columns, k % columns == 0 ? 0 : extents[kWidth] - 1};
}

std::int64_t border_count(const Extents& extents) {
  const std::int64_t full_rows = std::min<std::int64_t>(extents[kHeight], 2);
  const std::int64_t columns = std::min<std::int64_t>(extents[kWidth], 2);
  return full_rows * extents[kWidth] + std::max<std::int64_t>(extents[kHeight] - 2, 0) * columns;
}

bool is_image(Role role) {
  return without_gradient(role) == Role::kX || without_gradient(role) == Role::kY;
}

Samples choose_of_images(const Layer& layer, const Shape& shape, const SampleOptions& options, Role role) {
  Samples samples;
  Draw draw(options.seed);
  const std::int64_t elements = element_count(shape, role);
  for (std::int64_t i = 0; i < options.random; ++i) {
    samples.offsets.push_back(draw(elements));
  }
  const Images images = images_of(shape, role);
  const Extents& extents = images.extents;
  const std::int64_t planes = shape.batch * images.channels * extents[kDepth];  // rows by columns
  const std::int64_t on_border = border_count(extents);
  const auto add_border = [&](std::int64_t plane, std::int64_t k) {
    ElementPosition position{plane / extents[kDepth] / images.channels, plane / extents[kDepth] % images.channels,
                             border_place(extents, k)};
    position.at[kDepth] = plane % extents[kDepth];
    samples.offsets.push_back(offset_of(layer, shape, role, position));
  };
  samples.border_elements = planes * on_border;
  samples.all_borders = samples.border_elements <= options.most_borders;
  if (samples.all_borders) {
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      for (std::int64_t k = 0; k < on_border; ++k) {
        add_border(plane, k);
      }
    }
  } else {
    // The corners of as many planes as fit, spread evenly, and random border elements of all planes.
    const std::int64_t corner_planes = std::min(planes, options.most_borders / 8);
    for (std::int64_t i = 0; i < corner_planes; ++i) {
      const std::int64_t plane = i * (planes / corner_planes);
      for (const std::int64_t k :
           {std::int64_t{0}, extents[kWidth] - 1, (std::min<std::int64_t>(extents[kHeight], 2) - 1) * extents[kWidth],
            std::min<std::int64_t>(extents[kHeight], 2) * extents[kWidth] - 1}) {
        add_border(plane, k);
      }
    }
    for (std::int64_t i = 0; i < options.most_borders / 2; ++i) {
      add_border(draw(planes), draw(on_border));
    }
  }
  std::sort(samples.offsets.begin(), samples.offsets.end());
  samples.offsets.erase(std::unique(samples.offsets.begin(), samples.offsets.end()), samples.offsets.end());
  return samples;
}

/// So many different numbers below another one, each set of them as likely as the others (Floyd's algorithm).
std::vector<std::int64_t> choose_different(std::int64_t count, std::int64_t below, Draw draw) {
  std::set<std::int64_t> chosen;
  for (std::int64_t last = below - count; last < below; ++last) {
    if (!chosen.insert(draw(last + 1)).second) {
      chosen.insert(last);
    }
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace

std::int64_t most_samples(const Shape& shape, const SampleOptions& options, Role role) {
  if (is_image(role)) {
    return options.random + options.most_borders;
  }
  const Images images = images_of(shape, without_gradient(role) == Role::kWeight ? Role::kX : Role::kY);
  const std::int64_t terms = std::max<std::int64_t>(1, shape.batch * images.places());  // of an element, at most
  return std::min(element_count(shape, role),
                  std::max(kLeastSamples, std::min(options.random, options.most_terms / terms)));
}

Samples choose_samples(const Layer& layer, const Shape& shape, const SampleOptions& options, Role role) {
  const std::int64_t elements = element_count(shape, role);
  if (elements == 0) {
    return {};
  }
  if (is_image(role)) {
    return choose_of_images(layer, shape, options, role);
  }
  return {.offsets = choose_different(most_samples(shape, options, role), elements, Draw(options.seed))};
}

}  // namespace convtgen
