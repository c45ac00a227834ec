// conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; dtype f32; compute f32x3; layout nchw
// forward for sm_90a. Template shift_gemm: a block makes 8x32 outputs of 32 channels; 21 taps; 217.5 KiB shared.
// Launch: 384 threads and 222696 bytes of dynamic shared memory a block.

#ifndef CONVTGEN_HOST_DEVICE
extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];
// The block's dynamic shared memory, 16-byte aligned.
__device__ __forceinline__ void* shared_memory() { return dynamic_shared_memory; }
// Where a pointer into the block's own shared memory points, as the chip counts it: bytes from the start of the window.
__device__ __forceinline__ unsigned int shared_address(const void* pointer) {
  return static_cast<unsigned int>(__cvta_generic_to_shared(pointer));
}
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
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* barrier, unsigned int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
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
  unsigned int complete;
  do {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(complete) : "r"(shared_address(barrier)), "r"(parity) : "memory");
  } while (complete == 0);
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
// The largest value of the warp, in all lanes. Collective. sm_80 and later.
__device__ __forceinline__ unsigned int warp_max(unsigned int value) {
  unsigned int most;
  asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(most) : "r"(value) : "memory");
  return most;
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
  if (pending == 0) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  } else {
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
}
// Keeps the compiler from moving an accumulator across: before wgmma_fence() and after wgmma_wait(). No instruction.
__device__ __forceinline__ void wgmma_pin(float& value) { asm volatile("" : "+f"(value)::"memory"); }
// The same for a word of an A operand, before wgmma_fence(): what makes it is not put off until the product.
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word) { asm volatile("" : "+r"(word)::"memory"); }
// Describes an operand in shared memory: its first byte, two pitches and the swizzle, in bytes.
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* start, unsigned int leading,
                                                               unsigned int stride, unsigned int swizzle) {
  const unsigned long long mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return static_cast<unsigned long long>((shared_address(start) & 0x3ffffu) >> 4) |
         static_cast<unsigned long long>(leading >> 4) << 16 | static_cast<unsigned long long>(stride >> 4) << 32 |
         mode << 62;
}
// The descriptor with its start moved by `bytes`, a multiple of 16, negative too.
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes) {
  return descriptor + static_cast<unsigned long long>(static_cast<long long>(bytes / 16));
}
// Gives back the registers of each thread of this warpgroup beyond 72. Collective.
__device__ __forceinline__ void setmaxnreg_decrease_72() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 72;" ::: "memory");
}
// Waits until each thread of this warpgroup can have 216 registers, more than it has, and takes them. Collective.
__device__ __forceinline__ void setmaxnreg_increase_216() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 216;" ::: "memory");
}
// d (64x32, f32) = a (64x16) * b (16x32), added to d where `accumulate` is not 0: f16, A in registers, B K-major.
__device__ __forceinline__ void wgmma_m64n32k16_f16_rs(float (&d)[16], const unsigned int (&a)[4], unsigned long long b,
    int accumulate) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %21, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
      "{%16, %17, %18, %19}, %20, p, 1, 1, 0; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) : "memory");
}
#endif

// Stores adjacent elements, aligned to all of them, in one piece: nobody reads them while the kernel runs.
__device__ __forceinline__ void store_together(float* to, const float (&values)[4]) {
  store_streaming_16(to, make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
                                    __float_as_uint(values[3])));
}

// The larger of `most` and |value|; infinities and NaN don't count.
__device__ __forceinline__ float larger_finite(float most, float value) {
  return fmaxf(most, fabsf(fmaf(value, 0, value)));
}

// The largest of a warp's values, none of them negative or NaN: their bits are in the same order. Collective.
__device__ __forceinline__ float largest_of_warp(float value) {
  return __uint_as_float(warp_max(__float_as_uint(value)));
}

// The exponent of the scale that takes `most` to at least 2^14 and below 2^15; of denormals as far as floats go.
__device__ __forceinline__ int scale_exponent(float most) { return min(126, 141 - __float_as_int(most) / 8388608); }

// 2^exponent, -126 to 127.
__device__ __forceinline__ float power_of_two(int exponent) { return __int_as_float((exponent + 127) * 8388608); }

// value * 2^exponent: in two factors, since 2^exponent may be no float.
__device__ __forceinline__ float scaled_by(float value, int exponent) {
  return value * power_of_two(exponent / 2) * power_of_two(exponent - exponent / 2);
}

