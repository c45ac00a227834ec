// conv_transpose2d 21 -> 21; kernel 16x16; stride 8x8; padding 4x4; groups 21; input 8x64x64; dtype bf16; compute bf16; layout nhwc
// forward for sm_75. Template direct_rows: a block makes 32x128 outputs of 21 channels; 256 taps; 52.4 KiB shared.
// Launch
//   sizes: batch 8, in_height 64, in_width 64; out_height 512, out_width 512
//   compile: nvcc -gencode arch=compute_75,code=sm_75
//   tensor y: 44040192 elements, written, 16-byte aligned
//     shape (N 8, H 512, W 512, Cout 21), contiguous
//   tensor x: 688128 elements, read, 16-byte aligned
//     shape (N 8, H 64, W 64, Cin 21), contiguous
//   tensor weight: 5376 elements, read, 2-byte aligned
//     shape (Cin 21, Cout / groups 1, KH 16, KW 16), contiguous
//   kernel convtgen_direct_rows_forward_e60b721fda9ca0ac
//     arguments const unsigned short* x, const unsigned short* weight, unsigned short* y
//     grid 512; block 256; shared 53680
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 53680)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 53680)

namespace convtgen_direct_rows_forward_e60b721fda9ca0ac_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kWarpChannels = 21;
constexpr int kTileChannels = 21;
constexpr int kTaps = 256;
constexpr int kInputs = 21;  // channels that are staged
constexpr int kStagedColumns = 18;
constexpr int kPitch = 20;
constexpr long long kPlane = 124ll;
constexpr int kWarpPixels = 32;
constexpr int kRunLanes = 32;  // that store a run
constexpr int kRunSums = 680;

// ---- Shared memory and packed weights, in bytes ----

constexpr long long kWeightOffset = 2604ll;  // whole vectors
constexpr long long kExchangeOffset = 7980ll;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ float bfloat16_to_float(unsigned short bits);
__device__ __forceinline__ unsigned short float_to_bfloat16(float value);

#endif

__device__ int floor_div(int a) {
  return a >= 0 ? a / 8 : -((7 - a) / 8);
}

__device__ int floor_mod(int a) {
  return a - 8 * (a >= 0 ? a / 8 : -((7 - a) / 8));
}

// ---- Staging ----

// Puts an element to shared memory as what products are added in, or zero. Asynchronously, the block waits for it
// later.
__device__ __forceinline__ void stage_element(float* to, const unsigned short* from, bool is_inside) {
  *to = is_inside ? bfloat16_to_float(*from) : 0.0f;
}

// Copies the input of a tile with its halo to shared memory: zeros where the image or the channels end. `x` is the
// first channel that is staged; row and column are the first staged.
__device__ __forceinline__ void stage_input(float* __restrict__ planes, const unsigned short* __restrict__ x,
                                            int first_row, int first_column) {
  #pragma unroll 8
  for (unsigned int i = threadIdx.x; i < 2268; i += kThreads) {
    // Adjacent threads read adjacent memory.
    const int channel = i % kInputs;
    const int row = i / 378;
    const int column = i / kInputs % kStagedColumns;
    const int iy = first_row + row;
    const int ix = first_column + column;
    const bool is_inside = iy >= 0 && iy < 64 && ix >= 0 && ix < 64;
    const unsigned short* from = x + ((iy * 64 + ix) * 21 + channel);
    stage_element(planes + (channel * 124 + row * kPitch + column), from, is_inside);
  }
}

// Copies the weights of a tile to shared memory, output channels innermost; zeros where the channels end. `weight` are
// those of the tile's first group, first_out the tile's first channel in it.
__device__ __forceinline__ void stage_weights(float* __restrict__ weights, const unsigned short* __restrict__ weight) {
  #pragma unroll 8
  for (unsigned int i = threadIdx.x; i < 5376; i += kThreads) {
    const int tap = i % kTaps;
    const int channel = i / kTaps % kTileChannels;
    const int ci = i / 5376;
    const int of_warp = channel % kWarpChannels;
    const int place = channel / kWarpChannels * kWarpChannels + of_warp;
    const unsigned short* from = weight + ((channel + ci) * kTaps + tap);
    stage_element(weights + ((ci * kTaps + tap) * kTileChannels + place), from, true);
  }
}

// ---- Products ----

