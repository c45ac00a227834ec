// conv_transpose2d 512 -> 256; kernel 4x4; stride 2x2; padding 1x1; input 128x4x4; dtype f32; compute f32x3; layout nchw; directions grad_weight
// grad_weight for sm_90a. Template grad_weight_pixels: a block makes 1x4 taps of 128 by 32 channels; 1 slice; 187.7 KiB shared.
// Launch
//   sizes: batch 128, in_height 4, in_width 4; out_height 8, out_width 8
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_weight: 2097152 elements, written, 4-byte aligned
//     shape (Cin 512, Cout 256, KH 4, KW 4), contiguous
//   tensor x: 1048576 elements, read, 4-byte aligned
//     shape (N 128, Cin 512, H 4, W 4), contiguous
//   tensor grad_y: 2097152 elements, read, 4-byte aligned
//     shape (N 128, Cout 256, H 8, W 8), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region x_parts: 4194304 bytes, x, split, with channels last
//   region grad_y_parts: 8388608 bytes, grad_y, split, with channels last
//   region maxima: 3072 bytes, the largest magnitudes of channels, by slices of the positions
//   tensor maps: by cuTensorMapEncodeTiled, interleave none, L2 promotion 128 bytes
//     a TensorMap, in this source's namespace, is a CUtensorMap under its own name: memcpy its 128 bytes, which are
//     64-byte aligned in both, or give cuLaunchKernel the address of the CUtensorMap itself
//   tensor map x_map of x_parts: f16, sizes (1024, 4, 4, 128), byte pitches (2048, 8192, 32768), box (64, 5, 4, 4), element strides (1, 1, 1, 1), swizzle 128, fill zero
//   tensor map grad_y_map of grad_y_parts: f16, sizes (512, 8, 8, 128), byte pitches (1024, 8192, 65536), box (32, 9, 7, 4), element strides (1, 2, 2, 1), swizzle 64, fill zero
//   kernel convtgen_grad_weight_pixels_grad_weight_6266b9e2d1000839_scan
//     arguments const float* x, const float* grad_y, float* maxima, int batch
//     grid 768; block 256; shared 32
//   kernel convtgen_grad_weight_pixels_grad_weight_6266b9e2d1000839_split
//     arguments const float* x, const float* grad_y, const float* maxima, unsigned char* x_parts,
//       unsigned char* grad_y_parts, int batch
//     grid 768; block 256; shared 16896
//   kernel convtgen_grad_weight_pixels_grad_weight_6266b9e2d1000839
//     arguments TensorMap x_map, TensorMap grad_y_map, const float* maxima, float* grad_weight
//     grid 128; block 256; shared 192176
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 192176)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 192176)

namespace convtgen_grad_weight_pixels_grad_weight_6266b9e2d1000839_source {

// ---- Constants ----

constexpr float kLowScale = 2048.0f;
constexpr int kGroupOut = 256;
constexpr int kConsumers = 256;
constexpr int kTapPitch = 40;
constexpr int kColumnPitch = 164;
constexpr int kVectorThreads = 128;
constexpr int kThreads = 256;
constexpr int kOutBox = 32;
constexpr int kScanTilesIn = 512;
constexpr int kScanTiles = 768;
constexpr int kCopyThreads = 256;
constexpr int kCopySide = 64;  // positions and channels
constexpr int kCopyPitch = 65;
constexpr int kSplitRows = 32;  // positions from one to the next

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputBoxBytes = 10240;
constexpr int kPlaneBoxBytes = 5248;
constexpr int kInputPartBytes = 20480;
constexpr int kInputBytes = 40960;
constexpr int kWindowPartBytes = 11264;
constexpr int kCopiedBytes = 61440;
constexpr int kStageBytes = 63488;
constexpr int kScalesOffset = 190464;
constexpr int kBarrierOffset = 191104;  // mbarriers
constexpr int kSplitScalesOffset = 16640;

// ---- Device primitives, defined at the end ----

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ unsigned char* shared_align(void* pointer, unsigned int alignment);
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count);
__device__ __forceinline__ void fence_mbarrier_init();
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier);
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* at, unsigned int bytes);
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity);
__device__ __forceinline__ void named_barrier_sync(int id, int threads);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);
__device__ __forceinline__ int warp_uniform(int value);

// The chip's form of a tensor map (generator/recipe/tensor_map.h), a kernel parameter: __grid_constant__ const TensorMap.
struct __align__(64) TensorMap {
  unsigned long long words[16];
};

__device__ __forceinline__ void tensor_load_4d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3);
__device__ __forceinline__ void fence_proxy_async();
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes);
__device__ __forceinline__ void matrix_load_x4_transposed(unsigned int (&values)[4], const void* row);
__device__ __forceinline__ void wgmma_m64n128k16_f16_rs_mn_b(float (&d)[64], const unsigned int (&a)[4],
                                                             unsigned long long b, int accumulate);

