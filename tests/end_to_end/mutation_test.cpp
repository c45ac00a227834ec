// Every barrier, every step of a pipeline and every bound check of the emitted source is needed: with any one of them
// deleted, a run on the host device fails within 20 seeds. The layers are ragged on every side, so that no check is
// idle.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/planner/templates.h"
#include "tests/end_to_end/broken_sources.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

constexpr std::uint64_t kSeeds = 20;
volatile int chosen = 0;  // which mutant runs

struct Case {
  const char* name;
  const char* template_name;
  const char* layer;
  std::size_t least_mutants;
  bool resident = false;   // for tensor cores: a plan with its weights in shared memory
  bool ping_pong = false;  // a plan whose warpgroups have tiles of their own
  bool bound_checks = true;
  /// Mutants that the host device can't tell: it takes a fence after the issue of a copy for one after its end. And
  /// those that only do what needn't be done, or do it sooner: of `shift_gemm`'s bulk copies and their zeros, and of
  /// scales that would do. Of gradients of the weights: slices of no positions; a wait for a stage that is empty at
  /// first; loads of what nobody stores, and products of rows that nobody stores; in `grad_weight_pixels` a warp that
  /// need not be together before products here, and in flat stages two fences for barriers; in `grad_weight_rows` a
  /// fence for copies where there are none; of rows that are turned, checks for columns that need no zeros, and that
  /// all have read the rows before copies overwrite them. In `tap_gemm` a warp that need not be together before the
  /// cluster's barrier here; in `overlap_gemm` one that need not be before products. In `halo_gemm` rows of images that
  /// have one, loads and stores of a batch's items that do not exist, and loads of a block without tiles, which no grid
  /// has here. In `mma_rows` positions beyond the output, of which nothing is stored. In `mma_phases` the borders of
  /// the input for sums that are not finite, of which there are none here, and the tile's where a block makes the next
  /// one later. In `phase_gemm` the same borders of the input, and a warp that is together after its wait for products.
  int unseen = 0;
  // So that blocks use stages again and go on to other tiles. With one seed each block has one tile all the same.
  bool few_blocks = false;
  // A plan whose positions are one sequence, whose outputs go through shared memory, whose rows come by bulk copies.
  std::optional<bool> flat = {}, staged_epilogue = {}, bulk = {};
  std::optional<std::int64_t> thread_positions = {}, block_n = {};  // of a block
  int cluster = 1;                                                  // blocks that share a tile's channels
  // Parameters that the plan gets, as "stages 2, slices 1": a small block, so that a small layer uses stages again.
  const char* block = "";
};

Plan plan_of(const Problem& problem, const Case& wanted) {
  const std::vector<Plan> plans = plan(problem).value();
  const auto found = std::ranges::find_if(plans, [&](const Plan& each) {
    const auto is = [&]<class Value>(const char* name, std::optional<Value> value) {
      const auto parameter = each.parameters.find(name);
      return !value || parameter == each.parameters.end() || std::get<Value>(parameter->second) == *value;
    };
    return each.template_name == wanted.template_name && is("resident", std::optional(wanted.resident)) &&
           is("ping_pong", std::optional(wanted.ping_pong)) && is("flat", wanted.flat) &&
           is("staged_epilogue", wanted.staged_epilogue) && is("bulk", wanted.bulk) &&
           is("thread_positions", wanted.thread_positions) && is("block_n", wanted.block_n) &&
           each.launch.main().cluster == wanted.cluster;
  });
  if (found == plans.end()) {
    throw std::runtime_error("the planner has no such plan");
  }
  return with_block(problem, *found, wanted.block);
}

