// conv_transpose1d 512 -> 256; kernel 16; stride 8; padding 4; input 16x512; bias; dtype f32; compute tf32; layout nchw
// forward for sm_80. Template mma_pixels: a block makes 1024 outputs of 16 channels in one of 1 phases; 16 taps; 67.5 KiB shared.
// Launch
//   sizes: batch 16, in_width 512; out_width 4096
//   compile: nvcc -gencode arch=compute_80,code=sm_80
//   tensor y: 16777216 elements, written, 16-byte aligned
//     shape (N 16, Cout 256, W 4096), contiguous
//   tensor x: 4194304 elements, read, 16-byte aligned
//     shape (N 16, Cin 512, W 512), contiguous
//   tensor weight: 2097152 elements, read, 4-byte aligned
//     shape (Cin 512, Cout 256, KW 16), contiguous
//   tensor bias: 256 elements, read, 4-byte aligned
//     shape (Cout 256), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 8388608 bytes, a packed copy of the weights; kept for later calls
//   region arranged: 16777216 bytes, the input with channels last
//   kernel convtgen_mma_pixels_forward_fa2fbb1a4a3f57a0_pack
//     arguments const float* weight, unsigned char* packed
//     grid 512; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_mma_pixels_forward_fa2fbb1a4a3f57a0_arrange
//     arguments const float* x, unsigned char* arranged, int batch
//     grid 1024; block 256; shared 0
//   kernel convtgen_mma_pixels_forward_fa2fbb1a4a3f57a0
//     arguments const unsigned char* arranged, const unsigned char* packed, const float* bias, float* y, int batch
//     grid 1040; block 128; shared 69168
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 69168)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 69168)

namespace convtgen_mma_pixels_forward_fa2fbb1a4a3f57a0_source {

// ---- Constants ----

constexpr int kThreads = 128;
constexpr int kPackers = 256;  // threads of a block that packs weights
constexpr int kGroupIn = 512;
constexpr int kGroupOut = 256;
constexpr int kKBlocks = 32;
constexpr int kArrangers = 256;
constexpr int kArrangedPixels = 64;  // of a block
constexpr int kWarpRows = 64;
constexpr int kWarpChannels = 64;
constexpr unsigned int kNoTap = 0x80000000u;  // that no position reads
constexpr int kPositionStep = 32;             // from a position that a thread copies to its next one

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputPixelBytes = 2048;
constexpr int kPixelBytes = 64;
constexpr int kInputBytes = 8192;
constexpr int kStepBytes = 4096;
constexpr int kKBlockWeightBytes = 8192;
constexpr int kStageBytes = 16384;
constexpr int kTapsOffset = 65536;
constexpr int kReadOffset = 65584;
constexpr int kStoredOffset = 66608;
constexpr int kPositionWordsOffset = 67632;
constexpr int kColumnOffset = 68144;
constexpr int kBiasOffset = 68656;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_commit();
__device__ __forceinline__ void async_copy_wait(int pending);
__device__ __forceinline__ void matrix_load_x4(unsigned int (&values)[4], const void* row);
__device__ __forceinline__ void mma_k8_tf32(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);
__device__ __forceinline__ unsigned int float_to_tf32(float value);

#endif

// ---- Elements ----

// A staged word as a product takes it: tf32 is rounded.
__device__ __forceinline__ unsigned int operand(unsigned int word) {
  return float_to_tf32(__uint_as_float(word));
}

// The thread's i-th channel, whose first is `co`.
__device__ __forceinline__ int own_channel(int co, int i) {
  return co + i / 4 * 16 + i % 4;
}

// The channel of the block whose weights stand at column n: the columns of a thread are its own channels.
__device__ __forceinline__ int channel_of_column(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / 4 * 16 + thread * 4 + i % 4;
}

// ---- Totals ----

// One thread's accumulators: of each tile of 16 positions and tile of 8 channels of its warp.
using Accumulators = float[4][8][4];

// ---- Packing ----

// Packs the weights as blocks take them: for each N tile, tap and k-block of input channels, by k-steps and columns.
extern "C" __global__ void __launch_bounds__(kPackers)
    convtgen_mma_pixels_forward_fa2fbb1a4a3f57a0_pack(const float* __restrict__ weight,
                                                      unsigned char* __restrict__ packed) {
  // A thread packs what four lanes hold of a k-step and tap, so that it writes whole sectors: the step's channels of
  // two columns, eight apart. Neighbours read neighbours.
  const long long i = static_cast<long long>(blockIdx.x) * kPackers + threadIdx.x;
  if (i < 131072) {
    const int tap = static_cast<int>(i % 2);
    const int column = static_cast<int>(i / 2 % 1024);
    const int step = static_cast<int>(i / 2048 % 64);
    const int group = static_cast<int>(i / 131072);
    const int first = column / 8 * 16 + column % 8;  // of the thread's columns
    unsigned int words[4][4];
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int of_warp = (first + half * 8) % kWarpChannels;
      const int co = first + half * 8 - of_warp + channel_of_column(of_warp);
      const int kernel_tap = tap * 8 + co % 8;
      #pragma unroll
      for (int unit = 0; unit < 2; ++unit) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
          unsigned int parts[2];
          const int ci = (2 * step + unit) * 4 + lane;
          const float value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co / 8) * 16 + kernel_tap];
          parts[0] = operand(__float_as_uint(value));
          words[lane][half * 2 + unit] = parts[0];
        }
      }
    }
    const int n_tile = group * 16 + first / 128;
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