// Two values in a word each of high and low parts. An infinity is infinite in `high`, a NaN is NaN; `low` is then NaN.
struct SplitPair { unsigned int high; unsigned int low; };
__device__ __forceinline__ unsigned int low_parts(float a, float b, unsigned int high) {
  return floats_to_half2(fmaf(half_to_float(static_cast<unsigned short>(high & 65535)), -2048.0f, a * 2048.0f),
                         fmaf(half_to_float(static_cast<unsigned short>(high >> 16)), -2048.0f, b * 2048.0f));
}

__device__ __forceinline__ SplitPair split_pair(float a, float b, float scale) {
  const unsigned int high = floats_to_half2(a * scale, b * scale);
  return {high, low_parts(a * scale, b * scale, high)};
}

// The same, where no value but zero has a high part of zero: its product with an infinity is then one.
__device__ __forceinline__ SplitPair split_pair_nonzero(float a, float b, float scale) {
  unsigned int high = floats_to_half2(a * scale, b * scale);
  high |= a != 0 && (high & 32767) == 0 ? 1u : 0u;
  high |= b != 0 && (high & 2147418112) == 0 ? 65536u : 0u;
  return {high, low_parts(a * scale, b * scale, high)};
}

__device__ __forceinline__ bool is_finite(float value) { return fabsf(value) <= 3.4028235e+38f; }

// A sum of products from that of the high parts and that of a high and a low part each.
__device__ __forceinline__ float join_sums(float high, float low) { return fmaf(low, 0.00048828125f, high); }

// One thread's sums for one tile, in phases that one product makes.
using Sums = float[16];

// The registers of a run: the A operands of products whose first position is each of the run's.
using Run = unsigned int[11][4];
using Words = unsigned int[2][12];

// Whether some tap takes the operand whose first position is this one of a run.
__device__ bool is_taken(int place) { return ((1022u >> place) & 1) != 0; }

// The output channel of the block that stands at column n of a product: a thread's columns are adjacent channels.
__device__ __forceinline__ int out_channel_at(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / 2 * 8 + thread * 2 + i % 2;
}

// The weight of an input and an output channel, zero where there is none.
__device__ __forceinline__ float weight_at(const float* __restrict__ weight, int ci, int co, int tap) {
  return weight[(static_cast<long long>(ci) * 32 + co) * 21 + tap];
}

// The row of 16 bytes that a column has in one half of a tap's operand.
__device__ __forceinline__ int operand_row(int tap, int step, int half, int n) {
  return (tap + step) * 128 + half * 32 + n;
}

// Packs some columns, each with a scale of its own. A thread has a tap of a column and the channels of some depths.
__device__ __forceinline__ void pack_split(const float* __restrict__ weight, unsigned char* __restrict__ packed,
                                           int index, int thread) {
  const int n = index * 2 % 32 + thread % 2;
  const int lane = thread / 2;
  const int channel_tile = index / 16;
  unsigned char* to = packed + static_cast<long long>(channel_tile) * 87168;
  const int co = channel_tile * 32 + out_channel_at(n);
  float values[1][16];
  float most = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int depth = lane / 21;
    values[0][i] = weight_at(weight, depth % 2 * 16 + i, co, lane % 21);
    most = larger_finite(most, values[0][i]);
  }
  for (int distance = 16; distance >= 2; distance /= 2) {
    most = fmaxf(most, __shfl_xor_sync(4294967295u, most, distance));
  }
  float* found = reinterpret_cast<float*>(to + 86144) + n * 8;  // by each warp
  if (thread % 32 / 2 == 0) { found[thread / 32] = most; }
  __syncthreads();
  for (int warp = 0; warp < 8; ++warp) { most = fmaxf(most, found[warp]); }
  const int exponent = scale_exponent(most);
  if (lane == 0) { reinterpret_cast<int*>(to + 86016)[n] = exponent; }
  if (lane < 42) {
    const int tap = lane % 21;
    const int depth = lane / 21;
    uint4* row = reinterpret_cast<uint4*>(to + depth * 43008) + operand_row(tap, 0, 0, n);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      SplitPair pairs[4];
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        const int i = half * 8 + word * 2;
        pairs[word] = split_pair_nonzero(values[0][i], values[0][i + 1], power_of_two(exponent));
      }
      row[half * 32] = make_uint4(pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high);
      row[(half + 2) * 32] = make_uint4(pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low);
    }
  }
}

