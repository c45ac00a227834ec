// conv_transpose2d 32 -> 32; kernel 3x7; padding 1x3; input 8x512x1024; dtype f32; compute f32x3; layout nchw; directions grad_weight
// grad_weight for sm_90a. Template grad_weight_gemm: a block makes 3x7 taps of 32 by 16 channels; 66 slices; 225.9 KiB shared.
// Launch
//   sizes: batch 8, in_height 512, in_width 1024; out_height 512, out_width 1024
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor grad_weight: 21504 elements, written, 4-byte aligned
//     shape (Cin 32, Cout 32, KH 3, KW 7), contiguous
//   tensor x: 134217728 elements, read, 16-byte aligned
//     shape (N 8, Cin 32, H 512, W 1024), contiguous
//   tensor grad_y: 134217728 elements, read, 16-byte aligned
//     shape (N 8, Cout 32, H 512, W 1024), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 5677056 bytes, sums of slices of the positions
//   region maxima: 4096 bytes, the largest magnitudes of channels, by slices of the positions
//   tensor maps: by cuTensorMapEncodeTiled, interleave none, L2 promotion 128 bytes
//     a TensorMap, in this source's namespace, is a CUtensorMap under its own name: memcpy its 128 bytes, which are
//     64-byte aligned in both, or give cuLaunchKernel the address of the CUtensorMap itself
//   tensor map x_map of x: f32, sizes (524288, 256), byte pitches (2097152), box (36, 32), element strides (1, 1), swizzle 0, fill zero
//   tensor map grad_y_map of grad_y: f32, sizes (524288, 256), byte pitches (2097152), box (44, 16), element strides (1, 1), swizzle 0, fill zero
//   kernel convtgen_grad_weight_gemm_grad_weight_b8ec781f5856d604_scan
//     arguments const float* x, const float* grad_y, float* maxima, int batch
//     grid 1024; block 256; shared 32
//   kernel convtgen_grad_weight_gemm_grad_weight_b8ec781f5856d604
//     arguments TensorMap x_map, TensorMap grad_y_map, float* partial, const float* maxima, int batch
//     grid 132; block 512; shared 231336
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 231336)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 231336)
//   kernel convtgen_grad_weight_gemm_grad_weight_b8ec781f5856d604_add
//     arguments const float* partial, float* grad_weight
//     grid 84; block 256; shared 0

namespace convtgen_grad_weight_gemm_grad_weight_b8ec781f5856d604_source {

// ---- Constants ----

constexpr int kGroupOut = 32;
constexpr int kConsumers = 384;
constexpr int kTaps = 21;
constexpr int kColumnPitch = 388;
constexpr int kVectorThreads = 336;
constexpr int kRowPitch = 38;  // of a plane
constexpr int kInputUnitPitch = 4112;
constexpr int kScanLanes = 256;
constexpr int kScanTilesIn = 32;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kWindowRowsOffset = 36864;
constexpr int kSkewsOffset = 65024;
constexpr int kCopiedBytes = 65024;
constexpr int kRowsBytes = 65152;
constexpr int kInputPartBytes = 16448;
constexpr int kWindowPartBytes = 12192;
constexpr int kWindowOffset = 32896;  // of grad_y in a stage
constexpr int kStageBytes = 57280;
constexpr int kScalesOffset = 114560;
constexpr int kTotalsOffset = 114752;
constexpr int kRowsOffset = 163968;  // rows as they lie
constexpr int kSpareOffset = 229120;
constexpr int kBarrierOffset = 231168;  // mbarriers
constexpr int kRowsBarrierOffset = 231200;
constexpr int kStepBytes = 256;  // from the input of a step to the next

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

__device__ __forceinline__ void tensor_load_2d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1);
__device__ __forceinline__ void fence_proxy_async();
__device__ __forceinline__ void wgmma_fence();
__device__ __forceinline__ void wgmma_commit();
__device__ __forceinline__ void wgmma_wait(int pending);
__device__ __forceinline__ void wgmma_pin(float& value);
__device__ __forceinline__ void wgmma_pin_operand(unsigned int& word);
__device__ __forceinline__ unsigned long long wgmma_descriptor(const void* at, int leading, int stride, int swizzle);
__device__ __forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes);
__device__ __forceinline__ void matrix_load_x4_transposed(unsigned int (&values)[4], const void* row);
__device__ __forceinline__ void matrix_store_x2_transposed(void* row, const unsigned int (&values)[2]);
__device__ __forceinline__ void matrix_store_x4_transposed(void* row, const unsigned int (&values)[4]);
__device__ __forceinline__ void wgmma_m64n32k16_f16_rs_mn_b(float (&d)[16], const unsigned int (&a)[4],
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

// Two values in a word each of high and low parts. An infinity is infinite in `high`, a NaN is NaN; `low` is then NaN.
struct SplitPair {
  unsigned int high;
  unsigned int low;
};

__device__ __forceinline__ unsigned int low_parts(float a, float b, unsigned int high) {
  return floats_to_half2(fmaf(half_to_float(static_cast<unsigned short>(high & 0xffff)), -2048.0f, a * 2048.0f),
                         fmaf(half_to_float(static_cast<unsigned short>(high >> 16)), -2048.0f, b * 2048.0f));
}

__device__ __forceinline__ SplitPair split_pair(float a, float b, float scale) {
  unsigned int high = floats_to_half2(a * scale, b * scale);
  return {high, low_parts(a * scale, b * scale, high)};
}

__device__ __forceinline__ bool is_finite(float value) {
  return fabsf(value) <= 3.4028235e+38f;
}

// ---- Tiles and stages ----

// One thread's accumulators of one tile of 64 rows.
using Accumulators = float[16];

__device__ __forceinline__ int tap_of_rows(int rows) {
  return min(rows, 20);
}

// Keeps the compiler from moving accumulators across the waits for their products, or the fences before them.
__device__ __forceinline__ void pin(Accumulators (&acc)[2]) {
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
      wgmma_pin(acc[tile][i]);
    }
  }
}

