// conv_transpose2d 256 -> 256; kernel 2x2; stride 2x2; input 100x14x14; dtype f32; compute tf32; layout nchw; directions grad_input
// grad_input for sm_80. Template mma_pixels: a block makes 128 outputs of 128 channels in one of 1 phases; 4 taps; 67.6 KiB shared.
// In the code x is grad_y and y is grad_x; channels are exchanged and taps mirrored: tap (0, 0) is the last one.
// Launch
//   sizes: batch 100, in_height 14, in_width 14; out_height 28, out_width 28
//   compile: nvcc -gencode arch=compute_80,code=sm_80
//   tensor grad_x: 5017600 elements, written, 16-byte aligned
//     shape (N 100, Cin 256, H 14, W 14), contiguous
//   tensor grad_y: 20070400 elements, read, 16-byte aligned
//     shape (N 100, Cout 256, H 28, W 28), contiguous
//   tensor weight: 262144 elements, read, 4-byte aligned
//     shape (Cin 256, Cout 256, KH 2, KW 2), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 1048576 bytes, a packed copy of the weights; kept for later calls
//   kernel convtgen_mma_pixels_grad_input_21b5ce4721d5d618_pack
//     arguments const float* weight, unsigned char* packed
//     grid 64; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_mma_pixels_grad_input_21b5ce4721d5d618
//     arguments const float* grad_y, const unsigned char* packed, float* grad_x, int batch
//     grid 308; block 128; shared 69200
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 69200)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 69200)

namespace convtgen_mma_pixels_grad_input_21b5ce4721d5d618_source {

// ---- Constants ----

constexpr int kThreads = 128;
constexpr int kPackers = 256;  // threads of a block that packs weights
constexpr int kGroupIn = 256;
constexpr int kGroupOut = 256;
constexpr int kKBlocks = 32;
constexpr int kWarpRows = 64;
constexpr int kWarpChannels = 64;
constexpr unsigned int kNoTap = 0x80000000u;  // that no position reads
constexpr int kRowPitch = 264;                // in words
constexpr int kRowUnits = 64;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputBytes = 8448;
constexpr int kStepBytes = 4096;
constexpr int kKBlockWeightBytes = 8192;
constexpr int kStageBytes = 16640;
constexpr int kTapsOffset = 66560;
constexpr int kReadOffset = 66640;
constexpr int kStoredOffset = 67664;
constexpr int kPositionWordsOffset = 68688;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_8(void* to, uint2 value);
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_commit();
__device__ __forceinline__ void async_copy_wait(int pending);
__device__ __forceinline__ void mma_k8_tf32(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);
__device__ __forceinline__ unsigned int float_to_tf32(float value);

#endif

// ---- Elements ----

// A staged word as a product takes it: tf32 is rounded.
__device__ __forceinline__ unsigned int operand(unsigned int word) {
  return float_to_tf32(__uint_as_float(word));
}

// The channel of the block whose weights stand at column n: the columns of a thread are its own channels.
__device__ __forceinline__ int channel_of_column(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / 2 * 8 + thread * 2 + i % 2;
}

// ---- Totals ----

// One thread's accumulators: of each tile of 16 positions and tile of 8 channels of its warp.
using Accumulators = float[4][8][4];

// ---- Copies ----

// Copies a unit, or zeros.
__device__ __forceinline__ void copy_unit(unsigned char* to, const unsigned char* from, bool any) {
  async_copy_16(to, from, any ? 16 : 0);
}

// ---- Fragments ----

// Where a lane's words of a stage begin, in bytes: of its warp's first position and the first k-step.
__device__ __forceinline__ int lane_place(int first, int lane) {
  const int own = first + lane / 4 * 2;
  return (lane % 4 * kRowPitch + own * 2) * 4;
}

__device__ __forceinline__ void load_words(unsigned int (&words)[4], const unsigned char* from) {
  const uint4 four = *reinterpret_cast<const uint4*>(from);
  words[0] = four.x;
  words[1] = four.y;
  words[2] = four.z;
  words[3] = four.w;
}

// Loads what the products of a k-step take of the input, which begins at the lane's place in the stage.
__device__ __forceinline__ void load_planes(unsigned int (&a)[4][4], const unsigned char* input) {
  #pragma unroll
  for (int first = 0; first < 8; first += 2) {
    unsigned int words[4];
    load_words(words, input + (first / 2 * 16 + first % 2) * 8);
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = first + i / 2;
      a[row / 2][i % 2 * 2 + row % 2] = words[i];
    }
  }
}