// Puts the weights where the products look for them: for each block of output channels and phase rows, each chunk of
// input channels, tap and step the two columns of a B operand.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_shift_gemm_forward_44b60de84de30912_pack(const float* __restrict__ weight,
                                                      unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  for (int index = blockIdx.x; index < 16; index += gridDim.x) {
    pack_split(weight, packed, index, threadIdx.x);
  }
}

// What a producer copies in the first of its channels.
struct Copy {
  int channel;        // its first
  const float* from;  // in the chunk that comes next
  int to;             // elements behind the stage's first
  int bytes;          // 0: nothing of the row is in the image
  bool at_end;        // of x: in some channel a piece of the row may not be x's alone
  int rows;           // of a warp that has several
};

// Finds the copies of a tile of the producer, or the warp, of this number.
__device__ __forceinline__ Copy find_copy(const float* __restrict__ x, int first_image, int first_channel,
                                          int first_row, int first_column, int producer) {
  const int channel = producer / 10;
  const int row = producer % 10;
  const int above = max(0, 3 - first_row - row) / 4;  // rows of a warp
  const int iy = first_row + row + 4 * above;
  // The staged columns of the image, and the pieces of them, behind where the row's first column would lie.
  const int begin = max(first_column, 0) - first_column;
  const int end = min(first_column + 40, 1024) - first_column;
  // in channel 0
  const long long start =
      static_cast<long long>(first_image) * 16777216 + static_cast<long long>(iy) * 1024 + first_column;
  const bool is_copied = iy >= 0 && iy < 512 && begin < end;
  const int rows = max(0, (min(first_row + 10, 512) - iy + 3) / 4);
  return {channel, x + (start + begin + (first_channel + channel) * 524288ll),
          channel * 404 + (row + 4 * above) * 40 + begin, is_copied ? (end - begin) * 4 : 0, false, rows};
}

// Asks for a producer's copies of a chunk, of which the layer has so many `channels`.
__device__ __forceinline__ void copy_rows(float* to, const Copy& copy, unsigned long long* full, long long plane) {
  const int rows = copy.rows;
  mbarrier_arrive_expect(full, 16 * rows * copy.bytes);
  if (copy.bytes != 0) {
#pragma unroll 1
    for (int row = 0; row < rows; ++row) {
#pragma unroll 16
      for (int round = 0; round < 16; ++round) {
        bulk_load(to + copy.to + (row * 160 + round * 404), copy.from + (row * 4096 + round * plane), copy.bytes, full);
      }
    }
  }
}

// Whether a tile's stages have places that must be zero where no copy writes.
__device__ __forceinline__ bool has_gaps(int first_row, int first_column) {
  return first_row < 0 || first_row + 10 > 512 || (first_column < 0 || first_column + 40 > 1024);
}

// Writes zeros to these places, and to those of channels that the layer lacks.
__device__ __forceinline__ void clear_gaps(float* to, int first_row, int first_column, int thread) {
  for (int i = thread; i < 160; i += 128) {
    const int iy = first_row + i % 10;
    const bool is_copied = iy >= 0 && iy < 512;
    float* staged = to + i / 10 * 404 + i % 10 * 40;
    for (int column = 0; column < 40; column += 4) {
      const int ix = first_column + column;
      if (!is_copied || ix < 0 || ix >= 1024) {
        *reinterpret_cast<uint4*>(staged + column) = make_uint4(0, 0, 0, 0);
      }
    }
  }
  fence_proxy_async();  // the next bulk copies to these places come behind it
  __syncwarp();         // one lane arrives for all
}

// The i-th of a thread's sums.
__device__ __forceinline__ float& sum_at(Sums (&sums)[2][2], int i) { return sums[i / 32][i / 16 % 2][i % 16]; }

// Keeps the compiler from moving a tile's sums across the waits for its products, or the fences before them.
__device__ __forceinline__ void pin(Sums (&sums)[2][2]) {
#pragma unroll
  for (int i = 0; i < 64; ++i) { wgmma_pin(sum_at(sums, i)); }
}

// Says for a warp that it has read or filled a stage, if that is so.
__device__ __forceinline__ void release(unsigned long long* barrier, bool is_done) {
  __syncwarp();
  if (is_done && threadIdx.x % 32 == 0) { mbarrier_arrive(barrier); }
}

