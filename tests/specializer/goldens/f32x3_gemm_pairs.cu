// conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512; dtype f32; compute f32x3; layout nchw; directions grad_input
// grad_input for sm_90a. Template f32x3_gemm: a block makes 1x128 outputs of 32 channels; 16 taps; 212.9 KiB shared.
// In the code x is grad_y and y is grad_x; channels are exchanged and taps mirrored: tap (0, 0) is the last one.
// Launch
//   sizes: batch 16, in_width 512; out_width 4096
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_x: 4194304 elements, written, 16-byte aligned
//     shape (N 16, Cin 512, W 512), contiguous
//   tensor grad_y: 16777216 elements, read, 16-byte aligned
//     shape (N 16, Cout 256, W 4096), contiguous
//   tensor weight: 2097152 elements, read, 4-byte aligned
//     shape (Cin 512, Cout 256, KW 16), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 8407040 bytes, a packed copy of the weights; kept for later calls
//   kernel convtgen_f32x3_gemm_grad_input_f8c0eade545ad757_pack
//     arguments const float* weight, unsigned char* packed
//     grid 129; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_f32x3_gemm_grad_input_f8c0eade545ad757
//     arguments const float* grad_y, const unsigned char* packed, float* grad_x, int batch
//     grid 128; block 512; shared 218000
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 218000)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 218000)
//     attribute programmatic stream serialization, only if the launch before it on the stream is of this call:
//       the kernel waits before it reads what that launch wrote; it reads and writes tensors without a wait

namespace convtgen_f32x3_gemm_grad_input_f8c0eade545ad757_source {

// ---- Constants ----

constexpr float kLowScale = 2048.0f;
constexpr int kConsumers = 256;  // threads: two warpgroups
constexpr int kInstructionN = 32;
constexpr int kStagedColumns = 1032;
constexpr int kRowPitch = 1032;
constexpr int kChannelPitch = 1060;
constexpr int kPartnerPitch = 8480;
constexpr int kProducers = 256;  // threads
constexpr int kThreads = 512;
constexpr int kLinePitch = 1060;
constexpr int kLineVectors = 258;
constexpr int kLineThreads = 32;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputBytes = 67840;           // the input of a stage
constexpr int kOperandBytes = 1024;          // a B operand of high or of low parts
constexpr int kKBlockWeightBytes = 32768;    // a k-block's B operands
constexpr int kWeightBytes = 524288;         // all k-blocks; exponents of their scales follow
constexpr int kPackedMaximaOffset = 524416;  // of weights, written while they are packed
constexpr int kPackedTileBytes = 525440;     // of an N tile
constexpr int kMaximaOffset = 100608;        // in a stage: one a producer warp
constexpr int kExponentsOffset = 100640;     // in a stage: scales of x
constexpr int kStageBytes = 100656;          // input, weights, maxima, exponents
constexpr int kTotalsOffset = 201312;        // fp32 totals of the accumulators
constexpr int kScalesOffset = 217696;        // factors that undo the scales of the weights
constexpr int kBarrierOffset = 217952;       // mbarriers

// ---- Device primitives, defined at the end ----

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_8(void* to, uint2 value);
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count);
__device__ __forceinline__ void fence_mbarrier_init();
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier);
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* at, unsigned int bytes);
__device__ __forceinline__ bool mbarrier_test(unsigned long long* barrier, unsigned int parity);
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity);
__device__ __forceinline__ void named_barrier_sync(int id, int threads);
__device__ __forceinline__ void grid_dependents_launch();
__device__ __forceinline__ void grid_dependency_wait();
__device__ __forceinline__ void bulk_load(void* to, const void* from, unsigned int bytes, unsigned long long* barrier);
__device__ __forceinline__ void fence_proxy_async();
__device__ __forceinline__ int warp_uniform(int value);
__device__ __forceinline__ bool elect_one();
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);
__device__ __forceinline__ void setmaxnreg_decrease_56();
__device__ __forceinline__ void setmaxnreg_increase_200();
__device__ __forceinline__ void wgmma_m64n32k16_f16_rs(float (&d)[16], const unsigned int (&a)[4],
                                                       unsigned long long b, int accumulate);

