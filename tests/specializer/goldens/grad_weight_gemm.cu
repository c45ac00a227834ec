// conv_transpose2d 128 -> 64; kernel 4x4; stride 2x2; padding 1x1; input 128x16x16; bias; dtype f16; compute f16; layout nhwc; directions grad_weight
// grad_weight for sm_90a. Template grad_weight_gemm: a block makes 1x2 taps of 128 by 64 channels; 16 slices; 193.2 KiB shared.
// Launch
//   sizes: batch 128, in_height 16, in_width 16; out_height 32, out_width 32
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_weight: 131072 elements, written, 2-byte aligned
//     shape (Cin 128, Cout 64, KH 4, KW 4), contiguous
//   tensor grad_bias: 64 elements, written, 2-byte aligned
//     shape (Cout 64), contiguous
//   tensor x: 4194304 elements, read, 16-byte aligned
//     shape (N 128, H 16, W 16, Cin 128), contiguous
//   tensor grad_y: 8388608 elements, read, 16-byte aligned
//     shape (N 128, H 32, W 32, Cout 64), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 8388608 bytes, sums of slices of the positions
//   region partial_bias: 65536 bytes, sums of slices of grad_y's positions
//   kernel convtgen_grad_weight_gemm_grad_weight_3e974afd0c213504
//     arguments const unsigned short* x, const unsigned short* grad_y, float* partial, int batch
//     grid 128; block 512; shared 197808
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 197808)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 197808)
//   kernel convtgen_grad_weight_gemm_grad_weight_3e974afd0c213504_channels
//     arguments const unsigned short* grad_y, float* partial_bias, int batch
//     grid 512; block 256; shared 8192
//   kernel convtgen_grad_weight_gemm_grad_weight_3e974afd0c213504_add
//     arguments const float* partial, const float* partial_bias, unsigned short* grad_weight, unsigned short* grad_bias
//     grid 513; block 256; shared 0

namespace convtgen_grad_weight_gemm_grad_weight_3e974afd0c213504_source {

// ---- Constants ----

constexpr int kGroupOut = 64;
constexpr long long kWeights = 131072ll;
constexpr int kConsumers = 256;
constexpr int kTapPitch = 80;
constexpr int kColumnPitch = 164;
constexpr int kVectors = 128;  // of a column
constexpr int kVectorThreads = 128;
constexpr int kPlanePixels = 128;
constexpr int kWindowPixels = 256;
constexpr int kThreads = 512;
constexpr int kInputUnitPitch = 2064;
constexpr int kWindowUnitPitch = 4112;
constexpr int kStoredColumns = 128;
constexpr int kBiasThreads = 256;
constexpr int kBiasChannels = 32;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kWindowOffset = 33024;  // of grad_y in a stage
constexpr int kStageBytes = 65920;
constexpr int kBarrierOffset = 197760;  // mbarriers
constexpr int kStepBytes = 256;         // from the input of a step to the next

// ---- Device primitives, defined at the end ----

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#error "for sm_90a alone: nvcc -gencode arch=compute_90a,code=sm_90a, or NVRTC --gpu-architecture=sm_90a"
#elif !defined(CONVTGEN_HOST_DEVICE)

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ unsigned char* shared_align(void* pointer, unsigned int alignment);
__device__ __forceinline__ uint4 load_constant_16(const void* from);
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count);
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier);
__device__ __forceinline__ void mbarrier_wait(unsigned long long* barrier, unsigned int parity);
__device__ __forceinline__ void named_barrier_sync(int id, int threads);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned short accumulator_to_half(float value);
__device__ __forceinline__ int warp_uniform(int value);
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

// ---- Tiles and stages ----

// One thread's accumulators of one tile of 64 rows.
using Accumulators = float[64];

__device__ __forceinline__ int tap_of_rows(int rows) {
  return min(rows / 4, 1);
}