// Goes on to the next stage.
__device__ __forceinline__ void next_stage(int& stage, unsigned int& parity) {
  ++stage;
  if (stage == 4) {
    stage = 0;
    parity ^= 1;
  }
}

// The thread's i-th channel, whose first is `co`.
__device__ __forceinline__ int own_channel(int co, int i) { return co + i / 2 * 8 + i % 2; }

// Stores a thread's outputs: its run in all phases, for its channels, from position (m_y, m_x) and channel `co` on.
__device__ __forceinline__ void store_tile(const Sums (&sums)[2][2], float* __restrict__ y, int co, int m_y, int m_x,
                                           int phase_row) {
  float* corner = y + (static_cast<long long>(co) * 512 + m_y + phase_row) * 1024 + m_x;
  const int oy = m_y + phase_row;
  if (oy < 512) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int channel = own_channel(co, i);
      float* to = corner + static_cast<long long>(own_channel(0, i)) * 524288;
      if (m_x < 1024) {
        float values[4];
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          const int d = i / 2 * 4 + v % 2 * 2 + i % 2;
          values[v] = sums[0][v / 2][d];
        }
        store_together(to, values);
      }
    }
  }
}

// The largest magnitude in a stage's part of an image, of what the producer warps found.
__device__ __forceinline__ float largest_found(const float* found, int image) {
  float largest = 0.0f;
  const float4 four = *reinterpret_cast<const float4*>(found + image * 4);
  largest = fmaxf(largest, fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w)));
  return largest;
}

// x keeps the scale that it had, if that brings the largest magnitude to at least 2^13 and not beyond what f16 has, or
// there is none; unless it `begins`. What f16 rounds up to the next power of two counts as that.
__device__ __forceinline__ int next_exponent(float largest, int kept, bool begins) {
  const int wanted = min(126, 141 - (__float_as_int(largest) + 4096) / 8388608);
  return !begins && (largest == 0 || (kept >= wanted - 1 && kept <= wanted + 1)) ? kept : wanted;
}

// Puts a run's words where the products take them from, before the fence: a word stands in two places. One of the two
// has `zero` added, which the compiler doesn't know to be zero: of copies that it knows it makes more for each product.
// Where products of the chunk before read the run until now (`is_read`), each word depends on what it was there.
__device__ __forceinline__ void arrange(Run& run, const Words& words, unsigned int zero, bool is_read) {
#pragma unroll
  for (int i = 0; i < 11; ++i) {
    if (is_taken(i)) {
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        run[i][word] = (words[word / 2][i + word % 2] | (is_read ? run[i][word] & zero : word % 2 == 1 ? zero : 0));
        wgmma_pin_operand(run[i][word]);
      }
    }
  }
}

// Takes words of a thread's run of one staged row to registers, for one step: high parts, or `low` ones.
__device__ __forceinline__ void load_words(Words (&words)[2], const unsigned int* row, int low) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int i = 0; i < 12; i += 4) {
      const uint4 v = *reinterpret_cast<const uint4*>(row + (half * 8 + low) * 404 + i);
      words[low][half][i] = v.x;
      words[low][half][i + 1] = v.y;
      words[low][half][i + 2] = v.z;
      words[low][half][i + 3] = v.w;
    }
  }
}

// A word that waits for all loads of these words, which the compiler takes apart: an arrival at a barrier does not, but
// where what allows it takes the word, of which `zero` leaves nothing.
__device__ __forceinline__ unsigned int word_of_all(const Words& words) {
  unsigned int word = 0;
#pragma unroll
  for (int i = 0; i < 12; ++i) { word |= (words[0][i] | words[1][i]); }
  return word;
}

// A tap's products of the low parts of x with the high parts of the weights, the first of the sums of their phase where
// `accumulate` is 0; or, of the `high` parts of x, with the high and the low parts of the weights, behind those.
__device__ __forceinline__ void multiply_part(Sums (&sums)[2][2], int part, const Run& run, int shift,
                                              unsigned long long weights, int accumulate, bool high) {
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    wgmma_m64n32k16_f16_rs(sums[high ? part : 1 + part][tile], run[2 * tile + shift], weights, accumulate);
    if (high) {
      wgmma_m64n32k16_f16_rs(sums[1 + part][tile], run[2 * tile + shift], wgmma_descriptor_move(weights, 1024), 1);
    }
  }
}