// ---- Arranging ----

// Writes x, which is in nchw or split, with channels last; zeros after a group's channels.
extern "C" __global__ void __launch_bounds__(kArrangers)
    convtgen_mma_pixels_forward_fa2fbb1a4a3f57a0_arrange(const float* __restrict__ x,
                                                         unsigned char* __restrict__ arranged, int batch) {
  const int lane = threadIdx.x % 32;
  const int part = blockIdx.x % 8;
  const long long pixel = static_cast<long long>(blockIdx.x / 8) * kArrangedPixels + threadIdx.x / 32 * 8 + lane % 8;
  if (pixel < batch * 512ll) {
    const float* from = x + (pixel / 512 * 262144 + pixel % 512);
    unsigned char* to = arranged + pixel * kInputPixelBytes;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int vector = part * 16 + i * 4 + lane / 8;
      const int first = vector * 4;  // channel of the group
      unsigned int words[4];
      #pragma unroll
      for (int c = 0; c < 4; ++c) {
        words[c] = 0;
        words[c] = operand(__float_as_uint(from[(first + c) * 512ll]));
      }
      *reinterpret_cast<uint4*>(to + vector * 16) = make_uint4(words[0], words[1], words[2], words[3]);
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
    bits |= i >= 0 && i < 512 ? 1u << tap : 0u;
  }
  return bits;
}

// A bit for each tap of an axis: whether it reads within the image.
__device__ __forceinline__ unsigned int taps_within_2() {
  unsigned int bits = 0;
  bits |= 1u;
  return bits;
}

// Which taps read within the image for a position where the first one reads at (iy, ix). A bit for each row and column.
__device__ __forceinline__ unsigned int taps_of(int ix) {
  return taps_within(ix) | (taps_within_2() << 2);
}

// An axis of a phase.
struct PhaseAxis {
  int taps;  // how many it has
};

// The number-th phase of an axis: those with taps come first, those with most of them before others.
__device__ __forceinline__ PhaseAxis axis_of_phase() {
  PhaseAxis axis;
  axis.taps = 1;
  return axis;
}

// The number-th phase of an axis: those with taps come first, those with most of them before others.
__device__ __forceinline__ PhaseAxis axis_of_phase_2() {
  PhaseAxis axis;
  axis.taps = 2;
  return axis;
}

