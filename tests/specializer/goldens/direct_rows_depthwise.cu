// conv_transpose1d 512 -> 512; kernel 4; stride 2; groups 512; input 32x256; dtype f16; compute f16; layout nhwc
// forward for sm_90a. Template direct_rows: a block makes 1x32 outputs of 128 channels; 4 taps; 12.0 KiB shared.
// Launch
//   sizes: batch 32, in_width 256; out_width 514
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 8421376 elements, written, 16-byte aligned
//     shape (N 32, W 514, Cout 512), contiguous
//   tensor x: 4194304 elements, read, 16-byte aligned
//     shape (N 32, W 256, Cin 512), contiguous
//   tensor weight: 2048 elements, read, 2-byte aligned
//     shape (Cin 512, Cout / groups 1, KW 4), contiguous
//   kernel convtgen_direct_rows_forward_0d874afeb3017242
//     arguments const unsigned short* x, const unsigned short* weight, unsigned short* y
//     grid 2176; block 64; shared 12288

namespace convtgen_direct_rows_forward_0d874afeb3017242_source {

// ---- Constants ----

constexpr int kThreads = 64;
constexpr int kWarpChannels = 64;
constexpr int kTileChannels = 128;
constexpr int kTileGroups = 128;
constexpr int kStagedColumns = 17;
constexpr int kPitch = 20;
constexpr long long kPlane = 20ll;
constexpr int kVectorStep = 320;

// ---- Shared memory and packed weights, in bytes ----

constexpr long long kWeightOffset = 2560ll;  // whole vectors

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ uint4 load_constant_16(const void* from);
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned short float_to_half(float value);

#endif

// ---- Staging ----

// Puts an element to shared memory as what products are added in. Asynchronously, the block waits for it later.
__device__ __forceinline__ void stage_element(float* to, const unsigned short* from) {
  *to = half_to_float(*from);
}

// Copies the input of a tile with its halo to shared memory: zeros where the image or the channels end. `x` is the
// first channel that is staged; row and column are the first staged.
__device__ __forceinline__ void stage_input(float* __restrict__ planes, const unsigned short* __restrict__ x,
                                            int first_column) {
  #pragma unroll 4
  for (unsigned int i = threadIdx.x; i < 272; i += kThreads) {
    const int channel = i % 16 * 8;
    const int row = i / 272;
    const int column = i / 16 % kStagedColumns;
    const int ix = first_column + column;
    uint4 elements = make_uint4(0, 0, 0, 0);
    if (row < 1 && ix >= 0 && ix < 256) {
      elements = load_constant_16(x + ((row * 256 + ix) * 512 + channel));
    }
    const unsigned int words[4] = {elements.x, elements.y, elements.z, elements.w};
    const int plane = channel / 8;
    float* to = planes + (plane * 20 + row * kPitch + column);
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
      to[2 * k * kVectorStep] = half_to_float(static_cast<unsigned short>(words[k]));
      to[(2 * k + 1) * kVectorStep] = half_to_float(static_cast<unsigned short>(words[k] >> 16));
    }
  }
}

// Offset of the weight of a lane's channel among those of its warp for a tap: lanes read adjacent vectors.
__device__ __forceinline__ int weight_place(int lane, int channel) {
  return channel / 4 * 32 + lane * 4 + channel % 4;
}

// Copies the weights of a tile to shared memory, output channels innermost; zeros where the channels end. `weight` are
// those of the tile's first group, first_out the tile's first channel in it.
__device__ __forceinline__ void stage_weights(float* __restrict__ weights, const unsigned short* __restrict__ weight) {
  #pragma unroll 8
  for (unsigned int i = threadIdx.x; i < 512; i += kThreads) {
    const int tap = i % 4;
    const int channel = i / 4 % kTileChannels;
    const int ci = i / 512;
    const int of_warp = channel % kWarpChannels;
    const int place = channel / kWarpChannels * kWarpChannels + weight_place(of_warp / 8, of_warp % 8);
    const unsigned short* from = weight + ((channel + ci) * 4 + tap);
    stage_element(weights + ((ci * 4 + tap) * kTileChannels + place), from);
  }
}

// ---- Products ----

// One thread's accumulators for one column phase.
using Accumulators = float[8][4];