// What a thread's sums hold.
struct Held {
  int rows;      // of taps; 0: nothing, the next products begin them
  int exponent;  // of the scale that x has there, in image `lane % P::tile_n` of the tile
  bool added;    // whether the totals hold what was summed up before, of this tile
  int total;     // exponent of the scale that x has in them, in the thread's own image; without totals, of the smallest
};

// The exponent of the thread's own image of the tile.
__device__ __forceinline__ int own_exponent(const Held& held) { return held.exponent; }

// The low parts of infinities mean nothing: where a sum of high parts is no finite number, that is the result. In a
// product what isn't finite in x makes all of its row so, and in the weights all of its column: a row and a column
// tell.
__device__ __forceinline__ void drop_low_of_infinite(Sums (&sums)[2][2]) {
  int finite = 1;
#pragma unroll
  for (int column = 0; column < 8; ++column) {
    finite &= is_finite(sums[0][0][column / 2 * 4 + column % 2]) ? 1 : 0;
  }
#pragma unroll
  for (int row = 1; row < 4; ++row) { finite &= is_finite(sums[0][row / 2][row % 2 * 2]) ? 1 : 0; }
  if (finite == 0) {
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      float& low = sum_at(sums, 32 + i);
      low = is_finite(sum_at(sums, i)) ? low : 0;
    }
  }
}

// Takes sums to a scale of 2^difference times theirs.
__device__ __forceinline__ void scale_sums(Sums (&sums)[2][2], int difference) {
#pragma unroll
  for (int i = 0; i < 64; ++i) { sum_at(sums, i) = scaled_by(sum_at(sums, i), difference); }
}

// Gives sums and totals one scale, the smaller one of theirs.
__device__ __forceinline__ void bring_together(Sums (&sums)[2][2], float4* totals, int& exponent, int& total) {
  const int less = min(exponent, total);
  scale_sums(sums, less - exponent);
#pragma unroll 4
  for (int i = 0; i < 8; ++i) {
    const float4 value = totals[i * 256];
    totals[i * 256] = make_float4(scaled_by(value.x, less - total), scaled_by(value.y, less - total),
                                  scaled_by(value.z, less - total), scaled_by(value.w, less - total));
  }
  exponent = less;
  total = less;
}

__device__ __forceinline__ int join_all(Sums (&sums)[2][2], Held& held, float4* totals) {
  int exponent = own_exponent(held);
  drop_low_of_infinite(sums);
  if (held.added && exponent != held.total) { bring_together(sums, totals, exponent, held.total); }
#pragma unroll
  for (int i = 0; i < 32; ++i) { sum_at(sums, i) = join_sums(sum_at(sums, i), sum_at(sums, 32 + i)); }
  if (held.added) {
#pragma unroll
    for (int i = 0; i < 32; i += 4) {
      const float4 before = totals[i / 4 * 256];
      sum_at(sums, i) += before.x;
      sum_at(sums, i + 1) += before.y;
      sum_at(sums, i + 2) += before.z;
      sum_at(sums, i + 3) += before.w;
    }
  }
  return exponent;
}

// Makes totals of the sums, once no products are under way; the next ones begin them anew.
__device__ __forceinline__ void put_away(Sums (&sums)[2][2], Held& held, float4* totals) {
  wgmma_wait(0);
  pin(sums);
  held.total = join_all(sums, held, totals);
#pragma unroll
  for (int i = 0; i < 32; i += 4) {
    totals[i / 4 * 256] = make_float4(sum_at(sums, i), sum_at(sums, i + 1), sum_at(sums, i + 2), sum_at(sums, i + 3));
  }
  held.rows = 0;
  held.added = 1;
}

// Makes a tile's results of its sums, in their place. `scales` undo those of the weights, in two factors each; they and
// the `biases` are those of the thread's first column and channel, and of what is behind.
__device__ __forceinline__ void undo_scales(Sums (&sums)[2][2], Held& held, float4* totals, const float2* scales) {
  const int undone = -join_all(sums, held, totals);
  const float first = power_of_two(undone / 2);
  const float second = power_of_two(undone - undone / 2);
#pragma unroll
  for (int columns = 0; columns < 4; ++columns) {
    const float4 two = *reinterpret_cast<const float4*>(scales + columns * 8);
    const float factors[2][2] = {{two.x * first, two.y * second}, {two.z * first, two.w * second}};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float& value = sum_at(sums, i / 4 * 16 + columns * 4 + i % 4);
      value = value * factors[i % 2][0] * factors[i % 2][1];
    }
  }
  held.rows = 0;
  held.added = 0;
}