#endif

// The larger of a and |b|; infinities and NaN don't count.
__device__ __forceinline__ float larger_finite(float a, float b) {
  return fmaxf(a, fabsf(fmaf(b, 0, b)));
}

// The exponent of the scale that takes `most` to at least 2^14 and below 2^15; of denormals as far as floats go.
__device__ __forceinline__ int scale_exponent(float most) {
  return min(126, 141 - __float_as_int(most) / 0x800000);
}

// 2^exponent, -126 to 127.
__device__ __forceinline__ float power_of_two(int exponent) {
  return __int_as_float((exponent + 127) * 0x800000);
}

// Two factors that make 2^e, which may be no float.
__device__ __forceinline__ float2 factors_of(int e) {
  return {power_of_two(e / 2), power_of_two(e - e / 2)};
}

__device__ __forceinline__ float scaled_by(float x, int e) {
  return x * factors_of(e).x * factors_of(e).y;
}

__device__ __forceinline__ unsigned int low_parts(float a, float b, unsigned int high) {
  return floats_to_half2(fmaf(half_to_float(static_cast<unsigned short>(high & 0xffff)), -2048.0f, a * kLowScale),
                         fmaf(half_to_float(static_cast<unsigned short>(high >> 16)), -2048.0f, b * kLowScale));
}

__device__ __forceinline__ bool is_finite(float value) {
  return fabsf(value) <= 3.4028235e+38f;
}

// ---- Tiles and stages ----

// One thread's accumulators of one tile of 64 rows.
using Accumulators = float[64];

__device__ __forceinline__ int tap_of_rows(int rows) {
  return min(rows / 2, 3);
}

__device__ __forceinline__ int channel_of_rows(int rows) {
  return rows % 2 * 16;
}

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before them.
__device__ __forceinline__ void pin(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 64; ++i) {
    wgmma_pin(acc[i]);
  }
}

// The largest finite magnitudes that a thread finds in its part of a slice.
__device__ __forceinline__ float4 scan_slice(const float* __restrict__ from, int tile, int slice, int batch,
                                             int thread) {
  float4 most = make_float4(0, 0, 0, 0);
  const long long end = static_cast<long long>(batch) * (slice + 1);
  for (long long piece = static_cast<long long>(batch) * slice + thread / 16; piece < end; piece += 16) {
    const long long position = static_cast<long long>(thread % 16);
    const float* next = from + (piece * 512 + tile) * 16 + position;
    float read[8];
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      read[i] = position + i * 16 < 16 ? next[i * 16] : 0;
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      most.x = larger_finite(most.x, read[i]);
    }
  }
  return most;
}

// The largest finite magnitudes that a thread finds in its part of a slice.
__device__ __forceinline__ float4 scan_slice_2(const float* __restrict__ from, int tile, int slice, int batch,
                                               int thread) {
  float4 most = make_float4(0, 0, 0, 0);
  const long long end = static_cast<long long>(batch) * (slice + 1);
  for (long long piece = static_cast<long long>(batch) * slice + thread / 16; piece < end; piece += 16) {
    const long long position = static_cast<long long>(thread % 16);
    const float* next = from + (piece * 256 + tile) * 64 + position;
    float read[8];
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      read[i] = position + i * 16 < 64 ? next[i * 16] : 0;
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      most.x = larger_finite(most.x, read[i]);
    }
  }
  return most;
}

// (slice, channel): the largest finite magnitude in one slice of a channel of x, then of grad_y.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_grad_weight_pixels_grad_weight_6266b9e2d1000839_scan(const float* __restrict__ x,
                                                                  const float* __restrict__ grad_y,
                                                                  float* __restrict__ maxima, int batch) {
  const int thread = threadIdx.x;
  const int slice = blockIdx.x / kScanTiles;
  const int tile = blockIdx.x % kScanTiles;
  const bool is_input = tile < kScanTilesIn;
  const float4 most = is_input ? scan_slice(x, tile, slice, batch, thread)
                      : scan_slice_2(grad_y, tile - kScanTilesIn, slice, batch, thread);
  // Those of a channel: in NCHW first of a warp.
  float* found = static_cast<float*>(shared_memory());
  float* to = maxima + slice * 768 + (is_input ? 0 : 512);
  const int first = is_input ? tile : tile - kScanTilesIn;
  float of_warp = most.x;
  #pragma unroll
  for (int mask = 1; mask < 32; mask *= 2) {
    of_warp = fmaxf(of_warp, __shfl_xor_sync(0xffffffffu, of_warp, mask));
  }
  if (thread % 32 == 0) {
    found[thread / 32] = of_warp;
  }
  __syncthreads();
  if (thread == 0) {
    float largest = 0;
    #pragma unroll
    for (int warp = 0; warp < 8; ++warp) {
      largest = fmaxf(largest, found[warp]);
    }
    to[first] = largest;
  }
}