#endif

// ---- Elements ----

// The larger of a and |b|; infinities and NaN don't count.
__device__ __forceinline__ float larger_finite(float a, float b) {
  return fmaxf(a, fabsf(fmaf(b, 0, b)));
}

// The largest of a warp's values, none of them negative or NaN: their bits are in the same order. Collective.
__device__ __forceinline__ float largest_of_warp(float value) {
  return __uint_as_float(__reduce_max_sync(0xffffffffu, __float_as_uint(value)));
}

// The exponent of the scale that takes `most` to at least 2^14 and below 2^15; of denormals as far as floats go.
__device__ __forceinline__ int scale_exponent(float most) {
  return min(126, 141 - __float_as_int(most) / 0x800000);
}

// The exponent of x's scale: `kept`, if not `begins` and it brings `largest` to 2^13 and within f16, or that is 0.
__device__ __forceinline__ int next_exponent(float largest, int kept, bool begins) {
  const int wanted = min(126, 141 - (__float_as_int(largest) + 4096) / 0x800000);
  return !begins && (largest == 0 || (kept >= wanted - 1 && kept <= wanted + 1)) ? kept : wanted;
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

// Two values in a word each of high and low parts. An infinity is infinite in `high`, a NaN is NaN; `low` is then NaN.
struct SplitPair {
  unsigned int high;
  unsigned int low;
};

__device__ __forceinline__ unsigned int low_parts(float a, float b, unsigned int high) {
  return floats_to_half2(fmaf(half_to_float(static_cast<unsigned short>(high & 0xffff)), -2048.0f, a * kLowScale),
                         fmaf(half_to_float(static_cast<unsigned short>(high >> 16)), -2048.0f, b * kLowScale));
}

// With `nonzero` no value but zero has a high part of zero: its product with an infinity is then one.
__device__ __forceinline__ SplitPair split_pair(float a, float b, float scale, bool nonzero) {
  unsigned int high = floats_to_half2(a * scale, b * scale);
  if (nonzero) {
    high |= a != 0 && (high & 0x7fff) == 0 ? 1u : 0u;
    high |= b != 0 && (high & 0x7fff0000) == 0 ? 0x10000u : 0u;
  }
  return {high, low_parts(a * scale, b * scale, high)};
}

__device__ __forceinline__ bool is_finite(float value) {
  return fabsf(value) <= 3.4028235e+38f;
}

// ---- Packing ----

// The input channel of a k-step's place in the K of a product.
__device__ __forceinline__ int channel_of_k(int k_step, int k) {
  return k_step * 16 + k / 2 + k % 2 * 8;
}

// Packs the weights by N tile, k-block, tap and k-step: two columns of a B operand each.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_f32x3_gemm_grad_input_f8c0eade545ad757_pack(const float* __restrict__ weight,
                                                         unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  // Some channels at a time, each with a scale of its own. A thread has a tap of a channel, and some k-steps.
  const int lane = threadIdx.x / 4;
  for (int index = blockIdx.x; index < 128; index += gridDim.x) {
    const int n = index * 4 % 32 + threadIdx.x % 4;
    const int channel_tile = index / 8;
    unsigned char* to = packed + static_cast<long long>(channel_tile) * kPackedTileBytes;
    const int co = channel_tile * 32 + n;
    const float* from = weight + (15 + static_cast<long long>(co) * 4096);
    float values[64];
    float most = 0;
    #pragma unroll
    for (int i = 0; i < 64; ++i) {
      values[i] = from[static_cast<long long>(channel_of_k(lane / 16 + i / 16 * 4, i % 16)) * 16 + lane % 16 * -1];
      most = larger_finite(most, values[i]);
    }
    for (int mask = 16; mask >= 4; mask /= 2) {
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
    }
    float* maxima = reinterpret_cast<float*>(to + kPackedMaximaOffset) + n * 8;  // of each warp
    if (threadIdx.x % 32 / 4 == 0) {
      maxima[threadIdx.x / 32] = most;
    }
    __syncthreads();
    for (int warp = 0; warp < 8; ++warp) {
      most = fmaxf(most, maxima[warp]);
    }
    const int exponent = scale_exponent(most);
    if (lane == 0) {
      reinterpret_cast<int*>(to + kWeightBytes)[n] = exponent;
    }
    #pragma unroll
    for (int held = 0; held < 4; ++held) {
      const int tap = lane % 16;
      const int k_step = lane / 16 + held * 4;
      uint4* row = reinterpret_cast<uint4*>(to + k_step * kKBlockWeightBytes) + (tap * 128 + n);
      #pragma unroll
      for (int half = 0; half < 2; ++half) {
        SplitPair pairs[4];
        #pragma unroll
        for (int word = 0; word < 4; ++word) {
          const int i = held * 16 + (half * 8 + word * 2);
          pairs[word] = split_pair(values[i], values[i + 1], power_of_two(exponent), true);
        }
        row[half * kInstructionN] = make_uint4(pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high);
        row[(half + 2) * kInstructionN] = make_uint4(pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low);
      }
    }
  }
}