// Before a stage's products: where x has another scale in it than in the sums, for any image, these are put away, as
// those of terms enough are, or without totals brought to that scale.
__device__ __forceinline__ void choose_scale(Sums (&sums)[2][2], Held& held, const unsigned char* stage,
                                             float4* totals) {
  const int exponent = reinterpret_cast<const int*>(stage + 25872)[0];
  const bool fits = held.rows < 2 && exponent == held.exponent;
  if (__ballot_sync(4294967295u, held.rows > 0 && !fits ? 1 : 0) != 0) { put_away(sums, held, totals); }
  held.exponent = exponent;
}

// Where a thread reads the row-th of these, of all steps of a chunk, behind its first position and channel.
__device__ __forceinline__ int place_of_row(int row) { return row * 40; }

// The products of the taps that read the row-th of these, as multiply_part() makes them. In a chunk's first row the
// first of a phase begin its sums, where `later` is 0.
__device__ __forceinline__ void multiply_taps(Sums (&sums)[2][2], const Run& run, unsigned long long weights, int row,
                                              int later, bool high) {
  weights = wgmma_descriptor_move(weights, (2 - row) * 14336);
  multiply_part(sums, 0, run, 7, wgmma_descriptor_move(weights, 0), later, high);  // tap 0 of a row
  multiply_part(sums, 0, run, 6, wgmma_descriptor_move(weights, 2048), 1, high);   // tap 1 of a row
  multiply_part(sums, 0, run, 5, wgmma_descriptor_move(weights, 4096), 1, high);   // tap 2 of a row
  multiply_part(sums, 0, run, 4, wgmma_descriptor_move(weights, 6144), 1, high);   // tap 3 of a row
  multiply_part(sums, 0, run, 3, wgmma_descriptor_move(weights, 8192), 1, high);   // tap 4 of a row
  multiply_part(sums, 0, run, 2, wgmma_descriptor_move(weights, 10240), 1, high);  // tap 5 of a row
  multiply_part(sums, 0, run, 1, wgmma_descriptor_move(weights, 12288), 1, high);  // tap 6 of a row
}

// All products of one chunk, into the sums of those before. `rows` is the thread's first position in the staged input.
// With resident weights it says at `empty` that the stage has been read; else at `previous`, as soon as the products of
// the stage before are done, that this one has been, unless the chunk is the `first` of a tile.
__device__ __forceinline__ void multiply_split(Sums (&sums)[2][2], Run (&runs)[2], Held& held, const unsigned int* rows,
                                               const unsigned char* weights, float4* totals, unsigned long long* empty,
                                               unsigned int zero) {
  const unsigned long long operands = wgmma_descriptor(weights, 512, 128, 0);
  int later = held.rows > 0 ? 1 : 0;
  Words words[2];
  load_words(words, rows, 1);
#pragma unroll
  for (int row = 0; row < 3; ++row) {
    if (row != 0) {
      if (held.rows == 2) { put_away(sums, held, totals); }
      later = held.rows > 0 ? 1 : 0;
    }
    ++held.rows;
    arrange(runs[0], words[1], zero, false);
    wgmma_fence();
    multiply_taps(sums, runs[0], operands, row, later, false);
    wgmma_commit();
    load_words(words, rows + place_of_row(row), 0);  // while these products run, where there are registers for it
    wgmma_wait(1);                                   // the run of the other part may be overwritten
    arrange(runs[1], words[0], zero, row == 0);
    if (row == 2) {
      release(empty, ((word_of_all(words[0]) | static_cast<unsigned int>(held.exponent)) & zero) == 0);
    }
    wgmma_fence();
    multiply_taps(sums, runs[1], operands, row, later, true);
    wgmma_commit();
    if (row != 2) { load_words(words, rows + place_of_row(row + 1), 1); }
    wgmma_wait(1);
  }
}

// A thread's piece: two channels of kWide positions, with channels last four of one.
using Piece = float[8];

// Where the thread's i-th piece begins, behind its first one.
__device__ int place_of_piece(int i) { return i / 7 * 6464 + i % 7 * 64; }

// Whether there is one.
__device__ __forceinline__ bool has_piece(int i, int thread) { return i < 7 && i % 7 * 16 + thread % 16 < 100; }

