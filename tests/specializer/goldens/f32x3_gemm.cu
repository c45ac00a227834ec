// conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; dtype f32; compute f32x3; layout nchw
// forward for sm_90a. Template shift_gemm: a block makes 8x32 outputs of 32 channels; 21 taps; 217.5 KiB shared.
// Launch: 384 threads and 222696 bytes of dynamic shared memory a block.

namespace convtgen_shift_gemm_forward_911947ef2c1daf78_source {
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)
extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];
// The block's dynamic shared memory, 16-byte aligned.
__device__ __forceinline__ void* shared_memory() { return dynamic_shared_memory; }
// Where a pointer into the block's own shared memory points, as the chip counts it: bytes from the start of the window.
__device__ __forceinline__ unsigned int shared_address(const void* to) { return __cvta_generic_to_shared(to); }
// Writes 16 bytes (aligned to 16) to global memory as an ordinary store does; the caches drop them first.
__device__ __forceinline__ void store_streaming_16(void* to, uint4 value) {
  asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w) : "memory");
}
// Makes a barrier for `count` (1 to 2^20 - 1) arrivals a phase.
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}
// Makes earlier mbarrier_init() calls of this thread visible to the asynchronous proxy and to the cluster.
__device__ __forceinline__ void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// Arrives once. What this thread wrote before is visible to whom waits for the phase (release, in the block).
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
               : "=r"(complete) : "r"(shared_address(barrier)), "r"(parity) : "memory");
  return complete != 0;
}
// Returns when the phase of this parity is complete, and sees what those who arrived wrote before.
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity) {
  for (unsigned int complete = 0; complete == 0;) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(complete) : "r"(shared_address(barrier)), "r"(parity) : "memory");
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
// Lets the launch behind this one begin, as soon as all blocks have said so or ended.
__device__ __forceinline__ void grid_dependents_launch() { asm volatile("griddepcontrol.launch_dependents;"); }
// Waits until the launch before this one has ended, where the two overlap; what it wrote is visible after.
__device__ __forceinline__ void grid_dependency_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
// Lane 0's value in all lanes, so that the compiler knows it to be the same: for a warp's role. Collective.
__device__ __forceinline__ int warp_uniform(int value) { return __shfl_sync(0xffffffffu, value, 0); }
// True in exactly one lane of the warp, always the same one. Collective. sm_90 and later.
__device__ __forceinline__ bool elect_one() {
  unsigned int elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }" : "=r"(elected)::"memory");
  return elected != 0;
}
// Copies `bytes` (a multiple of 16) from global to shared memory, both aligned to 16; reports to an mbarrier.
__device__ __forceinline__ void bulk_load(void* to, const void* from, unsigned int bytes, unsigned long long* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier)) : "memory");
}
// Orders this thread's accesses to shared memory before those of TMA and wgmma behind the next barrier or mbarrier.
__device__ __forceinline__ void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// Orders earlier accesses of registers (accumulators, A) before the products that follow.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// Closes a group: all products of this warpgroup since the last one.
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until at most the `pending` (a constant, 0 or 1) newest groups are still under way.
__device__ __forceinline__ void wgmma_wait(int pending) {
  if (pending == 0) asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  if (pending == 1) asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
}
// Keeps the compiler from moving an accumulator across: before wgmma_fence() and after wgmma_wait(). No instruction.
__device__ __forceinline__ void wgmma_pin(float& value) { asm volatile("" : "+f"(value)::"memory"); }
// The same for a word of an A operand, before wgmma_fence(): what makes it is not put off until the product.
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word) { asm volatile("" : "+r"(word)::"memory"); }
// Describes an operand in shared memory: its first byte, two pitches and the swizzle, in bytes.
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle) {
  const unsigned long long mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return (shared_address(at) & 0x3ffffu) >> 4 | leading / 16ull << 16 | stride / 16ull << 32 | mode << 62;
}
// Gives back the registers of each thread of this warpgroup beyond 72. Collective.
__device__ __forceinline__ void setmaxnreg_decrease_72() { asm volatile("setmaxnreg.dec.sync.aligned.u32 72;"); }
// Waits until each thread of this warpgroup can have 216 registers, more than it has, and takes them. Collective.
__device__ __forceinline__ void setmaxnreg_increase_216() { asm volatile("setmaxnreg.inc.sync.aligned.u32 216;"); }
// d (64x32, f32) = a (64x16) * b (16x32), added to d where `accumulate` is not 0: f16, A in registers, B K-major.
__device__ __forceinline__ void wgmma_m64n32k16_f16_rs(float (&d)[16], const unsigned int (&a)[4], unsigned long long b,
    int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %21, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
      "{%16, %17, %18, %19}, %20, p, 1, 1, 0; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) : "memory");
}
#endif