// Where the taps of a block read the window: the plane's first position, moved.
__device__ __forceinline__ int pixel_of_tap(int tap) {
  const int kh = tap / 7;
  const int kw = tap % 7;
  return kh * kRowPitch + kw;
}

// The largest finite magnitudes that a thread finds in its part of a slice.
__device__ __forceinline__ float4 scan_slice(const float* __restrict__ from, int tile, int slice, int batch,
                                             int thread) {
  float4 most = make_float4(0, 0, 0, 0);
  const long long end = batch * 256ll * (slice + 1) / 16;
  for (long long piece = batch * 256ll * slice / 16 + thread / kScanLanes; piece < end; ++piece) {
    const long long image = piece / 256;
    const long long position = piece % 256 * 2048 + thread % kScanLanes;
    const float* next = from + (image * 32 + tile) * 524288 + position;
    float read[8];
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
      read[i] = next[i * kScanLanes];
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
    convtgen_grad_weight_gemm_grad_weight_b8ec781f5856d604_scan(const float* __restrict__ x,
                                                                const float* __restrict__ grad_y,
                                                                float* __restrict__ maxima, int batch) {
  const int thread = threadIdx.x;
  const int slice = blockIdx.x / 64;
  const int tile = blockIdx.x % 64;
  const bool is_input = tile < kScanTilesIn;
  const float4 most = is_input ? scan_slice(x, tile, slice, batch, thread)
                      : scan_slice(grad_y, tile - kScanTilesIn, slice, batch, thread);
  // Those of a channel: in NCHW first of a warp.
  float* found = static_cast<float*>(shared_memory());
  float* to = maxima + slice * 64 + (is_input ? 0 : 32);
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
  #pragma unroll 8
  for (int slice = 0; slice < 16; ++slice) {
    most = fmaxf(most, maxima[slice * 64 + channel]);
  }
  return power_of_two(scale_exponent(most));
}

// The scales of the block's channels, and 1 for those beyond the group's last. All threads share them.
__device__ __forceinline__ void find_scales(float* scales, const float* __restrict__ maxima, int first_out, int outs,
                                            int thread) {
  for (int i = thread; i < 48; i += 512) {
    const int channel = i < 32 ? i : i - 32;
    const bool is_there = channel < (i < 32 ? 32 : outs);
    scales[i] = is_there ? scale_of_channel(maxima, channel + (i < 32 ? 0 : 32 + first_out)) : 1;
  }
}

__device__ __forceinline__ int exponent_of(float scale) {
  return __float_as_int(scale) / 0x800000 - 127;
}

// ---- Producer ----

// A position of x or of the window, and whether anybody reads it.
struct Position {
  int at;
  bool is_wanted;
};

using Positions = Position[1];

// Writes those of so many octets of channels, transposed. Each lane points at a position of one of them; of octet
// lane / 8, or of one below the number of octets, which is a power of two.
__device__ __forceinline__ void store_matrices(unsigned char* to, const unsigned int (&values)[4]) {
  const unsigned int both[2] = {values[0], values[1]};
  matrix_store_x2_transposed(to, both);
}

// Where a unit lies, in bytes.
__device__ __forceinline__ int input_place(int pixel, int unit) {
  return unit * kInputUnitPitch + pixel * 16;
}

__device__ __forceinline__ int window_place(int pixel, int unit) {
  return unit * 6096 + pixel * 16;
}

// The scales of the block's channels, of x and then of grad_y.
__device__ __forceinline__ const float* block_scales() {
  return reinterpret_cast<const float*>(shared_align(shared_memory(), 128) + kScalesOffset);
}

// ---- Rows that are turned ----

// A word of a row as it lies in memory is an element, or two. They are multiplied as they are, or split.
using Scales = float[4];

__device__ __forceinline__ void load_scales(Scales& scales, int channel) {
  const float* all = block_scales();
  #pragma unroll
  for (int octet = 0; octet < 4; ++octet) {
    scales[octet] = all[channel + octet * 8];
  }
}

__device__ __forceinline__ void load_scales_2(Scales& scales, int channel) {
  const float* all = block_scales();
  #pragma unroll
  for (int octet = 0; octet < 2; ++octet) {
    scales[octet] = all[channel + octet * 8];
  }
}

// Splits a lane's words of some octets of channels, and writes their high parts at `to`, and their low parts.
__device__ __forceinline__ void store_split_block(unsigned char* to, unsigned char* to_low, const float (&words)[4][2],
                                                  const Scales& scales) {
  unsigned int high[4];
  unsigned int low[4];
  #pragma unroll
  for (int octet = 0; octet < 4; ++octet) {
    const SplitPair pair = split_pair(words[octet][0], words[octet][1], scales[octet]);
    high[octet] = pair.high;
    low[octet] = pair.low;
  }
  matrix_store_x4_transposed(to, high);
  matrix_store_x4_transposed(to_low, low);
}

// Splits a lane's words of some octets of channels, and writes their high parts at `to`, and their low parts.
__device__ __forceinline__ void store_split_block_2(unsigned char* to, unsigned char* to_low,
                                                    const float (&words)[4][2], const Scales& scales) {
  unsigned int high[4];
  unsigned int low[4];
  #pragma unroll
  for (int octet = 0; octet < 2; ++octet) {
    const SplitPair pair = split_pair(words[octet][0], words[octet][1], scales[octet]);
    high[octet] = pair.high;
    low[octet] = pair.low;
  }
  store_matrices(to, high);
  store_matrices(to_low, low);
}

// Writes a lane's words of some octets of channels at its positions.
__device__ __forceinline__ void store_input_block(unsigned char* input, unsigned char* spare,
                                                  const float (&words)[4][2], const Scales& scales,
                                                  const Positions& positions, int lane) {
  unsigned char* to = input + input_place(positions[0].at, lane / 8 % 4);
  store_split_block(positions[0].is_wanted ? to : spare, positions[0].is_wanted ? to + kInputPartBytes : spare, words,
                    scales);
}

__device__ __forceinline__ void store_window_block(unsigned char* window, unsigned char* spare,
                                                   const float (&words)[4][2], const Scales& scales,
                                                   const Positions& positions, int lane) {
  unsigned char* to = window + window_place(positions[0].at, lane / 8 % 2);
  store_split_block_2(positions[0].is_wanted ? to : spare, positions[0].is_wanted ? to + kWindowPartBytes : spare,
                      words, scales);
}

// Makes the stages' barriers, for the arrivals that fill a stage and those that release it. By one thread.
__device__ __forceinline__ void init_stages(unsigned long long* full, unsigned long long* empty) {
  for (int stage = 0; stage < 2; ++stage) {
    mbarrier_init(&full[stage], 4);
    mbarrier_init(&empty[stage], 12);
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
  int slice;  // of the positions
  int first_out;
};

// Weights vary fastest, so that blocks which read the same positions run together.
__device__ __forceinline__ Target target_of(int block) {
  const int out_tile = block % 2;
  Target target;
  target.slice = block / 2;
  target.first_out = out_tile * 16;
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
  tile.image = static_cast<int>(row / 514);
  tile.row = static_cast<int>(row % 514);
  tile.column = static_cast<int>(index / row_tiles) * 32;
  tile.left = row_tiles - 1 - of_column;
  return tile;
}

// The next one, without the divisions of 64 bits that finding it anew takes.
__device__ __forceinline__ void move_on(Tile& tile, long long row_tiles) {
  const int row = tile.row + 8;
  tile.image += row / 514;
  tile.row = row % 514;
  --tile.left;
  if (tile.left < 0) {
    tile.image = 0;
    tile.row = 0;
    tile.column += 32;
    tile.left = row_tiles - 1;
  }
}

// What a block reads: its first channels of x and grad_y, and the origin of its taps.
struct Origin {
  int out;
  int w;
};

// ---- Copies ----

// Asks for the rows of a tile, a row by each producer that has one. `first_column` is that of the window's first word.
__device__ __forceinline__ void copy_rows(unsigned char* slot, const TensorMap& x_map, const TensorMap& grad_y_map,
                                          unsigned long long* barrier, const Origin& origin, const Tile& tile,
                                          int first_column, int thread, int batch) {
  int* skews = reinterpret_cast<int*>(slot + kSkewsOffset);
  const int row = thread % 32 * 4 + thread / 32;  // rows are spread over warps
  if (row < 8) {
    const int image = tile.image + (tile.row + row) / 514;
    const int iy = (tile.row + row) % 514;
    const bool exists = image < batch && iy < 512;
    const int element = exists ? iy * 1024 + tile.column : 0;
    skews[row] = exists ? element % 4 : -1;
    const int first = element;
    tensor_load_2d(slot + row * 4608, x_map, barrier, first - first % 4, (exists ? image : 0) * 32);
  } else if (row < 18) {
    const int own = row - 8;
    const int at = tile.row + own % 10;
    const int image = tile.image + at / 514;
    const int oy = at % 514 + own / 10 - 1;
    const bool exists = image < batch && oy >= 0 && oy < 512;
    const int element = exists ? oy * 1024 + first_column : 0;
    skews[row] = exists ? element - 4 * (element >= 0 ? element / 4 : -((3 - element) / 4)) : -1;
    const int first = element;
    tensor_load_2d(slot + (kWindowRowsOffset + own * 2816), grad_y_map, barrier,
                   first - (first - 4 * (first >= 0 ? first / 4 : -((3 - first) / 4))),
                   (exists ? image : 0) * 32 + origin.out);
  }
}

// ---- Turns ----

using Strip = float[5][4][2];

// The element of a block that a lane writes: its own, or that whose row of a matrix it points at.
__device__ __forceinline__ int element_of_lane(int lane) {
  return lane % 8 / 2 + lane % 2 * 4;
}

// Where a row lies: its copy, and its first word, counted from the copy's, of the first channel; and how many columns
// it has.
struct Row {
  const unsigned char* copy;
  int begin;
  int columns;
};

__device__ __forceinline__ Row input_row(const unsigned char* slot, int row) {
  const int skew = reinterpret_cast<const int*>(slot + kSkewsOffset)[row];
  return {slot + row * 4608, 0, skew == -1 ? 0 : 1024};
}

// The same of a row of the window, whose first word is at this column.
__device__ __forceinline__ Row window_row(const unsigned char* slot, int row) {
  const int skew = reinterpret_cast<const int*>(slot + kSkewsOffset)[8 + row];
  return {slot + kWindowRowsOffset + row * 2816, max(skew, 0), skew == -1 ? 0 : 1024};
}

// The first word that a lane loads of a strip.
__device__ __forceinline__ const unsigned char* first_word(const Row& row, int lane) {
  const int channel = lane / 4;
  const int begin = row.begin;
  return row.copy + (channel * 144 + (begin + lane % 4) * 4);
}

// The first word that a lane loads of a strip.
__device__ __forceinline__ const unsigned char* first_word_2(const Row& row, int lane) {
  const int channel = lane / 4;
  const int begin = row.begin;
  return row.copy + (channel * 176 + (begin + lane % 4) * 4);
}

// Loads a lane's words of a strip, of so many octets and blocks.
__device__ __forceinline__ void load_strip(Strip& words, const unsigned char* from) {
  #pragma unroll
  for (int block = 0; block < 4; ++block) {
    #pragma unroll
    for (int octet = 0; octet < 4; ++octet) {
      #pragma unroll
      for (int word = 0; word < 2; ++word) {
        words[block][octet][word] = *reinterpret_cast<const float*>(from + (octet * 1152 + (block * 8 + word * 4) * 4));
      }
    }
  }
}

// Loads a lane's words of a strip, of so many octets and blocks.
__device__ __forceinline__ void load_strip_2(Strip& words, const unsigned char* from) {
  #pragma unroll
  for (int block = 0; block < 5; ++block) {
    #pragma unroll
    for (int octet = 0; octet < 2; ++octet) {
      #pragma unroll
      for (int word = 0; word < 2; ++word) {
        words[block][octet][word] = *reinterpret_cast<const float*>(from + (octet * 1408 + (block * 8 + word * 4) * 4));
      }
    }
  }
}

// Zeros in place of words that are not in a row of so many columns. The strip's first column is `first`.
__device__ __forceinline__ void keep_inside(Strip& words, int first, int columns, int lane) {
  if (first < 0 || first + 32 > columns) {
    #pragma unroll
    for (int block = 0; block < 4; ++block) {
      #pragma unroll
      for (int word = 0; word < 2; ++word) {
        const int column = first + lane % 4 + (block * 8 + word * 4);
        if (column < 0 || column >= columns) {
          #pragma unroll
          for (int octet = 0; octet < 4; ++octet) {
            words[block][octet][word] = 0;
          }
        }
      }
    }
  }
}

// Zeros in place of words that are not in a row of so many columns. The strip's first column is `first`.
__device__ __forceinline__ void keep_inside_2(Strip& words, int first, int columns, int lane) {
  if (first < 0 || first + 40 > columns) {
    #pragma unroll
    for (int block = 0; block < 5; ++block) {
      #pragma unroll
      for (int word = 0; word < 2; ++word) {
        const int column = first + lane % 4 + (block * 8 + word * 4);
        if (column < 0 || column >= columns) {
          #pragma unroll
          for (int octet = 0; octet < 2; ++octet) {
            words[block][octet][word] = 0;
          }
        }
      }
    }
  }
}

// Writes the positions of x of a stage: zeros past the end of the images and of a row. `first_column` is the tile's.
__device__ __forceinline__ void turn_input(unsigned char* input, unsigned char* spare, const unsigned char* slot,
                                           int first_column, int warp, int lane) {
  #pragma unroll 1
  for (int strip = warp; strip < 8; strip += 4) {
    const Row row = input_row(slot, strip);
    Strip words;
    load_strip(words, first_word(row, lane));
    keep_inside(words, first_column, row.columns, lane);
    Scales scales;
    load_scales(scales, lane / 4);
    #pragma unroll
    for (int block = 0; block < 4; ++block) {
      Positions positions;
      const int element = block * 8 + element_of_lane(lane);
      positions[0] = {strip * 32 + element, true};
      store_input_block(input, spare, words[block], scales, positions, lane);
    }
  }
}

// The position of the window of an element that is so far after its first one: where the plane needs it, which is the
// only one that may, or this one. `row` is the first position of its row. `plane_h` is the first plane.
__device__ __forceinline__ Position window_position(int from_first, int block, int plane_h, int row) {
  const unsigned int first = from_first;
  // Blocks of whole strides are found from the first one.
  const int column = static_cast<int>(first) + block * 8;
  const bool is_wanted = column >= 0 && column < 38;
  return {plane_h * 380 + row + column, is_wanted};
}

// Writes the positions of grad_y of a stage: zeros where no position is. `first_column` is that of the window's first
// word.
__device__ __forceinline__ void turn_window(unsigned char* window, unsigned char* spare, const unsigned char* slot,
                                            int first_column, int warp, int lane) {
  #pragma unroll 1
  for (int strip = warp; strip < 10; strip += 4) {
    const Row row = window_row(slot, strip);
    Strip words;
    load_strip_2(words, first_word_2(row, lane));
    keep_inside_2(words, first_column, row.columns, lane);
    Scales scales;
    load_scales_2(scales, 32 + lane / 4);
    #pragma unroll
    for (int block = 0; block < 5; ++block) {
      Positions positions;
      positions[0] = window_position(element_of_lane(lane), block, strip / 10, strip % 10 * kRowPitch);
      store_window_block(window, spare, words[block], scales, positions, lane);
    }
  }
}

// ---- Stages ----

// All stages of a block's slice: `count` tiles from `first_tile` on, by one of the producers.
__device__ __forceinline__ void turn_stages(unsigned char* shared, unsigned long long* full, unsigned long long* empty,
                                            const TensorMap& x_map, const TensorMap& grad_y_map, const Target& target,
                                            long long first_tile, int count, long long row_tiles, int thread,
                                            int batch) {
  if (count == 0) {
    return;
  }
  unsigned long long* brought = reinterpret_cast<unsigned long long*>(shared + kRowsBarrierOffset);
  const Origin origin = {target.first_out, -3};
  unsigned char* spare = shared + (kSpareOffset + thread * 16);
  const int warp = warp_uniform(thread / 32);
  const int lane = thread % 32;
  if (thread == 0) {
    for (int number = 0; number < min(count, 1); ++number) {
      mbarrier_arrive_expect(&brought[number], kCopiedBytes);
    }
  }
  Tile asked = tile_at(first_tile, row_tiles);  // whose rows are asked for next
  Tile turned = asked;
  for (int number = 0; number < min(count, 1); ++number) {
    copy_rows(shared + (kRowsOffset + number * kRowsBytes), x_map, grad_y_map, &brought[number], origin, asked,
              asked.column - 3, thread, batch);
    move_on(asked, row_tiles);
  }
  named_barrier_sync(2, 128);  // where rows begin is written
  for (int issued = 0; issued < count; ++issued) {
    const int stage = issued % 2;
    const int next = issued + 1;
    unsigned char* rows = shared + 163968;
    mbarrier_wait(&brought[0], issued % 2);
    if (thread == 0 && next < count) {
      mbarrier_arrive_expect(&brought[0], kCopiedBytes);
    }
    if (issued >= 2) {
      mbarrier_wait(&empty[stage], (issued / 2 - 1) % 2);
    }
    turn_input(shared + stage * kStageBytes, spare, rows, turned.column, warp, lane);
    turn_window(shared + (stage * kStageBytes + kWindowOffset), spare, rows, turned.column - 3, warp, lane);
    move_on(turned, row_tiles);
    fence_proxy_async();
    release_stage(&full[stage], lane);
    named_barrier_sync(2, 128);  // all have read the rows
    if (next < count) {
      copy_rows(rows, x_map, grad_y_map, &brought[0], origin, asked, asked.column - 3, thread, batch);
      move_on(asked, row_tiles);
    }
    named_barrier_sync(2, 128);  // where rows begin is written
  }
}

// ---- Products ----

__device__ __forceinline__ int place_of_rows(int rows, int lane) {
  // as below; ptxas makes less of one form for both (docs/kernel-notes.md)
  return lane / 8 % 2 * 6096 + (pixel_of_tap(tap_of_rows(rows)) + lane % 8 + lane / 16 * 8) * 16;
}

// Loads an A fragment of a part: 16 rows of the warp by the positions of a step.
__device__ __forceinline__ void load_fragment(unsigned int (&fragment)[4], const unsigned char* shared, int offset,
                                              int part, int step, const int& place) {
  const int pixel = step / 2 * kRowPitch + step % 2 * 16;
  const unsigned char* from = shared + offset + (kWindowOffset + part * kWindowPartBytes) + place + pixel * 16;
  matrix_load_x4_transposed(fragment, from);
}

__device__ __forceinline__ unsigned long long input_descriptor(const unsigned char* stage) {
  return wgmma_descriptor(stage, 128, kInputUnitPitch, 0);
}

__device__ __forceinline__ int input_of_step(int step) {
  return step * kStepBytes;
}

// One thread's A fragments of one k-step: of each of its tiles the high parts, then the low parts.
using PartFragments = unsigned int[4][4];

// All products of a stage, of a warpgroup that has so many tiles. The stage is `offset` bytes into `shared`. `places`
// are the thread's own in the window.
__device__ __forceinline__ void multiply_parts(Accumulators (&high)[2], Accumulators (&low)[2],
                                               const unsigned char* shared, int offset, const int (&places)[2]) {
  const unsigned long long input = input_descriptor(shared + offset);
  PartFragments fragments[2];
  // taps (0 to 2, 0 to 6)
  #pragma unroll
  for (int step = 0; step < 16; ++step) {
    #pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      #pragma unroll
      for (int part = 0; part < 2; ++part) {
        load_fragment(fragments[step % 2][2 * tile + part], shared, offset, part, step, places[tile]);
        #pragma unroll
        for (int word = 0; word < 4; ++word) {
          wgmma_pin_operand(fragments[step % 2][2 * tile + part][word]);
        }
      }
    }
    wgmma_fence();
    const unsigned long long high_input = wgmma_descriptor_move(input, input_of_step(step));
    const unsigned long long low_input = wgmma_descriptor_move(input, kInputPartBytes + input_of_step(step));
    #pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      wgmma_m64n32k16_f16_rs_mn_b(low[tile], fragments[step % 2][2 * tile + 1], high_input, 1);
      wgmma_m64n32k16_f16_rs_mn_b(high[tile], fragments[step % 2][2 * tile], high_input, 1);
      wgmma_m64n32k16_f16_rs_mn_b(low[tile], fragments[step % 2][2 * tile], low_input, 1);
    }
    wgmma_commit();
    wgmma_wait(1);  // the step before, whose fragments the next one overwrites
  }
  wgmma_wait(0);
}

// A total with an accumulator of low parts. Infinities have none: a total that isn't finite is the result.
__device__ __forceinline__ float with_low(float total, float low) {
  return is_finite(total) ? fmaf(low, 0.00048828125f, total) : total;
}

// A thread's totals: in shared memory at `place`.
__device__ __forceinline__ float4 load_totals(const float4* place, int tile, int i) {
  return place[(tile * 16 + i) / 4 * kConsumers];
}

__device__ __forceinline__ void store_totals(float4* place, int tile, int i, const float4& four) {
  place[(tile * 16 + i) / 4 * kConsumers] = four;
}

// Adds accumulators of high parts to the totals, and begins them anew.
__device__ __forceinline__ void promote_high(float4* place, Accumulators (&high)[2]) {
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    #pragma unroll
    for (int i = 0; i < 16; i += 4) {
      float4 four = load_totals(place, tile, i);
      four.x += high[tile][i];
      four.y += high[tile][i + 1];
      four.z += high[tile][i + 2];
      four.w += high[tile][i + 3];
      store_totals(place, tile, i, four);
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        high[tile][i + k] = 0;
      }
    }
  }
}