// The scale of a channel: what brings its largest finite magnitude to at least 2^14 and below 2^15.
__device__ __forceinline__ float scale_of_channel(const float* __restrict__ maxima, int channel) {
  float most = 0;
  most = fmaxf(most, maxima[channel]);
  return power_of_two(scale_exponent(most));
}

// The scales of the block's channels, and 1 for those beyond the group's last. All threads share them.
__device__ __forceinline__ void find_scales(float* scales, const float* __restrict__ maxima, int first_in, int ins,
                                            int first_out, int outs, int thread) {
  for (int i = thread; i < 160; i += kThreads) {
    const int channel = i < 128 ? i : i - 128;
    const bool is_there = channel < (i < 128 ? ins : outs);
    scales[i] = is_there ? scale_of_channel(maxima, channel + (i < 128 ? first_in : 512 + first_out)) : 1;
  }
}

__device__ __forceinline__ int exponent_of(float scale) {
  return __float_as_int(scale) / 0x800000 - 127;
}

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 3; ++stage) {
    mbarrier_init(&full[stage], 1);
    mbarrier_init(&empty[stage], 8);
  }
}

// Lane 0 arrives for its warp, all of whose lanes have read a stage, or filled it.
__device__ __forceinline__ void release_stage(unsigned long long* barrier, int lane) {
  __syncwarp();
  if (lane == 0) {
    mbarrier_arrive(barrier);
  }
}

// What a block makes.
struct Target {
  int first_in;  // of its channels in the group
  int first_out;
  int first_kh;  // of its taps
};

// Weights vary fastest, so that blocks which read the same positions run together.
__device__ __forceinline__ Target target_of(int block) {
  const int tap_group = block % 4;
  const int in_tile = block / 4 % 4;
  const int out_tile = block / 16 % 8;
  Target target;
  target.first_in = in_tile * 128;
  target.first_out = out_tile * 32;
  target.first_kh = tap_group;
  return target;
}

__device__ __forceinline__ int place_of_rows(int rows, int lane) {
  const int tap = tap_of_rows(rows);
  const int kh = tap / 4;
  const int kw = tap % 4;
  const int plane = kh % 2 * 2 + kw % 2;
  const int pixel = kh / 2 * 5 + kw / 2 + lane % 8 + lane / 16 * 8;
  const int channel = channel_of_rows(rows) + lane / 8 % 2 * 8;
  return (plane + channel / kOutBox) * kPlaneBoxBytes + pixel * 64 + channel % kOutBox * 2;
}

// Where copies put what has this place without a swizzle: bits 4.. are exclusive-or'ed with bits 7...
__device__ __forceinline__ int swizzled(int place) {
  return place ^ ((place >> 3) & 48);
}

// Loads an A fragment of a part: 16 rows of the warp by the positions of a step.
__device__ __forceinline__ void load_fragment(unsigned int (&fragment)[4], const unsigned char* shared, int offset,
                                              int part, int step, const int& place) {
  // Steps of a run, and parts, are whole patterns of the swizzle apart; rows of a run need not be.
  const int run = step / 5 * 320;
  const int in_run = step % 5 * 1024 + part * kWindowPartBytes;
  matrix_load_x4_transposed(fragment, shared + swizzled(offset + place + (kInputBytes + run)) + in_run);
}

__device__ __forceinline__ unsigned long long input_descriptor(const unsigned char* stage) {
  return wgmma_descriptor(stage, kInputBoxBytes, 1024, 128);
}

__device__ __forceinline__ int input_of_step(int step) {
  return step * 2048;
}

// ---- Products ----

// One thread's A fragments of one k-step: of each of its tiles the high parts, then the low parts.
using PartFragments = unsigned int[2][4];

