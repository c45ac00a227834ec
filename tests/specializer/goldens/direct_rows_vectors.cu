// conv_transpose2d 32 -> 64; kernel 3x3; stride 5x5; padding 1x1; dilation 2x2; dtype f16; compute f16; layout nhwc
// forward for sm_90a. Template direct_rows: a block makes 40x160 outputs of 64 channels; 9 taps; 112.5 KiB shared.
// Launch
//   sizes: batch, in_height, in_width; out_height = 5 * in_height - 2, out_width = 5 * in_width - 2
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 64 * batch * out_height * out_width elements, written, 16-byte aligned
//     shape (N batch, H out_height, W out_width, Cout 64), contiguous
//   tensor x: 32 * batch * in_height * in_width elements, read, 16-byte aligned
//     shape (N batch, H in_height, W in_width, Cin 32), contiguous
//   tensor weight: 18432 elements, read, 2-byte aligned
//     shape (Cin 32, Cout 64, KH 3, KW 3), contiguous
//   kernel convtgen_direct_rows_forward_b953f969438a71d3
//     arguments const unsigned short* x, const unsigned short* weight, unsigned short* y, int in_height, int in_width
//     grid ceil(out_height / 40) * ceil(out_width / 160) * batch; block 256; shared 115200
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 115200)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 115200)
//     at most out_height 2147483607, in_height 429496722, out_width 2147483487, in_width 429496698

namespace convtgen_direct_rows_forward_b953f969438a71d3_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kTileColumns = 32;
constexpr int kWarpChannels = 64;
constexpr int kTileChannels = 64;
constexpr int kGroupIn = 32;
constexpr int kGroupOut = 64;
constexpr int kStagedColumns = 33;
constexpr int kPitch = 36;
constexpr long long kPlane = 324ll;
constexpr int kVectorStep = 324;

// ---- Shared memory and packed weights, in bytes ----

constexpr long long kWeightOffset = 10368ll;  // whole vectors

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ uint4 load_constant_16(const void* from);
__device__ __forceinline__ void store_global_8(void* to, uint2 value);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned short float_to_half(float value);

#endif

__device__ int floor_div(int a) {
  return a >= 0 ? a / 5 : -((4 - a) / 5);
}

__device__ int floor_mod(int a) {
  return a - 5 * (a >= 0 ? a / 5 : -((4 - a) / 5));
}

// ---- Staging ----

// Puts an element to shared memory as what products are added in. Asynchronously, the block waits for it later.
__device__ __forceinline__ void stage_element(float* to, const unsigned short* from) {
  *to = half_to_float(*from);
}

// Copies the input of a tile with its halo to shared memory: zeros where the image or the channels end. `x` is the
// first channel that is staged; row and column are the first staged.
__device__ __forceinline__ void stage_input(float* __restrict__ planes, const unsigned short* __restrict__ x,
                                            int first_row, int first_column, int in_h, int in_w) {
  #pragma unroll 4
  for (unsigned int i = threadIdx.x; i < 1188; i += kThreads) {
    const int channel = i % 4 * 8;
    const int row = i / 132;
    const int column = i / 4 % kStagedColumns;
    const int iy = first_row + row;
    const int ix = first_column + column;
    uint4 elements = make_uint4(0, 0, 0, 0);
    if (iy < in_h && ix < in_w) {
      elements = load_constant_16(x + ((static_cast<long long>(iy) * in_w + ix) * 32 + channel));
    }
    const unsigned int words[4] = {elements.x, elements.y, elements.z, elements.w};
    float* to = planes + (channel * 324 + row * kPitch + column);
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      to[2 * k * kVectorStep] = half_to_float(static_cast<unsigned short>(words[k]));
      to[(2 * k + 1) * kVectorStep] = half_to_float(static_cast<unsigned short>(words[k] >> 16));
    }
  }
}

// Offset of the weight of a lane's channel among those of its warp for a tap: lanes read adjacent vectors.
__device__ __forceinline__ int weight_place(int lane, int channel) {
  return channel / 4 * 64 + lane * 4 + channel % 4;
}

// Copies the weights of a tile to shared memory, output channels innermost; zeros where the channels end. `weight` are
// those of the tile's first group, first_out the tile's first channel in it.
__device__ __forceinline__ void stage_weights(float* __restrict__ weights, const unsigned short* __restrict__ weight) {
  #pragma unroll 8
  for (unsigned int i = threadIdx.x; i < 18432; i += kThreads) {
    const int tap = i % 9;
    const int channel = i / 9 % kTileChannels;
    const int ci = i / 576;
    const int of_warp = channel % kWarpChannels;
    const int place = channel / kWarpChannels * kWarpChannels + weight_place(of_warp / 4, of_warp % 4);
    const unsigned short* from = weight + ((static_cast<long long>(ci) * kGroupOut + channel) * 9 + tap);
    stage_element(weights + ((ci * 9 + tap) * kTileChannels + place), from);
  }
}

// ---- Products ----

// One thread's accumulators for one column phase.
using Accumulators = float[4][4];

// One tap: positions of a staged row times one weight for each channel.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const float* x, const float* weights) {
  #pragma unroll
  for (int channel = 0; channel < 4; ++channel) {
    const float weight = weights[weight_place(0, channel)];
    #pragma unroll
    for (int column = 0; column < 4; ++column) {
      acc[channel][column] = fma(x[column], weight, acc[channel][column]);
    }
  }
}

// ---- Epilogue ----

