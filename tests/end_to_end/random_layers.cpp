#include "tests/end_to_end/random_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace convtgen::testing {
namespace {

// Properties and their values. Small ones: the host device runs thousands of these layers.
enum Property : std::size_t {
  kDimensions,
  kKernelH,
  kKernelW,
  kStrideH,
  kStrideW,
  kPaddingH,
  kPaddingW,
  kOutputPaddingH,
  kOutputPaddingW,
  kDilationH,
  kDilationW,
  kGroups,
  kGroupIn,
  kGroupOut,
  kBias,
  kMode,
  kLayout,
  kFuse,
  kBatch,
  kHeight,
  kWidth,
  kBatchKnown,
  kHeightKnown,
  kWidthKnown,
  kProperties
};

struct Values {
  const char* name;
  std::vector<int> values;
};

const std::array<Values, kProperties>& properties() {
  static const std::array<Values, kProperties> all = {{
      {"dimensions", {1, 2}},
      {"kernel_h", {1, 2, 3, 4, 5, 8}},
      {"kernel_w", {1, 2, 3, 4, 7, 11}},
      {"stride_h", {1, 2, 3, 5}},
      {"stride_w", {1, 2, 3, 4, 20}},
      {"padding_h", {0, 1, 2, 3}},
      {"padding_w", {0, 1, 2, 5}},
      {"output_padding_h", {0, 1, 2}},
      {"output_padding_w", {0, 1, 2}},
      {"dilation_h", {1, 2, 3}},
      {"dilation_w", {1, 2, 4}},
      {"groups", {1, 2, 3, 6}},
      {"channels in a group", {1, 3, 8, 17}},
      {"channels out of a group", {1, 2, 5, 8, 20}},
      {"bias", {0, 1}},
      {"mode", {0, 1, 2, 3, 4, 5}},
      {"layout", {0, 1}},
      {"fuse", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}},  // none, each activation, a chain
      {"batch", {0, 1, 2, 5}},
      {"height", {1, 2, 5, 19, 40}},
      {"width", {1, 3, 17, 70, 150}},
      {"batch known", {0, 1}},
      {"height known", {0, 1}},
      {"width known", {0, 1}},
  }};
  return all;
}

constexpr int kActivations = 12;
constexpr int kChain = 13;
constexpr std::int64_t kMostMultiplyAdds = 3'000'000;
constexpr std::int64_t kMostOutputs = 250'000;

constexpr std::array<std::pair<Dtype, Compute>, 6> kModes = {{{Dtype::kF64, Compute::kF64},
                                                              {Dtype::kF32, Compute::kF32},
                                                              {Dtype::kF32, Compute::kTf32},
                                                              {Dtype::kF32, Compute::kF32x3},
                                                              {Dtype::kF16, Compute::kF16},
                                                              {Dtype::kBf16, Compute::kBf16}}};

int value(const std::vector<int>& choice, Property property) {
  return properties()[property].values[static_cast<std::size_t>(choice[property])];
}

/// What conv_transpose1d fixes: everything of the row axis.
bool fixed_in_1d(std::size_t property) {
  return property == kKernelH || property == kStrideH || property == kPaddingH || property == kOutputPaddingH ||
         property == kDilationH || property == kHeight || property == kHeightKnown;
}

/// The value index of a property that conv_transpose1d fixes: height is 1 and known; the others are the first (1 or 0).
int index_in_1d(std::size_t property) {
  return property == kHeightKnown ? 1 : 0;
}

/// Pairs that no legal layer can show.
bool impossible(std::size_t p, int v, std::size_t q, int w) {
  if (p == kDimensions && v == 0 && fixed_in_1d(q)) {
    return w != index_in_1d(q);
  }
  return false;
}

Activation activation(int kind, std::mt19937_64& random) {
  std::uniform_real_distribution<double> number(-1.5, 1.5);
  Activation step{static_cast<ActivationKind>(kind), 0, 0};
  // Numbers of few digits read well in the emitted source.
  const auto draw = [&] { return static_cast<double>(static_cast<int>(number(random) * 64)) / 64; };
  if (argument_count(step.kind) >= 1) {
    step.a = draw();
  }
  if (argument_count(step.kind) == 2) {
    step.b = draw();
    if (step.a > step.b) {
      std::swap(step.a, step.b);
    }
  }
  return step;
}

}  // namespace