// All products of a stage, of a warpgroup that has so many tiles. The stage is `offset` bytes into `shared`. `places`
// are the thread's own in the window.
__device__ __forceinline__ void multiply_parts(Accumulators& high, Accumulators& low, const unsigned char* shared,
                                               int offset, const int& places) {
  const unsigned long long input = input_descriptor(shared + offset);
  PartFragments fragments[2];
  // taps (0 to 3, 0 to 3)
  #pragma unroll
  for (int step = 0; step < 5; ++step) {
    #pragma unroll
    for (int part = 0; part < 2; ++part) {
      load_fragment(fragments[step % 2][part], shared, offset, part, step, places);
      #pragma unroll
      for (int word = 0; word < 4; ++word) {
        wgmma_pin_operand(fragments[step % 2][part][word]);
      }
    }
    wgmma_fence();
    const unsigned long long high_input = wgmma_descriptor_move(input, input_of_step(step));
    const unsigned long long low_input = wgmma_descriptor_move(input, kInputPartBytes + input_of_step(step));
    wgmma_m64n128k16_f16_rs_mn_b(low, fragments[step % 2][1], high_input, 1);
    wgmma_m64n128k16_f16_rs_mn_b(high, fragments[step % 2][0], high_input, 1);
    wgmma_m64n128k16_f16_rs_mn_b(low, fragments[step % 2][0], low_input, 1);
    wgmma_commit();
    wgmma_wait(1);  // the step before, whose fragments the next one overwrites
  }
  wgmma_wait(0);
}

// A total with an accumulator of low parts. Infinities have none: a total that isn't finite is the result.
__device__ __forceinline__ float with_low(float total, float low) {
  return is_finite(total) ? fmaf(low, 0.00048828125f, total) : total;
}

// A thread's totals: in registers.
__device__ __forceinline__ float4 load_totals(const Accumulators& totals, int i) {
  return make_float4(totals[i], totals[i + 1], totals[i + 2], totals[i + 3]);
}

__device__ __forceinline__ void store_totals(Accumulators& totals, int i, const float4& four) {
  totals[i] = four.x;
  totals[i + 1] = four.y;
  totals[i + 2] = four.z;
  totals[i + 3] = four.w;
}

// Adds accumulators of high parts to the totals, and begins them anew.
__device__ __forceinline__ void promote_high(Accumulators& totals, Accumulators& high) {
  #pragma unroll
  for (int i = 0; i < 64; i += 4) {
    float4 four = load_totals(totals, i);
    four.x += high[i];
    four.y += high[i + 1];
    four.z += high[i + 2];
    four.w += high[i + 3];
    store_totals(totals, i, four);
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      high[i + k] = 0;
    }
  }
}

// Adds accumulators of low parts to the totals, and begins them anew.
__device__ __forceinline__ void promote_low(Accumulators& totals, Accumulators& low) {
  #pragma unroll
  for (int i = 0; i < 64; i += 4) {
    float4 four = load_totals(totals, i);
    four.x = with_low(four.x, low[i]);
    four.y = with_low(four.y, low[i + 1]);
    four.z = with_low(four.z, low[i + 2]);
    four.w = with_low(four.w, low[i + 3]);
    store_totals(totals, i, four);
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      low[i + k] = 0;
    }
  }
}

// Stores the elements of adjacent sums, aligned to all of them, in one piece.
__device__ __forceinline__ void store_vector(float* to, const float& sums) {
  *to = sums;
}

// ---- Epilogue ----

// The place of a vector's elements in a column of shared memory; `row` is that of the first.
__device__ __forceinline__ int place_in_column(int row) {
  return row % 4 * kTapPitch + row / 4;
}

// Stores the sums of some columns, which lie in shared memory, in the order of the weights. A thread stores the same
// rows of several columns.
__device__ __forceinline__ void store_columns(const float* columns, const Target& target,
                                              float* __restrict__ grad_weight, int thread) {
  const int place = thread / kVectorThreads;
  for (int vector = thread % kVectorThreads; vector < 128; vector += kVectorThreads) {
    const int tap = vector % 4;
    const int channel = vector / 4;
    const int co = target.first_out + channel;
    #pragma unroll 2
    for (int column = place; column < 128; column += 2) {
      const int kh = target.first_kh;
      const int ci = target.first_in + column;
      const float* from = columns + column * kColumnPitch;
      float sums = from[place_in_column(vector)];
      const long long weight = ((static_cast<long long>(ci) * kGroupOut + co) * 4 + kh) * 4 + tap;
      store_vector(grad_weight + weight, sums);
    }
  }
}

// Stores a block's results, through shared memory: some columns at a time.
__device__ __forceinline__ void store_block(const Accumulators& acc, float* columns, const Target& target,
                                            float* __restrict__ grad_weight, int warpgroup, int thread) {
  const int lane = thread % 32;
  named_barrier_sync(1, kConsumers);  // stages, or the columns before, have been read
  const int rows = warpgroup * 4 + thread / 32 % 4;
  if (rows < 8) {
    float* to = columns + lane % 4 * 328 + tap_of_rows(rows) * kTapPitch + channel_of_rows(rows) + lane / 4;
    #pragma unroll
    for (int column = 0; column < 128; column += 8) {
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        to[(column + i % 2) * kColumnPitch + i / 2 * 8] = acc[column / 2 + i];
      }
    }
  }
  named_barrier_sync(1, kConsumers);
  store_columns(columns, target, grad_weight, thread);
}