// The larger of a and |b|; infinities and NaN don't count.
__device__ __forceinline__ float larger_finite(float a, float b) { return fmaxf(a, fabsf(fmaf(b, 0, b))); }
// The largest of a warp's values, none of them negative or NaN: their bits are in the same order. Collective.
__device__ __forceinline__ float largest_of_warp(float value) {
  return __uint_as_float(__reduce_max_sync(4294967295u, __float_as_uint(value)));
}
// The exponent of the scale that takes `most` to at least 2^14 and below 2^15; of denormals as far as floats go.
__device__ __forceinline__ int scale_exponent(float most) { return min(126, 141 - __float_as_int(most) / 8388608); }
// 2^exponent, -126 to 127.
__device__ __forceinline__ float power_of_two(int exponent) { return __int_as_float((exponent + 127) * 8388608); }
// Two factors that make 2^e, which may be no float.
__device__ __forceinline__ float2 factors_of(int e) { return {power_of_two(e / 2), power_of_two(e - e / 2)}; }
__device__ __forceinline__ float scaled_by(float x, int e) { return x * factors_of(e).x * factors_of(e).y; }
// Two values in a word each of high and low parts. An infinity is infinite in `high`, a NaN is NaN; `low` is then NaN.
struct SplitPair { unsigned int high; unsigned int low; };
__device__ __forceinline__ unsigned int low_parts(float a, float b, unsigned int high) {
  return floats_to_half2(fmaf(half_to_float(static_cast<unsigned short>(high & 65535)), -2048.0f, a * 2048.0f),
                         fmaf(half_to_float(static_cast<unsigned short>(high >> 16)), -2048.0f, b * 2048.0f));
}
// With `nonzero` no value but zero has a high part of zero: its product with an infinity is then one.
__device__ __forceinline__ SplitPair split_pair(float a, float b, float scale, bool nonzero) {
  unsigned int high = floats_to_half2(a * scale, b * scale);
  if (nonzero) {
    high |= a != 0 && (high & 32767) == 0 ? 1u : 0u;
    high |= b != 0 && (high & 2147418112) == 0 ? 65536u : 0u;
  }
  return {high, low_parts(a * scale, b * scale, high)};
}
__device__ __forceinline__ bool is_finite(float value) { return fabsf(value) <= 3.4028235e+38f; }

// One thread's sums for one tile, in phases that one product makes.
using Sums = float[16];
// The registers of a run: the A operands of products whose first position is each of the run's.
using Run = unsigned int[11][4];
using Words = unsigned int[2][12];