// Loads what the products of a k-step take of the input, which begins at the lane's place in the stage.
__device__ __forceinline__ void load_planes_2(unsigned int (&a)[4][4], const unsigned char* input) {
  #pragma unroll
  for (int first = 0; first < 8; first += 2) {
    unsigned int words[4];
    load_words(words, input + (1056 + (first / 2 * 16 + first % 2) * 2) * 4);
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = first + i / 2;
      a[row / 2][i % 2 * 2 + row % 2] = words[i];
    }
  }
}

// ---- Packing ----

// Packs the weights as blocks take them: for each N tile, tap and k-block of input channels, by k-steps and columns.
extern "C" __global__ void __launch_bounds__(kPackers)
    convtgen_mma_pixels_grad_input_21b5ce4721d5d618_pack(const float* __restrict__ weight,
                                                         unsigned char* __restrict__ packed) {
  // A thread packs what four lanes hold of a k-step and tap, so that it writes whole sectors: the step's channels of
  // two columns, eight apart. Neighbours read neighbours.
  const long long i = static_cast<long long>(blockIdx.x) * kPackers + threadIdx.x;
  if (i < 16384) {
    const int tap = static_cast<int>(i % 2);
    const int column = static_cast<int>(i / 2 % 128);
    const int step = static_cast<int>(i / 256 % 64);
    const int group = static_cast<int>(i / 16384);
    const int first = column / 8 * 16 + column % 8;  // of the thread's columns
    unsigned int words[4][4];
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int of_warp = (first + half * 8) % kWarpChannels;
      const int co = first + half * 8 - of_warp + channel_of_column(of_warp);
      #pragma unroll
      for (int unit = 0; unit < 2; ++unit) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
          unsigned int parts[2];
          const int ci = step * 4 + lane;
          const int of_row = 1 - unit;
          const float value =
              weight[(static_cast<long long>(group * kGroupOut + co) * kGroupIn + ci) * 4 + (3 - (tap * 2 + of_row))];
          parts[0] = operand(__float_as_uint(value));
          words[lane][half * 2 + unit] = parts[0];
        }
      }
    }
    const int n_tile = group * 2 + first / 128;
    // Lane 4 * g + t has word t of column g.
    unsigned char* to = packed + ((static_cast<long long>(n_tile) * 2 + tap) * kKBlocks + step / 2) *
                                 kKBlockWeightBytes + (step % 2 * kStepBytes + first % 128 / 16 * 512 + first % 8 * 64);
    #pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      *reinterpret_cast<uint4*>(to + lane * 16) =
          make_uint4(words[lane][0], words[lane][1], words[lane][2], words[lane][3]);
    }
  }
}

// ---- Positions ----

// A bit for each tap of an axis: whether it reads within the image, where the first one reads at `at`.
__device__ __forceinline__ unsigned int taps_within(int at) {
  unsigned int bits = 0;
  #pragma unroll
  for (int tap = 0; tap < 2; ++tap) {
    const int i = at - tap;
    bits |= i >= 0 && i < 28 ? 1u << tap : 0u;
  }
  return bits;
}

// Which taps read within the image for a position where the first one reads at (iy, ix). A bit for each row and column.
__device__ __forceinline__ unsigned int taps_of(int iy, int ix) {
  return taps_within(ix) | (taps_within(iy) << 2);
}

// A position's word for taps so many columns before.
__device__ __forceinline__ unsigned int of_later_column(unsigned int word) {
  return ((word & 3u) >> 1) | (word & 4294967292u);
}

// Writes of each of a tile's positions, which begin with number `first` of the phase: where it reads for the first tap
// of the first channel, in bytes; where its output lies, in elements, or -1 outside of it; and which taps read the
// image.
__device__ __forceinline__ void find_positions(unsigned char* shared, long long first, int thread, int batch) {
  #pragma unroll 1
  for (int i = thread; i < 128; i += kThreads) {
    const long long at = first + i;
    const long long row = at / 14;
    const long long plane = row / 14;
    const int m_w = static_cast<int>(at % 14);
    const int m_h = static_cast<int>(row % 14);
    const int iy = m_h * 2 + 1;
    const int ix = m_w * 2 + 1;
    const unsigned int word = taps_of(iy, ix);
    const long long out_image = plane * 256;
    const bool is_stored = plane < batch && m_h < 14 && m_w < 14;
    reinterpret_cast<long long*>(shared + kReadOffset)[i] = ((plane * 7168 + iy) * 28 + ix) * 4;
    reinterpret_cast<long long*>(shared + kStoredOffset)[i] = !is_stored ? -1 : (out_image * 14 + m_h) * 14 + m_w;
    reinterpret_cast<unsigned int*>(shared + kPositionWordsOffset)[i] = plane < batch ? word : 0;
  }
}