__device__ __forceinline__ int channel_of_rows(int rows) {
  return rows % 4 * 16;
}

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before them.
__device__ __forceinline__ void pin(Accumulators& acc) {
  #pragma unroll
  for (int i = 0; i < 64; ++i) {
    wgmma_pin(acc[i]);
  }
}

// Where the taps of a block read the window: the plane's first position, moved.
__device__ __forceinline__ int pixel_of_tap(int tap) {
  const int kh = tap / 2;
  const int kw = tap % 2;
  return (kh % 2 * 2 + kw) * kPlanePixels + kh / 2 * 16;
}

// ---- Producer ----

using Words = unsigned int[8][4];

// Loads a unit: zeros where it is outside the image, and for channels past the last.
__device__ __forceinline__ void load_unit(unsigned int (&words)[4], const unsigned short* __restrict__ from,
                                          bool is_inside) {
  uint4 loaded = make_uint4(0, 0, 0, 0);
  if (is_inside) {
    loaded = load_constant_16(from);
  }
  words[0] = loaded.x;
  words[1] = loaded.y;
  words[2] = loaded.z;
  words[3] = loaded.w;
}

// Loads a unit: zeros where it is outside the image, and for channels past the last.
__device__ __forceinline__ void load_unit_2(unsigned int (&words)[4], const unsigned short* __restrict__ from,
                                            bool is_inside) {
  uint4 loaded = make_uint4(0, 0, 0, 0);
  if (is_inside) {
    loaded = load_constant_16(from);
  }
  words[0] = loaded.x;
  words[1] = loaded.y;
  words[2] = loaded.z;
  words[3] = loaded.w;
}

// Two channels in a word: those of the low or the high halves.
__device__ __forceinline__ uint4 packed_unit(const unsigned int (&words)[4]) {
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// Where a unit lies, in bytes.
__device__ __forceinline__ int input_place(int pixel, int unit) {
  return unit * kInputUnitPitch + pixel * 16;
}

__device__ __forceinline__ int window_place(int pixel, int unit) {
  return unit * kWindowUnitPitch + pixel * 16;
}

// Writes the unit that is `next` units after the one at `to`.
__device__ __forceinline__ void store_input_unit(unsigned char* to, const unsigned int (&words)[4], int next) {
  *reinterpret_cast<uint4*>(to + next * kInputUnitPitch) = packed_unit(words);
}

__device__ __forceinline__ void store_window_unit(unsigned char* to, const unsigned int (&words)[4], int next) {
  *reinterpret_cast<uint4*>(to + next * kWindowUnitPitch) = packed_unit(words);
}

// ---- Rows that are turned ----

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 3; ++stage) {
    mbarrier_init(&full[stage], 256);
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
  int slice;     // of the positions
  int first_kh;  // of its taps
  int first_kw;
};

// Weights vary fastest, so that blocks which read the same positions run together.
__device__ __forceinline__ Target target_of(int block) {
  const int tap_group = block % 8;
  Target target;
  target.slice = block / 8;
  target.first_kh = tap_group / 2;
  target.first_kw = tap_group % 2 * 2;
  return target;
}

// A stage's place: the image and row of its first row, and its first column; and how many tiles follow in its column of
// tiles.
struct Tile {
  int image;
  int row;
  int column;
  long long left;
};

// Tiles of one column of tiles follow one another.
__device__ __forceinline__ Tile tile_at(long long index, long long row_tiles) {
  const long long of_column = index % row_tiles;
  const long long row = of_column * 8;
  Tile tile;
  tile.image = static_cast<int>(row / 16);
  tile.row = static_cast<int>(row % 16);
  tile.column = static_cast<int>(index / row_tiles) * 16;
  tile.left = row_tiles - 1 - of_column;
  return tile;
}

// The next one, without the divisions of 64 bits that finding it anew takes.
__device__ __forceinline__ void move_on(Tile& tile, long long row_tiles) {
  const int row = tile.row + 8;
  tile.image += row / 16;
  tile.row = row % 16;
  --tile.left;
  if (tile.left < 0) {
    tile.image = 0;
    tile.row = 0;
    tile.column += 16;
    tile.left = row_tiles - 1;
  }
}