void expect_all_needed(const Case& one) {
  SCOPED_TRACE(fmt::format("replay: CONVTGEN_TEST_ONLY='{}' mutation_test", one.name));
  const Layer layer = parse_layer(one.layer).value();
  const InputSizes sizes = known_sizes(layer).value();
  const Problem problem{layer, layer.directions.front(), target_named("sm_90a").value()};
  const Plan plan = plan_of(problem, one);
  const Shape shape = shape_of(layer, sizes).value();
  const LayerInputs inputs = random_inputs(layer, shape, 3, problem.direction);
  const Reference reference = make_reference(layer, shape, inputs, {}, problem.direction);
  const KernelSource source = specialize(problem, plan).value();
  const KernelPlan& main = plan.launch.main();
  const std::int64_t few = std::max<std::int64_t>(main.cluster, main.grid.blocks_per_tile);
  const Broken all = broken(source.text, one.bound_checks, &chosen);
  EXPECT_GE(all.mutants.size(), one.least_mutants);
  KernelSource with_all = source;
  with_all.text = all.text;
  const std::unique_ptr<HostDevice> device = open_host_device(HostOptions{.workers = 1}).value();
  Result<LoadedLayer> loaded = load_source(*device, problem, plan, with_all, store_in_memory());
  ASSERT_TRUE(loaded) << loaded.error().message;

  const auto verdict_of = [&](std::size_t number, std::uint64_t seed) {
    chosen = static_cast<int>(number);
    const std::int64_t blocks = one.few_blocks && seed != 1 ? few : 0;
    return judge(*device, layer, *loaded, sizes, inputs, reference, seed, blocks);
  };
  // Once no more mutants are left than the host device can't tell, more seeds would show nothing.
  const std::size_t enough = tests_all() ? 0 : static_cast<std::size_t>(one.unseen);
  std::vector<std::string> verdicts(all.mutants.size());
  std::size_t left = verdicts.size();
  for (std::uint64_t seed = 0; seed < kSeeds && left > enough; ++seed) {
    ASSERT_EQ(verdict_of(0, seed), "") << "the source as it is";
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      if (verdicts[i].empty()) {
        verdicts[i] = verdict_of(i + 1, seed);
        left -= verdicts[i].empty() ? 0 : 1;
      }
    }
  }
  std::string survivors;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const std::string& verdict = verdicts[i];
    fmt::print("{}\n    {}\n", all.mutants[i].name,
               verdict.empty() ? "SURVIVED" : verdict.substr(0, verdict.find('\n')));
    survivors += verdict.empty() ? all.mutants[i].name + "\n" : "";
    EXPECT_TRUE(verdict.empty() || verdict.starts_with("seed ")) << all.mutants[i].name << ": " << verdict;
  }
  EXPECT_LE(left, static_cast<std::size_t>(one.unseen)) << "of " << kSeeds << " seeds none told these:\n" << survivors;
}