// Puts the weights where products look for them: by block, chunk, tap and step, the two columns of a B operand.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_shift_gemm_forward_911947ef2c1daf78_pack(const float* __restrict__ weight,
                                                      unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  // Some columns at a time, each with a scale of its own. A thread has a tap of a column, and some depths.
  const int lane = threadIdx.x / 2;
  for (int index = blockIdx.x; index < 16; index += gridDim.x) {
    const int n = index * 2 % 32 + threadIdx.x % 2;
    const int channel_tile = index / 16;
    unsigned char* to = packed + static_cast<long long>(channel_tile) * 87168;
    const int co = channel_tile * 32 + n;
    const float* from = weight + static_cast<long long>(co) * 21;
    float values[16];
    float most = 0;
    _Pragma("unroll") for (int i = 0; i < 16; ++i) {
      values[i] = from[static_cast<long long>(lane / 21 % 2 * 16 + i) * 672 + lane % 21];
      most = larger_finite(most, values[i]);
    }
    for (int mask = 16; mask >= 2; mask /= 2) most = fmaxf(most, __shfl_xor_sync(4294967295u, most, mask));
    float* found = reinterpret_cast<float*>(to + 86144) + n * 8;  // by each warp
    if (threadIdx.x % 32 / 2 == 0) found[threadIdx.x / 32] = most;
    __syncthreads();
    for (int warp = 0; warp < 8; ++warp) most = fmaxf(most, found[warp]);
    const int exponent = scale_exponent(most);
    if (lane == 0) reinterpret_cast<int*>(to + 86016)[n] = exponent;
    if (lane < 42) {
      const int tap = lane % 21;
      const int depth = lane / 21;
      uint4* row = reinterpret_cast<uint4*>(to + depth * 43008) + (tap * 128 + n);
      _Pragma("unroll") for (int half = 0; half < 2; ++half) {
        SplitPair pairs[4];
        _Pragma("unroll") for (int word = 0; word < 4; ++word) {
          const int i = half * 8 + word * 2;
          pairs[word] = split_pair(values[i], values[i + 1], power_of_two(exponent), true);
        }
        row[half * 32] = make_uint4(pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high);
        row[(half + 2) * 32] = make_uint4(pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low);
      }
    }
  }
}

// What a producer copies in its first channel: `from` in the next chunk, `to` so far into a stage, `bytes` (0: none of
// the row is in the image), of `rows` where a warp has several.
struct Copy { const float* from; int to; int bytes; int rows; };
// Finds the copies of a tile of the producer, or the warp, of this number.
__device__ __forceinline__ Copy find_copy(const float* __restrict__ x, int first_image, int first_channel,
                                          int first_row, int first_column, int producer) {
  const int channel = producer / 10;
  const int row = producer % 10;
  const int above = max(0, 3 - first_row - row) / 4;  // rows of a warp
  const int iy = first_row + row + 4 * above;
  // The staged columns of the image, and the pieces of them, behind the first one, which is at `start` in channel 0.
  const int begin = max(first_column, 0) - first_column;
  const int end = min(first_column + 40, 1024) - first_column;
  const long long start =
      static_cast<long long>(first_image) * 16777216 + static_cast<long long>(iy) * 1024 + first_column;
  const bool is_copied = iy >= 0 && iy < 512 && begin < end;
  const int rows = is_copied ? (min(first_row + 10, 512) - iy + 3) / 4 : 0;
  return {x + (start + begin + (first_channel + channel) * 524288ll), channel * 404 + (row + 4 * above) * 40 + begin,
          is_copied ? (end - begin) * 4 : 0, rows};
}
// Asks for a producer's copies of a chunk, of which the layer has so many `channels`.
__device__ __forceinline__ void copy_rows(float* to, const Copy& copy, unsigned long long* full, long long plane) {
  mbarrier_arrive_expect(full, 16 * copy.rows * copy.bytes);
  _Pragma("unroll 1") for (int row = 0; row < copy.rows; ++row) {
    _Pragma("unroll 16") for (int round = 0; round < 16; ++round)
      bulk_load(to + copy.to + (row * 160 + round * 404), copy.from + (row * 4096ll + round * plane), copy.bytes, full);
  }
}
// Writes zeros where a stage has no row or column of the image, or no channel of the layer: no copy writes there.
__device__ __forceinline__ void clear_gaps(float* to, int first_row, int first_column, int thread) {
  for (int i = thread; i < 160; i += 128) {
    const int iy = first_row + i % 10;
    const bool is_copied = iy >= 0 && iy < 512;
    float* staged = to + i / 10 * 404 + i % 10 * 40;
    for (int column = 0; column < 40; column += 4) {
      const int ix = first_column + column;
      if (!is_copied || ix < 0 || ix >= 1024)
        *reinterpret_cast<uint4*>(staged + column) = make_uint4(0, 0, 0, 0);
    }
  }
  fence_proxy_async();  // the next bulk copies to these places come behind it
  __syncwarp();         // one lane arrives for all
}