// ---- Consumers ----

// Undoes the scales of a thread's totals, of its rows' and columns' channels.
__device__ __forceinline__ void unscale(Accumulators& totals, const float* scales, int warpgroup, int thread) {
  const int lane = thread % 32;
  const int rows = warpgroup * 4 + thread / 32 % 4;
  const float* of_rows = scales + (128 + channel_of_rows(rows) + lane / 4);
  #pragma unroll
  for (int i = 0; i < 64; ++i) {
    totals[i] = scaled_by(totals[i],
                          -exponent_of(of_rows[i / 2 % 2 * 8]) - exponent_of(scales[i / 4 * 8 + lane % 4 * 2 + i % 2]));
  }
}

// Multiplies what the stage of this number brought, and releases it. Promotes accumulators to the thread's totals where
// that is due.
__device__ __forceinline__ void consume_parts(Accumulators& totals, Accumulators& high, Accumulators& low,
                                              const int& places, const unsigned char* shared, unsigned long long* full,
                                              unsigned long long* empty, int consumed, int lane) {
  const int stage = consumed % 3;
  mbarrier_wait(&full[stage], consumed / 3 % 2);
  pin(high);
  pin(low);
  multiply_parts(high, low, shared, stage * kStageBytes, places);
  pin(high);
  pin(low);
  release_stage(&empty[stage], lane);
  if ((consumed + 1) % 3 == 0) {
    promote_high(totals, high);
    if ((consumed + 1) % 96 == 0) {
      promote_low(totals, low);
    }
  }
}

// Stores what a warpgroup has summed up.
__device__ __forceinline__ void store_parts(Accumulators& totals, Accumulators& high, Accumulators& low,
                                            const float* scales, float* columns, const Target& target,
                                            float* __restrict__ grad_weight, int warpgroup, int thread) {
  promote_high(totals, high);
  promote_low(totals, low);
  unscale(totals, scales, warpgroup, thread);
  store_block(totals, columns, target, grad_weight, warpgroup, thread);
}

// ---- Producer ----

// What a block reads.
struct Source {
  int in;        // its first channel of x
  int out;       // of grad_y
  int origin_h;  // of its taps
};

// Issues the copies of a tile of the slice: the boxes of x, and those of each plane of grad_y.
__device__ __forceinline__ void copy_tile(unsigned char* shared, const TensorMap& x_map, const TensorMap& grad_y_map,
                                          unsigned long long* full, const Source& source, int issued) {
  // Tiles of one column of tiles follow one another.
  const long long tile = static_cast<long long>(issued);
  const int image = static_cast<int>(tile) * 4;
  unsigned char* stage = shared + issued % 3 * kStageBytes;
  unsigned long long* barrier = &full[issued % 3];
  mbarrier_arrive_expect(barrier, kCopiedBytes);
  #pragma unroll
  for (int box = 0; box < 4; ++box) {
    tensor_load_4d(stage + box * kInputBoxBytes, x_map, barrier, source.in + (box / 2 * 512 + box % 2 * 64), 0, 0,
                   image);
  }
  #pragma unroll
  for (int box = 0; box < 4; ++box) {
    const int part = box / 2;
    const int of_part = box % 2;
    tensor_load_4d(stage + (kInputBytes + part * kWindowPartBytes + of_part * kPlaneBoxBytes), grad_y_map, barrier,
                   source.out + part * 256, of_part - 1, source.origin_h, image);
  }
}

// Zeros after what copies bring to each of some boxes, which products read. No copy overwrites them.
__device__ __forceinline__ void zero_tails(unsigned char* boxes, int count, int copied, int bytes) {
  for (int box = 0; box < count; ++box) {
    for (int i = copied + static_cast<int>(threadIdx.x) * 16; i < bytes; i += 4096) {
      *reinterpret_cast<uint4*>(boxes + box * bytes + i) = make_uint4(0, 0, 0, 0);
    }
  }
}

// The same of all stages.
__device__ __forceinline__ void zero_stage_tails(unsigned char* shared) {
  for (int stage = 0; stage < 3; ++stage) {
    unsigned char* input = shared + stage * kStageBytes;
    zero_tails(input, 4, 10240, kInputBoxBytes);
    for (int part = 0; part < 2; ++part) {
      zero_tails(input + kInputBytes + part * kWindowPartBytes, 2, 5120, kPlaneBoxBytes);
    }
  }
  fence_proxy_async();
}

// The first stages' copies, by one thread.
__device__ __forceinline__ void copy_first(unsigned char* shared, const TensorMap& x_map, const TensorMap& grad_y_map,
                                           unsigned long long* full, const Source& source) {
  for (int issued = 0; issued < min(32, 3); ++issued) {
    copy_tile(shared, x_map, grad_y_map, full, source, issued);
  }
}