// One thread's accumulators for one column phase.
using Accumulators = float[1][4];

// One tap: positions of a staged row times one weight for each channel.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const float* x, const float* weights) {
  const float weight = weights[0];
  #pragma unroll
  for (int column = 0; column < 4; ++column) {
    acc[0][column] = fma(x[column], weight, acc[0][column]);
  }
}

// ---- Epilogue ----

// Two 16-bit elements in a word.
__device__ __forceinline__ unsigned int word_of(float low, float high) {
  return static_cast<unsigned int>(float_to_bfloat16(low)) | (static_cast<unsigned int>(float_to_bfloat16(high)) << 16);
}

// Writes as many adjacent elements as 16 bytes have as one vector, to which `to` is aligned.
__device__ __forceinline__ void store_16(unsigned short* to, const float* values) {
  store_global_16(to,
                  make_uint4(word_of(values[0], values[1]), word_of(values[2], values[3]),
                             word_of(values[4], values[5]), word_of(values[6], values[7])));
}

// A warp's place in the output: the first channel and the end of the channels that it may write, the row, and the
// first column of its first position.
struct Place {
  int channel;
  int row;
  int column;
};

// The first element of a run in the image `y`.
__device__ __forceinline__ unsigned short* run_start(unsigned short* __restrict__ y, const Place& place, int run) {
  return y + ((place.row * 512 + place.column + run) * 21 + place.channel);
}

// The elements of a run that lie inside the output.
__device__ __forceinline__ int run_length(const Place& place) {
  return min(max(512 - place.column, 0), kWarpPixels) * 21;
}

// What of a run is inside the output: elements before its first whole vector, whole vectors, elements after them.
struct Run {
  unsigned short* start;
  int vectors;
};

__device__ __forceinline__ Run run_of(unsigned short* __restrict__ y, const Place& place, int run) {
  const int length = run_length(place);
  unsigned short* start = run_start(y, place, run);
  const int vectors = length / 8;
  return {start, vectors};
}

// Stores the runs of a warp: whole vectors, and the ends of a run element by element.
__device__ __forceinline__ void store_runs(const float* __restrict__ exchanged, unsigned short* __restrict__ y,
                                           const Place& place) {
  const int lane = threadIdx.x % 32;
  #pragma unroll 2
  for (int run = lane / kRunLanes; run < 1; ++run) {
    const Run of_run = run_of(y, place, run);
    const float* from = exchanged + run * kRunSums;  // the first whole vector
    #pragma unroll
    for (int round = 0; round < 3; ++round) {
      const int i = lane % kRunLanes + round * kRunLanes;
      if (i < of_run.vectors) {
        store_16(of_run.start + i * 8, from + i * 8);
      }
    }
  }
}