// The i-th of a thread's sums.
__device__ __forceinline__ float& sum_at(Sums (&sums)[2][2], int i) { return sums[i / 32][i / 16 % 2][i % 16]; }
// Keeps the compiler from moving a tile's sums across the waits for its products, or the fences before them.
__device__ __forceinline__ void pin(Sums (&sums)[2][2]) {
  _Pragma("unroll") for (int i = 0; i < 64; ++i) wgmma_pin(sum_at(sums, i));
}
// Says for a warp that it has read or filled a stage, if that is so.
__device__ __forceinline__ void release(unsigned long long* barrier, bool is_done) {
  __syncwarp();
  if (is_done && threadIdx.x % 32 == 0) mbarrier_arrive(barrier);
}
// Goes on to the next stage.
__device__ __forceinline__ void next_stage(int& stage, unsigned int& parity) {
  stage = stage == 3 ? 0 : stage + 1;
  parity ^= stage == 0 ? 1 : 0;
}

// Stores a thread's outputs: its run in all phases, for its channels, from position (m_y, m_x) and channel `co` on.
__device__ __forceinline__ void store_tile(const Sums (&sums)[2][2], float* __restrict__ y, int co, int m_y, int m_x,
                                           int phase_row) {
  float* corner = y + (static_cast<long long>(co) * 512 + m_y + phase_row) * 1024 + m_x;
  const int oy = m_y + phase_row;
  if (oy < 512) {
    _Pragma("unroll") for (int i = 0; i < 8; ++i) {
      float* to = corner + static_cast<long long>(i / 2 * 8 + i % 2) * 524288;
      if (m_x < 1024) {
        float values[4];
        _Pragma("unroll") for (int v = 0; v < 4; ++v) values[v] = sums[0][v / 2][i / 2 * 4 + v % 2 * 2 + i % 2];
        store_streaming_16(to, make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]),
                                          __float_as_uint(values[2]), __float_as_uint(values[3])));
      }
    }
  }
}

// The largest magnitude of what producer warps found in an image's part of a stage: each has looked for it in its own.
__device__ __forceinline__ float largest_of(const float4& four) {
  return fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w));
}
// The exponent of x's scale: `kept`, if not `begins` and that brings `largest` to 2^13 and within f16, or that is 0.
__device__ __forceinline__ int next_exponent(float largest, int kept, bool begins) {
  const int wanted = min(126, 141 - (__float_as_int(largest) + 4096) / 8388608);
  return !begins && (largest == 0 || (kept >= wanted - 1 && kept <= wanted + 1)) ? kept : wanted;
}