// ---- Tiles and stages ----

// Goes on to the next stage. The parity flips when the ring wraps around.
__device__ __forceinline__ void next_stage(int& stage, unsigned int& parity) {
  stage = stage == 1 ? 0 : stage + 1;
  parity ^= stage == 0 ? 1 : 0;
}

// Lane 0 arrives for its warp if `is_done`: the warp has read a stage, or filled it.
__device__ __forceinline__ void warp_arrive(unsigned long long* barrier, bool is_done) {
  __syncwarp();
  if (is_done && threadIdx.x % 32 == 0) {
    mbarrier_arrive(barrier);
  }
}

// A tile's first image, and its first position there.
struct Tile {
  int image;
  int m_x;
};

__device__ __forceinline__ Tile tile_at(int index) {
  return {index / 4, index % 4 * 128};
}

// ---- Producer ----

// What a producer copies in its first channel: `from` in the next k-block, `to` this offset in a stage, `bytes`
// (0: no part of the row is in the image), of `rows` where a warp has several.
struct Copy {
  const float* from;
  int to;
  int bytes;
  int rows;
};

// Finds the copies of a tile of the producer, or the warp, of this number.
__device__ __forceinline__ Copy find_copy(const float* __restrict__ x, int first_image, int first_column,
                                          int producer) {
  // The staged columns of the image, and their vectors, relative to the first one, which is at `start` in channel 0.
  const int begin = max(first_column, 0) - first_column;
  const int end = min(first_column + kStagedColumns, 4096) - first_column;
  const long long start = static_cast<long long>(first_image) * 1048576 + first_column;
  const bool is_copied = begin < end;
  return {x + (start + begin + producer * 4096ll), producer * kChannelPitch + begin, is_copied ? (end - begin) * 4 : 0,
          1};
}

// Issues a producer's copy of a row in the channel of a round.
__device__ __forceinline__ void copy_row(float* to, const Copy& copy, int round, unsigned long long* full) {
  bulk_load(to + copy.to + round * 8480, copy.from + round * 8 * 4096ll, copy.bytes, full);
}

// Issues a producer's copies of a k-block.
__device__ __forceinline__ void copy_rows(float* to, const Copy& copy, unsigned long long* full) {
  mbarrier_arrive_expect(full, 2 * copy.bytes);
  if (copy.bytes != 0) {
    #pragma unroll 16
    for (int round = 0; round < 2; ++round) {
      copy_row(to, copy, round, full);
    }
  }
}

// Writes zeros to the rows and columns of a stage outside the image, and to channels beyond the layer's.
__device__ __forceinline__ void zero_pad(float* to, int first_column, int thread) {
  for (int i = thread / 8; i < 16; i += 32) {
    float* staged = to + i * kChannelPitch;
    for (int column = thread % 8 * 4; column < kRowPitch; column += 32) {
      const int ix = first_column + column;
      if (ix < 0 || ix >= 4096) {
        *reinterpret_cast<uint4*>(staged + column) = make_uint4(0, 0, 0, 0);
      }
    }
  }
  fence_proxy_async();  // orders these writes before the next bulk copies to these places
  __syncwarp();         // one lane arrives for all
}