constexpr Case kCases[] = {
    {.name = "nchw",
     .template_name = "direct",
     .layer = "conv_transpose2d 34 -> 38; kernel 3x4; stride 2x1; padding 1x2; groups 2; bias; input 2x19x38",
     .least_mutants = 9,
     .unseen = 1},  // copies of a k-block behind the last one, all zeros
    {"nhwc", "direct",
     "conv_transpose2d 19 -> 11; kernel 3x3; stride 1x2; padding 1x1; output_padding 0x1; input 2x37x19; "
     "layout nhwc; dtype f16",
     9},
    // The scalar stores of both are for a y that is not aligned: none of their checks can be seen.
    {.name = "nchw_vectors",
     .template_name = "direct",
     .layer = "conv_transpose2d 20 -> 3; kernel 3x4; stride 1x2; padding 1x1; bias; input 1x9x34",
     .least_mutants = 9,
     .unseen = 3},
    {.name = "nchw_registers",
     .template_name = "direct",
     .layer = "conv_transpose2d 19 -> 3; kernel 3x4; stride 1x2; padding 1x1; bias; input 1x9x34; dtype f16",
     .least_mutants = 9,
     .unseen = 3},
    {"unstaged", "direct", "conv_transpose2d 3 -> 5; kernel 3x3; dilation 200x200; padding 201x201; input 2x21x23", 5},
    {.name = "direct_rows_columns",
     .template_name = "direct_rows",
     .layer =
         "conv_transpose2d 6 -> 20; kernel 3x4; stride 3x2; padding 1x2; dilation 2x1; groups 2; bias; input 2x5x37",
     .least_mutants = 8,
     .block = "warps_x 2, warps_c 1, warps_y 2, lanes_c 2, lanes_x 16, channels_per_thread 2, columns_per_thread 2, "
              "tile_rows 4, vector 0"},
    {.name = "direct_rows_row_vectors",
     .template_name = "direct_rows",
     .layer =
         "conv_transpose2d 6 -> 20; kernel 3x4; stride 4x2; padding 1x3; dilation 2x1; groups 2; bias; input 2x5x40",
     .least_mutants = 9,
     .block = "warps_x 1, warps_c 1, warps_y 2, lanes_c 2, lanes_x 16, channels_per_thread 2, columns_per_thread 2, "
              "tile_rows 4, vector 0"},
    {.name = "direct_rows_row_vectors_f16",
     .template_name = "direct_rows",
     .layer = "conv_transpose2d 4 -> 4; kernel 5x6; stride 2x2; padding 1x2; groups 4; input 2x5x40; dtype f16",
     .least_mutants = 8,
     .block = "warps_x 1, warps_c 1, warps_y 2, lanes_c 1, lanes_x 16, channels_per_thread 1, columns_per_thread 2, "
              "tile_rows 4, vector 0"},
    {.name = "direct_rows_pixels",
     .template_name = "direct_rows",
     .layer = "conv_transpose2d 5 -> 5; kernel 3x4; stride 2x3; padding 1x0; groups 5; input 2x5x11; dtype f16; layout "
              "nhwc",
     .least_mutants = 9,
     .block = "warps_x 1, warps_c 1, warps_y 2, lanes_c 5, lanes_x 6, channels_per_thread 1, columns_per_thread 2, "
              "tile_rows 4, vector 0"},
    {.name = "direct_rows_vectors",
     .template_name = "direct_rows",
     .layer = "conv_transpose2d 3 -> 48; kernel 3x3; stride 2x2; padding 1x1; input 2x5x11; dtype bf16; layout nhwc",
     .least_mutants = 6,
     .block = "warps_x 1, warps_c 1, warps_y 2, lanes_c 8, lanes_x 4, channels_per_thread 4, columns_per_thread 2, "
              "tile_rows 4, vector 4"},
    {.name = "mma_rows_groups",
     .template_name = "mma_rows",
     .layer = "conv_transpose2d 16 -> 32; kernel 3x4; stride 4x2; padding 1x2; dilation 2x1; groups 2; bias; input "
              "2x5x37; dtype f16; layout nhwc",
     .least_mutants = 11,
     .unseen = 1,
     .block = "warps 2, tile_rows 2, column_tiles 2, tile_channels 32, products 2"},
    {.name = "mma_rows_parts",
     .template_name = "mma_rows",
     .layer = "conv_transpose2d 24 -> 32; kernel 2x4; stride 1x4; dilation 1x2; input 2x5x21; dtype bf16; layout nhwc",
     .least_mutants = 10,
     .block = "warps 2, tile_rows 4, column_tiles 1, tile_channels 16, products 2"},
    {.name = "many_taps",
     .template_name = "direct",
     .layer = "conv_transpose2d 19 -> 11; kernel 17x17; stride 2x2; padding 2x3; input 2x9x9",
     .least_mutants = 12,
     .block = "group_phases_h 1, group_phases_w 1"},
    {"shift_gemm_resident", "shift_gemm",
     "conv_transpose2d 162 -> 19; kernel 3x3; stride 2x1; padding 0x1; bias; input 3x9x20; dtype f16", 25, true, false,
     true, 0, true},
    {"shift_gemm_staged", "shift_gemm", "conv_transpose2d 1030 -> 7; kernel 3x3; stride 2x2; input 1x4x6; compute tf32",
     25, false},
    {"shift_gemm_ping_pong",
     "shift_gemm",
     "conv_transpose2d 100 -> 11; kernel 3x3; stride 2x2; bias; input 2x4x35; compute tf32",
     25,
     true,
     true,
     true,
     4,
     true,
     {},
     true,
     true},
    {.name = "shift_gemm_pixels",
     .template_name = "shift_gemm",
     .layer = "conv_transpose2d 72 -> 19; kernel 3x3; stride 2x1; padding 0x1; bias; input 3x9x20; dtype f16; "
              "layout nhwc",
     .least_mutants = 25,
     .resident = true,
     .few_blocks = true,
     .bulk = true},
    {.name = "shift_gemm_cluster",
     .template_name = "shift_gemm",
     .layer = "conv_transpose2d 220 -> 13; kernel 3x3; stride 2x2; bias; input 1x4x6; compute tf32",
     .least_mutants = 25,
     .unseen = 1,
     .cluster = 2},
    // Of f32x3 the host device can't see what only saves work or keeps accumulators from truncating, which it doesn't
    // do: how many rows are accumulated before a promotion, and whether a scale that fits is kept.
    {"f32x3_gemm", "f32x3_gemm",
     "conv_transpose2d 65 -> 7; kernel 3x3; stride 2x1; padding 0x1; bias; input 3x9x20; compute f32x3", 25, true,
     false, true, 2, true, std::nullopt, std::nullopt, false},
    {"f32x3_gemm_rows", "f32x3_gemm",
     "conv_transpose2d 35 -> 5; kernel 3x3; padding 0x1; bias; input 1x5x136; compute f32x3", 25, true, false, true, 3,
     true, std::nullopt, std::nullopt, true},
    {"f32x3_gemm_staged", "f32x3_gemm",
     "conv_transpose2d 1030 -> 7; kernel 3x3; stride 2x2; input 1x4x6; compute f32x3", 25, false, false, true, 3, true},
    // Scales are read after stages that were used again: these order the reads too.
    {.name = "f32x3_gemm_pairs",
     .template_name = "f32x3_gemm",
     .layer = "conv_transpose2d 7 -> 36; kernel 2x15; stride 1x8; padding 1x3; input 3x3x37; compute f32x3; "
              "directions grad_input",
     .least_mutants = 25,
     .resident = true,
     .unseen = 3,
     .few_blocks = true},
    {"halo_gemm_copies", "halo_gemm",
     "conv_transpose2d 630 -> 20; kernel 3x3; stride 2x2; padding 1x1; input 3x7x9; dtype f16; layout nhwc; bias", 15,
     false, false, false, 0, true},
    {.name = "halo_gemm_parted_phases",
     .template_name = "halo_gemm",
     .layer = "conv_transpose1d 300 -> 3; kernel 90; stride 40; padding 7; input 3x70; compute tf32; bias",
     .least_mutants = 25,
     .unseen = 5,
     .few_blocks = true},
    {"halo_gemm_registers_ping_pong", "halo_gemm",
     "conv_transpose2d 22 -> 15; kernel 3x3; input 1x19x27; compute tf32; fuse relu", 15, true, true, false, 0, true},
    {"roll_gemm_sequence", "roll_gemm",
     "conv_transpose2d 12 -> 5; kernel 2x3; padding 0x1; bias; input 6x4x20; compute tf32", 25, false, false, true, 0,
     true, true, false},
    {"roll_gemm_staged_epilogue", "roll_gemm",
     "conv_transpose2d 36 -> 13; kernel 3x3; padding 0x1; input 1x5x136; dtype f16; fuse relu", 25, false, false, true,
     0, true, false, true},
    {"roll_gemm_pixels_sequence", "roll_gemm",
     "conv_transpose2d 24 -> 20; kernel 2x3; padding 0x1; bias; input 7x6x37; dtype f16; layout nhwc", 20, false, false,
     true, 0, true, true, false},
    // Operands that stand once: products must be done before they are made anew.
    {"roll_gemm_pixels_once",
     "roll_gemm",
     "conv_transpose2d 32 -> 13; kernel 5x9; padding 2x3; input 1x5x258; dtype bf16; layout nhwc; fuse relu",
     20,
     false,
     false,
     true,
     0,
     true,
     false,
     false,
     {},
     4,
     16},
    {.name = "overlap_gemm_images",
     .template_name = "overlap_gemm",
     .layer = "conv_transpose2d 104 -> 24; kernel 4x4; stride 2x3; padding 1x1; bias; input 5x3x5; dtype f16; layout "
              "nhwc",
     .least_mutants = 20,
     .unseen = 1,
     .block = "tile_n 2, tile_h 3, tile_w 5, warpgroups 2, thread_tiles 1, block_c 16, store 8, block_k 16, stages 3, "
              "copied_weights 1"},
    {.name = "overlap_gemm_rows",
     .template_name = "overlap_gemm",
     .layer = "conv_transpose2d 104 -> 24; kernel 4x3; stride 2x2; padding 1x1; input 2x11x5; dtype bf16; layout nhwc; "
              "weight_layout channels_last; fuse relu",
     .least_mutants = 20,
     .unseen = 1,
     .block = "tile_n 1, tile_h 3, tile_w 4, warpgroups 1, thread_tiles 1, block_c 16, store 8, block_k 16, stages 3, "
              "copied_weights 1"},
    {.name = "overlap_gemm_planes",
     .template_name = "overlap_gemm",
     .layer = "conv_transpose2d 100 -> 24; kernel 4x4; stride 2x3; padding 1x1; bias; input 5x4x6; dtype f16",
     .least_mutants = 20,
     .unseen = 1,
     .block = "tile_n 2, tile_h 4, tile_w 6, warpgroups 2, thread_tiles 1, block_c 16, store 2, block_k 16, stages 3, "
              "copied_weights 1"},
    {.name = "overlap_gemm_turned",
     .template_name = "overlap_gemm",
     .layer =
         "conv_transpose2d 200 -> 24; kernel 4x4; stride 2x2; padding 1x1; bias; input 5x4x3; dtype f16; layout nhwc",
     .least_mutants = 20,
     .unseen = 1,
     .block = "tile_n 3, tile_h 4, tile_w 3, warpgroups 1, thread_tiles 1, block_c 8, store 8, block_k 64, stages 3, "
              "copied_weights 1"},
    {.name = "overlap_gemm_plane_rows",
     .template_name = "overlap_gemm",
     .layer = "conv_transpose2d 40 -> 1; kernel 5x3; stride 3x2; padding 2x1; input 2x11x8; dtype bf16; fuse relu",
     .least_mutants = 15,
     .unseen = 1,
     .few_blocks = true,
     .block = "tile_n 1, tile_h 5, tile_w 8, warpgroups 1, thread_tiles 1, block_c 1, store 1, block_k 16, stages 3, "
              "copied_weights 0"},
    {.name = "overlap_gemm_registers",
     .template_name = "overlap_gemm",
     .layer = "conv_transpose2d 24 -> 1; kernel 5x3; stride 3x2; padding 2x1; bias; input 2x10x13; dtype f16; layout "
              "nhwc",
     .least_mutants = 15,
     .unseen = 1,
     .few_blocks = true,
     .block = "tile_n 1, tile_h 4, tile_w 6, warpgroups 1, thread_tiles 1, block_c 1, store 1, block_k 16, stages 4, "
              "copied_weights 0"},
    {.name = "mma_phases",
     .template_name = "mma_phases",
     .layer = "conv_transpose2d 24 -> 3; kernel 5x3; stride 2x2; padding 1x1; bias; input 2x10x16; compute tf32",
     .least_mutants = 15,
     .unseen = 4,
     .few_blocks = true,
     .block = "tile_h 3, staged_columns 8, warps 2, warp_chunks 2, block_k 8, stages 2"},
    {.name = "mma_phases_16_bits",
     .template_name = "mma_phases",
     .layer = "conv_transpose2d 40 -> 2; kernel 4x5; stride 2x3; padding 1x2; input 2x7x24; dtype f16; fuse relu",
     .least_mutants = 15,
     .unseen = 2,
     .block = "tile_h 2, staged_columns 24, warps 1, warp_chunks 2, block_k 16, stages 2"},
    {.name = "phase_gemm",
     .template_name = "phase_gemm",
     .layer =
         "conv_transpose2d 40 -> 3; kernel 4x3; stride 2x2; padding 1x1; bias; input 3x9x70; dtype f16; layout nhwc",
     .least_mutants = 15,
     .unseen = 3,
     .few_blocks = true,
     .block = "tile_n 1, tile_w 64, rows 3, warpgroups 1, thread_tiles 1, store 1, block_k 32, stages 2"},
    {.name = "phase_gemm_images",
     .template_name = "phase_gemm",
     .layer = "conv_transpose2d 24 -> 2; kernel 4x5; stride 2x3; padding 1x2; input 5x7x11; dtype bf16; layout nhwc; "
              "fuse relu",
     .least_mutants = 15,
     .unseen = 3,
     .block = "tile_n 4, tile_w 12, rows 4, warpgroups 1, thread_tiles 1, store 2, block_k 16, stages 3"},
    {.name = "patch_gemm",
     .template_name = "patch_gemm",
     .layer = "conv_transpose2d 104 -> 24; kernel 2x2; stride 2x2; bias; input 5x11x7; dtype f16; layout nhwc",
     .least_mutants = 20,
     .few_blocks = true,
     .block = "block_c 16, store 4, block_k 32, stages 3"},
    {.name = "patch_gemm_boxes",
     .template_name = "patch_gemm",
     .layer = "conv_transpose2d 104 -> 24; kernel 3x1; stride 3x1; input 5x11x7; dtype bf16; layout nhwc; "
              "weight_layout channels_last; fuse relu",
     .least_mutants = 20,
     .few_blocks = true,
     .block = "block_c 16, store 4, block_k 32, stages 3"},
    {.name = "tap_gemm",
     .template_name = "tap_gemm",
     .layer = "conv_transpose2d 40 -> 72; kernel 3x2; stride 2x1; padding 1x1; input 3x9x13; dtype f16; layout nhwc; "
              "directions grad_input",
     .least_mutants = 15,
     .few_blocks = true,
     .block = "block_m 128, block_n 32, block_k 64, box_n 1, box_h 4, box_w 4, stages 3"},
    {.name = "tap_gemm_cluster",
     .template_name = "tap_gemm",
     .layer = "conv_transpose2d 72 -> 72; kernel 1x3; stride 1x2; padding 0x1; input 3x9x23; dtype bf16; layout nhwc; "
              "directions grad_input",
     .least_mutants = 15,
     .unseen = 1,
     .few_blocks = true,
     .cluster = 2,
     .block = "block_m 128, block_n 32, block_k 32, box_n 2, box_h 4, box_w 8, stages 3"},
    {.name = "grad_weight_gemm_pixels",
     .template_name = "grad_weight_gemm",
     .layer = "conv_transpose2d 24 -> 24; kernel 3x3; stride 2x1; padding 1x1; bias; input 3x5x9; dtype f16; layout "
              "nhwc; directions grad_weight",
     .least_mutants = 20,
     .unseen = 5,
     .block = "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_rows 4, tile_columns 16, "
              "stages 2, producers 128, slices 2, bias_slices 2"},
    {.name = "grad_weight_gemm_registers",
     .template_name = "grad_weight_gemm",
     .layer = "conv_transpose2d 12 -> 20; kernel 3x3; stride 2x1; padding 1x1; input 3x5x9; compute tf32; directions "
              "grad_weight",
     .least_mutants = 20,
     .unseen = 5,
     .block = "taps_h 3, taps_w 3, block_out 16, block_in 8, consumer_groups 2, flat 1, tile_rows 4, stages 2, "
              "producers 128, row_stages 0, slices 1"},
    {.name = "grad_weight_gemm_rows",
     .template_name = "grad_weight_gemm",
     .layer = "conv_transpose2d 12 -> 20; kernel 3x4; stride 1x2; padding 1x1; input 3x5x10; dtype f16; directions "
              "grad_weight",
     .least_mutants = 20,
     .unseen = 10,
     .block = "taps_h 3, taps_w 4, block_out 16, block_in 8, consumer_groups 2, flat 0, tile_rows 4, tile_columns 16, "
              "stages 2, producers 128, row_stages 2, slices 1"},
    {.name = "grad_weight_gemm_images",
     .template_name = "grad_weight_gemm",
     .layer = "conv_transpose2d 12 -> 20; kernel 3x4; stride 1x2; padding 1x1; input 5x4x6; compute tf32; directions "
              "grad_weight",
     .least_mutants = 20,
     .unseen = 8,
     .block = "taps_h 3, taps_w 4, block_out 16, block_in 8, consumer_groups 2, flat 1, tile_rows 6, stages 2, "
              "producers 128, row_stages 2, slices 1"},
    {.name = "grad_weight_rows_copies",
     .template_name = "grad_weight_rows",
     .layer = "conv_transpose2d 12 -> 20; kernel 3x3; padding 1x1; input 2x9x24; dtype f16; directions grad_weight",
     .least_mutants = 20,
     .unseen = 2,
     .block = "taps_h 3, taps_w 3, block_out 16, block_in 8, rows_in_columns 0, consumer_groups 2, tile_rows 2, "
              "tile_columns 32, stages "
              "2, slices 2"},
    {.name = "grad_weight_rows_mixed",
     .template_name = "grad_weight_rows",
     .layer = "conv_transpose2d 12 -> 20; kernel 3x4; stride 1x2; padding 1x1; input 1x7x18; compute tf32; directions "
              "grad_weight",
     .least_mutants = 20,
     .bound_checks = false,

     .block = "taps_h 3, taps_w 4, block_out 16, block_in 8, rows_in_columns 0, consumer_groups 2, tile_rows 2, "
              "tile_columns 16, swizzle "
              "64, stages 2, slices 1"},
    {.name = "grad_weight_rows_registers",
     .template_name = "grad_weight_rows",
     .layer = "conv_transpose2d 12 -> 20; kernel 3x3; padding 1x1; input 1x7x17; compute tf32; directions grad_weight",
     .least_mutants = 20,
     .unseen = 8,
     .block = "taps_h 3, taps_w 3, block_out 16, block_in 8, rows_in_columns 0, consumer_groups 2, tile_rows 2, "
              "tile_columns 16, swizzle "
              "64, stages 2, slices 2"},
    {.name = "grad_weight_rows_in_columns",
     .template_name = "grad_weight_rows",
     .layer = "conv_transpose2d 12 -> 20; kernel 3x3; padding 1x1; input 2x9x24; dtype f16; directions grad_weight",
     .least_mutants = 20,
     .unseen = 2,
     .block = "taps_h 3, taps_w 3, block_out 16, block_in 8, rows_in_columns 1, consumer_groups 2, tile_rows 2, "
              "tile_columns 32, stages 2, slices 2"},
    {.name = "grad_weight_rows_in_columns_registers",
     .template_name = "grad_weight_rows",
     .layer = "conv_transpose2d 12 -> 20; kernel 3x3; padding 1x1; input 1x7x17; compute tf32; directions grad_weight",
     .least_mutants = 20,
     .unseen = 8,
     .block = "taps_h 2, taps_w 3, block_out 16, block_in 8, rows_in_columns 1, consumer_groups 2, tile_rows 2, "
              "tile_columns 16, swizzle 64, stages 2, slices 2"},
    {.name = "grad_weight_pixels_tiles",
     .template_name = "grad_weight_pixels",
     .layer = "conv_transpose2d 24 -> 24; kernel 3x3; stride 2x1; padding 0x1; input 3x6x9; dtype bf16; layout nhwc; "
              "directions grad_weight",
     .least_mutants = 20,
     .unseen = 2,
     .block = "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_images 1, tile_rows 3, "
              "tile_columns 16, stages 3, slices 1"},
    {.name = "grad_weight_pixels_sequence",
     .template_name = "grad_weight_pixels",
     .layer = "conv_transpose2d 24 -> 24; kernel 3x3; stride 2x1; padding 0x1; input 9x3x5; dtype f16; layout nhwc; "
              "directions grad_weight",
     .least_mutants = 20,
     .unseen = 3,
     .block = "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 1, tile_images 2, tile_rows 3, "
              "tile_columns 16, stages 3, slices 1"},
    {.name = "grad_weight_pixels_copied",
     .template_name = "grad_weight_pixels",
     .layer = "conv_transpose2d 24 -> 24; kernel 3x3; stride 2x1; padding 0x1; input 3x6x9; dtype bf16; layout nchw; "
              "directions grad_weight",
     .least_mutants = 20,
     .unseen = 2,
     .block = "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_images 1, tile_rows 3, "
              "tile_columns 16, stages 3, slices 1"},
    {.name = "f32x3_grad_weight_registers",
     .template_name = "f32x3_grad_weight",
     .layer = "conv_transpose2d 10 -> 12; kernel 3x3; stride 2x1; padding 1x1; input 3x5x9; compute f32x3; directions "
              "grad_weight",
     .least_mutants = 20,
     .unseen = 5,
     .block = "taps_h 3, taps_w 3, block_out 16, block_in 8, consumer_groups 2, flat 0, tile_rows 4, tile_columns 16, "
              "stages 2, producers 128, row_stages 0, slices 1, scan_slices 2"},
    {.name = "f32x3_grad_weight_rows",
     .template_name = "f32x3_grad_weight",
     .layer = "conv_transpose2d 12 -> 12; kernel 3x3; padding 1x1; input 2x6x9; compute f32x3; directions grad_weight",
     .least_mutants = 20,
     .unseen = 11,
     .block = "taps_h 3, taps_w 3, block_out 16, block_in 8, consumer_groups 2, flat 1, tile_rows 4, stages 2, "
              "producers 128, row_stages 1, slices 1, scan_slices 2"},
    {.name = "f32x3_grad_weight_channels_last",
     .template_name = "f32x3_grad_weight",
     .layer = "conv_transpose2d 16 -> 24; kernel 3x3; padding 1x1; input 2x6x9; compute f32x3; layout nhwc; directions "
              "grad_weight",
     .least_mutants = 20,
     .unseen = 6,
     .block = "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 1, tile_rows 4, stages 2, "
              "producers 128, slices 1, scan_slices 2"},
    {.name = "f32x3_grad_weight_pixels_tiles",
     .template_name = "f32x3_grad_weight_pixels",
     .layer = "conv_transpose2d 24 -> 24; kernel 3x3; stride 2x1; padding 0x1; input 3x6x9; compute f32x3; directions "
              "grad_weight",
     .least_mutants = 20,
     .unseen = 2,
     .block = "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 0, tile_images 1, tile_rows 3, "
              "tile_columns 16, stages 3, slices 1, scan_slices 2, chunks 2, chunk_images 2"},
    {.name = "f32x3_grad_weight_pixels_sequence",
     .template_name = "f32x3_grad_weight_pixels",
     .layer =
         "conv_transpose2d 24 -> 24; kernel 3x3; stride 2x1; padding 0x1; input 9x3x5; compute f32x3; layout nhwc; "
         "directions grad_weight",
     .least_mutants = 20,
     .unseen = 2,
     .block = "taps_h 3, taps_w 3, block_out 16, block_in 16, consumer_groups 2, flat 1, tile_images 2, tile_rows 3, "
              "tile_columns 16, stages 3, slices 1, scan_slices 2"}};
constexpr std::size_t kSample = 6;

std::vector<Candidate> candidates() {
  std::vector<Candidate> all;
  for (const Case& one : kCases) {
    const Layer layer = parse_layer(one.layer).value();
    all.push_back(
        {one.name, {one.template_name, std::string(name_of(layer.layout)), std::string(name_of(layer.compute))}});
  }
  return all;
}

class Mutation : public ::testing::TestWithParam<std::size_t> {};

// A run breaks a sample of the sources, each part of it in a test of its own.
TEST_P(Mutation, EveryBarrierAndBoundCheckIsNeeded) {
  const std::vector<std::size_t> drawn = part_of(sample(candidates(), kSample), GetParam(), kSample);
  ASSERT_FALSE(drawn.empty());
  for (const std::size_t i : drawn) {
    fmt::print("{}\n", kCases[i].name);
    expect_all_needed(kCases[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Part, Mutation, ::testing::Range(std::size_t{0}, number_of_parts(kSample, candidates)));

}  // namespace
}  // namespace convtgen::testing