// ---- Taps ----

// A tap of a phase: how many bytes from where the first one reads it does, its word, and its number in the kernel.
struct Tap {
  long long from;
  unsigned int word;
  int number;
};

// Writes the taps of a phase, and after them one that reads nowhere.
__device__ __forceinline__ void find_taps(Tap* taps, int thread) {
  #pragma unroll 1
  for (int i = thread; i <= 2; i += kThreads) {
    Tap tap;
    tap.from = 0;
    tap.word = kNoTap;
    tap.number = 0;
    if (i < 2) {
      const int tap_h = i % 2;
      const long long before = static_cast<long long>(tap_h) * 28;
      tap.from = -before * 4;
      tap.word = 1 | (1u << (tap_h + 2));
      tap.number = tap_h;
    }
    taps[i] = tap;
  }
}

// ---- Staging ----

// What a thread copies of the input in each stage: where its positions read, and their taps.
struct Places {
  long long from[1];
  unsigned int words[1];
};

// What is staged next: a tap and k-block.
struct Next {
  int tap;  // of the phase
  int k_block;
  unsigned int word;            // of the tap
  const unsigned char* pixels;  // where it reads for a position at 0
  const unsigned char* weights;
};

// Of values that are split the taps of a k-block follow one another, else the k-blocks of a tap.
__device__ __forceinline__ void find_next(Next& next, const unsigned char* x, const unsigned char* weights,
                                          const Tap* taps) {
  const Tap tap = taps[next.k_block < kKBlocks ? next.tap : 2];
  next.word = tap.word;
  // Taps of planes follow one another too.
  next.pixels = x + tap.from + next.k_block * 25088ll;
  next.weights = weights + (static_cast<long long>(tap.number) * kKBlocks + min(next.k_block, 31)) * kKBlockWeightBytes;
}

// Goes on to the next k-block, or the next tap. After the last tap comes the one that reads nowhere, again and again.
__device__ __forceinline__ void advance(Next& next, const unsigned char* x, const unsigned char* weights,
                                        const Tap* taps) {
  if (++next.tap >= 2) {
    next.tap = 0;
    next.k_block += next.word == kNoTap ? 0 : 1;
  }
  find_next(next, x, weights, taps);
}

__device__ __forceinline__ void stage_part(unsigned char* to, const Places& places, const Next& next, int thread) {
  const int channel = thread / kRowUnits;  // of the thread's first copies
  unsigned char* own = to + (channel * 1056 + thread % kRowUnits * 16);
  {
    const bool any = (places.words[0] & next.word) == next.word;
    // An integer: sums of pointers that a tile does not change take two registers for each copy.
    const long long from = reinterpret_cast<long long>(next.pixels) + places.from[0];
    copy_unit(own, reinterpret_cast<const unsigned char*>(from), any);
  }
  {
    const bool any = (places.words[0] & next.word) == next.word;
    // An integer: sums of pointers that a tile does not change take two registers for each copy.
    const long long from = reinterpret_cast<long long>(next.pixels) + places.from[0] + 6272;
    copy_unit(own + 2112, reinterpret_cast<const unsigned char*>(from), any);
  }
  {
    const bool any = (places.words[0] & next.word) == next.word;
    // An integer: sums of pointers that a tile does not change take two registers for each copy.
    const long long from = reinterpret_cast<long long>(next.pixels) + places.from[0] + 12544;
    copy_unit(own + 4224, reinterpret_cast<const unsigned char*>(from), any);
  }
  {
    const bool any = (places.words[0] & next.word) == next.word;
    // An integer: sums of pointers that a tile does not change take two registers for each copy.
    const long long from = reinterpret_cast<long long>(next.pixels) + places.from[0] + 18816;
    copy_unit(own + 6336, reinterpret_cast<const unsigned char*>(from), any);
  }
  unsigned char* columns = to + kInputBytes + thread * 16;
  const unsigned char* from = next.weights + thread * 16;
  async_copy_16(columns, from, next.word == kNoTap ? 0 : 16);
  async_copy_16(columns + 2048, from + 2048, next.word == kNoTap ? 0 : 16);
  async_copy_16(columns + 4096, from + 4096, next.word == kNoTap ? 0 : 16);
  async_copy_16(columns + 6144, from + 6144, next.word == kNoTap ? 0 : 16);
}