// The maximum of an image in a stage. Each producer warp has scanned its own part for it.
__device__ __forceinline__ float largest_of(const float4& four) {
  return fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w));
}

__device__ __forceinline__ float stage_maximum(const unsigned char* maxima) {
  return fmaxf(largest_of(reinterpret_cast<const float4*>(maxima)[0]),
               largest_of(reinterpret_cast<const float4*>(maxima)[1]));
}

// The values that a thread scans and splits together.
using Vector = float[8];

// Whether there is one. The remainders tell the compiler that each thread has all of them except perhaps the last.
__device__ __forceinline__ bool has_vector(int i, int thread) {
  return i < 9 && i * kLineThreads + thread % kLineThreads < kLineVectors;
}

// Loads the i-th of a thread's vectors; zeros beyond its vectors.
__device__ __forceinline__ void load_vector(Vector& vector, const float* own, int i, int thread) {
  #pragma unroll
  for (int v = 0; v < 8; ++v) {
    vector[v] = 0;
  }
  if (has_vector(i, thread)) {
    #pragma unroll
    for (int v = 0; v < 8; ++v) {
      vector[v] = own[i * 128 + (v / 4 * kPartnerPitch + v % 4)];
    }
  }
}

// Splits a vector, and stores its parts where it was.
__device__ __forceinline__ void store_vector_split(float* own, int i, const Vector& vector, float scale) {
  unsigned int* words = reinterpret_cast<unsigned int*>(own + i * 128);
  SplitPair pairs[4];
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    pairs[j] = split_pair(vector[j], vector[4 + j], scale, false);
  }
  *reinterpret_cast<uint4*>(words) = make_uint4(pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high);
  *reinterpret_cast<uint4*>(words + kPartnerPitch) = make_uint4(pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low);
}

// The maximum magnitude of a thread's vectors of an image. NaN don't count.
__device__ __forceinline__ float scan_maximum(const float* own, int thread) {
  float most[2] = {0, 0};
  #pragma unroll
  for (int batch = 0; batch < 9; batch += 2) {
    Vector vectors[2];
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      load_vector(vectors[i], own, batch + i, thread);
    }
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
      most[i % 2] = fmaxf(most[i % 2], fabsf(vectors[i / 8][i % 8]));
    }
  }
  return fmaxf(most[0], most[1]);
}

// The same of finite values only. It is seldom needed, so it goes vector by vector.
__device__ __forceinline__ float scan_finite_maximum(const float* own, int thread) {
  float most = 0;
  #pragma unroll 1
  for (int i = 0; i < 9; ++i) {
    Vector vector;
    load_vector(vector, own, i, thread);
    #pragma unroll
    for (int v = 0; v < 8; ++v) {
      most = larger_finite(most, vector[v]);
    }
  }
  return most;
}

// Splits a thread's vectors of an image.
__device__ __forceinline__ void split_vectors(float* own, int thread, float scale) {
  #pragma unroll
  for (int batch = 0; batch < 9; batch += 2) {
    Vector vectors[2];
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      load_vector(vectors[i], own, batch + i, thread);
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (has_vector(batch + i, thread)) {
        store_vector_split(own, batch + i, vectors[i], scale);
      }
    }
  }
}

// Whether the phase of this parity is complete, for all of a warp.
__device__ __forceinline__ bool is_complete(unsigned long long* barrier, unsigned int parity) {
  return warp_uniform(mbarrier_test(barrier, parity) ? 1 : 0) == 1;
}

// How many stages are issued and not processed; the oldest, and its k-block; exponents that the one before `kept`.
struct Issued {
  int stages;
  int oldest;
  unsigned int parity;
  int k_block;
  int kept;
};

