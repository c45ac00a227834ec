// conv_transpose3d 64 -> 32; kernel 3x3x3; stride 2x2x2; padding 1x1x1; dtype f32; compute tf32; layout nhwc
// forward for sm_80. Template mma_pixels: a block makes 256 outputs of 32 channels in one of 8 phases; 27 taps; 77.1 KiB shared.
// Launch
//   sizes: batch, in_depth, in_height, in_width; out_depth = 2 * in_depth - 1, out_height = 2 * in_height - 1, out_width = 2 * in_width - 1
//   compile: nvcc -gencode arch=compute_80,code=sm_80
//   tensor y: 32 * batch * out_depth * out_height * out_width elements, written, 16-byte aligned
//     shape (N batch, D out_depth, H out_height, W out_width, Cout 32), contiguous
//   tensor x: 64 * batch * in_depth * in_height * in_width elements, read, 16-byte aligned
//     shape (N batch, D in_depth, H in_height, W in_width, Cin 64), contiguous
//   tensor weight: 55296 elements, read, 4-byte aligned
//     shape (Cin 64, Cout 32, KD 3, KH 3, KW 3), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 221184 bytes, a packed copy of the weights; kept for later calls
//   kernel convtgen_mma_pixels_forward_c20904643b52d702_pack
//     arguments const float* weight, unsigned char* packed
//     grid 14; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_mma_pixels_forward_c20904643b52d702
//     arguments const float* x, const unsigned char* packed, float* y, int batch, int in_depth, int in_height,
//       int in_width
//     grid 8 * min(216, ceil(out_height / 2) * ceil(out_width / 512) * out_depth * batch); block 128; shared 78992
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 78992)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 78992)
//     at most in_height 1073741821, in_width 1073741821, in_depth 1073741822

namespace convtgen_mma_pixels_forward_c20904643b52d702_source {

// ---- Constants ----

constexpr int kThreads = 128;
constexpr int kPackers = 256;  // threads of a block that packs weights
constexpr int kGroupIn = 64;
constexpr int kGroupOut = 32;
constexpr int kStageTaps = 27;  // of a kernel, as stages have them
constexpr int kWarpRows = 64;
constexpr int kWarpChannels = 32;
constexpr unsigned int kNoTap = 0x80000000u;  // that no position reads
constexpr int kPositionStep = 32;             // from a position that a thread copies to its next one
constexpr int kKernelTaps = 27;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputPixelBytes = 256;
constexpr int kPixelBytes = 64;
constexpr int kInputBytes = 16384;
constexpr int kStepBytes = 1024;
constexpr int kKBlockWeightBytes = 2048;
constexpr int kStageBytes = 18432;
constexpr int kTapsOffset = 73728;
constexpr int kReadOffset = 73872;
constexpr int kStoredOffset = 75920;
constexpr int kPositionWordsOffset = 77968;

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

__device__ int floor_div(int a) {
  return a >= 0 ? a / 2 : -((1 - a) / 2);
}

__device__ int floor_mod(int a) {
  return a - 2 * (a >= 0 ? a / 2 : -((1 - a) / 2));
}

// ---- Elements ----

// A staged word as a product takes it: tf32 is rounded.
__device__ __forceinline__ unsigned int operand(unsigned int word) {
  return float_to_tf32(__uint_as_float(word));
}

// The channel of the block whose weights stand at column n: the columns of a thread are its own channels.
__device__ __forceinline__ int channel_of_column(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / 4 * 16 + thread * 4 + i % 4;
}

// ---- Totals ----

// One thread's accumulators: of each tile of 16 positions and tile of 8 channels of its warp.
using Accumulators = float[4][4][4];

// ---- Packing ----

// Packs the weights as blocks take them: for each N tile, tap and k-block of input channels, by k-steps and columns.
extern "C" __global__ void __launch_bounds__(kPackers)
    convtgen_mma_pixels_forward_c20904643b52d702_pack(const float* __restrict__ weight,
                                                      unsigned char* __restrict__ packed) {
  // A thread packs what four lanes hold of a k-step and tap, so that it writes whole sectors: the step's channels of
  // two columns, eight apart. Neighbours read neighbours.
  const long long i = static_cast<long long>(blockIdx.x) * kPackers + threadIdx.x;
  if (i < 3456) {
    const int tap = static_cast<int>(i % kStageTaps);
    const int column = static_cast<int>(i / kStageTaps % 16);
    const int step = static_cast<int>(i / 432 % 8);
    const int group = static_cast<int>(i / 3456);
    const int first = column / 8 * 16 + column % 8;  // of the thread's columns
    unsigned int words[4][4];
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int of_warp = first + half * 8;
      const int co = first + half * 8 - of_warp + channel_of_column(of_warp);
      #pragma unroll
      for (int unit = 0; unit < 2; ++unit) {
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
          unsigned int parts[2];
          const int ci = (2 * step + unit) * 4 + lane;
          const float value =
              weight[(static_cast<long long>(group * kGroupIn + ci) * kGroupOut + co) * kKernelTaps + tap];
          parts[0] = operand(__float_as_uint(value));
          words[lane][half * 2 + unit] = parts[0];
        }
      }
    }
    // Lane 4 * g + t has word t of column g.
    unsigned char* to = packed + ((static_cast<long long>(group) * kStageTaps + tap) * 4 + step / 2) *
                                 kKBlockWeightBytes + (step % 2 * kStepBytes + first / 16 * 512 + first % 8 * 64);
    #pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      *reinterpret_cast<uint4*>(to + lane * 16) =
          make_uint4(words[lane][0], words[lane][1], words[lane][2], words[lane][3]);
    }
  }
}