// What a block reads.
struct Source {
  const unsigned short* x;       // its first channel
  const unsigned short* grad_y;  // the same
  int origin_h;                  // of its taps
  int origin_w;
};

__device__ __forceinline__ Source source_of(const unsigned short* __restrict__ x,
                                            const unsigned short* __restrict__ grad_y, const Target& target) {
  return {x, grad_y, target.first_kh - 1, target.first_kw - 1};
}

// The thread's position and first unit of a batch.
__device__ __forceinline__ int pixel_of(int batch_index, int thread) {
  const int own = thread / 32 * 8 + thread % 8;
  return batch_index * 64 + own;
}

// Loads a batch of x.
__device__ __forceinline__ void load_input(Words& words, const Source& source, const Tile& tile, int batch_index,
                                           int thread, int batch) {
  const int pixel = pixel_of(batch_index, thread);
  const int unit = thread / 8 % 4;
  const int row = tile.row + pixel / 16;
  const int image = tile.image + row / 16;
  const int iy = row % 16;
  const int ix = tile.column + pixel % 16;
  const bool is_inside = pixel < 128 && image < batch && ix < 16;
  const unsigned short* from = source.x + static_cast<long long>(image) * 32768;
  from += (static_cast<long long>(iy) * 16 + ix) * 128 + unit * 8;
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int next = i * 4;  // unit
    load_unit(words[i], from + next * 8, is_inside);
  }
}

// The same of the planes of grad_y.
__device__ __forceinline__ void load_window(Words& words, const Source& source, const Tile& tile, int batch_index,
                                            int thread, int batch) {
  const int pixel = pixel_of(batch_index, thread);
  const int unit = thread / 8 % 4;
  const int plane_index = pixel / kPlanePixels;
  const int row = tile.row + pixel % kPlanePixels / 16;
  const int column = tile.column + pixel % kPlanePixels % 16;
  const int image = tile.image + row / 16;
  const int oy = row % 16 * 2 + plane_index / 2 + source.origin_h;
  const int ox = column * 2 + plane_index % 2 + source.origin_w;
  const bool is_inside = pixel < kWindowPixels && image < batch && oy >= 0 && oy < 32 && ox >= 0 && ox < 32;
  const unsigned short* from = source.grad_y + static_cast<long long>(image) * 65536;
  from += (static_cast<long long>(oy) * 32 + ox) * 64 + unit * 8;
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int next = i * 4;  // unit
    load_unit_2(words[i], from + next * 8, is_inside);
  }
}

// Writes a batch of x to its stage.
__device__ __forceinline__ void store_input(unsigned char* input, const Words& words, int batch_index, int thread) {
  const int pixel = pixel_of(batch_index, thread);
  const int unit = thread / 8 % 4;
  unsigned char* to = input + input_place(pixel, unit);
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int next = i * 4;  // unit
    store_input_unit(to, words[i], next);
  }
}

// The same of grad_y.
__device__ __forceinline__ void store_window(unsigned char* window, const Words& words, int batch_index, int thread) {
  const int pixel = pixel_of(batch_index, thread);
  const int unit = thread / 8 % 4;
  unsigned char* to = window + window_place(pixel, unit);
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int next = i * 4;  // unit
    store_window_unit(to, words[i], next);
  }
}

// Loads a batch of a stage: those of x come first.
__device__ __forceinline__ void load_batch(Words& words, const Source& source, const Tile& tile, int batch_index,
                                           int thread, int batch) {
  if (batch_index < 2) {
    load_input(words, source, tile, batch_index, thread, batch);
  } else {
    load_window(words, source, tile, batch_index - 2, thread, batch);
  }
}

// Writes a batch to its stage.
__device__ __forceinline__ void store_batch(unsigned char* stage, const Words& words, int batch_index, int thread) {
  if (batch_index < 2) {
    store_input(stage, words, batch_index, thread);
  } else {
    store_window(stage + kWindowOffset, words, batch_index - 2, thread);
  }
}

