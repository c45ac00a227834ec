// conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; dtype f16; compute f16; layout nhwc
// forward for sm_90a. Template roll_gemm: a block makes 128x256 outputs of 32 channels; 21 taps; 173.1 KiB shared.
// Launch
//   sizes: batch 8, in_height 512, in_width 1024; out_height 512, out_width 1024
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 134217728 elements, written, 16-byte aligned
//     shape (N 8, H 512, W 1024, Cout 32), contiguous
//   tensor x: 134217728 elements, read, 16-byte aligned
//     shape (N 8, H 512, W 1024, Cin 32), contiguous
//   tensor weight: 21504 elements, read, 2-byte aligned
//     shape (Cin 32, Cout 32, KH 3, KW 7), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region packed: 43008 bytes, a packed copy of the weights; kept for later calls
//   kernel convtgen_roll_gemm_forward_376e1bc615a5350f_pack
//     arguments const unsigned short* weight, unsigned char* packed
//     grid 11; block 256; shared 0
//     only if the weights have changed
//   kernel convtgen_roll_gemm_forward_376e1bc615a5350f
//     arguments const unsigned short* x, const unsigned char* packed, unsigned short* y, int batch
//     grid 128; block 384; shared 177288
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 177288)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 177288)
//     attribute programmatic stream serialization, only if the launch before it on the stream is of this call:
//       the kernel waits before it reads what that launch wrote; it reads and writes tensors without a wait

namespace convtgen_roll_gemm_forward_376e1bc615a5350f_source {

// ---- Constants ----

constexpr int kConsumers = 256;
constexpr int kProducers = 128;
constexpr int kThreads = 384;
constexpr int kStrip = 256;
constexpr int kInstructionN = 96;  // of a product
constexpr int kTaps = 21;
constexpr int kStagedColumns = 262;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kStageBytes = 16768;      // a row of input
constexpr int kProductBytes = 3072;     // a B operand
constexpr int kWeightBytes = 43008;     // of a block, at 0; the stages follow
constexpr int kBarrierOffset = 177152;  // mbarriers

// ---- Device primitives, defined at the end ----

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count);
__device__ __forceinline__ void fence_mbarrier_init();
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier);
__device__ __forceinline__ void mbarrier_arrive_expect(unsigned long long* at, unsigned int bytes);
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity);
__device__ __forceinline__ void grid_dependents_launch();
__device__ __forceinline__ void grid_dependency_wait();
__device__ __forceinline__ void bulk_load(void* to, const void* from, unsigned int bytes, unsigned long long* barrier);
__device__ __forceinline__ void fence_proxy_async();
__device__ __forceinline__ int warp_uniform(int value);
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);
__device__ __forceinline__ void setmaxnreg_decrease_56();
__device__ __forceinline__ void setmaxnreg_increase_224();
__device__ __forceinline__ void wgmma_m64n96k16_f16_rs(float (&d)[48], const unsigned int (&a)[4],
                                                       unsigned long long b, int accumulate);

#endif

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 8; ++stage) {
    mbarrier_init(&full[stage], 4);
    mbarrier_init(&empty[stage], 8);
  }
}

// ---- Elements ----

// An element's bits.
__device__ __forceinline__ unsigned int bits_of(unsigned short value) {
  return value;
}

// The low or the high halves of two words in one.
__device__ __forceinline__ unsigned int low_halves(unsigned int a, unsigned int b) {
  return (a & 0xffff) | (b << 16);
}

// ---- Packing ----

// The channel of the block whose weights stand at column n: the columns of a thread are its own channels.
__device__ __forceinline__ int channel_of_column(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / 8 * 32 + thread * 8 + i % 8;
}

// The input channel at a place of a k-step's channels: a half, a word of its 16 bytes, and a part of that. A thread
// reads 16 bytes of a pixel, for two k-steps; 8 for the last one of an odd number.
__device__ __forceinline__ int in_channel_at(int k_step, int half, int word, int part) {
  const int from = k_step / 2 * 32 + word * 8 + k_step % 2 * 4;
  return from + half * 2 + part;
}