// Two 16-bit elements in a word.
__device__ __forceinline__ unsigned int word_of(float low, float high) {
  return static_cast<unsigned int>(float_to_half(low)) | (static_cast<unsigned int>(float_to_half(high)) << 16);
}

// Writes as many adjacent elements as 8 bytes have as one vector, to which `to` is aligned.
__device__ __forceinline__ void store_8(unsigned short* to, const float* values) {
  store_global_8(to, make_uint2(word_of(values[0], values[1]), word_of(values[2], values[3])));
}

// A warp's place in the output: the first channel and the end of the channels that it may write, the row, and the
// first column of its first position.
struct Place {
  int row;
  int column;
};

// Stores a thread's accumulators, channels last: its adjacent channels of each pixel as vectors.
__device__ __forceinline__ void store_pixels(const Accumulators (&acc)[5], unsigned short* __restrict__ y,
                                             const Place& place, int lane_c, int lane_x, int out_w) {
  const int co = lane_c * 4;
  const int first = place.column + lane_x * 20;
  unsigned short* pixels = y + ((static_cast<long long>(place.row) * out_w + first) * 64 + co);
  #pragma unroll
  for (int column = 0; column < 4; ++column) {
    #pragma unroll
    for (int phase = 0; phase < 5; ++phase) {
      const int offset = column * 5 + phase;
      if (first + offset < out_w) {
        unsigned short* to = pixels + offset * 64;
        float values[4];
        #pragma unroll
        for (int channel = 0; channel < 4; ++channel) {
          values[channel] = acc[phase][channel][column];
        }
        store_8(to, values);
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 2)
    convtgen_direct_rows_forward_b953f969438a71d3(const unsigned short* __restrict__ x,
                                                  const unsigned short* __restrict__ weight,
                                                  unsigned short* __restrict__ y, int height, int width) {
  const int out_h = (height - 1) * 5 + 3;
  const int out_w = (width - 1) * 5 + 3;
  const int tiles_y = (out_h + 39) / 40;
  const int tiles_x = (out_w + 159) / 160;

  // The block's place: channels vary fastest, so that blocks which read the same input run together.
  const int block = blockIdx.x;
  const int tile_x = block % tiles_x;
  const int tile_y = block / tiles_x % tiles_y;
  const int image = block / tiles_x / tiles_y;

  // Bases are 64-bit; every offset from them fits its type.
  const long long in_pixels = static_cast<long long>(height) * width;
  const long long out_pixels = static_cast<long long>(out_h) * out_w;
  const long long image_channel = static_cast<long long>(image) * 32;
  const unsigned short* x_group = x + image_channel * in_pixels;
  unsigned short* y_image = y + static_cast<long long>(image) * 64 * out_pixels;

  float* shared = static_cast<float*>(shared_memory());
  float* weights = shared + kWeightOffset;
  stage_input(shared, x_group, tile_y * 8, tile_x * kTileColumns, height, width);
  stage_weights(weights, weight);
  // The thread's place: its warp in the block, and its lane along channels and columns.
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int warp_x = warp % 4;
  const int warp_y = warp / 4;
  const int lane_c = lane % 16;
  const int lane_x = lane / 16;
  const int column = warp_x * 8 + lane_x * 4;
  const float* x_thread = shared + column;
  const float* weight_thread = weights + weight_place(lane_c, 0);
  Place place;
  place.column = (tile_x * kTileColumns + warp_x * 8) * 5;

  __syncthreads();  // the tile is staged

  #pragma unroll 1
  for (int row = warp_y; row < 8; row += 2) {
    #pragma unroll 1
    for (int i = 0; i < 5; ++i) {
      // The phases of kernel rows 0, 1, ..., which later ones repeat; then those without taps.
      place.row = (tile_y * 8 + row) * 5 + (floor_mod(2 * (i % 5) - 1) + i / 5) % 5;
      if (place.row < out_h) {
        Accumulators acc[5] = {};
        #pragma unroll 1
        for (int kh = i < 3 ? i : 3; kh < 3; kh += 5) {
          const int staged_row = row + -floor_div(2 * kh - 1);
          const float* x_row = x_thread + staged_row * kPitch;
          const float* weight_row = weight_thread + kh * 192;
          #pragma unroll 2
          for (int ci = 0; ci < kGroupIn; ++ci) {
            multiply_add(acc[4], x_row + 1, weight_row);    // taps (0 to 2, 0)
            multiply_add(acc[1], x_row, weight_row + 64);   // taps (0 to 2, 1)
            multiply_add(acc[3], x_row, weight_row + 128);  // taps (0 to 2, 2)
            x_row += kPlane;
            weight_row += 576;
          }
        }
        store_pixels(acc, y_image, place, lane_c, lane_x, out_w);
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

// Reads 16 bytes (aligned to 16) of global memory that nobody writes while the kernel runs, and keeps them in L1.
__device__ __forceinline__ uint4 load_constant_16(const void* from) {
  uint4 value;
  asm("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(from));
  return value;
}

// Writes 8 bytes (aligned to 8) to global memory in one instruction.
__device__ __forceinline__ void store_global_8(void* to, uint2 value) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(to), "r"(value.x), "r"(value.y) : "memory");
}

__device__ __forceinline__ float half_to_float(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

__device__ __forceinline__ unsigned short float_to_half(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

#endif

}  // namespace convtgen_direct_rows_forward_b953f969438a71d3_source
using convtgen_direct_rows_forward_b953f969438a71d3_source::convtgen_direct_rows_forward_b953f969438a71d3;