// One tap: positions of a staged row times one weight for each channel.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const float* x, const float* weights) {
  #pragma unroll
  for (int channel = 0; channel < 8; ++channel) {
    const float weight = weights[weight_place(0, channel)];
    #pragma unroll
    for (int column = 0; column < 4; ++column) {
      const int place = channel * kVectorStep + column;
      acc[channel][column] = fma(x[place], weight, acc[channel][column]);
    }
  }
}

// ---- Epilogue ----

// Two 16-bit elements in a word.
__device__ __forceinline__ unsigned int word_of(float low, float high) {
  return static_cast<unsigned int>(float_to_half(low)) | (static_cast<unsigned int>(float_to_half(high)) << 16);
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

// Stores a thread's accumulators, channels last: its adjacent channels of each pixel as vectors.
__device__ __forceinline__ void store_pixels(const Accumulators (&acc)[2], unsigned short* __restrict__ y,
                                             const Place& place, int lane_c, int lane_x) {
  const int co = place.channel + lane_c * 8;
  const int first = place.column + lane_x * 8;
  unsigned short* pixels = y + ((place.row * 514 + first) * 512 + co);
  #pragma unroll
  for (int column = 0; column < 4; ++column) {
    #pragma unroll
    for (int phase = 0; phase < 2; ++phase) {
      const int offset = column * 2 + phase;
      if (first + offset < 514) {
        unsigned short* to = pixels + offset * 512;
        float values[8];
        #pragma unroll
        for (int channel = 0; channel < 8; ++channel) {
          values[channel] = acc[phase][channel][column];
        }
        store_16(to, values);
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 9)
    convtgen_direct_rows_forward_0d874afeb3017242(const unsigned short* __restrict__ x,
                                                  const unsigned short* __restrict__ weight,
                                                  unsigned short* __restrict__ y) {
  // The block's place: channels vary fastest, so that blocks which read the same input run together.
  const int block = blockIdx.x;
  const int channel_tile = block % 4;
  const int tile = block / 4;
  const int tile_x = tile % 17;
  const int image = tile / 17;
  const int group = channel_tile * kTileGroups;

  // Bases are 64-bit; every offset from them fits its type.
  const long long image_channel = static_cast<long long>(image) * 512;
  const unsigned short* x_group = x + (image_channel * 256 + group);
  const unsigned short* weight_group = weight + static_cast<long long>(group) * 4;
  unsigned short* y_image = y + static_cast<long long>(image) * 263168;

  float* shared = static_cast<float*>(shared_memory());
  float* weights = shared + kWeightOffset;
  stage_input(shared, x_group, tile_x * 16 - 1);
  stage_weights(weights, weight_group);
  // The thread's place: its warp in the block, and its lane along channels and columns.
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int warp_c = warp % 2;
  const int warp_y = warp / 2;
  const int lane_c = lane % 8;
  const int lane_x = lane / 8;
  const int column = lane_x * 4;
  const int of_warp = warp_c * kWarpChannels + lane_c * 8;
  const int plane = of_warp / 8;
  const float* x_thread = shared + (plane * 20 + column);
  const float* weight_thread = weights + (warp_c * kWarpChannels + weight_place(lane_c, 0));
  Place place;
  place.channel = group + warp_c * kWarpChannels;
  place.column = tile_x * 32;

  __syncthreads();  // the tile is staged

  #pragma unroll 1
  for (int row = warp_y; row < 1; ++row) {
    // The phases of kernel rows 0, 1, ..., which later ones repeat; then those without taps.
    place.row = row;
    if (place.row < 1) {
      Accumulators acc[2] = {};
      const float* x_row = x_thread + row * kPitch;
      const float* weight_row = weight_thread;
      multiply_add(acc[0], x_row + 1, weight_row);        // taps (0 to 0, 0)
      multiply_add(acc[1], x_row + 1, weight_row + 128);  // taps (0 to 0, 1)
      multiply_add(acc[0], x_row, weight_row + 256);      // taps (0 to 0, 2)
      multiply_add(acc[1], x_row, weight_row + 384);      // taps (0 to 0, 3)
      x_row += kPlane;
      weight_row += 512;
      store_pixels(acc, y_image, place, lane_c, lane_x);
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

// Writes 16 bytes (aligned to 16) to global memory in one instruction.
__device__ __forceinline__ void store_global_16(void* to, uint4 value) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
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

}  // namespace convtgen_direct_rows_forward_0d874afeb3017242_source
using convtgen_direct_rows_forward_0d874afeb3017242_source::convtgen_direct_rows_forward_0d874afeb3017242;
