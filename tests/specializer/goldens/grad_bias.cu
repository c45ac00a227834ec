// conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; bias; dtype f32; compute f32; layout nchw; directions grad_bias
// grad_bias for sm_90a. Template grad_bias: 17 slices of the positions, 32 blocks each.
// Launch
//   sizes: batch 8, in_height 512, in_width 1024; out_height 512, out_width 1024
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_bias: 32 elements, written, 4-byte aligned
//     shape (Cout 32), contiguous
//   tensor grad_y: 134217728 elements, read, 4-byte aligned
//     shape (N 8, Cout 32, H 512, W 1024), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial_bias: 2176 bytes, sums of slices of grad_y's positions
//   kernel convtgen_grad_bias_grad_bias_71b4f4960a2e8df1_channels
//     arguments const float* grad_y, float* partial_bias, int batch
//     grid 544; block 256; shared 1024
//   kernel convtgen_grad_bias_grad_bias_71b4f4960a2e8df1
//     arguments const float* partial_bias, float* grad_bias
//     grid 1; block 128; shared 0

namespace convtgen_grad_bias_grad_bias_71b4f4960a2e8df1_source {

// ---- Device primitives ----

#ifndef CONVTGEN_HOST_DEVICE

extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];

// The block's dynamic shared memory, 16-byte aligned.
__device__ __forceinline__ void* shared_memory() {
  return dynamic_shared_memory;
}

#endif

// ---- Constants ----

constexpr int kBiasThreads = 256;
constexpr int kBiasPositions = 256;
constexpr int kBiasTiles = 32;
constexpr int kBiasPiece = 2048;

// ---- Kernels ----

// (slice, channel): the sums of the channels over one slice of all positions.
extern "C" __global__ void __launch_bounds__(kBiasThreads)
    convtgen_grad_bias_grad_bias_71b4f4960a2e8df1_channels(const float* __restrict__ grad_y,
                                                           float* __restrict__ partial_bias, int batch) {
  const int thread = threadIdx.x;
  const int slice = blockIdx.x / kBiasTiles;
  const int channel = blockIdx.x % kBiasTiles;
  float total = 0;
  if (channel < 32) {
    const long long end = batch * 256ll * (slice + 1) / 17;
    for (long long piece = batch * 256ll * slice / 17; piece < end; ++piece) {
      const long long image = piece / 256;
      const long long first = piece % 256 * kBiasPiece + thread;
      float sum = 0;
      #pragma unroll
      for (int i = 0; i < 8; ++i) {
        const long long position = first + i * kBiasPositions;
        if (position < 524288) {
          sum += grad_y[(image * 32 + channel) * 524288 + position];
        }
      }
      total += sum;
    }
  }
  // The threads of a channel add their totals in a tree.
  float* totals = static_cast<float*>(shared_memory());
  totals[thread] = total;
  #pragma unroll 1
  for (int step = 128; step >= 1; step /= 2) {
    __syncthreads();
    if (thread < step) {
      totals[thread] += totals[thread + step];
    }
  }
  if (thread < 1 && channel < 32) {
    partial_bias[slice * 32 + channel] = totals[thread];
  }
}

// A channel's sum over all slices.
__device__ __forceinline__ float channel_sum(const float* __restrict__ partial_bias, int channel) {
  float sum = 0;
  #pragma unroll 8
  for (int slice = 0; slice < 17; ++slice) {
    sum += partial_bias[slice * 32 + channel];
  }
  return sum;
}

// A thread a channel: adds its slices in their order.
extern "C" __global__ void __launch_bounds__(128)
    convtgen_grad_bias_grad_bias_71b4f4960a2e8df1(const float* __restrict__ partial_bias,
                                                  float* __restrict__ grad_bias) {
  const int channel = blockIdx.x * 128 + threadIdx.x;
  if (channel < 32) {
    grad_bias[channel] = channel_sum(partial_bias, channel);
  }
}

}  // namespace convtgen_grad_bias_grad_bias_71b4f4960a2e8df1_source
using convtgen_grad_bias_grad_bias_71b4f4960a2e8df1_source::convtgen_grad_bias_grad_bias_71b4f4960a2e8df1_channels;
using convtgen_grad_bias_grad_bias_71b4f4960a2e8df1_source::convtgen_grad_bias_grad_bias_71b4f4960a2e8df1;