// ---- Positions ----

// A bit for each tap of an axis: whether it reads within the image, where the first one reads at `at`.
__device__ __forceinline__ unsigned int taps_within(int at, int size) {
  unsigned int bits = 0;
  #pragma unroll
  for (int tap = 0; tap < 2; ++tap) {
    const int i = at - tap;
    bits |= i >= 0 && i < size ? 1u << tap : 0u;
  }
  return bits;
}

// Which taps read within the image for a position where the first one reads at (iz, iy, ix). A bit for each row and
// column.
__device__ __forceinline__ unsigned int taps_of(int iz, int iy, int ix, int in_d, int in_h, int in_w) {
  return taps_within(ix, in_w) | (taps_within(iy, in_h) << 2) | (taps_within(iz, in_d) << 4);
}

// An axis of a phase.
struct PhaseAxis {
  int phase;   // its first output
  int taps;    // how many it has
  int first;   // the first of them
  int offset;  // where that reads
};

// The number-th phase of an axis: those with taps come first, those with most of them before others.
__device__ __forceinline__ PhaseAxis axis_of_phase(int number) {
  const int first = number % 2;
  PhaseAxis axis;
  axis.phase = floor_mod(first - 1 + number / 2);
  axis.taps = number < 2 && number < 3 ? (4 - first) / 2 : 0;
  axis.first = first;
  axis.offset = -floor_div(first - 1);
  return axis;
}