// All stages of a block's slice: `count` tiles from `first_tile` on, by one of the producers.
__device__ __forceinline__ void bring_stages(unsigned char* shared, unsigned long long* full, unsigned long long* empty,
                                             const unsigned short* __restrict__ x,
                                             const unsigned short* __restrict__ grad_y, const Target& target,
                                             long long first_tile, int count, long long row_tiles, int thread,
                                             int batch) {
  const Source source = source_of(x, grad_y, target);
  Words words;
  if (count == 0) {
    return;
  }
  Tile next = tile_at(first_tile, row_tiles);
  load_batch(words, source, next, 0, thread, batch);
  for (int issued = 0; issued < count; ++issued) {
    const int stage = issued % 3;
    if (issued >= 3) {
      mbarrier_wait(&empty[stage], (issued / 3 - 1) % 2);
    }
    // The next batch comes while others are multiplied.
    #pragma unroll 1
    for (int part = 0; part < 6; ++part) {
      store_batch(shared + stage * kStageBytes, words, part, thread);
      if (part + 1 == 6) {
        move_on(next, row_tiles);
      }
      if (part + 1 < 6 || issued + 1 < count) {
        load_batch(words, source, next, part + 1 == 6 ? 0 : part + 1, thread, batch);
      }
    }
    fence_proxy_async();
    mbarrier_arrive(&full[stage]);
  }
}

// ---- Products ----

__device__ __forceinline__ int place_of_rows(int rows, int lane) {
  const int pixel = pixel_of_tap(tap_of_rows(rows));
  const int channel = channel_of_rows(rows);
  return (channel / 8 + lane / 8 % 2) * kWindowUnitPitch + (pixel + lane % 8 + lane / 16 * 8) * 16;
}

// Loads an A fragment of a part: 16 rows of the warp by the positions of a step.
__device__ __forceinline__ void load_fragment(unsigned int (&fragment)[4], const unsigned char* shared, int offset,
                                              int step, const int& place) {
  const int pixel = step * 16;
  const unsigned char* from = shared + offset + 33024 + place + pixel * 16;
  matrix_load_x4_transposed(fragment, from);
}

__device__ __forceinline__ unsigned long long input_descriptor(const unsigned char* stage) {
  return wgmma_descriptor(stage, 128, kInputUnitPitch, 0);
}

__device__ __forceinline__ int input_of_step(int step) {
  return step * kStepBytes;
}

// One thread's A fragments of what is issued at once.
using Fragments = unsigned int[1][4];

// All products of a stage, of a warpgroup that has so many tiles. The stage is `offset` bytes into `shared`. `places`
// are the thread's own in the window.
__device__ __forceinline__ void multiply_stage(Accumulators& acc, const unsigned char* shared, int offset,
                                               const int& places) {
  const unsigned long long input = input_descriptor(shared + offset);
  Fragments fragments[2];
  // taps (0 to 3, 0 to 3)
  #pragma unroll
  for (int step = 0; step < 8; ++step) {
    load_fragment(fragments[step % 2][0], shared, offset, step, places);
    #pragma unroll
    for (int word = 0; word < 4; ++word) {
      wgmma_pin_operand(fragments[step % 2][0][word]);
    }
    wgmma_fence();
    wgmma_m64n128k16_f16_rs_mn_b(acc, fragments[step % 2][0], wgmma_descriptor_move(input, input_of_step(step)), 1);
    wgmma_commit();
    wgmma_wait(1);  // the step before, whose fragments the next one overwrites
  }
  wgmma_wait(0);
}

// ---- Epilogue ----

// The place of a vector's elements in a column of shared memory; `row` is that of the first.
__device__ __forceinline__ int place_in_column(int row) {
  return row % 2 * kTapPitch + row / 2;
}

