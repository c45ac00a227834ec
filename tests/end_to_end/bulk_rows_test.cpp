// `shift_gemm` and `f32x3_gemm` with rows by bulk copies, on few blocks: a stage is filled for many tiles, with a halo
// outside the image and without, and must hold nothing of those before. Where rows begin anywhere in a 16-byte vector,
// x does too.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/run_layer.h"
#include "tests/planner/problems.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

struct Case {
  const char* name;
  const char* layer;
  int begin = 0;  // x begins so many elements after a 16-byte vector's first
};

/// The best plans with rows by bulk copies, of as many kinds of tile as there are, at most three.
std::vector<Plan> plans_of(const Problem& problem) {
  std::vector<Plan> wanted;
  std::vector<std::int64_t> heights;
  const std::vector<Plan> all = plan(problem).value();
  for (const Plan& each : all) {
    const bool is_shifted = each.parameters.contains("bulk");  // by copies of either kind
    const bool is_of_clusters = each.parameters.contains("cluster") && integer(each, "cluster") > 1;
    if (wanted.size() == 3 || !is_shifted || !flag(each, "bulk") || is_of_clusters) {
      continue;
    }
    const auto height = integer(each, "tile_h");
    if (std::ranges::find(heights, height) == heights.end()) {
      heights.push_back(height);
      wanted.push_back(each);
    }
  }
  return wanted;
}

/// x in memory, so many elements after the buffer's first, which are NaN.
std::shared_ptr<Buffer> upload_after(Device& device, const HostArray& x, std::size_t begin) {
  const std::vector<float> before(begin, std::numeric_limits<float>::quiet_NaN());
  std::vector<std::byte> bytes(begin * sizeof(float) + x.bytes.size());
  const auto after = std::ranges::copy(std::as_bytes(std::span(before)), bytes.begin()).out;
  std::ranges::copy(x.bytes, after);
  std::shared_ptr<Buffer> buffer = device.allocate(bytes.size()).value();
  EXPECT_TRUE(device.upload(*buffer, bytes));
  return buffer;
}

class BulkRows : public ::testing::TestWithParam<Case> {};

TEST_P(BulkRows, LeaveNothingOfOneTileToTheNext) {
  const Layer layer = parse_layer(GetParam().layer).value();
  const InputSizes sizes = known_sizes(layer).value();
  const Problem problem{layer, Direction::kForward, target_named("sm_90a").value()};
  const LayerInputs inputs = random_inputs(layer, shape_of(layer, sizes).value(), 5);
  const std::vector<Plan> plans = plans_of(problem);
  ASSERT_FALSE(plans.empty());
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    candidates.push_back({fmt::format("{}/{}", GetParam().name, i), {"any"}});
  }
  const std::unique_ptr<HostDevice> device = open_host_device(HostOptions{.workers = 1}).value();
  for (const std::size_t drawn : sample(candidates, 1)) {  // one of each layer's
    const Plan& plan = plans[drawn];
    SCOPED_TRACE(plan.summary + "; " + plan.reason);
    Result<LoadedLayer> loaded = load_layer(*device, problem, plan);
    ASSERT_TRUE(loaded) << loaded.error().message;
    UploadedInputs uploaded = upload_inputs(*device, layer, sizes, inputs).value();
    uploaded.buffers.set(Role::kX, upload_after(*device, inputs.x, static_cast<std::size_t>(GetParam().begin)));
    LayerCall call = make_call(*device, *loaded, std::move(uploaded)).value();
    call.launches.back().blocks = plan.launch.main().grid.blocks_per_tile;
    call.launches.back().arguments.front() += static_cast<std::uint64_t>(GetParam().begin) * sizeof(float);  // x
    const Result<void> run = run_call(*device, *loaded, call);
    ASSERT_TRUE(run) << run.error().message;
    const Verification verified = verify_call(*device, layer, call, inputs).value();
    EXPECT_TRUE(verified.passed()) << describe(verified, layer);
  }
}

constexpr Case kCases[] = {
    {"halo", "conv_transpose2d 32 -> 8; kernel 3x3; padding 1x1; input 2x20x64; compute tf32"},
    {"more_k_blocks_than_stages", "conv_transpose2d 208 -> 8; kernel 3x3; padding 1x1; input 1x20x64; compute tf32"},
    {"channels_beyond", "conv_transpose2d 40 -> 8; kernel 3x3; padding 1x1; input 3x20x72; compute tf32"},
    {"several_images", "conv_transpose2d 35 -> 8; kernel 3x3; stride 2x2; padding 1x1; input 11x6x8; compute tf32"},
    {"halves", "conv_transpose2d 40 -> 8; kernel 3x3; padding 1x1; input 2x20x72; dtype f16"},
    {"scaled", "conv_transpose2d 40 -> 8; kernel 3x3; padding 1x1; input 2x20x72; compute f32x3"},
    {"more_producers_than_rows",
     "conv_transpose2d 8 -> 20; kernel 2x11; stride 3x3; padding 2x2; output_padding 1x1; dilation 3x1; input 2x40x4; "
     "compute f32x3"},
    {"one_row", "conv_transpose1d 40 -> 8; kernel 4; stride 2; padding 1; input 3x1000; compute tf32"},
    {"anywhere", "conv_transpose2d 48 -> 8; kernel 3x3; padding 1x1; input 2x20x67; compute tf32"},
    {"anywhere_more_k_blocks", "conv_transpose2d 210 -> 8; kernel 3x3; padding 1x1; input 1x24x67; compute tf32"},
    {"anywhere_after", "conv_transpose2d 40 -> 8; kernel 3x3; padding 1x1; input 2x20x67; compute tf32", 1},
    {"anywhere_small", "conv_transpose2d 1 -> 8; kernel 3x3; stride 2x2; padding 1x1; input 9x1x1; compute tf32", 3},
    {"anywhere_one_row", "conv_transpose1d 35 -> 8; kernel 3; stride 3; input 2x1001; compute tf32", 3},
    {"anywhere_outside",
     "conv_transpose2d 24 -> 8; kernel 3x1; dilation 1x4; output_padding 0x3; input 2x9x63; compute tf32", 2}};
INSTANTIATE_TEST_SUITE_P(Layers, BulkRows, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace convtgen::testing