// Stores a warp's accumulators as runs through `exchange`, which is the warp's own.
__device__ __forceinline__ void store_exchanged(const Accumulators (&acc)[8], float* __restrict__ exchange,
                                                unsigned short* __restrict__ y, const Place& place, int lane_c,
                                                int lane_x, bool is_idle) {
  Place of_channel = place;
  of_channel.channel += 0;
  if (!is_idle) {
    const int pixel = lane_x * 32;
    float* to = exchange + (pixel * 21 + lane_c);
    #pragma unroll
    for (int column = 0; column < 4; ++column) {
      #pragma unroll
      for (int phase = 0; phase < 8; ++phase) {
        const int offset = column * 8 + phase;
        const int at = offset * 21;
        to[at] = acc[phase][0][column];
      }
    }
  }
  __syncwarp();  // all lanes have written
  store_runs(exchange, y, of_channel);
  __syncwarp();  // all lanes have read what is written next
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_direct_rows_forward_e60b721fda9ca0ac(const unsigned short* __restrict__ x,
                                                  const unsigned short* __restrict__ weight,
                                                  unsigned short* __restrict__ y) {
  // The block's place: channels vary fastest, so that blocks which read the same input run together.
  const int block = blockIdx.x;
  const int tile_x = block % 4;
  const int tile_y = block / 4 % 16;
  const int image = block / 64;

  // Bases are 64-bit; every offset from them fits its type.
  const long long image_channel = static_cast<long long>(image) * 21;
  const unsigned short* x_group = x + image_channel * 4096;
  unsigned short* y_image = y + static_cast<long long>(image) * 5505024;

  float* shared = static_cast<float*>(shared_memory());
  float* weights = shared + kWeightOffset;
  stage_input(shared, x_group, tile_y * 4 - 1, tile_x * 16 - 1);
  stage_weights(weights, weight);
  // The thread's place: its warp in the block, and its lane along channels and columns.
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int warp_x = warp % 4;
  const int warp_y = warp / 4;
  const bool is_idle = lane >= 21;
  const int lane_c = is_idle ? 0 : lane % 21;
  const int lane_x = is_idle ? 0 : lane / 21;
  const int column = warp_x * 4 + lane_x * 4;
  const float* x_thread = shared + (lane_c * 124 + column);
  const float* weight_thread = weights + lane_c;
  float* exchange = shared + (kExchangeOffset + warp * 680);
  Place place;
  place.channel = 0;
  place.column = (tile_x * 16 + warp_x * 4) * 8;

  __syncthreads();  // the tile is staged

  #pragma unroll 1
  for (int row = warp_y; row < 4; row += 2) {
    #pragma unroll 1
    for (int i = 0; i < 8; ++i) {
      // The phases of kernel rows 0, 1, ..., which later ones repeat; then those without taps.
      place.row = (tile_y * 4 + row) * 8 + (floor_mod(i % 8 - 4) + i / 8) % 8;
      if (place.row < 512) {
        Accumulators acc[8] = {};
        #pragma unroll 1
        for (int kh = i < 8 ? i : 16; kh < 16; kh += 8) {
          const int staged_row = row + -floor_div(kh - 4) + 1;
          const float* x_row = x_thread + staged_row * kPitch;
          const float* weight_row = weight_thread + kh * 336;
          multiply_add(acc[4], x_row + 2, weight_row);        // taps (0 to 15, 0)
          multiply_add(acc[5], x_row + 2, weight_row + 21);   // taps (0 to 15, 1)
          multiply_add(acc[6], x_row + 2, weight_row + 42);   // taps (0 to 15, 2)
          multiply_add(acc[7], x_row + 2, weight_row + 63);   // taps (0 to 15, 3)
          multiply_add(acc[0], x_row + 1, weight_row + 84);   // taps (0 to 15, 4)
          multiply_add(acc[1], x_row + 1, weight_row + 105);  // taps (0 to 15, 5)
          multiply_add(acc[2], x_row + 1, weight_row + 126);  // taps (0 to 15, 6)
          multiply_add(acc[3], x_row + 1, weight_row + 147);  // taps (0 to 15, 7)
          multiply_add(acc[4], x_row + 1, weight_row + 168);  // taps (0 to 15, 8)
          multiply_add(acc[5], x_row + 1, weight_row + 189);  // taps (0 to 15, 9)
          multiply_add(acc[6], x_row + 1, weight_row + 210);  // taps (0 to 15, 10)
          multiply_add(acc[7], x_row + 1, weight_row + 231);  // taps (0 to 15, 11)
          multiply_add(acc[0], x_row, weight_row + 252);      // taps (0 to 15, 12)
          multiply_add(acc[1], x_row, weight_row + 273);      // taps (0 to 15, 13)
          multiply_add(acc[2], x_row, weight_row + 294);      // taps (0 to 15, 14)
          multiply_add(acc[3], x_row, weight_row + 315);      // taps (0 to 15, 15)
          x_row += kPlane;
          weight_row += 5376;
        }
        store_exchanged(acc, exchange, y_image, place, lane_c, lane_x, is_idle);
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

// Writes 16 bytes (aligned to 16) to global memory in one instruction.
__device__ __forceinline__ void store_global_16(void* to, uint4 value) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
}

__device__ __forceinline__ float bfloat16_to_float(unsigned short bits) {
  return __uint_as_float(static_cast<unsigned int>(bits) << 16);
}

// In integers, since sm_75 has no instruction for it; every NaN becomes 0x7fff, as the instruction's does.
__device__ __forceinline__ unsigned short float_to_bfloat16(float value) {
  const unsigned int bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return 0x7fff;
  }
  return static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

#endif

}  // namespace convtgen_direct_rows_forward_e60b721fda9ca0ac_source
using convtgen_direct_rows_forward_e60b721fda9ca0ac_source::convtgen_direct_rows_forward_e60b721fda9ca0ac;