// One thread's copies for the stage that some stages before this one were consumed from: other warps may be slower.
__device__ __forceinline__ void copy_next(unsigned char* shared, const TensorMap& x_map, const TensorMap& grad_y_map,
                                          unsigned long long* full, unsigned long long* empty, const Source& source,
                                          int consumed) {
  const int next = consumed + 1;
  if (consumed >= 2 && next < 32) {
    mbarrier_wait(&empty[next % 3], (next / 3 - 1) % 2);
    copy_tile(shared, x_map, grad_y_map, full, source, next);
  }
}

__device__ __forceinline__ Source source_of(const Target& target) {
  return {target.first_in, target.first_out, target.first_kh - 1};
}

// ---- Kernels ----

// Brings a tile of NCHW to shared memory, with zeros beyond so many images and beyond the channels. All of the block's
// threads share it, and wait for each other at its end.
__device__ __forceinline__ void bring_tile(float* tile, const float* __restrict__ from, int first_position,
                                           int first_channel, int images, int thread) {
  const int position = first_position + thread % kCopySide;
  const int channel = first_channel + thread / kCopySide;
  const int image = position / 16;
  const float* column = from + (image * 512 + channel) * 16 + position % 16;
  float loaded[16];
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int next = i * 4;
    loaded[i] = image < images && channel + next < 512 ? column[next * 16] : 0;
  }
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    tile[(thread / kCopySide + i * 4) * kCopyPitch + thread % kCopySide] = loaded[i];
  }
}

// Brings a tile of NCHW to shared memory, with zeros beyond so many images and beyond the channels. All of the block's
// threads share it, and wait for each other at its end.
__device__ __forceinline__ void bring_tile_2(float* tile, const float* __restrict__ from, int first_position,
                                             int first_channel, int images, int thread) {
  const int position = first_position + thread % kCopySide;
  const int channel = first_channel + thread / kCopySide;
  const int image = position / 64;
  const float* column = from + (image * 256 + channel) * 64 + position % 64;
  float loaded[16];
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int next = i * 4;
    loaded[i] = image < images && channel + next < 256 ? column[next * 64] : 0;
  }
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    tile[(thread / kCopySide + i * 4) * kCopyPitch + thread % kCopySide] = loaded[i];
  }
}

// Writes the high parts of a unit, and its low parts so many bytes on. `scales` are those of its channels.
__device__ __forceinline__ void store_split(unsigned char* to, const float (&words)[8], const float* scales) {
  const float4 first = *reinterpret_cast<const float4*>(scales);
  const float4 second = *reinterpret_cast<const float4*>(scales + 4);
  const float scaled[8] = {words[0] * first.x, words[1] * first.y, words[2] * first.z, words[3] * first.w,
                           words[4] * second.x, words[5] * second.y, words[6] * second.z, words[7] * second.w};
  unsigned int high[4];
  unsigned int low[4];
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    high[i] = floats_to_half2(scaled[2 * i], scaled[2 * i + 1]);
    low[i] = low_parts(scaled[2 * i], scaled[2 * i + 1], high[i]);
  }
  *reinterpret_cast<uint4*>(to) = make_uint4(high[0], high[1], high[2], high[3]);
  *reinterpret_cast<uint4*>(to + 1024) = make_uint4(low[0], low[1], low[2], low[3]);
}

// Writes the high parts of a unit, and its low parts so many bytes on. `scales` are those of its channels.
__device__ __forceinline__ void store_split_2(unsigned char* to, const float (&words)[8], const float* scales) {
  const float4 first = *reinterpret_cast<const float4*>(scales);
  const float4 second = *reinterpret_cast<const float4*>(scales + 4);
  const float scaled[8] = {words[0] * first.x, words[1] * first.y, words[2] * first.z, words[3] * first.w,
                           words[4] * second.x, words[5] * second.y, words[6] * second.z, words[7] * second.w};
  unsigned int high[4];
  unsigned int low[4];
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    high[i] = floats_to_half2(scaled[2 * i], scaled[2 * i + 1]);
    low[i] = low_parts(scaled[2 * i], scaled[2 * i + 1], high[i]);
  }
  *reinterpret_cast<uint4*>(to) = make_uint4(high[0], high[1], high[2], high[3]);
  *reinterpret_cast<uint4*>(to + 512) = make_uint4(low[0], low[1], low[2], low[3]);
}