// Puts a run's words where products take them from, before the fence: each in two places, in one with `zero` added: of
// copies that are known to be equal more are made. Where the run `is_read` until now, words depend on what they were.
__device__ __forceinline__ void arrange(Run& run, const Words& words, unsigned int zero, bool is_read) {
  _Pragma("unroll") for (int i = 4; i < 40; ++i) {
    unsigned int& word = run[i / 4][i % 4];
    word = (words[i % 4 / 2][i / 4 + i % 2] | (is_read ? word & zero : i % 2 == 1 ? zero : 0));
    wgmma_pin_operand(word);
  }
}
// Takes words of a thread's run of one staged row to registers, for one step: high parts, or `low` ones.
__device__ __forceinline__ void load_words(Words (&words)[2], const unsigned int* row, int low) {
  _Pragma("unroll") for (int i = 0; i < 24; ++i) words[low][i / 12][i % 12] = row[(i / 12 * 8 + low) * 404 + i % 12];
}
// A word of which `zero` leaves nothing: what allows an arrival takes it, and so waits for the loads of these words.
__device__ __forceinline__ unsigned int word_of_all(const Words& words) {
  unsigned int word = 0;
  _Pragma("unroll") for (int i = 0; i < 12; ++i) word |= (words[0][i] | words[1][i]);
  return word;
}
// A tap's products of the low parts of x with high weights, or of its `high` parts with both parts of the weights.
__device__ __forceinline__ void multiply_part(Sums (&sums)[2][2], int part, const Run& run, int shift,
                                              unsigned long long weights, int accumulate, bool high) {
  _Pragma("unroll") for (int tile = 0; tile < 2; ++tile) {
    wgmma_m64n32k16_f16_rs(sums[high ? part : 1 + part][tile], run[2 * tile + shift], weights, accumulate);
    if (high) wgmma_m64n32k16_f16_rs(sums[1 + part][tile], run[2 * tile + shift], weights + 64, 1);
  }
}
// What a thread's sums hold: how many `rows` of taps (0: the next products begin them), and the `exponent` of x's scale
// there in the lane's image; whether sums were `added` to totals, of exponent `total` (without totals: the least yet).
struct Held { int rows; int exponent; bool added; int total; float4* totals; };
// Infinities have no low parts: where a sum of high parts isn't finite, it is the result. A row and a column show it.
__device__ __forceinline__ void drop_low_of_infinite(Sums (&sums)[2][2]) {
  bool finite = true;
  _Pragma("unroll") for (int i = 0; i < 8; ++i) finite &= is_finite(sums[0][0][i / 2 * 4 + i % 2]);
  _Pragma("unroll") for (int i = 1; i < 4; ++i) finite &= is_finite(sums[0][i / 2][i % 2 * 2]);
  if (!finite) {
    _Pragma("unroll") for (int i = 0; i < 32; ++i) {
      float& low = sum_at(sums, 32 + i);
      low = is_finite(sum_at(sums, i)) ? low : 0;
    }
  }
}
// The i-th of a thread's totals, of which four lie together.
__device__ __forceinline__ float& total_at(float4* totals, int i) {
  return reinterpret_cast<float*>(totals + i / 4 * 256)[i % 4];
}
// Joins sums of low parts, and totals if there are any, to the sums of high parts. Returns their scale's exponent.
__device__ __forceinline__ int join_all(Sums (&sums)[2][2], Held& held) {
  int exponent = held.exponent;  // of its own image
  drop_low_of_infinite(sums);
  if (held.added && exponent != held.total) {
    const int less = min(exponent, held.total);  // they get the smaller one's scale
    _Pragma("unroll") for (int i = 0; i < 64; ++i) sum_at(sums, i) = scaled_by(sum_at(sums, i), less - exponent);
    _Pragma("unroll 16") for (int i = 0; i < 32; ++i)
      total_at(held.totals, i) = scaled_by(total_at(held.totals, i), less - held.total);
    exponent = less;
  }
  _Pragma("unroll") for (int i = 0; i < 32; ++i)
    sum_at(sums, i) = fmaf(sum_at(sums, 32 + i), 0.00048828125f, sum_at(sums, i));
  if (held.added)
    _Pragma("unroll") for (int i = 0; i < 32; ++i) sum_at(sums, i) += total_at(held.totals, i);
  return exponent;
}
// Makes totals of the sums, once no products are under way; the next ones begin them anew.
__device__ __forceinline__ void put_away(Sums (&sums)[2][2], Held& held) {
  wgmma_wait(0);
  pin(sums);
  held.total = join_all(sums, held);
  _Pragma("unroll") for (int i = 0; i < 32; ++i) total_at(held.totals, i) = sum_at(sums, i);
  held.rows = 0;
  held.added = 1;
}
// Makes a tile's results of its sums. `scales`, in two factors each, undo those of the weights, from its column on.
__device__ __forceinline__ void undo_scales(Sums (&sums)[2][2], Held& held, const float2* scales) {
  const float2 own = factors_of(-join_all(sums, held));
  _Pragma("unroll") for (int columns = 0; columns < 4; ++columns) {
    const float4 two = *reinterpret_cast<const float4*>(scales + columns * 8);
    const float factors[2][2] = {{two.x * own.x, two.y * own.y}, {two.z * own.x, two.w * own.y}};
    _Pragma("unroll") for (int i = 0; i < 8; ++i) {
      float& value = sum_at(sums, i / 4 * 16 + columns * 4 + i % 4);
      value = value * factors[i % 2][0] * factors[i % 2][1];
    }
  }
  held.rows = 0;
  held.added = 0;
}
// Before a stage's products: puts away sums of terms enough, or where any image of x has another scale than in them.
__device__ __forceinline__ void choose_scale(Sums (&sums)[2][2], Held& held, const unsigned char* stage) {
  const int exponent = reinterpret_cast<const int*>(stage + 25872)[0];
  const bool fits = held.rows < 2 && exponent == held.exponent;
  if (__ballot_sync(4294967295u, held.rows > 0 && !fits ? 1 : 0) != 0) put_away(sums, held);
  held.exponent = exponent;
}
// The products of taps that read the row-th of these. In the first row a phase's first begin its sums if not `later`.
__device__ __forceinline__ void multiply_taps(Sums (&sums)[2][2], const Run& run, unsigned long long weights, int row,
                                              int later, bool high) {
  weights += (2 - row) * 14336 / 16;  // descriptors count pieces of 16 bytes
  _Pragma("unroll") for (int kw = 0; kw < 7; ++kw)
    multiply_part(sums, 0, run, 7 - kw, weights + kw * 2048 / 16, kw == 0 ? later : 1, high);
}
// All products of one chunk, into the sums of those before. `rows` is the thread's first position in the stage. This is
// given back at `empty`; or the one before at `previous`, when its products are done, if this isn't a tile's `first`.
__device__ __forceinline__ void multiply_split(Sums (&sums)[2][2], Run (&runs)[2], Held& held, const unsigned int* rows,
                                               const unsigned char* weights, unsigned long long* empty,
                                               unsigned int zero) {
  const unsigned long long operands = wgmma_descriptor(weights, 512, 128, 0);
  int later = held.rows > 0 ? 1 : 0;
  Words words[2];
  load_words(words, rows, 1);
  _Pragma("unroll") for (int row = 0; row < 3; ++row) {
    if (row != 0) {
      if (held.rows == 2) put_away(sums, held);
      later = held.rows > 0 ? 1 : 0;
    }
    ++held.rows;
    arrange(runs[0], words[1], zero, false);
    wgmma_fence();
    multiply_taps(sums, runs[0], operands, row, later, false);
    wgmma_commit();
    load_words(words, rows + row * 40, 0);  // while these products run, where there are registers for it
    wgmma_wait(1);                          // the run of the other part may be overwritten
    const bool reads_before = row == 0;
    arrange(runs[1], words[0], reads_before ? *reinterpret_cast<const unsigned int*>(weights) & zero : zero,
            reads_before);
    if (row == 2) release(empty, ((word_of_all(words[0]) | held.exponent) & zero) == 0);
    wgmma_fence();
    multiply_taps(sums, runs[1], operands, row, later, true);
    wgmma_commit();
    if (row != 2) load_words(words, rows + (row + 1) * 40, 1);
    wgmma_wait(1);
  }
}

