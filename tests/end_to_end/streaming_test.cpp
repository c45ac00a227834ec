// Layers with `streaming`: calls of chunks give the bits of one call with the whole sequence, in each template that
// takes such layers. All calls of a layer are of one kernel.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/layer/stream.h"
#include "generator/planner/candidates.h"
#include "generator/planner/table/templates.h"
#include "runtime/reference/run_layer.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/layer/chunk_call.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

constexpr std::int64_t kMostMultiplyAdds = 2'000'000;
constexpr int kMostDraws = 20'000;

std::vector<std::string> streaming_templates() {
  std::vector<std::string> names;
  for (const Template& each : templates()) {
    if (each.streams) {
      names.emplace_back(each.name);
    }
  }
  return names;
}

struct Streamed {
  std::string text, architecture;
  std::int64_t batch = 1;
  std::vector<std::int64_t> chunks;
  [[nodiscard]] std::string words() const {
    return fmt::format("{}; batch {}, chunks {} on {}", text, batch, fmt::join(chunks, " "), architecture);
  }
};

class Source {
 public:
  explicit Source(const std::string& name) : random_(seeded_by("streaming " + name)) {}

  Streamed next() {
    Streamed drawn;
    const std::int64_t stride = pick(0, 3) == 0 ? 1 : pick(2, 9);
    const std::int64_t kernel = pick(0, 2) == 0 ? 2 * stride : pick(0, 1) == 0 ? stride : pick(1, 17);
    const std::int64_t dilation = pick(0, 2) == 0 ? pick(2, 4) : 1;
    const std::int64_t reach = dilation * (kernel - 1) + 1;
    const auto end = [&] { return pick(0, 2) == 0 ? 0 : pick(0, pick(0, 4) == 0 ? reach + 2 : (reach + 1) / 2); };
    const std::int64_t before = end(), after = pick(0, 1) == 0 ? before : end();
    const std::int64_t output_padding = pick(0, 1) == 0 ? 0 : pick(0, std::max(stride, dilation) - 1);
    constexpr std::array kModes = {"dtype f32",    "compute tf32",  "dtype f16", "dtype bf16",
                                   "compute tf32", "compute f32x3", "dtype f16", "dtype f64"};
    const std::int64_t groups = pick(0, 3) == 0 ? pick(2, 3) : 1;
    const auto channels = [&] { return groups * (pick(0, 1) == 0 ? 8 * pick(1, 5) : pick(1, 20)); };
    const std::int64_t in = channels(), out = channels();
    drawn.batch = pick(1, 2);
    drawn.text = fmt::format(
        "conv_transpose1d {} -> {}; kernel {}; stride {}; padding {}:{}; output_padding {}; dilation {}; groups {}; "
        "{}; "
        "layout {}; weight_layout {}; streaming{}{}{}",
        in, out, kernel, stride, before, after, output_padding, dilation, groups, one_of(kModes),
        pick(0, 1) == 0 ? "nchw" : "nhwc", pick(0, 1) == 0 ? "contiguous" : "channels_last",
        pick(0, 1) == 0 ? "" : "; bias", pick(0, 2) == 0 ? "; fuse leaky_relu(0.1)" : "",
        pick(0, 1) == 0 ? "" : fmt::format("; input {}x?", drawn.batch));
    constexpr std::array kArchitectures = {"sm_75", "sm_80", "sm_90a"};
    drawn.architecture = one_of(kArchitectures);
    drawn.chunks.resize(static_cast<std::size_t>(pick(2, 6)));
    for (std::int64_t& chunk : drawn.chunks) {
      chunk = pick(0, 2) == 0 ? 1 : pick(0, 4) == 0 ? pick(40, 120) : pick(2, 20);
    }
    return drawn;
  }
  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most - least + 1));
  }

 private:
  template <std::size_t N>
  const char* one_of(const std::array<const char*, N>& words) {
    return words[static_cast<std::size_t>(pick(0, std::ssize(words) - 1))];
  }
  std::mt19937_64 random_;
};

/// Copies some positions of each row of `from` to a place in the rows of `to`. Rows are those of channels, or of images
/// with channels last.
void copy_rows(const Layer& layer, std::int64_t batch, std::int64_t channels, const HostArray& from, std::int64_t first,
               HostArray& to, std::int64_t at, std::int64_t count) {
  const bool channels_last = layer.layout == Layout::kNhwc;
  const std::int64_t rows = channels_last ? batch : batch * channels;
  const std::int64_t bytes = bytes_of(layer.dtype) * (channels_last ? channels : 1);
  const std::int64_t from_pitch = std::ssize(from.bytes) / rows, to_pitch = std::ssize(to.bytes) / rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::memcpy(to.bytes.data() + row * to_pitch + at * bytes, from.bytes.data() + row * from_pitch + first * bytes,
                static_cast<std::size_t>(count * bytes));
  }
}