// ---- Products ----

// What a warp multiplies in a k-step. Of split values the high parts of all tiles come first.
struct Fragments {
  unsigned int a[4][4];
  uint4 b[4];
};

// Loads the fragments of a k-step. `input` is the lane's first position in the stage; `weights` are the lane's of its
// warp's first columns.
__device__ __forceinline__ void load_fragments(Fragments& fragments, const unsigned char* input,
                                               const unsigned char* weights) {
  load_planes(fragments.a, input);
  #pragma unroll
  for (int two = 0; two < 4; ++two) {
    fragments.b[two] = *reinterpret_cast<const uint4*>(weights + two * 512);
  }
}

// Loads the fragments of a k-step. `input` is the lane's first position in the stage; `weights` are the lane's of its
// warp's first columns.
__device__ __forceinline__ void load_fragments_2(Fragments& fragments, const unsigned char* input,
                                                 const unsigned char* weights) {
  load_planes_2(fragments.a, input);
  #pragma unroll
  for (int two = 0; two < 4; ++two) {
    fragments.b[two] = *reinterpret_cast<const uint4*>(weights + 4096 + two * 512);
  }
}

__device__ __forceinline__ void multiply_step(Accumulators& acc, Fragments& fragments) {
  // Rounded tile by tile: words that are loaded together are those of a product in another order, so that rounding
  // takes other registers.
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    const unsigned int a[4] = {operand(fragments.a[tile][0]), operand(fragments.a[tile][1]),
                               operand(fragments.a[tile][2]), operand(fragments.a[tile][3])};
    #pragma unroll
    for (int two = 0; two < 4; ++two) {
      const uint4 words = fragments.b[two];
      const unsigned int b[2] = {words.x, words.y};
      const unsigned int next[2] = {words.z, words.w};
      mma_k8_tf32(acc[tile][two * 2], a, b);
      mma_k8_tf32(acc[tile][two * 2 + 1], a, next);
    }
  }
}

// ---- Epilogue ----

// Stores a thread's outputs, adjacent positions together: they are of one row, since rows have a multiple of them. What
// it takes is what store_outputs() does.
__device__ __forceinline__ void store_positions(const Accumulators& acc, float* __restrict__ y, const long long* stored,
                                                int row, int channel) {
  #pragma unroll
  for (int first = 0; first < 8; first += 2) {
    const long long to = stored[row + (first / 2 * 16 + first % 2)];
    if (to >= 0) {
      // Other channels lie at constant distances from the first, which take no registers.
      float* first_y = y + to + channel * 196ll;
      #pragma unroll
      for (int i = 0; i < 16; ++i) {
        const int before = i / 2 * 8 + i % 2;
        float values[2];
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
          values[v] = acc[(first + v) / 2][i / 2][(first + v) % 2 * 2 + i % 2];
        }
        store_global_8(first_y + before * 196ll, make_uint2(__float_as_uint(values[0]), __float_as_uint(values[1])));
      }
    }
  }
}