// Adds accumulators of low parts to the totals, and begins them anew.
__device__ __forceinline__ void promote_low(float4* place, Accumulators (&low)[2]) {
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    #pragma unroll
    for (int i = 0; i < 16; i += 4) {
      float4 four = load_totals(place, tile, i);
      four.x = with_low(four.x, low[tile][i]);
      four.y = with_low(four.y, low[tile][i + 1]);
      four.z = with_low(four.z, low[tile][i + 2]);
      four.w = with_low(four.w, low[tile][i + 3]);
      store_totals(place, tile, i, four);
      #pragma unroll
      for (int k = 0; k < 4; ++k) {
        low[tile][i + k] = 0;
      }
    }
  }
}

// Totals in shared memory, at first.
__device__ __forceinline__ void clear_totals(float4* place) {
  #pragma unroll
  for (int i = 0; i < 32; i += 4) {
    place[i / 4 * kConsumers] = make_float4(0, 0, 0, 0);
  }
}

// Totals in shared memory, at last.
__device__ __forceinline__ void fetch_totals(Accumulators (&totals)[2], const float4* place) {
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    #pragma unroll
    for (int i = 0; i < 16; i += 4) {
      const float4 four = place[(tile * 16 + i) / 4 * kConsumers];
      totals[tile][i] = four.x;
      totals[tile][i + 1] = four.y;
      totals[tile][i + 2] = four.z;
      totals[tile][i + 3] = four.w;
    }
  }
}