// Processes the oldest stage, whose copies have landed or are waited for, and releases it to the consumers.
__device__ __forceinline__ void process_stage(unsigned char* stages, unsigned long long* full,
                                              unsigned long long* landed, Issued& issued, int thread) {
  unsigned char* stage = stages + issued.oldest * kStageBytes;
  mbarrier_wait(&landed[issued.oldest], issued.parity);
  float* vectors = reinterpret_cast<float*>(stage) + thread / kLineThreads * kLinePitch + thread % kLineThreads * 4;
  float* maxima = reinterpret_cast<float*>(stage + kMaximaOffset);
  float most = largest_of_warp(scan_maximum(vectors, thread));
  if (!is_finite(most)) {
    most = largest_of_warp(scan_finite_maximum(vectors, thread));
  }
  if (thread % 32 == 0) {
    maxima[thread / 32] = most;
  }
  named_barrier_sync(1, kProducers);
  int* exponents = reinterpret_cast<int*>(stage + kExponentsOffset);
  const int exponent = next_exponent(stage_maximum(stage + kMaximaOffset), issued.kept, issued.k_block == 0);
  issued.kept = exponent;
  if (thread == 0) {
    exponents[0] = exponent;
  }
  split_vectors(vectors, thread, power_of_two(exponent));
  fence_proxy_async();  // orders these writes before the next bulk copies to these places
  warp_arrive(&full[issued.oldest], true);
  next_stage(issued.oldest, issued.parity);
  issued.k_block = issued.k_block == 15 ? 0 : issued.k_block + 1;
  --issued.stages;
}

// ---- Products ----

// By sets of fused phases and by instruction tiles of 64 positions.
using Accumulators = float[2][1][16];

// The i-th of them.
__device__ __forceinline__ float& acc_at(Accumulators& acc, int i) {
  return acc[i / 16][0][i % 16];
}

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before these.
__device__ __forceinline__ void pin(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 32; ++i) {
    wgmma_pin(acc_at(acc, i));
  }
}

// What a thread's accumulators hold: `rows` of taps (0: the next products begin them), x's scale as `exponent`, in the
// lane's image; whether some were `promoted` to totals, of exponent `total` (without totals: the least so far).
struct ScaleState {
  int rows;
  int exponent;
  bool promoted;
  int total;
  float4* totals;
};

// Infinities have no low parts: where an accumulator of high parts isn't finite, it is the result.
__device__ __forceinline__ void drop_low_of_infinite(Accumulators& acc) {
  bool finite = true;
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    finite &= is_finite(acc[0][0][i / 2 * 4 + i % 2]);
  }
  finite &= is_finite(acc[0][0][2]);
  if (!finite) {
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
      float& low = acc_at(acc, 16 + i);
      low = is_finite(acc_at(acc, i)) ? low : 0;
    }
  }
}

// The i-th of a thread's totals; four lie together.
__device__ __forceinline__ float& total_at(float4* totals, int i) {
  return reinterpret_cast<float*>(totals + i / 4 * kConsumers)[i % 4];
}

// Adds accumulators of low parts, and totals if there are any, to those of high parts. Returns their scale's exponent.
__device__ __forceinline__ int combine(Accumulators& acc, ScaleState& state) {
  int exponent = state.exponent;  // of its own image
  drop_low_of_infinite(acc);
  if (state.promoted && exponent != state.total) {
    const int less = min(exponent, state.total);  // both get the smaller one's scale
    #pragma unroll
    for (int i = 0; i < 32; ++i) {
      acc_at(acc, i) = scaled_by(acc_at(acc, i), less - exponent);
    }
    #pragma unroll 16
    for (int i = 0; i < 16; ++i) {
      total_at(state.totals, i) = scaled_by(total_at(state.totals, i), less - state.total);
    }
    exponent = less;
  }
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    acc_at(acc, i) = fmaf(acc_at(acc, 16 + i), 0.00048828125f, acc_at(acc, i));
  }
  if (state.promoted) {
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
      acc_at(acc, i) += total_at(state.totals, i);
    }
  }
  return exponent;
}

// Promotes the accumulators to totals, once no products are in flight. The next products begin the accumulators.
__device__ __forceinline__ void promote(Accumulators& acc, ScaleState& state) {
  pin(acc);
  state.total = combine(acc, state);
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    total_at(state.totals, i) = acc_at(acc, i);
  }
  state.rows = 0;
  state.promoted = true;
}