// Puts the weights where the products look for them: for each block of output channels, k-block of input channels,
// kernel column and k-step the two columns of a B operand, whose rows are the output channels of all kernel rows. A
// thread makes 16 bytes, adjacent threads read adjacent weights.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_roll_gemm_forward_376e1bc615a5350f_pack(const unsigned short* __restrict__ weight,
                                                     unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  const int index = blockIdx.x * 256 + threadIdx.x;
  const int tap = index % kTaps;
  const int n = index / kTaps % 32;
  const int half = index / 672 % 2;
  const int k_step = index / 1344 % 2;
  const int n_tile = index / 2688;
  if (n_tile < 1) {
    const int co = n_tile * 32 + channel_of_column(n);
    unsigned int words[4];
    #pragma unroll
    for (int word = 0; word < 4; ++word) {
      unsigned int parts[2];
      #pragma unroll
      for (int part = 0; part < 2; ++part) {
        const int ci = in_channel_at(k_step, half, word, part);
        const unsigned short value = weight[(static_cast<long long>(ci) * 32 + co) * kTaps + tap];
        parts[part] = bits_of(value);
      }
      words[word] = low_halves(parts[0], parts[1]);
    }
    const int product = tap % 7 * 2 + k_step;
    unsigned char* to = packed + static_cast<long long>(n_tile) * kWeightBytes + product * kProductBytes;
    const int row = half * kInstructionN + tap / 7 * 32 + n;
    *reinterpret_cast<uint4*>(to + row * 16) = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

// ---- Tiles ----

// A tile's place: its first image, its first position in a row there, and its first row of outputs.
struct Tile {
  int image;
  int column;
  int row;
};

__device__ __forceinline__ Tile tile_at(int index) {
  const int strip = index / 4;
  Tile tile;
  tile.image = strip / 4;
  tile.column = strip % 4 * kStrip;
  tile.row = index % 4 * 128;
  return tile;
}

// The input rows that a tile reads: from the first to before the last. Some may lie past the image's end.
__device__ __forceinline__ int first_input_row(const Tile& tile) {
  return max(0, tile.row - 1);
}

__device__ __forceinline__ int last_input_row(const Tile& tile) {
  return min(tile.row + 128, 512) + 1;
}

// ---- Producer ----

// Staged columns that hold a row of the tile's image: half-open range [first_of, last_of); empty outside the image.
__device__ __forceinline__ int image_column(const Tile& tile) {
  return 3 - tile.column;
}

__device__ __forceinline__ int first_of(const Tile& tile) {
  return max(0, image_column(tile));
}

__device__ __forceinline__ int last_of(const Tile& tile) {
  return min(kStagedColumns, image_column(tile) + 1024);
}

// Whether some staged column of a tile lies outside its first image.
__device__ __forceinline__ bool has_padding(const Tile& tile) {
  return first_of(tile) > 0 || last_of(tile) < kStagedColumns;
}

// Zero padding: clears what no copy writes while the stage belongs to this tile, outside the images and in channels
// that the layer lacks.
__device__ __forceinline__ void zero_pad(unsigned short* to, const Tile& tile, int thread) {
  for (int i = thread; i < 1048; i += kProducers) {
    const int channel = i % 4 * 8;
    const int column = i / 4;
    const bool is_copied = column >= first_of(tile) && column < last_of(tile);
    if (!is_copied) {
      *reinterpret_cast<uint4*>(to + column * 32 + channel) = make_uint4(0, 0, 0, 0);
    }
  }
}

// The same with channels last, where an image's pixels of a row are one copy: every fourth image is a warp's share. `x`
// is the tile's first image, at the row.
__device__ __forceinline__ void copy_pixels(unsigned short* to, const unsigned short* __restrict__ x, const Tile& tile,
                                            int thread, unsigned long long* full) {
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int own = (4 - warp) / 4;
  if (lane == 0) {
    int pixels = 0;
    for (int i = 0; i < own; ++i) {
      pixels += max(0, last_of(tile) - first_of(tile));
    }
    mbarrier_arrive_expect(full, pixels * 64);
  }
  for (int i = lane; i < own; i += 32) {
    const int first = first_of(tile);
    const int count = last_of(tile) - first;
    const long long pixel = static_cast<long long>(first - image_column(tile));
    bulk_load(to + first * 32, x + pixel * 32, count * 64, full);
  }
}

// ---- Products ----

using Accumulators = float[48];
// The A fragments of products whose first position is each of the thread's positions.
using Fragments = unsigned int[9][4];
// A thread's words with channels last, for the halves of a product's instruction k.
using Words = unsigned int[2][10];

// The first of a pair's two words, or the second where the thread takes the pixels crossed: `turn` is then negative.
__device__ __forceinline__ unsigned int pick(unsigned int first, unsigned int second, int turn) {
  return turn > 0 ? first : second;
}

__device__ __forceinline__ void pin_words(Words& words) {
  #pragma unroll
  for (int i = 0; i < 10; ++i) {
    wgmma_pin_operand(words[0][i]);
    wgmma_pin_operand(words[1][i]);
  }
}

// Loads a thread's staged pixels for two k-steps. `row` is the pixel that it loads first, at the 16 bytes which it
// reads of each, or zeros where these do not exist. The other pixel of the pair lies `turn` elements further.
__device__ __forceinline__ void load_pixels(Words& even, Words& odd, const unsigned short* row, int turn) {
  const unsigned short* other = row + turn;
  #pragma unroll
  for (int i = 0; i < 10; i += 2) {
    const uint4 a = *reinterpret_cast<const uint4*>(row + i * 32);
    const uint4 b = *reinterpret_cast<const uint4*>(other + i * 32);
    even[0][i] = pick(a.x, b.x, turn);
    even[1][i] = pick(a.y, b.y, turn);
    odd[0][i] = pick(a.z, b.z, turn);
    odd[1][i] = pick(a.w, b.w, turn);
    even[0][i + 1] = pick(b.x, a.x, turn);
    even[1][i + 1] = pick(b.y, a.y, turn);
    odd[0][i + 1] = pick(b.z, a.z, turn);
    odd[1][i + 1] = pick(b.w, a.w, turn);
  }
  pin_words(even);
  pin_words(odd);
}

// Makes a k-step's A fragments of its words; each word is in two of them. Returns a word that depends on all loads.
__device__ __forceinline__ unsigned int arrange(Fragments& fragments, const Words& words) {
  unsigned int read = words[0][9];
  #pragma unroll
  for (int i = 0; i < 9; ++i) {
    fragments[i][0] = words[0][i];
    fragments[i][1] = words[0][i + 1];
    fragments[i][2] = words[1][i];
    fragments[i][3] = words[1][i + 1];
    read |= words[0][i];
  }
  return read;
}

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before them.
__device__ __forceinline__ void pin(Accumulators (&acc)[2]) {
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    #pragma unroll
    for (int i = 0; i < 48; ++i) {
      wgmma_pin(acc[tile][i]);
    }
  }
}