// ---- Epilogue ----

// The place of a vector's elements in a column of shared memory; `row` is that of the first.
__device__ __forceinline__ int place_in_column(int row) {
  return row % kTaps * 18 + row / kTaps;
}

// Stores the sums of some columns, which lie in shared memory, in the order of the weights. A thread stores the same
// rows of several columns.
__device__ __forceinline__ void store_columns(const float* columns, const Target& target, float* __restrict__ partial,
                                              int thread) {
  const int place = thread / kVectorThreads;
  const int end = place < 1 ? 32 : 0;
  for (int vector = thread % kVectorThreads; vector < 336; vector += kVectorThreads) {
    const int tap = vector % kTaps;
    const int channel = vector / kTaps;
    const int kw = tap % 7;
    const int co = target.first_out + channel;
    #pragma unroll 2
    for (int column = place; column < end; ++column) {
      const int kh = tap / 7;
      const float* from = columns + column * kColumnPitch;
      float sums = from[place_in_column(vector)];
      const long long weight = ((static_cast<long long>(column) * kGroupOut + co) * 3 + kh) * 7 + kw;
      const long long at = target.slice * 21504ll + weight;
      partial[at] = sums;
    }
  }
}

// Stores a block's results, through shared memory: some columns at a time.
__device__ __forceinline__ void store_block(const Accumulators (&acc)[2], float* columns, const Target& target,
                                            float* __restrict__ partial, int warpgroup, int thread) {
  const int lane = thread % 32;
  named_barrier_sync(1, kConsumers);  // stages, or the columns before, have been read
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    const int rows = (tile * 3 + warpgroup) * 4 + thread / 32 % 4;
    if (rows < 21) {
      float* to = columns + lane % 4 * 776 + tap_of_rows(rows) * 18 + lane / 4;
      #pragma unroll
      for (int column = 0; column < 32; column += 8) {
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
          to[(column + i % 2) * kColumnPitch + i / 2 * 8] = acc[tile][column / 2 + i];
        }
      }
    }
  }
  named_barrier_sync(1, kConsumers);
  store_columns(columns, target, partial, thread);
}