// `from` and `to` are a chunk's. It has so many images of the batch.
__device__ __forceinline__ void split_tile(const float* __restrict__ from, unsigned char* __restrict__ to,
                                           const float* __restrict__ maxima, unsigned char* shared, int first_position,
                                           int first_channel, int images, int thread) {
  float* scales = reinterpret_cast<float*>(shared + kSplitScalesOffset);
  float* tile = reinterpret_cast<float*>(shared);
  const int octet = thread % 8;
  const int row = thread / 8;
  const int channel = first_channel + octet * 8;
  float words[2][8];
  bring_tile(tile, from, first_position, first_channel, images, thread);
  if (thread < kCopySide) {
    scales[thread] = first_channel + thread < 512 ? scale_of_channel(maxima, first_channel + thread) : 1;
  }
  __syncthreads();
  // Adjacent threads write the units of a position.
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int position = first_position + row + i * kSplitRows;
    #pragma unroll
    for (int c = 0; c < 8; ++c) {
      words[i][c] = tile[(octet * 8 + c) * kCopyPitch + (row + i * kSplitRows)];
    }
    if (position < 2048 && channel < 512) {
      store_split(to + (position * 1024 + channel) * 2, words[i], scales + octet * 8);
    }
  }
}

// `from` and `to` are a chunk's. It has so many images of the batch.
__device__ __forceinline__ void split_tile_2(const float* __restrict__ from, unsigned char* __restrict__ to,
                                             const float* __restrict__ maxima, unsigned char* shared,
                                             int first_position, int first_channel, int images, int thread) {
  float* scales = reinterpret_cast<float*>(shared + kSplitScalesOffset);
  float* tile = reinterpret_cast<float*>(shared);
  const int octet = thread % 8;
  const int row = thread / 8;
  const int channel = first_channel + octet * 8;
  float words[2][8];
  bring_tile_2(tile, from, first_position, first_channel, images, thread);
  if (thread < kCopySide) {
    scales[thread] = first_channel + thread < 256 ? scale_of_channel(maxima, 512 + first_channel + thread) : 1;
  }
  __syncthreads();
  // Adjacent threads write the units of a position.
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int position = first_position + row + i * kSplitRows;
    #pragma unroll
    for (int c = 0; c < 8; ++c) {
      words[i][c] = tile[(octet * 8 + c) * kCopyPitch + (row + i * kSplitRows)];
    }
    if (position < 8192 && channel < 256) {
      store_split_2(to + (position * 512 + channel) * 2, words[i], scales + octet * 8);
    }
  }
}

extern "C" __global__ void __launch_bounds__(kCopyThreads)
    convtgen_grad_weight_pixels_grad_weight_6266b9e2d1000839_split(const float* __restrict__ x,
                                                                   const float* __restrict__ grad_y,
                                                                   const float* __restrict__ maxima,
                                                                   unsigned char* __restrict__ x_parts,
                                                                   unsigned char* __restrict__ grad_y_parts,
                                                                   int batch) {
  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  const int of_window = static_cast<int>(blockIdx.x) - 256;  // its tile of grad_y
  if (of_window < 0) {
    split_tile(x, x_parts, maxima, shared, blockIdx.x / 8 * kCopySide, blockIdx.x % 8 * kCopySide, batch, threadIdx.x);
  } else {
    split_tile_2(grad_y, grad_y_parts, maxima, shared, of_window / 4 * kCopySide, of_window % 4 * kCopySide, batch,
                 threadIdx.x);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_grad_weight_pixels_grad_weight_6266b9e2d1000839(__grid_constant__ const TensorMap x_map,
                                                             __grid_constant__ const TensorMap grad_y_map,
                                                             const float* __restrict__ maxima,
                                                             float* __restrict__ grad_weight) {
  const int block = blockIdx.x;
  const Target target = target_of(block);

  unsigned char* shared = shared_align(shared_memory(), 1024);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + 3;
  float* scales = reinterpret_cast<float*>(shared + kScalesOffset);
  const Source source = source_of(target);
  if (threadIdx.x == 0) {
    init_stages(full, empty);
    fence_mbarrier_init();
    copy_first(shared, x_map, grad_y_map, full, source);
  }
  zero_stage_tails(shared);
  find_scales(scales, maxima, target.first_in, 512 - target.first_in, target.first_out, kGroupOut - target.first_out,
              threadIdx.x);
  __syncthreads();

  const int thread = threadIdx.x;
  const int lane = thread % 32;
  const int warpgroup = warp_uniform(thread / 128);
  int places = place_of_rows(warpgroup * 4 + thread / 32 % 4, lane);
  Accumulators high = {};
  Accumulators low = {};
  Accumulators sums = {};  // totals, unless these are in shared memory
  for (int consumed = 0; consumed < 32; ++consumed) {
    if (thread == 0) {
      copy_next(shared, x_map, grad_y_map, full, empty, source, consumed);
    }
    __syncwarp();
    consume_parts(sums, high, low, places, shared, full, empty, consumed, lane);
  }
  store_parts(sums, high, low, scales, reinterpret_cast<float*>(shared), target, grad_weight, warpgroup, thread);
}

// ---- Device primitives ----

#ifndef CONVTGEN_HOST_DEVICE

extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];

// The block's dynamic shared memory, 16-byte aligned.
__device__ __forceinline__ void* shared_memory() {
  return dynamic_shared_memory;
}

// Where a pointer into the block's own shared memory points, as the chip counts it: bytes from the start of the window.
__device__ __forceinline__ unsigned int shared_address(const void* to) {
  return __cvta_generic_to_shared(to);
}

// The first address at or above `pointer` that is a multiple of `alignment` (a power of two) bytes in the shared
// window.
__device__ __forceinline__ unsigned char* shared_align(void* pointer, unsigned int alignment) {
  const unsigned int address = shared_address(pointer);
  return static_cast<unsigned char*>(pointer) + ((alignment - address % alignment) % alignment);
}

// Makes a barrier for `count` (1 to 2^20 - 1) arrivals a phase.
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

// Makes earlier mbarrier_init() calls of this thread visible to the asynchronous proxy and to the cluster.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives once. What this thread wrote before is visible to threads that wait for the phase (release, in the block).
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Adds `bytes` to what the current phase expects of asynchronous copies, then arrives once.
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* at, unsigned int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(at)), "r"(bytes) : "memory");
}