// A thread's piece: adjacent positions of two channels, with channels last four channels of a position.
using Piece = float[8];
// Whether there is one. By the remainders the compiler knows that each thread has all of them but the last.
__device__ __forceinline__ bool has_piece(int i, int thread) { return i < 7 && i * 16 + thread % 16 < 100; }
// Takes the i-th of a thread's pieces to registers; zeros where there is none.
__device__ __forceinline__ void load_piece(Piece& piece, const float* own, int i, int thread) {
  _Pragma("unroll") for (int v = 0; v < 8; ++v) piece[v] = 0;
  if (has_piece(i, thread))
    _Pragma("unroll") for (int v = 0; v < 8; ++v) piece[v] = own[i * 64 + (v / 4 * 404 + v % 4)];
}
// Splits a piece, and puts its parts where it was.
__device__ __forceinline__ void store_piece_split(float* own, int i, const Piece& piece, float scale) {
  unsigned int* words = reinterpret_cast<unsigned int*>(own + i * 64);
  SplitPair pairs[4];
  _Pragma("unroll") for (int i = 0; i < 4; ++i) pairs[i] = split_pair(piece[i], piece[4 + i], scale, false);
  *reinterpret_cast<uint4*>(words) = make_uint4(pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high);
  *reinterpret_cast<uint4*>(words + 404) = make_uint4(pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low);
}
// The largest magnitude of a thread's pieces of an image. NaN don't count.
__device__ __forceinline__ float largest_of_pieces(const float* own, int thread) {
  float most[2] = {0, 0};
  _Pragma("unroll") for (int batch = 0; batch < 7; batch += 4) {
    Piece pieces[4];
    _Pragma("unroll") for (int i = 0; i < 4; ++i) load_piece(pieces[i], own, batch + i, thread);
    _Pragma("unroll") for (int i = 0; i < 32; ++i) most[i % 2] = fmaxf(most[i % 2], fabsf(pieces[i / 8][i % 8]));
  }
  return fmaxf(most[0], most[1]);
}
// The same of what is finite, which is seldom asked for: piece by piece.
__device__ __forceinline__ float largest_finite_of_pieces(const float* own, int thread) {
  float most = 0;
  _Pragma("unroll 1") for (int i = 0; i < 7; ++i) {
    Piece piece;
    load_piece(piece, own, i, thread);
    _Pragma("unroll") for (int v = 0; v < 8; ++v) most = larger_finite(most, piece[v]);
  }
  return most;
}
// Splits a thread's pieces of an image.
__device__ __forceinline__ void split_pieces(float* own, int thread, float scale) {
  _Pragma("unroll") for (int batch = 0; batch < 7; batch += 4) {
    Piece pieces[4];
    _Pragma("unroll") for (int i = 0; i < 4; ++i) load_piece(pieces[i], own, batch + i, thread);
    _Pragma("unroll") for (int i = 0; i < 4; ++i)
      if (has_piece(batch + i, thread)) store_piece_split(own, batch + i, pieces[i], scale);
  }
}
// Whether the phase of this parity is complete, for all of a warp.
__device__ __forceinline__ bool has_come(unsigned long long* barrier, unsigned int parity) {
  return warp_uniform(mbarrier_test(barrier, parity) ? 1 : 0) == 1;
}
// How many stages were asked for and aren't finished; the oldest, and its chunk; exponents that the one before `kept`.
struct Asked { int stages; int oldest; unsigned int parity; int chunk; int kept; };
// Finishes the oldest of them: looks for its largest finite magnitudes, splits it if consumers don't, and hands it on.
__device__ __forceinline__ void finish_stage(unsigned char* stages, unsigned long long* full,
                                             unsigned long long* landed, Asked& asked, int thread) {
  unsigned char* finished = stages + asked.oldest * 25888;
  mbarrier_wait(&landed[asked.oldest], asked.parity);
  float* pieces = reinterpret_cast<float*>(finished) + thread / 16 * 808 + thread % 16 * 4;
  float* found = reinterpret_cast<float*>(finished + 25856);
  float most = largest_of_warp(largest_of_pieces(pieces, thread));
  if (!is_finite(most)) most = largest_of_warp(largest_finite_of_pieces(pieces, thread));
  if (thread % 32 == 0) found[thread / 32] = most;
  named_barrier_sync(1, 128);
  int* exponents = reinterpret_cast<int*>(finished + 25872);
  const int exponent =
      next_exponent(largest_of(reinterpret_cast<const float4*>(finished + 25856)[0]), asked.kept, asked.chunk == 0);
  asked.kept = exponent;
  if (thread == 0) exponents[0] = exponent;
  split_pieces(pieces, thread, power_of_two(exponent));
  fence_proxy_async();  // the next bulk copies to these places come behind it
  release(&full[asked.oldest], true);
  next_stage(asked.oldest, asked.parity);
  asked.chunk = asked.chunk == 1 ? 0 : asked.chunk + 1;
  --asked.stages;
}