// ---- Consumers ----

// Undoes the scales of a thread's totals, of its rows' and columns' channels.
__device__ __forceinline__ void unscale(Accumulators (&totals)[2], const float* scales, int thread) {
  const int lane = thread % 32;
  #pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    const float* of_rows = scales + (32 + lane / 4);
    #pragma unroll
    for (int i = 0; i < 16; ++i) {
      totals[tile][i] = scaled_by(totals[tile][i],
                                  -exponent_of(of_rows[i / 2 % 2 * 8]) -
                                  exponent_of(scales[i / 4 * 8 + lane % 4 * 2 + i % 2]));
    }
  }
}

// Multiplies what the stage of this number brought, and releases it. Promotes accumulators to the thread's totals where
// that is due.
__device__ __forceinline__ void consume_parts(float4* own_totals, Accumulators (&high)[2], Accumulators (&low)[2],
                                              const int (&places)[2], const unsigned char* shared,
                                              unsigned long long* full, unsigned long long* empty, int consumed,
                                              int lane) {
  const int stage = consumed % 2;
  mbarrier_wait(&full[stage], consumed / 2 % 2);
  pin(high);
  pin(low);
  multiply_parts(high, low, shared, stage * kStageBytes, places);
  pin(high);
  pin(low);
  release_stage(&empty[stage], lane);
  promote_high(own_totals, high);
  if ((consumed + 1) % 32 == 0) {
    promote_low(own_totals, low);
  }
}