// Writes of each of a tile's positions, which begin with number `first` of the phase: where it reads for the first tap
// of the first channel, in bytes; where its output lies, in elements, or -1 outside of it; and which taps read the
// image.
__device__ __forceinline__ void find_positions(unsigned char* shared, long long first, int thread, int batch) {
  #pragma unroll 1
  for (int i = thread; i < 128; i += kThreads) {
    const long long at = first + i;
    const long long row = at / 513;
    const int m_w = static_cast<int>(at % 513);
    const int ox = m_w * 8 - 4;
    const unsigned int word = taps_of(m_w);
    const long long out_image = row * 256;
    const bool is_stored = row < batch;
    reinterpret_cast<long long*>(shared + kReadOffset)[i] = (row * 512 + m_w) * kInputPixelBytes;
    reinterpret_cast<long long*>(shared + kStoredOffset)[i] = !is_stored ? -1 : out_image * 4096;
    reinterpret_cast<int*>(shared + kColumnOffset)[i] = ox;
    reinterpret_cast<unsigned int*>(shared + kPositionWordsOffset)[i] = row < batch ? word : 0;
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
__device__ __forceinline__ void find_taps(Tap* taps, int thread, const PhaseAxis& rows, const PhaseAxis& columns) {
  const int all = rows.taps * columns.taps;
  #pragma unroll 1
  for (int i = thread; i <= all; i += kThreads) {
    Tap tap;
    tap.from = 0;
    tap.word = kNoTap;
    tap.number = 0;
    if (i < all) {
      const int tap_w = i % columns.taps;
      const int tap_h = i / columns.taps % rows.taps;
      const long long before = static_cast<long long>(tap_h) * 512 + tap_w;
      tap.from = -before * kInputPixelBytes;
      tap.word = (1u << tap_w) | (1u << (tap_h + 2));
      tap.number = tap_h * 2 + tap_w;
    }
    taps[i] = tap;
  }
}

// ---- Staging ----

// What a thread copies of the input in each stage: where its positions read, and their taps.
struct Places {
  long long from[4];
  unsigned int words[4];
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
  const Tap tap = taps[next.tap];
  next.word = tap.word;
  next.pixels = x + tap.from;
  next.weights = weights + static_cast<long long>(tap.number) * 262144;
}

// Goes on to the next k-block, or the next tap. After the last tap comes the one that reads nowhere, again and again.
__device__ __forceinline__ void advance(Next& next, const unsigned char* x, const unsigned char* weights,
                                        const Tap* taps) {
  next.pixels += kPixelBytes;
  next.weights += kKBlockWeightBytes;
  if (++next.k_block == kKBlocks) {
    next.k_block = 0;
    next.tap += next.word == kNoTap ? 0 : 1;
    find_next(next, x, weights, taps);
  }
}

__device__ __forceinline__ void stage_part(unsigned char* to, const Places& places, const Next& next, int thread) {
  const int vector = thread % 4;
  const int position = thread / 4;
  unsigned char* own = to + position * kPixelBytes + (vector ^ (position / 2 % 4)) * 16;
  {
    const bool any = (places.words[0] & next.word) == next.word;
    async_copy_16(own, next.pixels + places.from[0], any ? 16 : 0);
  }
  {
    const bool any = (places.words[1] & next.word) == next.word;
    async_copy_16(own + 2048, next.pixels + places.from[1], any ? 16 : 0);
  }
  {
    const bool any = (places.words[2] & next.word) == next.word;
    async_copy_16(own + 4096, next.pixels + places.from[2], any ? 16 : 0);
  }
  {
    const bool any = (places.words[3] & next.word) == next.word;
    async_copy_16(own + 6144, next.pixels + places.from[3], any ? 16 : 0);
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

// Loads the fragments of a k-step. `input` is the lane's first position in the stage, and `swapped` its vector there in
// the first k-step, in bytes; `weights` are the lane's of its warp's first columns.
__device__ __forceinline__ void load_fragments(Fragments& fragments, const unsigned char* input, int swapped,
                                               const unsigned char* weights) {
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    matrix_load_x4(fragments.a[tile], input + swapped + tile * 1024);
  }
  #pragma unroll
  for (int two = 0; two < 4; ++two) {
    fragments.b[two] = *reinterpret_cast<const uint4*>(weights + two * 512);
  }
}

// Loads the fragments of a k-step. `input` is the lane's first position in the stage, and `swapped` its vector there in
// the first k-step, in bytes; `weights` are the lane's of its warp's first columns.
__device__ __forceinline__ void load_fragments_2(Fragments& fragments, const unsigned char* input, int swapped,
                                                 const unsigned char* weights) {
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    matrix_load_x4(fragments.a[tile], input + (swapped ^ 32) + tile * 1024);
  }
  #pragma unroll
  for (int two = 0; two < 4; ++two) {
    fragments.b[two] = *reinterpret_cast<const uint4*>(weights + 4096 + two * 512);
  }
}

__device__ __forceinline__ void multiply_step(Accumulators& acc, Fragments& fragments) {
  #pragma unroll
  for (int two = 0; two < 4; ++two) {
    const uint4 words = fragments.b[two];
    const unsigned int b[2] = {words.x, words.y};
    const unsigned int next[2] = {words.z, words.w};
    #pragma unroll
    for (int tile = 0; tile < 4; ++tile) {
      mma_k8_tf32(acc[tile][two * 2], fragments.a[tile], b);
      mma_k8_tf32(acc[tile][two * 2 + 1], fragments.a[tile], next);
    }
  }
}

// ---- Epilogue ----

// Adds the bias and applies the fuse chain, where the layer has them.
__device__ __forceinline__ float epilogue(float acc, float bias) {
  return acc + bias;
}

// Stores a thread's outputs: of each position so many adjacent ones of a channel together. Columns before a row's first
// output, and after its last one, are of no output: whole vectors, since rows begin and end with these. `stored` is
// where each position's row begins, and `first_columns` its first phase's column; else it takes what store_outputs()
// does.
__device__ __forceinline__ void store_phases(const Accumulators& acc, float* __restrict__ y, const long long* stored,
                                             const int* first_columns, const float* bias, int row, int column) {
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int position = row + tile * 16 + half * 8;
      const long long to = stored[position];
      const int first = first_columns[position];
      if (to >= 0) {
        #pragma unroll
        for (int i = 0; i < 16; i += 4) {
          const int own = own_channel(column, i);
          const int ox = first + own % 8;
          if (ox >= 0 && ox < 4096) {
            float values[4];
            #pragma unroll
            for (int v = 0; v < 4; ++v) {
              values[v] = epilogue(acc[tile][(i + v) / 2][half * 2 + (i + v) % 2], bias[own]);
            }
            store_global_16(y + to + ox + own / 8 * 4096ll,
                            make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]),
                                       __float_as_uint(values[2]), __float_as_uint(values[3])));
          }
        }
      }
    }
  }
}