// Stores a thread's outputs. `row` is its first position of the block's, `channel` its first channel of the block's,
// `y` the block's first channel.
__device__ __forceinline__ void store_outputs(const Accumulators& acc, float* __restrict__ y,
                                              const unsigned char* shared, int row, int channel) {
  const long long* stored = reinterpret_cast<const long long*>(shared + kStoredOffset);
  store_positions(acc, y, stored, row, channel);
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_mma_pixels_grad_input_21b5ce4721d5d618(const float* __restrict__ x,
                                                    const unsigned char* __restrict__ packed, float* __restrict__ y,
                                                    int batch) {
  const long long positions = static_cast<long long>(batch) * 196;
  const int tiles = static_cast<int>((positions + 127) / 128);  // of a phase

  // The block's group and output channels. Blocks that read the same input have adjacent indices.
  const int n_tile = blockIdx.x % 2;
  const int next_tile = gridDim.x / 2;
  const int first_out = n_tile % 2 * 128;  // of the group's
  const unsigned char* own_weights = packed + static_cast<long long>(n_tile) * 524288;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  Tap* taps = reinterpret_cast<Tap*>(shared + kTapsOffset);
  const int thread = threadIdx.x;
  // The thread's channels of the group's first pixel.
  const unsigned char* own_x = reinterpret_cast<const unsigned char*>(x);

  // The lane's position of its warp's first tile, in its half of the first k-step, and its weights.
  const int lane = thread % 32;
  const int warp_m = thread / 32 % 2;
  const int warp_n = thread / 64;
  const int lane_offset = lane_place(warp_m * kWarpRows, lane);
  const int lane_weights = kInputBytes + warp_n * 2048 + lane * 16;

  #pragma unroll 1
  for (int index = blockIdx.x / 2; index < tiles; index += next_tile) {
    __syncthreads();  // all have read what the tile before has in shared memory
    find_positions(shared, static_cast<long long>(index) * 128, thread, batch);
    find_taps(taps, thread);
    __syncthreads();
    Places places;
    const int copied = thread % kRowUnits * 2;
    places.from[0] = reinterpret_cast<const long long*>(shared + kReadOffset)[copied];
    places.words[0] = reinterpret_cast<const unsigned int*>(shared + kPositionWordsOffset)[copied];
    places.from[0] += thread / kRowUnits * 3136ll - 4;
    places.words[0] = of_later_column(places.words[0]);
    Next next;
    next.tap = 0;
    next.k_block = 0;
    find_next(next, own_x, own_weights, taps);
    #pragma unroll 1
    for (int stage = 0; stage < 3; ++stage) {
      stage_part(shared + stage * kStageBytes, places, next, thread);
      advance(next, own_x, own_weights, taps);
      async_copy_commit();
    }

    Accumulators acc = {};
    Fragments fragments[2];
    async_copy_wait(2);
    __syncthreads();
    load_fragments(fragments[0], shared + lane_offset, shared + lane_weights);
    int stage = 0;
    // Each stage has a tap of the phase, of taps (0 to 1, 0 to 1).
    #pragma unroll 1
    for (int step = 0; step < 64; ++step) {
      const unsigned char* from = shared + stage * kStageBytes;
      unsigned char* staged = shared + (stage == 0 ? 3 : stage - 1) * kStageBytes;
      // Fragments are loaded one k-step ahead. The stage before has been loaded by all: its place is that of the
      // newest.
      load_fragments_2(fragments[1], from + lane_offset, from + lane_weights);
      stage_part(staged, places, next, thread);
      multiply_step(acc, fragments[0]);
      advance(next, own_x, own_weights, taps);
      async_copy_commit();
      stage = stage + 1 == 4 ? 0 : stage + 1;
      async_copy_wait(2);
      __syncthreads();  // the next stage has come, and all have loaded what this one has
      const unsigned char* after = shared + stage * kStageBytes;
      load_fragments(fragments[0], after + lane_offset, after + lane_weights);
      multiply_step(acc, fragments[1]);
    }
    async_copy_wait(0);  // copies after the last stage
    store_outputs(acc, y + first_out * 196ll, shared, warp_m * kWarpRows + lane / 4 * 2,
                  warp_n * kWarpChannels + lane % 4 * 2);
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

// Copies `bytes` (0 to 16) from global to shared memory and writes zeros for the rest of 16; aligned to 16. Not in L1.
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
}

// Closes a group: all copies of this thread since the last one. An empty group is legal.
__device__ __forceinline__ void async_copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most the `pending` (a constant, 0 to 7) newest groups of this thread are still in flight.
__device__ __forceinline__ void async_copy_wait(int pending) {
  switch (pending) {
    case 0:
      asm volatile("cp.async.wait_group 0;" ::: "memory");
      break;
    case 2:
      asm volatile("cp.async.wait_group 2;" ::: "memory");
      break;
    default:
      __trap();
  }
}

// K = 8, tf32.
__device__ __forceinline__ void mma_k8_tf32(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A float as products of tf32 read it, rounded to nearest, ties away from zero, as cvt.rna.tf32 does.
//
// A product ignores the 13 low bits. What is added is half of the last bit that it reads: the value's sign and exponent
// times 2^-11. Infinities stay, and a NaN is NaN in the bits that are read, whatever its payload. What rounds to 2^128
// becomes infinite; denormals, which have no exponent, are truncated. Two instructions.
__device__ __forceinline__ unsigned int float_to_tf32(float value) {
  return __float_as_uint(fmaf(__uint_as_float(__float_as_uint(value) & 0xff800000u), 0.00048828125f, value));
}

#endif

}  // namespace convtgen_mma_pixels_grad_input_21b5ce4721d5d618_source
using convtgen_mma_pixels_grad_input_21b5ce4721d5d618_source::convtgen_mma_pixels_grad_input_21b5ce4721d5d618_pack;
using convtgen_mma_pixels_grad_input_21b5ce4721d5d618_source::convtgen_mma_pixels_grad_input_21b5ce4721d5d618;