// Takes a piece to registers; zeros where there is none.
__device__ __forceinline__ void load_piece(Piece& piece, const float* from, bool exists) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float4 v = exists ? *reinterpret_cast<const float4*>(from + half * 404) : make_float4(0, 0, 0, 0);
    piece[half * 4] = v.x;
    piece[half * 4 + 1] = v.y;
    piece[half * 4 + 2] = v.z;
    piece[half * 4 + 3] = v.w;
  }
}

// Splits a piece, and puts its parts where it was.
__device__ __forceinline__ void store_piece_split(float* to, const Piece& piece, float scale) {
  unsigned int* words = reinterpret_cast<unsigned int*>(to);
  SplitPair pairs[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) { pairs[i] = split_pair(piece[i], piece[4 + i], scale); }
  *reinterpret_cast<uint4*>(words) = make_uint4(pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high);
  *reinterpret_cast<uint4*>(words + 404) = make_uint4(pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low);
}

__device__ __forceinline__ float largest_of_pieces(const float* own, int thread) {
  float most[2] = {0, 0};
#pragma unroll
  for (int batch = 0; batch < 7; batch += 4) {
    Piece pieces[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      load_piece(pieces[i], own + place_of_piece(batch + i), has_piece(batch + i, thread));
    }
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const int piece = i / 8;
      const int v = i % 8;
      most[i % 2] = fmaxf(most[i % 2], fabsf(pieces[piece][v]));
    }
  }
  return fmaxf(most[0], most[1]);
}

// The same of what is finite, which is seldom asked for: piece by piece.
__device__ __forceinline__ float largest_finite_of_pieces(const float* own, int thread) {
  float most = 0;
#pragma unroll 1
  for (int i = 0; i < 7; ++i) {
    Piece piece;
    load_piece(piece, own + place_of_piece(i), has_piece(i, thread));
#pragma unroll
    for (int v = 0; v < 8; ++v) { most = larger_finite(most, piece[v]); }
  }
  return most;
}

// Splits a thread's pieces of an image. Those that the last thread lacks, if not others too, are done one by one.
__device__ __forceinline__ void split_pieces(float* own, int thread, float scale) {
#pragma unroll
  for (int batch = 0; batch < 7; batch += 4) {
    Piece pieces[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      load_piece(pieces[i], own + place_of_piece(batch + i), has_piece(batch + i, 127));
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (has_piece(batch + i, 127)) {
        store_piece_split(own + place_of_piece(batch + i), pieces[i], scale);
      } else if (has_piece(batch + i, thread)) {
        load_piece(pieces[i], own + place_of_piece(batch + i), true);
        store_piece_split(own + place_of_piece(batch + i), pieces[i], scale);
      }
    }
  }
}

// Whether the phase of this parity is complete, for all of a warp.
__device__ __forceinline__ bool has_come(unsigned long long* barrier, unsigned int parity) {
  return warp_uniform(mbarrier_test(barrier, parity) ? 1 : 0) == 1;
}

// Looks for the largest magnitudes of the oldest stage under way, of this chunk of a tile, splits it where that is the
// producers' work, and says that it is there; goes on to the next one. Lane i has the exponent of the warp's i-th image
// in the chunk before, `kept`. Where there are infinities, finite magnitudes are looked for anew.
__device__ __forceinline__ void finish_stage(unsigned char* stages, unsigned long long* full,
                                             unsigned long long* landed, int& oldest, unsigned int& parity, int& chunk,
                                             int& kept, int thread) {
  unsigned char* finished = stages + oldest * 25888;
  mbarrier_wait(&landed[oldest], parity);
  float* pieces = reinterpret_cast<float*>(finished) + thread / 16 * 808 + thread % 16 * 4;
  float* found = reinterpret_cast<float*>(finished + 25856);
  float most = largest_of_warp(largest_of_pieces(pieces, thread));
  if (most == __int_as_float(2139095040)) {
    most = largest_of_warp(largest_finite_of_pieces(pieces, thread));
  }
  if (thread % 32 == 0) { found[thread / 32] = most; }
  named_barrier_sync(1, 128);
  int* exponents = reinterpret_cast<int*>(finished + 25872);
  const int exponent = next_exponent(largest_found(found, 0), __shfl_sync(4294967295u, kept, 0), chunk == 0);
  kept = thread % 32 == 0 ? exponent : kept;
  if (thread == 0) { exponents[0] = exponent; }
  split_pieces(pieces, thread, power_of_two(exponent));
  fence_proxy_async();  // the next bulk copies to these places come behind it
  release(&full[oldest], true);
  next_stage(oldest, parity);
  chunk = chunk == 1 ? 0 : chunk + 1;
}