// Makes a tile's results of its accumulators. `scales` undo those of the weights, in two factors each.
__device__ __forceinline__ void unscale(Accumulators& acc, ScaleState& state, const float2* scales) {
  const float2 own = factors_of(-combine(acc, state));
  #pragma unroll
  for (int eight = 0; eight < 4; ++eight) {
    const float4 two = *reinterpret_cast<const float4*>(scales + eight * 8);
    const float factors[2][2] = {{two.x * own.x, two.y * own.y}, {two.z * own.x, two.w * own.y}};
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& value = acc_at(acc, eight * 4 + i);
      value = value * factors[i % 2][0] * factors[i % 2][1];
    }
  }
  state.rows = 0;
  state.promoted = false;
}

// Before a stage's products: promotes accumulators that have terms enough, or where an image of x has another scale.
__device__ __forceinline__ void choose_scale(Accumulators& acc, ScaleState& state, const unsigned char* stage) {
  const int exponent = reinterpret_cast<const int*>(stage + kExponentsOffset)[0];
  const bool fits = state.rows < 1 && exponent == state.exponent;
  if (__ballot_sync(0xffffffffu, state.rows > 0 && !fits ? 1 : 0) != 0) {
    promote(acc, state);
  }
  state.exponent = exponent;
}

// The A operands of two taps: of high and of low parts, of each tap and M tile.
using PairFragments = unsigned int[2][2][1][4];

// Loads the fragments of a k-block's pair of taps. `rows` is the thread's first position in the stage.
__device__ __forceinline__ void load_pair(PairFragments& a, const unsigned int* rows, int pair) {
  const int first = pair * 2;
  const unsigned int* from = rows + (15 - first);
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    #pragma unroll
    for (int part = 0; part < 2; ++part) {
      const unsigned int* word = from + i / 2 * 4240 + part * kPartnerPitch + i % 2 * 8;
      const uint2 v = *reinterpret_cast<const uint2*>(word - 1);
      a[part][0][0][i] = v.y;
      a[part][1][0][i] = v.x;
    }
  }
  #pragma unroll
  for (int i = 0; i < 16; ++i) {
    unsigned int& word = a[i / 8][i / 4 % 2][0][i % 4];
    wgmma_pin_operand(word);
  }
}

// The products of a pair of taps, with the B operands of the first one at `weights`: those of low parts with high
// weights, then those of high parts with both parts of the weights. They begin the accumulators if not `later`.
__device__ __forceinline__ void multiply_pair(Accumulators& acc, const PairFragments& a, unsigned long long weights,
                                              int later) {
  #pragma unroll
  for (int part = 1; part >= 0; --part) {
    #pragma unroll
    for (int tap = 0; tap < 2; ++tap) {
      const int begun = tap == 0 ? later : 1;
      wgmma_m64n32k16_f16_rs(acc[part][0], a[part][tap][0], weights + tap * 128, begun);
      if (part == 0) {
        wgmma_m64n32k16_f16_rs(acc[1][0], a[0][tap][0], weights + (tap * 2048 + kOperandBytes) / 16, 1);
      }
    }
  }
}

// All products of one k-block of split values. `rows` is the thread's first position in the stage, which is released at
// `empty` once they are done.
__device__ __forceinline__ void multiply_pairs(Accumulators& acc, ScaleState& state, const unsigned int* rows,
                                               const unsigned char* weights, unsigned long long* empty,
                                               unsigned int zero) {
  const unsigned long long operands = wgmma_descriptor(weights, 512, 128, 0);
  const int later = state.rows > 0 ? 1 : 0;
  PairFragments fragments[2];  // of the pair whose products are in flight, and of the next one
  #pragma unroll
  for (int pair = 0; pair < 8; ++pair) {
    if (pair > 1) {
      wgmma_wait(1);  // the fragments of the pair before the last one may be overwritten
    }
    load_pair(fragments[pair % 2], rows, pair);
    const unsigned long long operand = operands + pair * 256;
    wgmma_fence();
    multiply_pair(acc, fragments[pair % 2], operand, pair == 0 ? later : 1);  // taps (0, 0 to 15)
    wgmma_commit();
  }
  wgmma_wait(0);
  ++state.rows;
  warp_arrive(empty, (state.exponent & zero) == 0);  // once the exponent was loaded
}

