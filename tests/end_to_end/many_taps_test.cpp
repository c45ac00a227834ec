// Layers of more taps or phases than a source writes out: `direct` and the gradients' plain templates go over them by
// loops, `halo_gemm` parts the phases of a row. Of random layers those are kept that show a pair of properties which
// none before them shows in a template. A run takes a sample of them; each runs with one plan of the template.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <array>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/table/templates.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/sample/sample.h"
#include "tests/template_facts/facts.h"

namespace convtgen::testing {
namespace {

constexpr int kDraws = 3000;
constexpr std::int64_t kMostOutputs = 40'000;
constexpr std::int64_t kMostMultiplyAdds = 3'000'000;

/// A layer's text, the sizes of its call, and the classes of its properties.
struct Drawn {
  std::string text;
  InputSizes sizes;
  std::vector<std::string> properties;
};

class Source {
 public:
  Drawn next() {
    Drawn drawn;
    const auto property = [&](std::string_view name, std::string value) {
      drawn.properties.push_back(fmt::format("{}={}", name, value));
      return value;
    };
    const bool two = pick(0, 2) == 0;
    property("axes", two ? "2" : "1");
    const Axis rows = two ? axis(drawn, "h", false) : Axis{};
    const Axis columns = axis(drawn, "w", true);
    const auto both = [&](std::int64_t Axis::* member) {
      return two ? fmt::format("{}x{}", rows.*member, columns.*member) : fmt::format("{}", columns.*member);
    };
    constexpr std::array kModes = {"dtype f32",    "dtype f64", "dtype f16",    "dtype bf16",
                                   "compute tf32", "dtype f16", "compute tf32", "compute f32x3"};
    const std::string mode = property("mode", kModes[static_cast<std::size_t>(pick(0, std::ssize(kModes) - 1))]);
    const std::string layout = property("layout", pick(0, 1) == 0 ? "nchw" : "nhwc");
    const std::string weights = property("weights", pick(0, 1) == 0 ? "contiguous" : "channels_last");
    const std::int64_t groups = pick(0, 3) == 0 ? 2 : 1;
    property("groups", groups == 1 ? "1" : "2");
    const std::int64_t in = pick(0, 2) == 0 ? 16 * pick(1, 3) : pick(1, 40);
    property("in", in % 16 == 0 ? "whole" : in < 8 ? "few" : "ragged");
    const std::int64_t out = pick(0, 1) == 0 ? 1 : pick(2, 12);
    property("out", out == 1 ? "1" : out < 8 ? "few" : "more");
    const std::string bias = property("bias", pick(0, 1) == 0 ? "" : "; bias");
    const std::string fuse = property("fuse", pick(0, 2) == 0 ? "; fuse leaky_relu(0.5)" : "");
    const std::int64_t batch = pick(1, 3);
    drawn.sizes = {batch, {rows.extent, columns.extent}};
    const auto size = [&](const Axis& a) { return a.is_open ? std::string("?") : fmt::format("{}", a.extent); };
    drawn.text = fmt::format(
        "conv_transpose{}d {} -> {}; kernel {}; stride {}; padding {}; output_padding {}; dilation {}; groups {}; {}; "
        "layout {}; weight_layout {}; input {}x{}{}{}",
        two ? 2 : 1, in * groups, out * groups, both(&Axis::kernel), both(&Axis::stride), both(&Axis::padding),
        both(&Axis::output_padding), both(&Axis::dilation), groups, mode, layout, weights, batch,
        two ? size(rows) + "x" + size(columns) : size(columns), bias, fuse);
    return drawn;
  }

  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }

 private:
  struct Axis {
    std::int64_t kernel = 1, stride = 1, padding = 0, output_padding = 0, dilation = 1, extent = 1;
    bool is_open = false;
  };

  /// An axis with its classes. `is_long`: of as many taps or phases as these tests are about.
  Axis axis(Drawn& drawn, std::string_view name, bool is_long) {
    const auto property = [&](std::string_view what, std::string_view value) {
      drawn.properties.push_back(fmt::format("{} {}={}", what, name, value));
    };
    Axis a;
    constexpr std::array<std::int64_t, 8> kStrides = {1, 2, 7, 24, 37, 40, 64, 96};
    a.stride = is_long ? kStrides[static_cast<std::size_t>(pick(0, std::ssize(kStrides) - 1))] : pick(1, 5);
    property("stride", a.stride > 32 ? "more than 32" : a.stride > 1 ? "more than 1" : "1");
    const std::int64_t kind = pick(0, 2);
    const std::int64_t times = is_long ? pick(1, std::max<std::int64_t>(1, 280 / a.stride)) : pick(1, 4);
    a.kernel = kind == 0   ? a.stride * times
               : kind == 1 ? a.stride * times + pick(1, std::max<std::int64_t>(1, a.stride - 1))
                           : pick(1, a.stride);
    property("kernel", a.kernel % a.stride == 0 ? "whole" : a.kernel > a.stride ? "ragged" : "below the stride");
    a.dilation = pick(0, 3) == 0 ? pick(2, 4) : 1;
    property("dilation", a.dilation == 1 ? "1" : "more");
    const std::int64_t reach = a.dilation * (a.kernel - 1);
    a.padding = pick(0, 1) == 0 ? 0 : pick(0, 1) == 0 ? std::min(a.stride, reach) : pick(0, reach / 2);
    property("padding", a.padding == 0 ? "0" : a.padding % a.stride == 0 ? "whole" : "some");
    a.output_padding = pick(0, 1) == 0 ? 0 : pick(0, a.stride - 1);
    property("output_padding", a.output_padding == 0 ? "0" : "some");
    a.extent = pick(1, is_long ? 24 : 6);
    a.is_open = pick(0, 3) == 0;
    property("size", a.is_open ? "open" : "known");
    return a;
  }