LayerSource::LayerSource(std::uint64_t seed) : random_(seed) {
  for (const Values& property : properties()) {
    offset_.push_back(values_);
    values_ += property.values.size();
  }
  seen_values_.assign(values_, 0);
  seen_pairs_.assign(values_ * values_, 0);
}

std::size_t LayerSource::pair_index(std::size_t p, int v, std::size_t q, int w) const {
  return (offset_[p] + static_cast<std::size_t>(v)) * values_ + offset_[q] + static_cast<std::size_t>(w);
}

LayerSource::Choice LayerSource::draw() {
  Choice choice(kProperties);
  for (std::size_t p = 0; p < kProperties; ++p) {
    choice[p] = static_cast<int>(random_() % properties()[p].values.size());
  }
  if (choice[kBatch] == 0 && random_() % 4 != 0) {
    choice[kBatch] = 1;  // an empty batch shows little
  }
  for (const auto& [property, index] : wanted_) {
    choice[property] = index;
  }
  if (choice[kDimensions] == 0) {
    for (std::size_t p = 0; p < kProperties; ++p) {
      if (fixed_in_1d(p)) {
        choice[p] = index_in_1d(p);
      }
    }
  }
  return choice;
}

void LayerSource::record(const Choice& choice) {
  for (std::size_t p = 0; p < kProperties; ++p) {
    ++seen_values_[offset_[p] + static_cast<std::size_t>(choice[p])];
    for (std::size_t q = p + 1; q < kProperties; ++q) {
      ++seen_pairs_[pair_index(p, choice[p], q, choice[q])];
    }
  }
}

double LayerSource::worth(const Choice& choice) const {
  double worth = 0;
  for (std::size_t p = 0; p < kProperties; ++p) {
    for (std::size_t q = p + 1; q < kProperties; ++q) {
      const std::uint32_t seen = seen_pairs_[pair_index(p, choice[p], q, choice[q])];
      worth += seen == 0 ? 100.0 : 1.0 / seen;
    }
  }
  return worth;
}

RandomLayer LayerSource::build(const Choice& choice) {
  const auto pick = [&](Property property) { return std::int64_t{value(choice, property)}; };
  RandomLayer result;
  Layer& layer = result.layer;
  layer.dimensions = value(choice, kDimensions);
  layer.groups = pick(kGroups);
  layer.in_channels = layer.groups * pick(kGroupIn);
  layer.out_channels = layer.groups * pick(kGroupOut);
  layer.kernel = {pick(kKernelH), pick(kKernelW)};
  layer.stride = {pick(kStrideH), pick(kStrideW)};
  layer.padding = {pick(kPaddingH), pick(kPaddingW)};
  layer.output_padding = {pick(kOutputPaddingH), pick(kOutputPaddingW)};
  layer.dilation = {pick(kDilationH), pick(kDilationW)};
  layer.bias = value(choice, kBias) != 0;
  std::tie(layer.dtype, layer.compute) = kModes[static_cast<std::size_t>(value(choice, kMode))];
  layer.layout = value(choice, kLayout) == 0 ? Layout::kNchw : Layout::kNhwc;
  if (const int fuse = value(choice, kFuse); fuse == kChain) {
    for (int i = 0; i < 3; ++i) {
      layer.fuse.push_back(activation(static_cast<int>(random_() % kActivations), random_));
    }
  } else if (fuse > 0) {
    layer.fuse.push_back(activation(fuse - 1, random_));
  }
  result.sizes = {pick(kBatch), pick(kHeight), pick(kWidth)};
  const auto known = [&](Property property, std::int64_t size) {
    return value(choice, property) != 0 ? Size{size} : std::nullopt;
  };
  layer.batch = known(kBatchKnown, result.sizes.batch);
  layer.height = known(kHeightKnown, result.sizes.height);
  layer.width = known(kWidthKnown, result.sizes.width);
  return result;
}