// All products of one k-block of an input row; `row` is the thread's first position there. The stage is released as
// soon as it lies in registers. Fake dependency: the arrival's address takes a word that waits for the loads, and
// `zero` leaves nothing of it.
__device__ __forceinline__ void multiply_k_block(Accumulators (&acc)[2], Fragments& fragments,
                                                 const unsigned short* row, unsigned long long weights,
                                                 unsigned long long* empty, int zero, int turn) {
  Words words[2];  // with channels last: of two k-steps, which one read brings
  #pragma unroll
  for (int k_step = 0; k_step < 2; ++k_step) {
    const unsigned short* k_step_row = row + k_step * 16;
    unsigned int read;
    if (k_step == 0) {
      load_pixels(words[0], words[1], k_step_row, turn);
    }
    wgmma_wait(0);  // the fragments may be overwritten
    read = arrange(fragments, words[k_step]);
    if (k_step == 0) {
      __syncwarp();
      if (threadIdx.x % 32 == 0) {
        mbarrier_arrive(empty + (read & static_cast<unsigned int>(zero)));
      }
    }
    const unsigned long long k_step_weights = wgmma_descriptor_move(weights, k_step * kProductBytes);
    wgmma_fence();
    // taps (0, 0) (1, 0) (2, 0)
    wgmma_m64n96k16_f16_rs(acc[0], fragments[6], wgmma_descriptor_move(k_step_weights, 0), 1);
    wgmma_m64n96k16_f16_rs(acc[1], fragments[8], wgmma_descriptor_move(k_step_weights, 0), 1);
    // taps (0, 1) (1, 1) (2, 1)
    wgmma_m64n96k16_f16_rs(acc[0], fragments[5], wgmma_descriptor_move(k_step_weights, 6144), 1);
    wgmma_m64n96k16_f16_rs(acc[1], fragments[7], wgmma_descriptor_move(k_step_weights, 6144), 1);
    // taps (0, 2) (1, 2) (2, 2)
    wgmma_m64n96k16_f16_rs(acc[0], fragments[4], wgmma_descriptor_move(k_step_weights, 12288), 1);
    wgmma_m64n96k16_f16_rs(acc[1], fragments[6], wgmma_descriptor_move(k_step_weights, 12288), 1);
    // taps (0, 3) (1, 3) (2, 3)
    wgmma_m64n96k16_f16_rs(acc[0], fragments[3], wgmma_descriptor_move(k_step_weights, 18432), 1);
    wgmma_m64n96k16_f16_rs(acc[1], fragments[5], wgmma_descriptor_move(k_step_weights, 18432), 1);
    // taps (0, 4) (1, 4) (2, 4)
    wgmma_m64n96k16_f16_rs(acc[0], fragments[2], wgmma_descriptor_move(k_step_weights, 24576), 1);
    wgmma_m64n96k16_f16_rs(acc[1], fragments[4], wgmma_descriptor_move(k_step_weights, 24576), 1);
    // taps (0, 5) (1, 5) (2, 5)
    wgmma_m64n96k16_f16_rs(acc[0], fragments[1], wgmma_descriptor_move(k_step_weights, 30720), 1);
    wgmma_m64n96k16_f16_rs(acc[1], fragments[3], wgmma_descriptor_move(k_step_weights, 30720), 1);
    // taps (0, 6) (1, 6) (2, 6)
    wgmma_m64n96k16_f16_rs(acc[0], fragments[0], wgmma_descriptor_move(k_step_weights, 36864), 1);
    wgmma_m64n96k16_f16_rs(acc[1], fragments[2], wgmma_descriptor_move(k_step_weights, 36864), 1);
    wgmma_commit();
  }
}