/// Numbers whose sums show what they depend on: quiet parts of a sequence next to loud ones, zeros of both signs, tiny
/// ones, one that is infinite.
void make_special(const Layer& layer, HostArray& x, std::int64_t length, Source& source) {
  const std::int64_t quietest = layer.dtype == Dtype::kF16 ? -12 : -40;  // what f32x3 cuts off next to 1
  std::vector<double> loudness;
  while (std::ssize(loudness) < length) {
    loudness.insert(loudness.end(), static_cast<std::size_t>(source.pick(1, 20)), std::exp2(source.pick(quietest, 0)));
  }
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::int64_t frame = layer.layout == Layout::kNhwc ? i / layer.in_channels % length : i % length;
    const std::int64_t kind = source.pick(0, 19);
    x.set(i, kind < 3 ? std::array{0.0, -0.0, 1e-30}[static_cast<std::size_t>(kind)]
                      : x.at(i) * loudness[static_cast<std::size_t>(frame)]);
  }
  if (source.pick(0, 1) == 0) {
    x.set(source.pick(0, x.size() - 1), std::numeric_limits<double>::infinity());
  }
}

Result<HostArray> called(Device& device, LoadedLayer& loaded, const LayerInputs& inputs, std::int64_t batch,
                         std::int64_t length) {
  const auto call = make_call(device, loaded, {batch, {1, length}}, inputs);
  if (!call) {
    return std::unexpected(call.error());
  }
  if (auto run = run_call(device, loaded, *call); !run) {
    return std::unexpected(run.error());
  }
  return read_output(device, loaded.problem.layer, *call);
}

/// The outputs of calls for chunks, one after the other.
Result<HostArray> streamed(Device& device, LoadedLayer& loaded, const LayerInputs& inputs, const Streamed& drawn,
                           HostArray y) {
  const Layer& layer = loaded.problem.layer;
  const Stream stream = stream_of(layer.axes[kWidth]);
  std::ranges::fill(y.bytes, std::byte{0xA5});
  std::int64_t before = 0, given = 0;
  const auto run = [&](const ChunkCall& chunk) -> Result<void> {
    if (chunk.count > 0) {
      LayerInputs own = inputs;
      own.x = random_inputs(layer, shape_of(layer, {drawn.batch, {1, chunk.frames}}).value(), 1).x;
      copy_rows(layer, drawn.batch, layer.in_channels, inputs.x, before - chunk.kept, own.x, 0, chunk.frames);
      const auto made = called(device, loaded, own, drawn.batch, chunk.frames);
      if (!made) {
        return std::unexpected(made.error());
      }
      copy_rows(layer, drawn.batch, layer.out_channels, *made, chunk.first, y, given, chunk.count);
    }
    before += chunk.frames - chunk.kept;
    given += chunk.count;
    return {};
  };
  for (const std::int64_t frames : drawn.chunks) {
    if (auto done = run(chunk_call(stream, before, frames)); !done) {
      return std::unexpected(done.error());
    }
  }
  if (auto done = run(rest_call(stream, before)); !done) {
    return std::unexpected(done.error());
  }
  return y;
}

std::int64_t length_of(const Streamed& drawn) {
  return std::accumulate(drawn.chunks.begin(), drawn.chunks.end(), std::int64_t{0});
}

/// Where outputs of chunks differ from those of one call, or what failed; nothing where they are the same.
std::optional<std::string> difference_of(Device& device, const Problem& problem, const Plan& plan,
                                         const LayerInputs& inputs, const Streamed& drawn) {
  auto loaded = load_layer(device, problem, plan);
  if (!loaded) {
    return loaded.error().message;
  }
  const auto whole = called(device, *loaded, inputs, drawn.batch, length_of(drawn));
  const auto chunks = whole ? streamed(device, *loaded, inputs, drawn, *whole) : whole;
  if (!chunks) {
    return chunks.error().message;
  }
  const auto different = std::ranges::mismatch(whole->bytes, chunks->bytes);
  if (different.in1 == whole->bytes.end()) {
    return std::nullopt;
  }
  return fmt::format("element {}", (different.in1 - whole->bytes.begin()) / bytes_of(problem.layer.dtype));
}

class StreamingTest : public ::testing::TestWithParam<std::string> {};