RandomLayer LayerSource::next() {
  // A pair that is still missing is held fixed while the rest is drawn, so that rare pairs come up too.
  constexpr int kCandidates = 24;
  constexpr int kMostDraws = 4000;
  std::vector<std::array<std::size_t, 4>> open;
  for (std::size_t p = 0; p < kProperties; ++p) {
    for (std::size_t q = p + 1; q < kProperties; ++q) {
      for (std::size_t v = 0; v < properties()[p].values.size(); ++v) {
        for (std::size_t w = 0; w < properties()[q].values.size(); ++w) {
          if (seen_pairs_[pair_index(p, static_cast<int>(v), q, static_cast<int>(w))] == 0 &&
              !impossible(p, static_cast<int>(v), q, static_cast<int>(w))) {
            open.push_back({p, v, q, w});
          }
        }
      }
    }
  }
  wanted_.clear();
  if (!open.empty()) {
    const auto& [p, v, q, w] = open[random_() % open.size()];
    wanted_ = {{p, static_cast<int>(v)}, {q, static_cast<int>(w)}};
  }
  Choice best;
  RandomLayer result;
  double best_worth = -1;
  int candidates = 0;
  for (int draws = 0; candidates < kCandidates || best.empty(); ++draws) {
    if (draws == kMostDraws) {
      wanted_.clear();  // no legal layer of a bearable size was found that shows this pair
    }
    const Choice choice = draw();
    RandomLayer candidate = build(choice);
    if (!check_limits(candidate.layer).empty()) {
      continue;
    }
    const Result<Shape> shape = shape_of(candidate.layer, candidate.sizes);
    if (!shape || shape->output_elements > kMostOutputs || multiply_adds(candidate.layer, *shape) > kMostMultiplyAdds) {
      continue;
    }
    ++candidates;
    if (const double candidate_worth = worth(choice); candidate_worth > best_worth) {
      best_worth = candidate_worth;
      best = choice;
      result = std::move(candidate);
    }
    if (draws > kMostDraws) {
      break;
    }
  }
  record(best);
  return result;
}

std::vector<std::string> LayerSource::missing() const {
  std::vector<std::string> words;
  for (std::size_t p = 0; p < kProperties; ++p) {
    for (int v = 0; v < static_cast<int>(properties()[p].values.size()); ++v) {
      const std::string first =
          fmt::format("{}={}", properties()[p].name, properties()[p].values[static_cast<std::size_t>(v)]);
      if (seen_values_[offset_[p] + static_cast<std::size_t>(v)] == 0) {
        words.push_back(first);
      }
      for (std::size_t q = p + 1; q < kProperties; ++q) {
        for (int w = 0; w < static_cast<int>(properties()[q].values.size()); ++w) {
          if (seen_pairs_[pair_index(p, v, q, w)] == 0 && !impossible(p, v, q, w)) {
            words.push_back(fmt::format("{} & {}={}", first, properties()[q].name,
                                        properties()[q].values[static_cast<std::size_t>(w)]));
          }
        }
      }
    }
  }
  return words;
}

std::string LayerSource::coverage() const {
  std::string text;
  std::size_t possible = 0;
  std::size_t seen = 0;
  for (std::size_t p = 0; p < kProperties; ++p) {
    text += fmt::format("  {}:", properties()[p].name);
    for (std::size_t v = 0; v < properties()[p].values.size(); ++v) {
      text += fmt::format(" {} ({}x)", properties()[p].values[v], seen_values_[offset_[p] + v]);
      for (std::size_t q = p + 1; q < kProperties; ++q) {
        for (std::size_t w = 0; w < properties()[q].values.size(); ++w) {
          if (!impossible(p, static_cast<int>(v), q, static_cast<int>(w))) {
            ++possible;
            seen += seen_pairs_[pair_index(p, static_cast<int>(v), q, static_cast<int>(w))] != 0 ? 1 : 0;
          }
        }
      }
    }
    text += '\n';
  }
  return text + fmt::format("  pairs of values: {} of {} seen\n", seen, possible);
}

}  // namespace convtgen::testing