// Stores what a warpgroup has summed up.
__device__ __forceinline__ void store_parts(Accumulators (&totals)[2], float4* own_totals, Accumulators (&high)[2],
                                            Accumulators (&low)[2], const float* scales, float* columns,
                                            const Target& target, float* __restrict__ partial, int warpgroup,
                                            int thread) {
  promote_high(own_totals, high);
  promote_low(own_totals, low);
  fetch_totals(totals, own_totals);
  unscale(totals, scales, thread);
  store_block(totals, columns, target, partial, warpgroup, thread);
}

// ---- Kernels ----

// Adds the slices in order: one thread for each weight, then one for each channel of the bias.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_grad_weight_gemm_grad_weight_b8ec781f5856d604_add(const float* __restrict__ partial,
                                                               float* __restrict__ grad_weight) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < 21504) {
    float sum = 0;
    #pragma unroll 8
    for (int slice = 0; slice < 66; ++slice) {
      sum += partial[slice * 21504ll + i];
    }
    grad_weight[i] = sum;
  }
}

extern "C" __global__ void __launch_bounds__(512, 1)
    convtgen_grad_weight_gemm_grad_weight_b8ec781f5856d604(__grid_constant__ const TensorMap x_map,
                                                           __grid_constant__ const TensorMap grad_y_map,
                                                           float* __restrict__ partial,
                                                           const float* __restrict__ maxima, int batch) {
  const long long row_tiles = (static_cast<long long>(batch) * 514 + 7) / 8;
  const long long tiles = row_tiles * 32;

  const int block = blockIdx.x;
  const Target target = target_of(block);
  const long long first_tile = tiles * target.slice / 66;
  const int count = static_cast<int>(tiles * (target.slice + 1) / 66 - first_tile);

  unsigned char* shared = shared_align(shared_memory(), 128);
  unsigned long long* full = reinterpret_cast<unsigned long long*>(shared + kBarrierOffset);
  unsigned long long* empty = full + 2;
  float* scales = reinterpret_cast<float*>(shared + kScalesOffset);
  find_scales(scales, maxima, target.first_out, kGroupOut - target.first_out, threadIdx.x);
  if (threadIdx.x == 0) {
    init_stages(full, empty);
    unsigned long long* brought = reinterpret_cast<unsigned long long*>(shared + kRowsBarrierOffset);
    mbarrier_init(&brought[0], 1);
    fence_mbarrier_init();
  }
  __syncthreads();

  const int warpgroup = warp_uniform(static_cast<int>(threadIdx.x) / 128);
  if (warpgroup >= 3) {
    turn_stages(shared, full, empty, x_map, grad_y_map, target, first_tile, count, row_tiles, threadIdx.x - kConsumers,
                batch);
  } else {
    const int thread = threadIdx.x;
    int places[2];
    const int lane = thread % 32;
    #pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      places[tile] = place_of_rows((tile * 3 + warpgroup) * 4 + thread / 32 % 4, lane);
    }
    Accumulators high[2] = {};
    Accumulators low[2] = {};
    Accumulators sums[2] = {};  // totals, unless these are in shared memory
    float4* own_totals = reinterpret_cast<float4*>(shared + kTotalsOffset) + thread;
    clear_totals(own_totals);
    for (int consumed = 0; consumed < count; ++consumed) {
      consume_parts(own_totals, high, low, places, shared, full, empty, consumed, lane);
    }
    store_parts(sums, own_totals, high, low, scales, reinterpret_cast<float*>(shared), target, partial, warpgroup,
                thread);
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

// Loads the box at these coordinates of a 2-dimensional map to shared memory.
__device__ __forceinline__ void tensor_load_2d(void* to, const TensorMap& map, unsigned long long* barrier, int c0,
                                               int c1) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(shared_address(to)),
      "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1)
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

// Writes two matrices, transposed.
__device__ __forceinline__ void matrix_store_x2_transposed(void* row, const unsigned int (&values)[2]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(shared_address(row)),
               "r"(values[0]), "r"(values[1])
               : "memory");
}

