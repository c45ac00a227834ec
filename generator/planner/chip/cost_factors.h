// The fitted numbers of the cost models, in one table. benchmarks/fit_cost_model.py reads the table's lines, and
// writes their values, from what calls took (benchmarks/results, records/). What a chip does in a cycle is no fitted
// number: target.h has it.
#pragma once

#include <array>
#include <string_view>

namespace convtgen {

// clang-format off
// FACTOR(name, value, meaning). Times are cycles of an SM where nothing else is said; of templates by their names.
#define CONVTGEN_COST_FACTORS(FACTOR) \
  FACTOR(hidden_less, 0.25, "share of min(SM time, memory time) that is not overlapped") \
  FACTOR(stored_pieces, 126.2, "billions of stores of partial sectors by warps in a second, channels last") \
  FACTOR(direct_reaches, 0.3, "share of the ceiling of its arithmetic that direct's first plan reaches") \
  FACTOR(direct_reaches_one, 0.5, "the same of f32 in NCHW, of one output channel") \
  FACTOR(direct_parted, 1.7, "times as long where a block makes a part of the phases: median of measured / predicted") \
  FACTOR(direct_moves, 4, "least time of direct / time to move all tensors once, NCHW") \
  FACTOR(direct_moves_nhwc, 10, "the same with channels last") \
  FACTOR(rows_stored, 2.056, "instructions of direct_rows for an output that is stored from registers") \
  FACTOR(rows_exchanged, 6.688, "the same for one that goes through shared memory") \
  FACTOR(rows_staged, 24.8, "the same for an element of input or weights that an asynchronous copy stages") \
  FACTOR(rows_staged_registers, 39.38, "the same for one that comes through registers") \
  FACTOR(rows_wait, 2.351, "times a warp's instructions that an SM waits; its other warps hide their share") \
  FACTOR(rows_weight_wavefronts, 4.414, "of shared memory for a vector of weights that lanes share") \
  FACTOR(mma_rows_product, 13, "issue slots of mma_rows for a product of a warp, with its weights") \
  FACTOR(mma_rows_exchanged, 13, "the same for two words of each lane that are written to shared memory") \
  FACTOR(mma_rows_stored, 13, "the same for a vector of each lane that is stored") \
  FACTOR(mma_rows_staged, 5, "the same for 16 bytes of input of each lane that are staged") \
  FACTOR(mma_rows_weight, 29, "the same for a weight of each lane that is staged") \
  FACTOR(mma_rows_wait, 3.4, "times a warp's work that an SM waits; its other warps hide their share") \
  FACTOR(mma_rows_part_lines, 1.09, "times as long as moving everything once where blocks store parts of lines") \
  FACTOR(gemm_producer, 8, "of a producer warp for an instruction, with two consumer warps") \
  FACTOR(gemm_k_block, 133.8, "of a stage's barriers, and of a pipeline that fills") \
  FACTOR(gemm_latency, 1600, "until a first byte arrives, under load") \
  FACTOR(gemm_epilogue, 9, "instructions for an output: bias, address, store") \
  FACTOR(gemm_alone_least, 20, "of a product by one warpgroup alone, however narrow") \
  FACTOR(gemm_alone_more, 4.367, "that any other product by one warpgroup alone takes longer") \
  FACTOR(gemm_lane_copy, 75, "of a bulk copy of a row where lanes issue one after the other") \
  FACTOR(gemm_warp_copy, 30, "the same where one lane issues all of its warp") \
  FACTOR(gemm_row_stage, 35, "instructions of a producer warp for a stage of rows") \
  FACTOR(gemm_row_tile, 120, "the same for a tile") \
  FACTOR(gemm_row_zeros, 80, "the same to write the zeros of a stage") \
  FACTOR(shift_small_copy, 0.535, "of an asynchronous copy of 4 bytes") \
  FACTOR(shift_bulk_pixel, 22.97, "of one bulk copy of pixels, however small") \
  FACTOR(shift_weights_l2, 42.8, "bytes a cycle from L2, of weights, which all SMs read") \
  FACTOR(shift_round, 1.07, "share of the latency from load to product that earlier stages do not hide") \
  FACTOR(shift_odd_l2, 21.53, "bytes a cycle from L2, of rows of an odd width, whose words are loaded one by one") \
  FACTOR(shift_odd_round, 1.027, "the same share, of such rows") \
  FACTOR(shift_odd_rows_measured, 1.121, "median of measured / predicted, odd widths by bulk copies") \
  FACTOR(shift_odd_copies_measured, 1.308, "the same by asynchronous copies") \
  FACTOR(shift_rows_measured, 1.402, "the same of other rows") \
  FACTOR(shift_pixels_measured, 0.9732, "the same of pixels by asynchronous copies") \
  FACTOR(shift_bulk_pixels_measured, 1, "the same of pixels by bulk copies") \
  FACTOR(shift_sectors, 70, "billions a second that blocks write of pixels whose part is one sector, channels last") \
  FACTOR(shift_part_sectors, 23.54, "the same of parts of sectors") \
  FACTOR(shift_cluster_sync, 3567, "of a cluster whose blocks wait for one another") \
  FACTOR(shift_sent, 15, "bytes a cycle to other SMs") \
  FACTOR(shift_staged_epilogue, 7.009, "instructions for an output, through shared memory") \
  FACTOR(f32x3_consumer_split, 10, "instructions of a consumer that splits a pair of values") \
  FACTOR(f32x3_scan, 30, "instructions of the producers that find a stage's maximum") \
  FACTOR(f32x3_agree, 60, "the same that agree on a scale") \
  FACTOR(f32x3_split_four, 135, "of four values of each thread, which are scanned and split") \
  FACTOR(f32x3_scan_four, 30, "the same, scanned alone") \
  FACTOR(f32x3_promote, 7, "instructions of a promotion for an output") \
  FACTOR(f32x3_split_four_nhwc, 103, "of four values of each thread, scanned and split, channels last") \
  FACTOR(f32x3_copied_nhwc, 26, "bytes a cycle that copies of pixels bring to shared memory") \
  FACTOR(f32x3_find, 25, "instructions for a copy where a thread does not keep the places of its pixels") \
  FACTOR(f32x3_bank_conflicts, 2, "threads that need the same bank when a warp loads a word of each thread") \
  FACTOR(f32x3_stall, 1.3, "of an instruction of a warpgroup without a prefetch") \
  FACTOR(f32x3_wait, 150, "of the wait for its products") \
  FACTOR(halo_launches, 0, "launches of a call: 0 where halo_measured has their time too") \
  FACTOR(halo_measured, 2.804, "median of measured / predicted, NCHW") \
  FACTOR(halo_measured_nhwc, 1.926, "the same with channels last") \
  FACTOR(halo_measured_volumes, 1.4, "the same of volumes in both layouts") \
  FACTOR(halo_products_nhwc, 1.15, "times as long as they need that products take, channels last") \
  FACTOR(halo_l2_copies, 0.535, "share of the L2 bytes' time that weights and asynchronous copies take") \
  FACTOR(halo_l2_registers, 1.849, "the same of input that comes through registers") \
  FACTOR(halo_stage, 41.93, "of barriers, between stages") \
  FACTOR(halo_begin, 1427, "until the first stage is asked for") \
  FACTOR(halo_epilogue, 300, "of a tile's epilogue, whatever it stores") \
  FACTOR(halo_epilogue_outputs, 4.8, "of a tile's epilogue, for each output of a thread") \
  FACTOR(halo_planes_output, 17, "the same of volumes with channels first where outputs are stored one by one") \
  FACTOR(halo_planes_row, 5.9, "wavefronts for each end of a row that a load meets, of volumes with channels first") \
  FACTOR(halo_planes_sectors, 1.7, "share of the sectors that single outputs take beyond their bytes which counts") \
  FACTOR(halo_epilogue_shown, 0.3125, "share of the epilogue that products do not hide, with ping-pong consumers") \
  FACTOR(halo_narrow_stores, 1.605, "times as long as a store of 16 bytes that narrower ones take") \
  FACTOR(roll_row, 291.9, "after an input row: outputs are stored, the accumulators move up") \
  FACTOR(roll_staged_epilogue, 100, "of a row's outputs through shared memory") \
  FACTOR(roll_alone, 500, "of storing that no products hide, where one row is staged and not two") \
  FACTOR(roll_part_of_sector, 5.35, "in which the cache takes a part of a sector of 32 bytes; a whole one: 1") \
  FACTOR(roll_tile, 1500, "until a tile's first row has come") \
  FACTOR(roll_tile_nhwc, 200, "with channels last, where it comes while the tile before is multiplied") \
  FACTOR(roll_once, 40, "of a step whose fragments wait for those of the one before") \
  FACTOR(grad_weight_batch, 60, "instructions of a producer for a batch of loads to registers") \
  FACTOR(grad_weight_word, 2.5, "the same for each word of a batch, 16 bits") \
  FACTOR(grad_weight_word_tf32, 5, "the same in tf32, which is rounded and stored word by word") \
  FACTOR(grad_weight_split_word, 7, "the same of values that are scaled and split") \
  FACTOR(grad_weight_latency, 1000, "until a batch has come") \
  FACTOR(grad_weight_row_word, 16, "of a thread for each word of a row that it loads, rounds and stores") \
  FACTOR(grad_weight_row_measured, 1.3, "median of measured / predicted of stages with such words, times that of all") \
  FACTOR(grad_weight_row_copy, 75, "of a tensor copy of a row where lanes issue one after the other") \
  FACTOR(grad_weight_turn, 2.5, "of a warp to turn eight positions of eight channels, 16 bits") \
  FACTOR(grad_weight_turn_tf32, 6, "the same in tf32, word by word") \
  FACTOR(grad_weight_split_turn, 11, "the same of values that are split") \
  FACTOR(grad_weight_strip, 40, "the same for each strip of a row, besides these") \
  FACTOR(grad_weight_turn_cycles, 4, "of a producer for each of these instructions") \
  FACTOR(grad_weight_turn_begin, 400, "of a stage's barriers and of the wait for what is loaded and written") \
  FACTOR(grad_weight_row_latency, 2000, "until rows have come") \
  FACTOR(grad_weight_fragment, 12, "instructions of a warp for an A fragment and its product") \
  FACTOR(grad_weight_half_fragment, 36, "the same of 16-bit rows, whose positions are put together") \
  FACTOR(grad_weight_stage, 200, "of a stage's barriers and of the wait for its last products") \
  FACTOR(grad_weight_begin, 3000, "until a first stage has come") \
  FACTOR(grad_weight_output, 12, "of a block's results, for each of a thread") \
  FACTOR(grad_weight_patch_stage, 60, "of a stage's barriers where products of two stages are in flight") \
  FACTOR(grad_weight_patch_latency, 1500, "until the first bytes of a stage of patches have come") \
  FACTOR(grad_weight_patch_l2, 34, "bytes a cycle that tensor copies bring of patches") \
  FACTOR(grad_weight_patch_pieces, 250, "billions of sums stored as partial sectors in a second") \
  FACTOR(grad_weight_patch_measured, 1.0, "median of measured / predicted of patches") \
  FACTOR(grad_weight_measured, 1.2, "median of measured / predicted") \
  FACTOR(tap_copy, 75.7, "of a tensor copy of a box, of those that a warp's lanes issue one after the other") \
  FACTOR(tap_stage, 41.67, "of a stage's barriers") \
  FACTOR(tap_begin, 1111, "until a first stage has come, and until the last products are done") \
  FACTOR(tap_output, 3.75, "instructions for an output") \
  FACTOR(tap_l2, 50, "bytes a cycle from L2, of the copies of positions and weights") \
  FACTOR(tap_measured, 1.1, "median of measured / predicted") \
  FACTOR(tap_half_rows, 1.34, "the same of stages of 32 output channels over that of those of 64") \
  FACTOR(overlap_begin, 3500, "until a first stage has come, and until the last outputs are stored") \
  FACTOR(overlap_stage, 118, "of a stage's barriers, and between its products") \
  FACTOR(overlap_l2, 64, "bytes a cycle from L2, of the copies of pixels and weights") \
  FACTOR(overlap_row, 1.9, "of a row that a tensor copy brings, however short") \
  FACTOR(overlap_weight, 0.17, "of a byte of weights that comes through registers") \
  FACTOR(overlap_product, 0.085, "of a product that is written to shared memory") \
  FACTOR(overlap_tap, 0.029, "of a product that an output adds up") \
  FACTOR(overlap_measured, 1, "median of measured / predicted") \
  FACTOR(patch_weights, 22, "bytes a cycle of weights, until they have come and are arranged") \
  FACTOR(patch_stage, 30, "of a stage's barriers, and between its products") \
  FACTOR(patch_wavefront, 1.15, "of a wavefront of shared memory, of all that are needed") \
  FACTOR(patch_measured, 1, "median of measured / predicted") \
  FACTOR(phase_stage, 200, "of a stage's barriers and of the wait for its products") \
  FACTOR(phase_store, 24, "instructions of a warp for a vector of outputs") \
  FACTOR(phase_weight, 0.05, "of a byte of weights that comes through registers") \
  FACTOR(phase_begin, 7000, "until a first stage has come, and until the last outputs are stored") \
  FACTOR(phase_measured, 1.05, "median of measured / predicted") \
  FACTOR(phases_product, 1.6, "of a product of a warp, where its SM's warps make products alone") \
  FACTOR(phases_wait, 4, "times a warp's work that an SM waits; its other warps hide their share") \
  FACTOR(phases_output, 16, "instructions for an output") \
  FACTOR(phases_weight, 0.15, "of a weight that is staged") \
  FACTOR(phases_begin, 3500, "until a first stage has come, and until the last outputs are stored") \
  FACTOR(phases_measured, 1.25, "median of measured / predicted") \
  FACTOR(mma_gemm_pixels, 1.08, "wavefronts of shared memory for 128 bytes of input that products load") \
  FACTOR(mma_gemm_copied, 67, "bytes a cycle that shared memory takes of input that is staged") \
  FACTOR(mma_gemm_copied_weights, 61, "the same of weights") \
  FACTOR(mma_gemm_copy, 25, "instructions for an asynchronous copy of input") \
  FACTOR(mma_gemm_turn, 77, "the same for a vector that is put together in registers") \
  FACTOR(mma_gemm_output, 2.1, "instructions for an output") \
  FACTOR(mma_gemm_store, 14, "the same for each store of outputs") \
  FACTOR(mma_gemm_wait, 0.68, "times a stage's work that an SM waits; its warps hide their share") \
  FACTOR(mma_gemm_stage, 1850, "of a stage's barrier, which other blocks hide") \
  FACTOR(mma_gemm_begin, 2200, "until a first stage has come, and until the last outputs are stored") \
  FACTOR(mma_gemm_whole, 1, "share of the time of all SMs that a tile takes which some of them lack") \
  FACTOR(mma_gemm_crowded, 0.32, "times a stage's work more, of input through registers and many accumulators") \
  FACTOR(mma_gemm_read_parts, 1.4, "sectors that a row of the input takes more than it has bytes for, NCHW") \
  FACTOR(mma_gemm_written_parts, 5, "the same of the output") \
  FACTOR(mma_gemm_measured, 0.83, "median of measured / predicted") \
  FACTOR(mma_gemm_beside_wgmma, 2, "the same where there are templates of wgmma, which have been measured") \
  FACTOR(mma_gemm_gradients_beside_wgmma, 1.1, "the same of gradients of the input, of f32x3_mma too") \
  FACTOR(mma_planes_turn, 72, "as mma_gemm_turn, of volumes with channels first") \
  FACTOR(mma_planes_line, 0.59, "wavefronts of shared memory for a line of memory that a warp's loads touch") \
  FACTOR(mma_planes_weights, 21, "as mma_gemm_copied_weights, of volumes with channels first") \
  FACTOR(mma_planes_store, 5, "as mma_gemm_store, of volumes with channels first") \
  FACTOR(mma_planes_wait, 0.95, "as mma_gemm_wait, of volumes with channels first") \
  FACTOR(mma_planes_stage, 340, "as mma_gemm_stage, of volumes with channels first") \
  FACTOR(mma_planes_crowded, 0.25, "as mma_gemm_crowded, of volumes with channels first") \
  FACTOR(mma_planes_alone, 1.07, "times as long as two blocks of an SM that one takes which is alone there") \
  FACTOR(mma_planes_cut, 400, "bytes of memory for each sector of a row of outputs that two tiles share") \
  FACTOR(mma_planes_measured, 1.05, "median of measured / predicted") \
  FACTOR(f32x3_mma_beside_wgmma, 4, "median of measured / predicted of f32x3_mma where f32x3_gemm has been measured") \
  FACTOR(f32x3_mma_split, 130, "instructions for eight values that are loaded, scanned and split") \
  FACTOR(f32x3_mma_add, 3, "instructions to add an accumulator to its total, and to clear it") \
  FACTOR(mma_pixels_split_beside_wgmma, 1.75, "measured / predicted of f32x3 over that of f32x3_gemm, in most layers") \
  FACTOR(mma_pixels_beside_wgmma, 2, "measured / predicted where there are templates of wgmma") \
  FACTOR(mma_pixels_copy, 7, "instructions for an asynchronous copy of input") \
  FACTOR(mma_pixels_l2, 44.86, "bytes a cycle from L2, of the copies of pixels and weights") \
  FACTOR(mma_pixels_wait, 0.6355, "times a stage's work that an SM waits; its warps hide their share") \
  FACTOR(mma_pixels_stage, 104.8, "of a stage's barrier, which other blocks hide") \
  FACTOR(mma_pixels_begin, 5625, "of a tile, until its first stage has come, which other blocks hide") \
  FACTOR(mma_input_copy, 24, "instructions for a copy of a window") \
  FACTOR(mma_input_shift, 14, "the same for a vector of its shifted copy") \
  FACTOR(mma_input_store, 3, "the same for a store of outputs") \
  FACTOR(mma_input_item, 60, "the same for a warp's positions, besides") \
  FACTOR(mma_input_weight, 60, "instructions for a word of weights") \
  FACTOR(mma_input_wait, 4, "times a tile's work that an SM waits; its warps hide their share") \
  FACTOR(mma_input_begin, 4500, "until a first window has come, and until the last outputs are stored") \
  FACTOR(mma_input_cut_lines, 62, "billions a second of lines whose sectors a store writes in part") \
  FACTOR(mma_input_measured, 1.1, "median of measured / predicted") \
  FACTOR(mma_grad_weight_copied, 68, "bytes a cycle that shared memory takes of positions, staged or rounded") \
  FACTOR(mma_grad_weight_copy, 12, "instructions for an asynchronous copy of positions") \
  FACTOR(mma_grad_weight_pixel, 105, "the same to find where 32 pixels are in memory") \
  FACTOR(mma_grad_weight_turn, 75, "the same for a vector that is put together in registers") \
  FACTOR(mma_grad_weight_span, 0.5, "a second position of such a vector, as a share of the first") \
  FACTOR(mma_grad_weight_wide, 40, "instructions for a vector that is loaded as it lies, through registers") \
  FACTOR(mma_grad_weight_line, 0.93, "wavefronts for a line of memory that a warp loads single elements of") \
  FACTOR(mma_grad_weight_split, 140, "the same for eight values that are split") \
  FACTOR(mma_grad_weight_output, 35, "instructions for an output") \
  FACTOR(mma_grad_weight_wait, 4.6, "times a stage's work that an SM waits; its warps hide their share") \
  FACTOR(mma_grad_weight_two_stages, 1.2, "times as long that blocks take whose copies have two stages") \
  FACTOR(mma_grad_weight_stage, 210, "of a stage's barrier, which other blocks hide") \
  FACTOR(mma_grad_weight_latency, 970, "until what goes through registers has come, for each strip of products") \
  FACTOR(mma_grad_weight_begin, 3300, "until a first stage has come, and until the last outputs are stored") \
  FACTOR(mma_grad_weight_measured, 0.89, "median of measured / predicted") \
  FACTOR(mma_grad_weight_beside_wgmma, 1.25, "the same where there are templates of wgmma, which have been measured") \
  FACTOR(mma_taps_measured, 1.25, "median of measured / predicted of mma_taps_grad_weight") \
  FACTOR(roll_store_nhwc, 2, "with channels last: of a warp's store, on top of what the cache takes")
// clang-format on

struct CostFactors {
#define CONVTGEN_MEMBER(name, value, meaning) double name = value;
  CONVTGEN_COST_FACTORS(CONVTGEN_MEMBER)
#undef CONVTGEN_MEMBER
};

struct CostFactorName {
  std::string_view name;
  double CostFactors::* member;
};

/// By name, in the order of the table.
inline constexpr std::array kCostFactorNames = {
#define CONVTGEN_NAME(name, value, meaning) CostFactorName{#name, &CostFactors::name},
    CONVTGEN_COST_FACTORS(CONVTGEN_NAME)
#undef CONVTGEN_NAME
};

}  // namespace convtgen