// A tile's place: its first image, and its first position there.
struct Tile { int image; int m_y; int m_x; };
__device__ __forceinline__ Tile tile_at(int index) { return {index / 2048, index / 32 % 64 * 8, index % 32 * 32}; }

extern "C" __global__ void __launch_bounds__(384, 1)
    convtgen_shift_gemm_forward_44b60de84de30912(const float* __restrict__ x, const unsigned char* packed,
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
  unsigned long long* resident = empty + 4;   // of the weights, where they are
  unsigned long long* landed = resident + 1;  // of f32x3's copies, which are looked at first
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
    int unfinished = 0;  // stages of f32x3 whose copies are under way; the oldest of them, and its chunk
    int oldest = 0;
    unsigned int oldest_parity = 0;
    int oldest_chunk = 0;
    int kept = 0;  // exponent of the scale in the chunk before
    for (int index = first_tile; index < tiles; index += next_tile) {
      const Tile tile = tile_at(index);
      Copy copy = find_copy(x, tile.image, 0, tile.m_y - 1, tile.m_x - 4, warp - 8);
      // stages that may have something beside the tile's rows
      int uncleared = has_gaps(tile.m_y - 1, tile.m_x - 4) ? 4 : 0;
      for (int chunk = 0; chunk < 2; ++chunk) {
        while (unfinished > 0 && (has_come(&landed[oldest], oldest_parity) || !has_come(&empty[stage], parity))) {
          finish_stage(stages, full, landed, oldest, oldest_parity, oldest_chunk, kept, thread);
          --unfinished;
        }
        mbarrier_wait(&empty[stage], parity);
        unsigned char* to = stages + stage * 25888;
        float* staged = reinterpret_cast<float*>(to);
        if (uncleared != 0) {
          clear_gaps(staged, tile.m_y - 1, tile.m_x - 4, thread);
          uncleared = max(0, uncleared - 1);
        }
        if (elect_one()) { copy_rows(staged, copy, &landed[stage], 524288ll); }
        copy.from += 8388608ll;
        next_stage(stage, parity);
        ++unfinished;
      }
    }
    for (; unfinished > 0; --unfinished) {
      finish_stage(stages, full, landed, oldest, oldest_parity, oldest_chunk, kept, thread);
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
    const unsigned int zero = static_cast<unsigned int>(batch) >> 31;  // for arrange()
    Sums sums[2][2] = {};
    float4* totals = reinterpret_cast<float4*>(shared + 189568) + threadIdx.x;  // that sums are added to
    Held held = {0, 0, false, 0};
    float2* scales = reinterpret_cast<float2*>(shared + 222336);
    grid_dependency_wait();
    for (int i = threadIdx.x; i < 32; i += 256) {
      const int undone = -reinterpret_cast<const int*>(block_weights + 86016)[i];
      scales[i] = make_float2(power_of_two(undone / 2), power_of_two(undone - undone / 2));
    }
    named_barrier_sync(2, 256);
    mbarrier_wait(resident, 0);
    int stage = 0;
    unsigned int parity = 0;
    for (int index = first_tile; index < tiles; index += next_tile) {
      pin(sums);
      Run runs[2] = {};  // of f32x3: of low and of high parts
      for (int chunk = 0; chunk < 2; ++chunk) {
        mbarrier_wait(&full[stage], parity);
        const unsigned char* from = stages + stage * 25888;
        const unsigned char* weights = shared + chunk * 43008;
        choose_scale(sums, held, from, totals);
        multiply_split(sums, runs, held, reinterpret_cast<const unsigned int*>(from) + own, weights, totals,
                       &empty[stage], zero);
        next_stage(stage, parity);
      }
      wgmma_wait(0);
      pin(sums);
      undo_scales(sums, held, totals, scales + quarter * 2);
      const Tile tile = tile_at(index);
      const int own_column = column + (static_cast<int>(zero) & index);  // no address is kept
      store_tile(sums, y + (tile.image + image) * 16777216ll, co, tile.m_y + row, tile.m_x + own_column, 0);
    }
  }
}