// Writes of each of a tile's positions, which begin with number `first` of the phase: where it reads for the first tap
// of the first channel, in bytes; where its output lies, in elements, or -1 outside of it; and which taps read the
// image.
__device__ __forceinline__ void find_positions(unsigned char* shared, long long first, int thread,
                                               const PhaseAxis& planes, const PhaseAxis& rows, const PhaseAxis& columns,
                                               int batch, int in_d, int in_h, int in_w, int out_d, int out_h,
                                               int out_w) {
  const int size_d = (out_d + 1) / 2;
  const int size_h = (out_h + 1) / 2;
  const int size_w = (out_w + 1) / 2;
  #pragma unroll 1
  for (int i = thread; i < 256; i += kThreads) {
    const long long at = first + i;
    const long long row = at / size_w;
    const long long plane = row / size_h;
    const long long image = plane / size_d;
    const int m_w = static_cast<int>(at % size_w);
    const int m_h = static_cast<int>(row % size_h);
    const int m_d = static_cast<int>(plane % size_d);
    const int iz = m_d + planes.offset;
    const int iy = m_h + rows.offset;
    const int ix = m_w + columns.offset;
    const int oz = m_d * 2 + planes.phase;
    const int oy = m_h * 2 + rows.phase;
    const int ox = m_w * 2 + columns.phase;
    const unsigned int word = taps_of(iz, iy, ix, in_d, in_h, in_w);
    const bool is_stored = image < batch && oz < out_d && oy < out_h && ox < out_w;
    reinterpret_cast<long long*>(shared + kReadOffset)[i] =
        (((image * in_d + iz) * in_h + iy) * in_w + ix) * kInputPixelBytes;
    reinterpret_cast<long long*>(shared + kStoredOffset)[i] =
        !is_stored ? -1 : (((image * out_d + oz) * out_h + oy) * out_w + ox) * 32;
    reinterpret_cast<unsigned int*>(shared + kPositionWordsOffset)[i] = image < batch ? word : 0;
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
__device__ __forceinline__ void find_taps(Tap* taps, int thread, const PhaseAxis& planes, const PhaseAxis& rows,
                                          const PhaseAxis& columns, int in_h, int in_w) {
  const int all = planes.taps * rows.taps * columns.taps;
  #pragma unroll 1
  for (int i = thread; i <= all; i += kThreads) {
    Tap tap;
    tap.from = 0;
    tap.word = kNoTap;
    tap.number = 0;
    if (i < all) {
      const int tap_w = i % columns.taps;
      const int tap_h = i / columns.taps % rows.taps;
      const int tap_d = i / columns.taps / rows.taps;
      const long long before = (static_cast<long long>(tap_d) * in_h + tap_h) * in_w + tap_w;
      const int kd = planes.first + tap_d * 2;
      tap.from = -before * kInputPixelBytes;
      tap.word = (1u << tap_w) | (1u << (tap_h + 2)) | (1u << (tap_d + 4));
      tap.number = (kd * 3 + rows.first + tap_h * 2) * 3 + columns.first + tap_w * 2;
    }
    taps[i] = tap;
  }
}

// ---- Staging ----

// What a thread copies of the input in each stage: where its positions read, and their taps.
struct Places {
  long long from[8];
  unsigned int words[8];
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
  next.weights = weights + static_cast<long long>(tap.number) * 8192;
}

// Goes on to the next k-block, or the next tap. After the last tap comes the one that reads nowhere, again and again.
__device__ __forceinline__ void advance(Next& next, const unsigned char* x, const unsigned char* weights,
                                        const Tap* taps) {
  next.pixels += kPixelBytes;
  next.weights += kKBlockWeightBytes;
  if (++next.k_block == 4) {
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
  {
    const bool any = (places.words[4] & next.word) == next.word;
    async_copy_16(own + 8192, next.pixels + places.from[4], any ? 16 : 0);
  }
  {
    const bool any = (places.words[5] & next.word) == next.word;
    async_copy_16(own + 10240, next.pixels + places.from[5], any ? 16 : 0);
  }
  {
    const bool any = (places.words[6] & next.word) == next.word;
    async_copy_16(own + 12288, next.pixels + places.from[6], any ? 16 : 0);
  }
  {
    const bool any = (places.words[7] & next.word) == next.word;
    async_copy_16(own + 14336, next.pixels + places.from[7], any ? 16 : 0);
  }
  unsigned char* columns = to + kInputBytes + thread * 16;
  const unsigned char* from = next.weights + thread * 16;
  async_copy_16(columns, from, next.word == kNoTap ? 0 : 16);
}

// ---- Products ----

// What a warp multiplies in a k-step. Of split values the high parts of all tiles come first.
struct Fragments {
  unsigned int a[4][4];
  uint4 b[2];
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
  for (int two = 0; two < 2; ++two) {
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
  for (int two = 0; two < 2; ++two) {
    fragments.b[two] = *reinterpret_cast<const uint4*>(weights + 1024 + two * 512);
  }
}

__device__ __forceinline__ void multiply_step(Accumulators& acc, Fragments& fragments) {
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      fragments.a[tile][i] = operand(fragments.a[tile][i]);
    }
  }
  #pragma unroll
  for (int two = 0; two < 2; ++two) {
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

// Stores a thread's outputs. `row` is its first position of the block's, `channel` its first channel of the block's,
// `y` the block's first channel.
__device__ __forceinline__ void store_outputs(const Accumulators& acc, float* __restrict__ y,
                                              const unsigned char* shared, int row, int channel) {
  const long long* stored = reinterpret_cast<const long long*>(shared + kStoredOffset);
  #pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
      const long long to = stored[row + tile * 16 + half * 8];
      if (to >= 0) {
        // Other channels lie at constant distances from the first, which take no registers.
        float* first_y = y + to + channel;
        #pragma unroll
        for (int i = 0; i < 8; i += 4) {
          const int before = i / 4 * 16 + i % 4;
          float values[4];
          #pragma unroll
          for (int v = 0; v < 4; ++v) {
            values[v] = acc[tile][(i + v) / 2][half * 2 + (i + v) % 2];
          }
          store_global_16(first_y + before, make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]),
                                                       __float_as_uint(values[2]), __float_as_uint(values[3])));
        }
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_mma_pixels_forward_c20904643b52d702(const float* __restrict__ x, const unsigned char* __restrict__ packed,
                                                 float* __restrict__ y, int batch, int depth, int height, int width) {
  const int out_d = (depth - 1) * 2 + 1;
  const int out_h = (height - 1) * 2 + 1;
  const int out_w = (width - 1) * 2 + 1;
  const long long positions = static_cast<long long>(batch) * ((out_d + 1) / 2) * ((out_h + 1) / 2) * ((out_w + 1) / 2);
  const int tiles = static_cast<int>((positions + 255) / 256);  // of a phase

  // The block's group and output channels. Blocks that read the same input have adjacent indices.
  const int next_tile = gridDim.x;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  Tap* taps = reinterpret_cast<Tap*>(shared + kTapsOffset);
  const int thread = threadIdx.x;
  // The thread's channels of the group's first pixel.
  const unsigned char* own_x = reinterpret_cast<const unsigned char*>(x) + thread % 4 * 16;

  // The lane's position of its warp's first tile, in its half of the first k-step, and its weights.
  const int lane = thread % 32;
  const int warp_m = thread / 32 % 4;
  const int warp_n = thread / 128;
  const int position = warp_m * kWarpRows + lane % 16;
  const int swapped = ((lane / 16) ^ (position / 2 % 4)) * 16;
  const int lane_weights = kInputBytes + warp_n * 1024 + lane * 16;

  #pragma unroll 1
  for (int index = blockIdx.x; index < 8 * tiles; index += next_tile) {
    const int phase = index / tiles;
    const PhaseAxis planes = axis_of_phase(phase / 4);
    const PhaseAxis rows = axis_of_phase(phase / 2 % 2);
    const PhaseAxis columns = axis_of_phase(phase % 2);
    __syncthreads();  // all have read what the tile before has in shared memory
    find_positions(shared, static_cast<long long>(index - phase * tiles) * 256, thread, planes, rows, columns, batch,
                   depth, height, width, out_d, out_h, out_w);
    find_taps(taps, thread, planes, rows, columns, height, width);
    __syncthreads();
    Places places;
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int copied = thread / 4 + i * kPositionStep;
      places.from[i] = reinterpret_cast<const long long*>(shared + kReadOffset)[copied];
      places.words[i] = reinterpret_cast<const unsigned int*>(shared + kPositionWordsOffset)[copied];
    }
    Next next;
    next.tap = 0;
    next.k_block = 0;
    find_next(next, own_x, packed, taps);
    #pragma unroll 1
    for (int stage = 0; stage < 3; ++stage) {
      stage_part(shared + stage * kStageBytes, places, next, thread);
      advance(next, own_x, packed, taps);
      async_copy_commit();
    }

    const int steps = planes.taps * rows.taps * columns.taps * 4;
    Accumulators acc = {};
    Fragments fragments[2];
    async_copy_wait(2);
    __syncthreads();
    load_fragments(fragments[0], shared + position * kPixelBytes, swapped, shared + lane_weights);
    int stage = 0;
    // Each stage has a tap of the phase, of taps (0 to 2, 0 to 2).
    #pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      const unsigned char* from = shared + stage * kStageBytes;
      unsigned char* staged = shared + (stage == 0 ? 3 : stage - 1) * kStageBytes;
      // Fragments are loaded one k-step ahead. The stage before has been loaded by all: its place is that of the
      // newest.
      load_fragments_2(fragments[1], from + position * kPixelBytes, swapped, from + lane_weights);
      stage_part(staged, places, next, thread);
      multiply_step(acc, fragments[0]);
      advance(next, own_x, packed, taps);
      async_copy_commit();
      stage = stage + 1 == 4 ? 0 : stage + 1;
      async_copy_wait(2);
      __syncthreads();  // the next stage has come, and all have loaded what this one has
      const unsigned char* after = shared + stage * kStageBytes;
      load_fragments(fragments[0], after + position * kPixelBytes, swapped, after + lane_weights);
      multiply_step(acc, fragments[1]);
    }
    async_copy_wait(0);  // copies after the last stage
    store_outputs(acc, y, shared, warp_m * kWarpRows + lane / 4, warp_n * kWarpChannels + lane % 4 * 4);
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

}  // namespace convtgen_mma_pixels_forward_c20904643b52d702_source
using convtgen_mma_pixels_forward_c20904643b52d702_source::convtgen_mma_pixels_forward_c20904643b52d702_pack;
using convtgen_mma_pixels_forward_c20904643b52d702_source::convtgen_mma_pixels_forward_c20904643b52d702;