// A tile's place: its first image, and its first position there.
struct Tile { int image; int m_y; int m_x; };
__device__ __forceinline__ Tile tile_at(int index) { return {index / 2048, index / 32 % 64 * 8, index % 32 * 32}; }

extern "C" __global__ void __launch_bounds__(384, 1)
    convtgen_shift_gemm_forward_911947ef2c1daf78(const float* __restrict__ x, const unsigned char* packed,
                                                 float* __restrict__ y, int batch) {
  const int tiles = batch * 2048;
  // The block's output channels and phase rows; blocks that read the same input run together.
  const int first_tile = blockIdx.x;
  const int next_tile = gridDim.x;
  const unsigned char* block_weights = packed;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned char* stages = shared + 86016;
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + 222592);
  unsigned long long* empty = full + 4;
  unsigned long long* landed = empty + 4;    // of f32x3's copies, which are looked at first
  unsigned long long* resident = empty + 8;  // of the weights, where they are
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < 4; ++stage) {
      mbarrier_init(&full[stage], 4);
      mbarrier_init(&empty[stage], 8);
      mbarrier_init(&landed[stage], 4);
    }
    mbarrier_init(resident, 1);
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  if (warp >= 8) {
    setmaxnreg_decrease_72();
    const int thread = threadIdx.x - 256;
    if (thread == 0) {
      grid_dependency_wait();  // the weights are packed
      mbarrier_arrive_expect(resident, 86016);
      bulk_load(shared, block_weights, 86016, resident);
    }
    int stage = 0;
    unsigned int parity = 1;
    Asked asked = {0, 0, 0, 0, 0};
    for (int index = first_tile; index < tiles || asked.stages > 0; index += next_tile) {
      const bool drains = index >= tiles;  // finishes what is left, in one place, since warps meet there
      const Tile tile = tile_at(index);
      const int first_row = tile.m_y - 1;
      const int first_column = tile.m_x - 4;
      Copy copy = find_copy(x, tile.image, 0, first_row, first_column, warp - 8);
      const bool has_gaps = first_row < 0 || first_row + 10 > 512 || (first_column < 0 || first_column + 40 > 1024);
      for (int chunk = 0; chunk < 2; ++chunk) {
        while (asked.stages > 0 &&
               (drains || has_come(&landed[asked.oldest], asked.parity) || !has_come(&empty[stage], parity))) {
          finish_stage(stages, full, landed, asked, thread);
        }
        if (drains) break;
        mbarrier_wait(&empty[stage], parity);
        unsigned char* to = stages + stage * 25888;
        float* staged = reinterpret_cast<float*>(to);
        if (has_gaps && chunk < 4) clear_gaps(staged, first_row, first_column, thread);
        if (elect_one()) copy_rows(staged, copy, &landed[stage], 524288ll);
        copy.from += 8388608ll;
        next_stage(stage, parity);
        ++asked.stages;
      }
    }
  } else {
    setmaxnreg_increase_216();
    // The thread's place in the tile: the first position of its run, the first of its channels.
    const int lane = threadIdx.x % 32;
    const int quarter = lane % 4;
    const int run = warp * 8 + lane / 4;
    const int image = run / 64;
    const int row = run / 8 % 8;
    const int column = run % 8 * 4;
    const int position = (image * 10 + row) * 40 + column;
    const int own = quarter * 808 + position;
    const int co = quarter * 2;
    const unsigned int zero = static_cast<unsigned int>(batch) >> 31;  // for operands
    Sums sums[2][2] = {};
    Held held = {0, 0, false, 0, reinterpret_cast<float4*>(shared + 189568) + threadIdx.x};
    float2* scales = reinterpret_cast<float2*>(shared + 222336);
    grid_dependency_wait();
    for (int i = threadIdx.x; i < 32; i += 256)
      scales[i] = factors_of(-reinterpret_cast<const int*>(block_weights + 86016)[i]);
    named_barrier_sync(2, 256);
    mbarrier_wait(resident, 0);
    int stage = 0;
    unsigned int parity = 0;
    for (int index = first_tile; index < tiles; index += next_tile) {
      pin(sums);
      Run runs[2] = {};
      for (int chunk = 0; chunk < 2; ++chunk) {
        mbarrier_wait(&full[stage], parity);
        const unsigned char* from = stages + stage * 25888;
        const unsigned char* weights = shared + chunk * 43008;
        choose_scale(sums, held, from);
        multiply_split(sums, runs, held, reinterpret_cast<const unsigned int*>(from) + own, weights, &empty[stage],
                       zero);
        next_stage(stage, parity);
      }
      wgmma_wait(0);
      pin(sums);
      undo_scales(sums, held, scales + quarter * 2);
      const Tile tile = tile_at(index);
      const int own_column = column + (static_cast<int>(zero) & index);  // no address is kept
      store_tile(sums, y + (tile.image + image) * 16777216ll, co, tile.m_y + row, tile.m_x + own_column, 0);
    }
  }
}

}  // namespace convtgen_shift_gemm_forward_911947ef2c1daf78_source
using convtgen_shift_gemm_forward_911947ef2c1daf78_source::convtgen_shift_gemm_forward_911947ef2c1daf78_pack;
using convtgen_shift_gemm_forward_911947ef2c1daf78_source::convtgen_shift_gemm_forward_911947ef2c1daf78;