// Stores the sums of some columns, which lie in shared memory, in the order of the weights. A thread stores the same
// rows of several columns.
__device__ __forceinline__ void store_columns(const float* columns, const Target& target, float* __restrict__ partial,
                                              int thread) {
  const int place = thread / kVectorThreads;
  for (int vector = thread % kVectorThreads; vector < kVectors; vector += kVectorThreads) {
    const int tap = vector % 2;
    const int channel = vector / 2;
    const int kw = target.first_kw + tap;
    #pragma unroll 2
    for (int column = place; column < 128; column += 2) {
      const int kh = target.first_kh;
      const float* from = columns + column * kColumnPitch;
      float sums = from[place_in_column(vector)];
      const long long weight = ((static_cast<long long>(column) * kGroupOut + channel) * 4 + kh) * 4 + kw;
      const long long at = target.slice * kWeights + weight;
      partial[at] = sums;
    }
  }
}

// Stores a block's results, through shared memory: some columns at a time.
__device__ __forceinline__ void store_block(const Accumulators& acc, float* columns, const Target& target,
                                            float* __restrict__ partial, int warpgroup, int thread) {
  const int lane = thread % 32;
  named_barrier_sync(1, kConsumers);  // stages, or the columns before, have been read
  const int rows = warpgroup * 4 + thread / 32 % 4;
  if (rows < 8) {
    float* to = columns + lane % 4 * 328 + tap_of_rows(rows) * kTapPitch + channel_of_rows(rows) + lane / 4;
    #pragma unroll
    for (int column = 0; column < kStoredColumns; column += 8) {
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        to[(column + i % 2) * kColumnPitch + i / 2 * 8] = acc[column / 2 + i];
      }
    }
  }
  named_barrier_sync(1, kConsumers);
  store_columns(columns, target, partial, thread);
}

// ---- Consumers ----

// Multiplies what the stage of this number brought, and releases it.
__device__ __forceinline__ void consume_stage(Accumulators& acc, const int& places, const unsigned char* shared,
                                              unsigned long long* full, unsigned long long* empty, int consumed,
                                              int lane) {
  const int stage = consumed % 3;
  mbarrier_wait(&full[stage], consumed / 3 % 2);
  pin(acc);
  multiply_stage(acc, shared, stage * kStageBytes, places);
  pin(acc);
  release_stage(&empty[stage], lane);
}

// ---- Kernels ----

// Adds the elements of a vector.
__device__ __forceinline__ void add_vector(float (&sums)[8], const uint4& vector) {
  const unsigned int words[4] = {vector.x, vector.y, vector.z, vector.w};
  #pragma unroll
  for (int i = 0; i < 8; ++i) {
    sums[i] += half_to_float(static_cast<unsigned short>((words[i / 2] >> (i % 2 * 16)) & 0xffff));
  }
}

// A thread's way over the places of one slice. A place is a position, or a vector of adjacent ones of NCHW. Images of
// NCHW are not adjacent: the image of a place and the place there, and how both move on. Threads share the channels of
// a place, which are so many lanes.
struct BiasPlaces {
  long long next;
  long long end;
  long long image;
  long long place;
  int step;
};

__device__ __forceinline__ BiasPlaces places_of_slice(int slice, int batch, int thread) {
  BiasPlaces places;
  places.next = batch * 1024ll * slice / 256 + thread / 4;
  places.end = batch * 1024ll * (slice + 1) / 256;
  places.image = 0;
  places.place = places.next;
  places.step = 64;
  return places;
}

__device__ __forceinline__ BiasPlaces places_of_slice_2(int slice, int batch, int thread) {
  BiasPlaces places;
  places.next = batch * 1024ll * slice / 256 + thread / 32;
  places.end = batch * 1024ll * (slice + 1) / 256;
  places.image = 0;
  places.place = places.next;
  places.step = 8;
  return places;
}

__device__ __forceinline__ void next_place(BiasPlaces& places, long long step_places) {
  places.next += places.step;
  places.place += step_places;
}