// Moves the accumulators of all output rows up by one; those of the last row become zero.
__device__ __forceinline__ void roll(Accumulators (&acc)[2]) {
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    #pragma unroll
    for (int i = 0; i < 48; ++i) {
      acc[tile][i] = i + 16 < 48 ? acc[tile][i + 16] : 0;
    }
  }
}

// ---- Epilogue ----

// The same with channels last: at each position the thread's channels, a vector of adjacent ones at a time.
__device__ __forceinline__ void store_pixels(const Accumulators (&acc)[2], unsigned short* __restrict__ to, int left) {
  #pragma unroll
  for (int position = 0; position < 4; ++position) {
    if (position < left) {
      float values[8];
      #pragma unroll
      for (int v = 0; v < 8; ++v) {
        values[v] = acc[position / 2][v / 2 * 4 + position % 2 * 2 + v % 2];
      }
      store_global_16(to + position * 32,
                      make_uint4(floats_to_half2(values[0], values[1]), floats_to_half2(values[2], values[3]),
                                 floats_to_half2(values[4], values[5]), floats_to_half2(values[6], values[7])));
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_roll_gemm_forward_376e1bc615a5350f(const unsigned short* __restrict__ x, const unsigned char* packed,
                                                unsigned short* __restrict__ y, int batch) {
  const int strips = batch * 4;
  const int tiles = strips * 4;

  // The block's output channels. Blocks that read the same input have adjacent indices.
  const int first_tile = blockIdx.x;
  const int next_tile = gridDim.x;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned char* stages = shared + kWeightBytes;
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + 8;
  unsigned long long* resident = empty + 8;  // of the weights
  if (threadIdx.x == 0) {
    init_stages(full, empty);
    mbarrier_init(resident, 1);
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = warp_uniform(threadIdx.x / 32);
  int stage = 0;
  unsigned int parity = warp >= 8 ? 1 : 0;
  if (warp >= 8) {
    setmaxnreg_decrease_56();
    const int thread = threadIdx.x - kConsumers;
    if (thread == 0) {
      grid_dependency_wait();  // the weights are packed
      mbarrier_arrive_expect(resident, kWeightBytes);
      bulk_load(shared, packed, kWeightBytes, resident);
    }
    for (int index = first_tile; index < tiles; index += next_tile) {
      const Tile tile = tile_at(index);
      const unsigned short* image = x + tile.image * 16777216ll;
      const int last = min(512, last_input_row(tile));
      int unpadded = has_padding(tile) ? 8 : 0;
      for (int iy = first_input_row(tile); iy < last; ++iy) {
        unsigned short* to = reinterpret_cast<unsigned short*>(stages + stage * kStageBytes);
        mbarrier_wait(&empty[stage], parity);
        if (unpadded != 0) {
          zero_pad(to, tile, thread);
          fence_proxy_async();
          --unpadded;
        }
        __syncwarp();
        copy_pixels(to, image + static_cast<long long>(iy) * 32768, tile, thread, &full[stage]);
        ++stage;
        if (stage == 8) {
          stage = 0;
          parity ^= 1;
        }
      }
    }
  } else {
    setmaxnreg_increase_224();
    // The thread's place in the strip, and the first of its channels.
    const int lane = threadIdx.x % 32;
    const int quarter = lane % 4;
    const int column = (warp * 8 + lane / 4) * 4;
    const int first = column + lane / 4 % 2;  // that it reads
    const int own = first * 32 + quarter * 8;
    const int turn = lane / 4 % 2 == 1 ? -32 : 32;  // to its pair's other pixel
    const int co = quarter * 8;
    Accumulators acc[2] = {};
    mbarrier_wait(resident, 0);
    for (int index = first_tile; index < tiles; index += next_tile) {
      const Tile tile = tile_at(index);
      const int image = tile.image;
      const int ox = tile.column + column;
      const int left = image < batch ? 1024 - ox : 0;
      unsigned short* to = y + (static_cast<long long>(image) * 524288 + ox) * 32 + co;
      const int last = last_input_row(tile);
      for (int iy = first_input_row(tile); iy < last; ++iy) {
        if (iy < 512) {
          pin(acc);
          Fragments fragments = {};
          mbarrier_wait(&full[stage], parity);
          multiply_k_block(acc, fragments, reinterpret_cast<const unsigned short*>(stages + stage * kStageBytes) + own,
                           wgmma_descriptor(shared, 1536, 128, 0), &empty[stage], batch >> 31, turn);
          ++stage;
          if (stage == 8) {
            stage = 0;
            parity ^= 1;
          }
          wgmma_wait(0);
          pin(acc);
        }
        const int oy = iy - 1;
        if (oy >= tile.row) {
          unsigned short* row = to + static_cast<long long>(oy) * 32768;
          store_pixels(acc, row, left);
        }
        roll(acc);
      }
      // Drops what was accumulated for rows after the tile.
      #pragma unroll
      for (int part = 0; part < 2; ++part) {
        #pragma unroll
        for (int i = 0; i < 48; ++i) {
          acc[part][i] = 0;
        }
      }
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

// Writes 16 bytes (aligned to 16) to global memory in one instruction.
__device__ __forceinline__ void store_global_16(void* to, uint4 value) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
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

// Waits until each thread of this warpgroup can have 224 registers, more than it has, and takes them. Collective.
__device__ __forceinline__ void setmaxnreg_increase_224() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
}

// d (64x96, f32) = a (64x16) * b (16x96), added to d where `accumulate` is not 0: f16, A in registers, B K-major.
__device__ __forceinline__ void wgmma_m64n96k16_f16_rs(float (&d)[48], const unsigned int (&a)[4],
                                                       unsigned long long b, int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %53, 0; wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}, "
      "{%48, %49, %50, %51}, %52, p, 1, 1, 0; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) : "memory");
}

#endif

}  // namespace convtgen_roll_gemm_forward_376e1bc615a5350f_source
using convtgen_roll_gemm_forward_376e1bc615a5350f_source::convtgen_roll_gemm_forward_376e1bc615a5350f_pack;
using convtgen_roll_gemm_forward_376e1bc615a5350f_source::convtgen_roll_gemm_forward_376e1bc615a5350f;