// ---- Epilogue ----

// Stores a thread's outputs: its positions in all phases, for its channels, from position (m_y, m_x), channel `co` on.
__device__ __forceinline__ void store_tile(const Accumulators& acc, float* __restrict__ y, int co, int m_x) {
  float* corner = y + static_cast<long long>(co) * 512 + m_x;
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    float* to = corner + static_cast<long long>(i / 2 * 8 + i % 2) * 512;
    if (m_x < 512) {
      float values[2];
      #pragma unroll
      for (int v = 0; v < 2; ++v) {
        values[v] = acc[0][0][i / 2 * 4 + v * 2 + i % 2];
      }
      store_global_8(to, make_uint2(__float_as_uint(values[0]), __float_as_uint(values[1])));
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_f32x3_gemm_grad_input_f8c0eade545ad757(const float* __restrict__ x, const unsigned char* packed,
                                                    float* __restrict__ y, int batch) {
  const int tiles = batch * 4;
  // The block's output channels and phase rows. Blocks that read the same input run together.
  const int n_tile = blockIdx.x % 16;
  const int first_tile = blockIdx.x / 16;
  const int next_tile = gridDim.x / 16;
  const int first_out = n_tile % 16 * 32;
  const unsigned char* block_weights = packed + static_cast<long long>(n_tile) * kPackedTileBytes;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + 2;
  unsigned long long* landed = empty + 2;  // of copies, before the producers process them
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < 2; ++stage) {
      mbarrier_init(&full[stage], 9);
      mbarrier_init(&empty[stage], 8);
      mbarrier_init(&landed[stage], 8);
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  if (warp >= 8) {
    setmaxnreg_decrease_56();
    const int thread = threadIdx.x - kConsumers;
    if (thread == 0) {
      grid_dependency_wait();  // the weights are packed
    }
    int stage = 0;
    unsigned int parity = 1;
    Issued issued = {0, 0, 0, 0, 0};
    for (int index = first_tile; index < tiles || issued.stages > 0; index += next_tile) {
      const bool drains = index >= tiles;  // processes the stages that are left
      const Tile tile = tile_at(index);
      const int first_column = tile.m_x * 8 - 4;
      Copy copy = find_copy(x, tile.image, first_column, warp - 8);
      const bool is_padded = first_column < 0 || first_column + kStagedColumns > 4096;
      for (int k_block = 0; k_block < 16; ++k_block) {
        while (issued.stages > 0 &&
               (drains || is_complete(&landed[issued.oldest], issued.parity) || !is_complete(&empty[stage], parity))) {
          process_stage(shared, full, landed, issued, thread);
        }
        if (drains) {
          break;
        }
        mbarrier_wait(&empty[stage], parity);
        unsigned char* to = shared + stage * kStageBytes;
        if (thread == 0) {
          mbarrier_arrive_expect(&full[stage], kKBlockWeightBytes);
          bulk_load(to + kInputBytes, block_weights + k_block * kKBlockWeightBytes, kKBlockWeightBytes, &full[stage]);
        }
        float* staged = reinterpret_cast<float*>(to);
        if (is_padded && k_block < 2) {
          zero_pad(staged, first_column, thread);
        }
        if (elect_one()) {
          copy_rows(staged, copy, &landed[stage]);
        }
        copy.from += 65536ll;
        next_stage(stage, parity);
        ++issued.stages;
      }
    }
  } else {
    setmaxnreg_increase_200();
    // The thread's place in the tile: its first position, the first of its channels.
    const int lane = threadIdx.x % 32;
    const int quarter = lane % 4;
    const int place_in_tile = warp * 8 + lane / 4;
    const int image = place_in_tile / 64;
    const int column = place_in_tile % 64 * 2;
    const int position = image * kRowPitch + column * 8;
    const int own = quarter * kChannelPitch + position;
    const int co = first_out + quarter * 2;
    const unsigned int zero = static_cast<unsigned int>(batch) >> 31;  // which the compiler doesn't know to be 0
    Accumulators acc = {};
    ScaleState state = {0, 0, false, 0, reinterpret_cast<float4*>(shared + kTotalsOffset) + threadIdx.x};
    float2* scales = reinterpret_cast<float2*>(shared + kScalesOffset);
    grid_dependency_wait();
    for (int i = threadIdx.x; i < 32; i += kConsumers) {
      scales[i] = factors_of(-reinterpret_cast<const int*>(block_weights + kWeightBytes)[i]);
    }
    named_barrier_sync(2, kConsumers);
    int stage = 0;
    unsigned int parity = 0;
    for (int index = first_tile; index < tiles; index += next_tile) {
      pin(acc);
      for (int k_block = 0; k_block < 16; ++k_block) {
        mbarrier_wait(&full[stage], parity);
        const unsigned char* from = shared + stage * kStageBytes;
        const unsigned char* weights = from + kInputBytes;
        choose_scale(acc, state, from);
        multiply_pairs(acc, state, reinterpret_cast<const unsigned int*>(from) + own, weights, &empty[stage], zero);
        next_stage(stage, parity);
      }
      pin(acc);
      unscale(acc, state, scales + quarter * 2);
      const Tile tile = tile_at(index);
      const int own_column = column + (static_cast<int>(zero) & index);  // opaque, so that no address is kept
      store_tile(acc, y + (tile.image + image) * 262144ll, co, tile.m_x + own_column);
    }
  }
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

// Writes 8 bytes (aligned to 8) to global memory in one instruction.
__device__ __forceinline__ void store_global_8(void* to, uint2 value) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(value.x), "r"(value.y) : "memory");
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

// Whether the phase of this parity is complete: true for the current phase's predecessor. Does not wait.
__device__ __forceinline__ bool mbarrier_test(unsigned long long* barrier, unsigned int parity) {
  unsigned int complete;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
               : "=r"(complete)
               : "r"(shared_address(barrier)), "r"(parity)
               : "memory");
  return complete != 0;
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

// Lets the launch after this one begin, as soon as all blocks have said so or ended.
__device__ __forceinline__ void grid_dependents_launch() {
  asm volatile("griddepcontrol.launch_dependents;");
}

// Waits until the launch before this one has ended, where the two overlap; what it wrote is visible after.
__device__ __forceinline__ void grid_dependency_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

// Copies `bytes` (a multiple of 16) from global to shared memory, both aligned to 16; reports to an mbarrier.
__device__ __forceinline__ void bulk_load(void* to, const void* from, unsigned int bytes, unsigned long long* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

// Orders this thread's accesses to shared memory before those of TMA and wgmma after the next barrier or mbarrier.
__device__ __forceinline__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Lane 0's value in all lanes, so that the compiler knows it to be the same: for a warp's role. Collective.
__device__ __forceinline__ int warp_uniform(int value) {
  return __shfl_sync(0xffffffffu, value, 0);
}

// True in exactly one lane of the warp, always the same one. Collective. sm_90 and later.
__device__ __forceinline__ bool elect_one() {
  unsigned int elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }" : "=r"(elected)::"memory");
  return elected != 0;
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

// Gives back the registers of each thread of this warpgroup beyond 56. Collective.
__device__ __forceinline__ void setmaxnreg_decrease_56() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
}

// Waits until each thread of this warpgroup can have 200 registers, more than it has, and takes them. Collective.
__device__ __forceinline__ void setmaxnreg_increase_200() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 200;");
}

// d (64x32, f32) = a (64x16) * b (16x32), added to d where `accumulate` is not 0: f16, A in registers, B K-major.
__device__ __forceinline__ void wgmma_m64n32k16_f16_rs(float (&d)[16], const unsigned int (&a)[4],
                                                       unsigned long long b, int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %21, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
      "{%16, %17, %18, %19}, %20, p, 1, 1, 0; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) : "memory");
}

#endif

}  // namespace convtgen_f32x3_gemm_grad_input_f8c0eade545ad757_source
using convtgen_f32x3_gemm_grad_input_f8c0eade545ad757_source::convtgen_f32x3_gemm_grad_input_f8c0eade545ad757_pack;
using convtgen_f32x3_gemm_grad_input_f8c0eade545ad757_source::convtgen_f32x3_gemm_grad_input_f8c0eade545ad757;