// Stores a thread's outputs. `row` is its first position of the block's, `channel` its first channel of the block's,
// `y` the block's first channel.
__device__ __forceinline__ void store_outputs(const Accumulators& acc, float* __restrict__ y,
                                              const unsigned char* shared, const float* bias, int row, int channel) {
  const long long* stored = reinterpret_cast<const long long*>(shared + kStoredOffset);
  store_phases(acc, y, stored, reinterpret_cast<const int*>(shared + kColumnOffset), bias, row, channel);
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_mma_pixels_forward_fa2fbb1a4a3f57a0(const unsigned char* __restrict__ arranged,
                                                 const unsigned char* __restrict__ packed,
                                                 const float* __restrict__ bias, float* __restrict__ y, int batch) {
  const long long positions = static_cast<long long>(batch) * 513;
  const int tiles = static_cast<int>((positions + 127) / 128);  // of a phase

  // The block's group and output channels. Blocks that read the same input have adjacent indices.
  const int n_tile = blockIdx.x % 16;
  const int next_tile = gridDim.x / 16;
  const int first_out = n_tile % 16 * 128;  // of the group's
  const unsigned char* own_weights = packed + static_cast<long long>(n_tile) * 524288;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  Tap* taps = reinterpret_cast<Tap*>(shared + kTapsOffset);
  float* biases = reinterpret_cast<float*>(shared + kBiasOffset);
  const int thread = threadIdx.x;
  // The thread's channels of the group's first pixel.
  const unsigned char* own_x = arranged + thread % 4 * 16;
  for (int i = thread; i < 128; i += kThreads) {
    biases[i] = bias[(first_out + i) / 8];
  }

  // The lane's position of its warp's first tile, in its half of the first k-step, and its weights.
  const int lane = thread % 32;
  const int warp_m = thread / 32 % 2;
  const int warp_n = thread / 64;
  const int position = warp_m * kWarpRows + lane % 16;
  const int swapped = ((lane / 16) ^ (position / 2 % 4)) * 16;
  const int lane_weights = kInputBytes + warp_n * 2048 + lane * 16;

  #pragma unroll 1
  for (int index = blockIdx.x / 16; index < tiles; index += next_tile) {
    const PhaseAxis rows = axis_of_phase();
    const PhaseAxis columns = axis_of_phase_2();
    __syncthreads();  // all have read what the tile before has in shared memory
    find_positions(shared, static_cast<long long>(index) * 128, thread, batch);
    find_taps(taps, thread, rows, columns);
    __syncthreads();
    Places places;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int copied = thread / 4 + i * kPositionStep;
      places.from[i] = reinterpret_cast<const long long*>(shared + kReadOffset)[copied];
      places.words[i] = reinterpret_cast<const unsigned int*>(shared + kPositionWordsOffset)[copied];
    }
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

    const int steps = rows.taps * columns.taps * kKBlocks;
    Accumulators acc = {};
    Fragments fragments[2];
    async_copy_wait(2);
    __syncthreads();
    load_fragments(fragments[0], shared + position * kPixelBytes, swapped, shared + lane_weights);
    int stage = 0;
    // Each stage has a tap of the phase, of taps (0 to 0, 0 to 15).
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      const unsigned char* from = shared + stage * kStageBytes;
      unsigned char* staged = shared + (stage == 0 ? 3 : stage - 1) * kStageBytes;
      // Fragments are loaded one k-step ahead. The stage before has been loaded by all: its place is that of the
      // newest.
      load_fragments_2(fragments[1], from + position * kPixelBytes, swapped, from + lane_weights);
      stage_part(staged, places, next, thread);
      multiply_step(acc, fragments[0]);
      advance(next, own_x, own_weights, taps);
      async_copy_commit();
      stage = stage + 1 == 4 ? 0 : stage + 1;
      async_copy_wait(2);
      __syncthreads();  // the next stage has come, and all have loaded what this one has
      const unsigned char* after = shared + stage * kStageBytes;
      load_fragments(fragments[0], after + position * kPixelBytes, swapped, after + lane_weights);
      multiply_step(acc, fragments[1]);
    }
    async_copy_wait(0);  // copies after the last stage
    store_outputs(acc, y + first_out / 8 * 4096ll, shared, biases, warp_m * kWarpRows + lane / 4,
                  warp_n * kWarpChannels + lane % 4 * 4);
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

// Writes 16 bytes (aligned to 16) to global memory in one instruction.
__device__ __forceinline__ void store_global_16(void* to, uint4 value) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
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

// Reads four matrices.
__device__ __forceinline__ void matrix_load_x4(unsigned int (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared_address(row))
               : "memory");
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

}  // namespace convtgen_mma_pixels_forward_fa2fbb1a4a3f57a0_source
using convtgen_mma_pixels_forward_fa2fbb1a4a3f57a0_source::convtgen_mma_pixels_forward_fa2fbb1a4a3f57a0_pack;
using convtgen_mma_pixels_forward_fa2fbb1a4a3f57a0_source::convtgen_mma_pixels_forward_fa2fbb1a4a3f57a0_arrange;
using convtgen_mma_pixels_forward_fa2fbb1a4a3f57a0_source::convtgen_mma_pixels_forward_fa2fbb1a4a3f57a0;