// The first element of a place, from the thread's first channel on.
__device__ __forceinline__ const unsigned short* at_place(const unsigned short* __restrict__ grad_y,
                                                          const BiasPlaces& places, int channel) {
  return grad_y + (places.place * 64 + channel);
}

// A thread's sums of one slice: of a channel, or of vectors.
__device__ __forceinline__ float sum_elements(const unsigned short* __restrict__ grad_y, BiasPlaces places,
                                              int channel) {
  const long long step_places = static_cast<long long>(places.step);
  float total = 0;
  while (places.next < places.end) {
    float sum = 0;
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (places.next < places.end) {
        sum += half_to_float(*at_place(grad_y, places, channel));
      }
      next_place(places, step_places);
    }
    total += sum;
  }
  return total;
}

__device__ __forceinline__ void sum_vectors(float (&totals)[8], const unsigned short* __restrict__ grad_y,
                                            BiasPlaces places, int channel) {
  const long long step_places = static_cast<long long>(places.step);
  while (places.next < places.end) {
    uint4 vectors[8];
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      vectors[i] = make_uint4(0, 0, 0, 0);
      if (places.next < places.end) {
        vectors[i] = load_constant_16(at_place(grad_y, places, channel));
      }
      next_place(places, step_places);
    }
    float sums[8] = {};
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      add_vector(sums, vectors[i]);
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      totals[i] += sums[i];
    }
  }
}

// (slice, channel): the sums of the channels over one slice of all positions.
extern "C" __global__ void __launch_bounds__(kBiasThreads)
    convtgen_grad_weight_gemm_grad_weight_3e974afd0c213504_channels(const unsigned short* __restrict__ grad_y,
                                                                    float* __restrict__ partial_bias, int batch) {
  const int thread = threadIdx.x;
  const int slice = blockIdx.x / 2;
  const int first_channel = blockIdx.x % 2 * kBiasChannels;
  const bool by_vectors = reinterpret_cast<unsigned long long>(grad_y) % 16 == 0;
  float totals[8] = {};
  if (by_vectors) {
    const int channel = first_channel + thread % 4 * 8;
    if (channel < 64) {
      sum_vectors(totals, grad_y, places_of_slice(slice, batch, thread), channel);
    }
  } else {
    const int channel = first_channel + thread % kBiasChannels;
    if (channel < 64) {
      totals[0] = sum_elements(grad_y, places_of_slice_2(slice, batch, thread), channel);
    }
  }
  // The threads of a channel add their totals in a tree.
  float* shared = static_cast<float*>(shared_memory());
  const int kept = by_vectors ? 8 : 1;  // of a thread
  #pragma unroll
  for (int i = 1; i < 8; ++i) {
    if (kept > 1) {
      shared[thread * kept + i] = totals[i];
    } else {
      totals[0] += totals[i];
    }
  }
  shared[thread * kept] = totals[0];
  #pragma unroll 1
  for (int half = kBiasThreads * kept / 2; half >= kBiasChannels; half /= 2) {
    __syncthreads();
    for (int i = thread; i < half; i += kBiasThreads) {
      shared[i] += shared[i + half];
    }
  }
  if (thread < kBiasChannels && first_channel + thread < 64) {
    partial_bias[slice * 64 + first_channel + thread] = shared[thread];
  }
}

// A channel's sum over all slices.
__device__ __forceinline__ float channel_sum(const float* __restrict__ partial_bias, int channel) {
  float sum = 0;
  #pragma unroll 8
  for (int slice = 0; slice < 256; ++slice) {
    sum += partial_bias[slice * 64 + channel];
  }
  return sum;
}