// Returns when the phase of this parity is complete, and sees what those who arrived wrote before.
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity) {
  for (unsigned int complete = 0; complete == 0;) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(complete)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
  }
}

// Waits at barrier `id` until `threads` threads of the block have come to it; what they wrote before is visible after.
__device__ __forceinline__ void named_barrier_sync(int id, int threads) {
  asm volatile("barrier.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ float half_to_float(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

// Two floats to f16, nearest even, `low` in the low half. Every NaN becomes 0x7fff. sm_80 and later.
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high) {
  unsigned int bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

// Lane 0's value in all lanes, so that the compiler knows it to be the same: for a warp's role. Collective.
__device__ __forceinline__ int warp_uniform(int value) {
  return __shfl_sync(0xffffffffu, value, 0);
}

// Loads the box at these coordinates of a 4-dimensional map to shared memory.
__device__ __forceinline__ void tensor_load_4d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1, int c2, int c3) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}

// Orders this thread's accesses to shared memory before those of TMA and wgmma after the next barrier or mbarrier.
__device__ __forceinline__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Orders earlier accesses of registers (accumulators, A) before the products that follow.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

// Closes a group: all products of this warpgroup since the last one.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most the `pending` (a constant, 0 or 1) newest groups are still in flight.
__device__ __forceinline__ void wgmma_wait(int pending) {
  if (pending == 0) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  if (pending == 1) {
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
}

// Keeps the compiler from moving an accumulator across: before wgmma_fence() and after wgmma_wait(). No instruction.
__device__ __forceinline__ void wgmma_pin(float& value) {
  asm volatile("" : "+f"(value)::"memory");
}

// The same for a word of an A operand, before wgmma_fence(): what makes it is not put off until the product.
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word) {
  asm volatile("" : "+r"(word)::"memory");
}

// Describes an operand in shared memory: its first byte, two pitches and the swizzle, in bytes.
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle) {
  const unsigned long long mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return (shared_address(at) & 0x3ffffu) >> 4 | leading / 16ull << 16 | stride / 16ull << 32 | mode << 62;
}

// The descriptor with its start moved by `bytes`, a multiple of 16, negative too.
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes) {
  return descriptor + static_cast<unsigned long long>(static_cast<long long>(bytes / 16));
}

// Reads four matrices, transposed.
__device__ __forceinline__ void matrix_load_x4_transposed(unsigned int (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared_address(row))
               : "memory");
}

// d (64x128, f32) = a (64x16) * b (16x128), added to d where `accumulate` is not 0: f16, A in registers, B N-major.
__device__ __forceinline__ void wgmma_m64n128k16_f16_rs_mn_b(float (&d)[64], const unsigned int (&a)[4],
                                                             unsigned long long b, int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %69, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, p, 1, 1, 1; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) : "memory");
}

#endif

}  // namespace convtgen_grad_weight_pixels_grad_weight_6266b9e2d1000839_source
using convtgen_grad_weight_pixels_grad_weight_6266b9e2d1000839_source::convtgen_grad_weight_pixels_grad_weight_6266b9e2d1000839_scan;
using convtgen_grad_weight_pixels_grad_weight_6266b9e2d1000839_source::convtgen_grad_weight_pixels_grad_weight_6266b9e2d1000839_split;
using convtgen_grad_weight_pixels_grad_weight_6266b9e2d1000839_source::convtgen_grad_weight_pixels_grad_weight_6266b9e2d1000839;
