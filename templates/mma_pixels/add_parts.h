// Part of the template `mma_pixels`: the kernel that adds the parts of tiles, in their order.
#pragma once

// A block adds the parts of one N tile of a tile.
extern "C" __global__ void __launch_bounds__(kThreads)
    add_parts(const unsigned char* __restrict__ packed, const int* __restrict__ exponents,
              const Element* __restrict__ bias, Element* __restrict__ y, float* __restrict__ partials, int batch,
              int depth, int height, int width) {
  const int in_d = input_depth(depth);
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_d = (output_depth(in_d) + (P::input_stride_d - 1)) / P::input_stride_d;
  const int out_h = (output_rows(in_h) + (P::input_stride_h - 1)) / P::input_stride_h;
  const int out_w = (output_columns(in_w) + (P::input_stride_w - 1)) / P::input_stride_w;
  const long long positions = static_cast<long long>(batch) * positions_of(out_d, P::stride_d) *
                              positions_of(out_h, P::stride_h) * row_positions_of(out_w);
  const int tiles = static_cast<int>((positions + (P::block_m - 1)) / P::block_m);  // of a phase
  const int n_tile = blockIdx.x % kNTiles;
  const int group = P::groups == 1 ? 0 : n_tile / kChannelTiles;
  const int first_out = n_tile % kChannelTiles * P::block_n;  // of the group's
  const int tile = max(kPhases * tiles - P::parted_tiles, 0) + blockIdx.x / kNTiles;
  if (tile < kPhases * tiles) {
    const int phase = kPhases == 1 ? 0 : phase_of(tile, tiles);
    const PhaseAxis planes =
        axis_of_phase(phase / (P::stride_h * kStrideW), P::kernel_d, P::stride_d, P::padding_d, P::dilation_d);
    const PhaseAxis rows =
        axis_of_phase(phase / kStrideW % P::stride_h, P::kernel_h, P::stride_h, P::padding_h, P::dilation_h);
    const PhaseAxis columns = axis_of_phase(phase % kStrideW, kKernelW, kStrideW, kPaddingW, P::dilation_w);
    unsigned char* shared = static_cast<unsigned char*>(shared_memory());
    float* biases = reinterpret_cast<float*>(shared + kBiasOffset);
    float2* scales = reinterpret_cast<float2*>(shared + kColumnScalesOffset);
    const int thread = threadIdx.x;
    find_positions(shared, static_cast<long long>(kPhasesTogether ? tile / kPhases : tile - phase * tiles) * P::block_m,
                   thread, planes, rows, columns, group, batch, in_d, in_h, in_w, out_d, out_h, out_w);
    if (P::has_bias) {
      for (int i = thread; i < P::block_n; i += kThreads) {
        biases[i] = kGroupColumns % P::block_n == 0 || first_out + i < kGroupColumns
                        ? widen(bias[group * kGroupOut + (first_out + i) / P::column_phases])
                        : 0;
      }
    }
    if constexpr (kSplit) {
      const unsigned char* own_weights = packed + n_tile * kPackedTileBytes;
      for (int i = thread; i < P::block_n; i += kThreads) {
        scales[i] = factors_of(-reinterpret_cast<const int*>(own_weights + kWeightBytes)[i]);
      }
    }
    __syncthreads();
    Accumulators acc = {};
#pragma unroll
    for (int part = 0; part < P::parts; ++part) {
      add_part(acc, part_of(partials, static_cast<int>(blockIdx.x) * P::parts + part, thread));
    }
    const int lane = thread % 32;
    const int warp_m = thread / 32 % P::warps_m;
    const int warp_n = thread / 32 / P::warps_m;
    if constexpr (kSplit) {
      unscale(acc, scales + (warp_n * kWarpChannels + lane % 4 * 2), exponents,
              reinterpret_cast<const long long*>(shared + kImageScalesOffset) + (warp_m * kWarpRows + lane / 4));
    }
    const long long plane = static_cast<long long>(out_d) * out_h * out_w;
    store_outputs(acc, y + (group * kGroupOut + first_out / P::column_phases) * (P::channels_last ? 1 : plane), shared,
                  biases, warp_m * kWarpRows + lane / 4 * kSpan, warp_n * kWarpChannels + lane % 4 * kAdjacentChannels,
                  kGroupColumns - first_out, plane, out_w);
  }
}