// Adds the slices in order: one thread for each weight, then one for each channel of the bias.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_grad_weight_gemm_grad_weight_3e974afd0c213504_add(const float* __restrict__ partial,
                                                               const float* __restrict__ partial_bias,
                                                               unsigned short* __restrict__ grad_weight,
                                                               unsigned short* __restrict__ grad_bias) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < 131072) {
    float sum = 0;
    #pragma unroll 8
    for (int slice = 0; slice < 16; ++slice) {
      sum += partial[slice * kWeights + i];
    }
    grad_weight[i] = accumulator_to_half(sum);
  } else if (i - 131072 < 64) {
    grad_bias[i - 131072] = accumulator_to_half(channel_sum(partial_bias, static_cast<int>(i - 131072)));
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_grad_weight_gemm_grad_weight_3e974afd0c213504(const unsigned short* __restrict__ x,
                                                           const unsigned short* __restrict__ grad_y,
                                                           float* __restrict__ partial, int batch) {
  const long long row_tiles = (static_cast<long long>(batch) * 16 + 7) / 8;

  const int block = blockIdx.x;
  const Target target = target_of(block);
  const long long first_tile = row_tiles * target.slice / 16;
  const int count = static_cast<int>(row_tiles * (target.slice + 1) / 16 - first_tile);

  unsigned char* shared = shared_align(shared_memory(), 16);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + 3;
  if (threadIdx.x == 0) {
    init_stages(full, empty);
  }
  __syncthreads();

  const int warpgroup = warp_uniform(static_cast<int>(threadIdx.x) / 128);
  if (warpgroup >= 2) {
    bring_stages(shared, full, empty, x, grad_y, target, first_tile, count, row_tiles, threadIdx.x - kConsumers, batch);
  } else {
    const int thread = threadIdx.x;
    int places;
    const int rows = warpgroup * 4 + thread / 32 % 4;
    places = place_of_rows(rows, thread % 32);
    Accumulators acc = {};
    for (int consumed = 0; consumed < count; ++consumed) {
      consume_stage(acc, places, shared, full, empty, consumed, thread % 32);
    }
    store_block(acc, reinterpret_cast<float*>(shared), target, partial, warpgroup, thread);
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

// The first address at or above `pointer` that is a multiple of `alignment` (a power of two) bytes in the shared
// window.
__device__ __forceinline__ unsigned char* shared_align(void* pointer, unsigned int alignment) {
  const unsigned int address = shared_address(pointer);
  return static_cast<unsigned char*>(pointer) + ((alignment - address % alignment) % alignment);
}

// Reads 16 bytes (aligned to 16) of global memory that nobody writes while the kernel runs, and keeps them in L1.
__device__ __forceinline__ uint4 load_constant_16(const void* from) {
  uint4 value;
  asm("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(from));
  return value;
}

// Makes a barrier for `count` (1 to 2^20 - 1) arrivals a phase.
__device__ __forceinline__ void mbarrier_init(unsigned long long* barrier, unsigned int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

// Arrives once. What this thread wrote before is visible to threads that wait for the phase (release, in the block).
__device__ __forceinline__ void mbarrier_arrive(unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
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

// Rounds an accumulator of asynchronous products to f16. Adding -0 keeps the conversion after the wait for them.
__device__ __forceinline__ unsigned short accumulator_to_half(float value) {
  unsigned short bits;
  asm("{\n\t.reg .f32 same;\n\tadd.rn.f32 same, %1, 0f80000000;\n\tcvt.rn.f16.f32 %0, same;\n\t}"
      : "=h"(bits)
      : "f"(value));
  return bits;
}

// Lane 0's value in all lanes, so that the compiler knows it to be the same: for a warp's role. Collective.
__device__ __forceinline__ int warp_uniform(int value) {
  return __shfl_sync(0xffffffffu, value, 0);
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

}  // namespace convtgen_grad_weight_gemm_grad_weight_3e974afd0c213504_source
using convtgen_grad_weight_gemm_grad_weight_3e974afd0c213504_source::convtgen_grad_weight_gemm_grad_weight_3e974afd0c213504_channels;
using convtgen_grad_weight_gemm_grad_weight_3e974afd0c213504_source::convtgen_grad_weight_gemm_grad_weight_3e974afd0c213504_add;
using convtgen_grad_weight_gemm_grad_weight_3e974afd0c213504_source::convtgen_grad_weight_gemm_grad_weight_3e974afd0c213504;