TEST_P(StreamingTest, ChunksHaveTheBitsOfOneCall) {
  const Template& known = *template_named(GetParam()).value();
  const std::unique_ptr<Device> device = test_device(1);
  ASSERT_NE(device, nullptr);
  Source source(GetParam());
  const int wanted = tests_all() ? 100 : 4;
  int done = 0;
  for (int draws = 0; done < wanted && draws < kMostDraws; ++draws) {
    const Streamed drawn = source.next();
    const auto layer = parse_layer(drawn.text);
    ASSERT_TRUE(layer) << render_text(layer.error(), drawn.text, "layer", false);
    const auto shape = shape_of(*layer, {drawn.batch, {1, length_of(drawn)}});
    if (!shape || multiply_adds(*layer, *shape) > kMostMultiplyAdds) {
      continue;
    }
    const Problem problem{*layer, Direction::kForward, target_named(drawn.architecture).value()};
    const auto plans = known.plans(problem);
    if (!plans) {
      continue;
    }
    const Plan& plan = (*plans)[static_cast<std::size_t>(source.pick(0, std::ssize(*plans) - 1))];
    LayerInputs inputs = random_inputs(*layer, *shape, static_cast<std::uint64_t>(draws));
    if (source.pick(0, 3) > 0) {
      make_special(*layer, inputs.x, length_of(drawn), source);
    }
    const auto difference = difference_of(*device, problem, plan, inputs, drawn);
    EXPECT_FALSE(difference) << drawn.words() << " (" << plan.summary << "; " << plan.reason << "): " << *difference;
    ++done;
  }
  EXPECT_EQ(done, wanted);
}

INSTANTIATE_TEST_SUITE_P(Template, StreamingTest, ::testing::ValuesIn(streaming_templates()),
                         [](const auto& info) { return info.param; });

// What templates that refuse such layers would do: a loud frame takes bits from quiet ones in its tile.
TEST(Streaming, ScalesOfTilesMakeOtherBits) {
  const Streamed drawn{.text = "conv_transpose1d 16 -> 8; kernel 4; stride 2; padding 1; compute f32x3",
                       .architecture = "sm_80",
                       .chunks = {8, 8}};
  const Problem problem{parse_layer(drawn.text).value(), Direction::kForward, target_named(drawn.architecture).value()};
  const std::unique_ptr<Device> device = test_device(1);
  ASSERT_NE(device, nullptr);
  LayerInputs inputs = random_inputs(problem.layer, shape_of(problem.layer, {1, {1, 16}}).value(), 1);
  for (std::int64_t i = 0; i < inputs.x.size(); ++i) {
    inputs.x.set(i, inputs.x.at(i) * (i % 16 < 8 ? std::exp2(-30) : 1));
  }
  std::vector<std::string> differences;
  for (const Template& each : templates()) {
    const auto plans = each.direction == Direction::kForward && !each.streams
                           ? each.plans(problem)
                           : Result<std::vector<Plan>>(std::vector<Plan>());
    if (plans && !plans->empty()) {
      differences.push_back(difference_of(*device, problem, plans->front(), inputs, drawn).value_or("none"));
    }
  }
  EXPECT_THAT(differences, ::testing::Contains(::testing::StartsWith("element")));
}

TEST(Streaming, EachArchitectureHasPlans) {
  for (const Target& target : known_targets()) {
    for (const std::string_view mode : {"dtype f32", "compute tf32", "compute f32x3", "dtype f16", "dtype f64"}) {
      const Layer layer =
          parse_layer(fmt::format("conv_transpose1d 64 -> 32; kernel 16; stride 8; padding 4; {}; streaming", mode))
              .value();
      const auto found = candidates({layer, Direction::kForward, target});
      ASSERT_TRUE(found) << target.architecture;
      for (const Plan& plan : found->plans) {
        EXPECT_TRUE(template_of(plan).streams) << plan.template_name;
      }
    }
  }
}

TEST(Streaming, OtherTemplatesRefuseWithTheReason) {
  const Problem problem{
      parse_layer("conv_transpose1d 64 -> 64; kernel 4; stride 2; padding 1; dtype f16; layout nhwc; streaming")
          .value(),
      Direction::kForward, target_named("sm_90a").value()};
  for (const Template& each : templates()) {
    if (each.direction == Direction::kForward && !each.streams) {
      const auto plans = each.plans(problem);
      ASSERT_FALSE(plans) << each.name;
      EXPECT_EQ(plans.error().message,
                "streaming; the bits of its outputs depend on where they are in a call, or on inputs of others")
          << each.name;
    }
  }
}

}  // namespace
}  // namespace convtgen::testing