  std::mt19937_64 random_ = seeded_by("many taps");
};

/// The facts of templates that take layers of more taps than a source writes out.
const std::vector<TemplateFacts>& looping() {
  static const std::vector<TemplateFacts> all = [] {
    std::vector<TemplateFacts> some(template_facts().begin(), template_facts().end());
    std::erase_if(some, [](const TemplateFacts& facts) { return facts.is_of_many_taps == nullptr; });
    return some;
  }();
  return all;
}

struct ManyTaps {
  std::string text;
  InputSizes sizes;
  const Template* of = nullptr;
  Plan plan;
};

/// Layers that show all pairs of properties, of each template.
std::vector<ManyTaps> layers_of_all_pairs() {
  std::vector<ManyTaps> kept;
  std::vector<std::set<std::pair<std::string, std::string>>> seen(looping().size());
  Source source;
  for (int i = 0; i < kDraws; ++i) {
    const Drawn drawn = source.next();
    for (std::size_t t = 0; t < looping().size(); ++t) {
      const Template* known = template_named(looping()[t].name).value();
      const bool is_forward = known->direction == Direction::kForward;
      const std::string text = is_forward
                                   ? drawn.text
                                   : fmt::format("{}; directions {}", drawn.text.substr(0, drawn.text.find("; fuse")),
                                                 name_of(known->direction));
      const auto layer = parse_layer(text);
      if (!layer || !looping()[t].is_of_many_taps(*layer)) {
        continue;
      }
      const auto shape = shape_of(*layer, drawn.sizes);
      if (!shape || shape->output_elements > kMostOutputs ||
          shape->weight_elements * shape->batch * shape->in[kHeight] * shape->in[kWidth] > kMostMultiplyAdds) {
        continue;
      }
      std::set<std::pair<std::string, std::string>> pairs;
      for (const std::string& first : drawn.properties) {
        for (const std::string& second : drawn.properties) {
          if (first < second && (is_forward || (!first.starts_with("fuse") && !second.starts_with("fuse"))) &&
              !seen[t].contains({first, second})) {
            pairs.emplace(first, second);
          }
        }
      }
      if (pairs.empty()) {
        continue;
      }
      const auto plans = known->plans({*layer, known->direction, target_named("sm_90a").value()});
      if (plans) {
        seen[t].merge(pairs);
        kept.push_back(
            {text, drawn.sizes, known, (*plans)[static_cast<std::size_t>(source.pick(0, std::ssize(*plans) - 1))]});
      }
    }
  }
  return kept;
}

constexpr int kParts = 2;  // tests that share the sample; each draws all layers
class ManyTapsTest : public ::testing::TestWithParam<int> {};

TEST_P(ManyTapsTest, MatchTheDefinition) {
  const std::vector<ManyTaps> all = layers_of_all_pairs();
  std::vector<Candidate> candidates;
  for (const ManyTaps& each : all) {
    const Layer layer = parse_layer(each.text).value();
    candidates.push_back({fmt::format("{} {}", each.of->name, each.text),
                          {fmt::format("{} {}", each.of->name, name_of(layer.compute))}});
  }
  const std::unique_ptr<Device> device = test_device(1);
  ASSERT_NE(device, nullptr);
  for (const std::size_t i : part_of(sample(candidates, 10), static_cast<std::size_t>(GetParam()), kParts)) {
    const Layer layer = parse_layer(all[i].text).value();
    const auto failure = failure_of(*device, layer, all[i].sizes, all[i].plan, 1, all[i].of->direction);
    EXPECT_FALSE(failure) << all[i].of->name << ": " << all[i].text << " (" << all[i].plan.summary << "): " << *failure;
  }
}

INSTANTIATE_TEST_SUITE_P(Part, ManyTapsTest, ::testing::Range(0, kParts));

// Each template has layers of each kind, or the test above is about nothing.
TEST(ManyTaps, OccurInEachTemplate) {
  std::vector<int> counts(looping().size());
  for (const ManyTaps& each : layers_of_all_pairs()) {
    for (std::size_t t = 0; t < looping().size(); ++t) {
      counts[t] += each.of->name == looping()[t].name ? 1 : 0;
    }
  }
  for (std::size_t t = 0; t < looping().size(); ++t) {
    fmt::print("{}: {} layers\n", looping()[t].name, counts[t]);
    EXPECT_GE(counts[t], 20) << looping()[t].name;
  }
}

}  // namespace
}  // namespace convtgen::testing