// Writes four matrices, transposed.
__device__ __forceinline__ void matrix_store_x4_transposed(void* row, const unsigned int (&values)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)),
               "r"(values[0]), "r"(values[1]), "r"(values[2]), "r"(values[3])
               : "memory");
}

// d (64x32, f32) = a (64x16) * b (16x32), added to d where `accumulate` is not 0: f16, A in registers, B N-major.
__device__ __forceinline__ void wgmma_m64n32k16_f16_rs_mn_b(float (&d)[16], const unsigned int (&a)[4],
                                                            unsigned long long b, int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %21, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
      "{%16, %17, %18, %19}, %20, p, 1, 1, 1; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) : "memory");
}

#endif

}  // namespace convtgen_grad_weight_gemm_grad_weight_b8ec781f5856d604_source
using convtgen_grad_weight_gemm_grad_weight_b8ec781f5856d604_source::convtgen_grad_weight_gemm_grad_weight_b8ec781f5856d604_scan;
using convtgen_grad_weight_gemm_grad_weight_b8ec781f5856d604_source::convtgen_grad_weight_gemm_grad_weight_b8ec781f5856d604_add;
using convtgen_grad_weight_gemm_grad_weight_b8ec781f5856d604_source::convtgen_grad_weight_gemm_grad_weight_b8ec781f5856d604;
