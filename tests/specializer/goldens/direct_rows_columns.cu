// conv_transpose2d 32 -> 64; kernel 3x5; stride 2x3; padding 1x2; dilation 2x1; groups 4; input 16x128x256; bias; fuse relu; dtype f32; compute f32; layout nchw
// forward for sm_90a. Template direct_rows: a block makes 4x768 outputs of 8 channels; 15 taps; 60.5 KiB shared.
// Launch
//   sizes: batch 16, in_height 128, in_width 256; out_height 257, out_width 766
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 201586688 elements, written, 16-byte aligned
//     shape (N 16, Cout 64, H 257, W 766), contiguous
//   tensor x: 16777216 elements, read, 16-byte aligned
//     shape (N 16, Cin 32, H 128, W 256), contiguous
//   tensor weight: 7680 elements, read, 4-byte aligned
//     shape (Cin 32, Cout / groups 16, KH 3, KW 5), contiguous
//   tensor bias: 64 elements, read, 4-byte aligned
//     shape (Cout 64), contiguous
//   kernel convtgen_direct_rows_forward_45f77d07c4e3148f
//     arguments const float* x, const float* weight, const float* bias, float* y
//     grid 8320; block 128; shared 61952
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 61952)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 61952)

namespace convtgen_direct_rows_forward_45f77d07c4e3148f_source {

// ---- Constants ----

constexpr int kThreads = 128;
constexpr int kColumnStep = 32;
constexpr int kVectorsOfRow = 65;
constexpr int kPitch = 260;
constexpr long long kPlane = 1044ll;
constexpr int kRunLength = 768;
constexpr int kRunLanes = 32;  // that store a run
constexpr int kRunSums = 772;
constexpr int kExchanged = 772;  // sums of a warp's buffer

// ---- Shared memory and packed weights, in bytes ----

constexpr long long kWeightOffset = 8352ll;  // whole vectors
constexpr long long kExchangeOffset = 9312ll;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ void async_copy_4(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_wait_all();

#endif

__device__ int floor_div(int a) {
  return a >= 0 ? a / 2 : -((1 - a) / 2);
}

// ---- Staging ----

// Copies an element to shared memory asynchronously, or zero; `from` may be read in both cases.
__device__ __forceinline__ void copy_element(float* to, const float* from) {
  async_copy_4(to, from, 4);
}

// Puts a vector of a row's elements to shared memory as what products are added in, or zeros, as stage_element() does.
__device__ __forceinline__ void stage_vector(float* to, const float* from, bool is_inside, const float* legal) {
  async_copy_16(to, is_inside ? from : legal, is_inside ? 16 : 0);
}

// Copies the input of a tile with its halo to shared memory: zeros where the image or the channels end. `x` is the
// first channel that is staged; row and column are the first staged.
__device__ __forceinline__ void stage_input(float* __restrict__ planes, const float* __restrict__ x, int first_row) {
  #pragma unroll 8
  for (unsigned int i = threadIdx.x; i < 2080; i += kThreads) {
    const int channel = i / 260;
    const int row = i / kVectorsOfRow % 4;
    const int column = i % kVectorsOfRow * 4;
    const int iy = first_row + row;
    const bool is_inside = iy >= 0 && iy < 128 && column < 256;
    stage_vector(planes + (channel * 1044 + row * kPitch + column), x + ((channel * 128 + iy) * 256 + column),
                 is_inside, x);
  }
}

// Offset of the weight of a lane's channel among those of its warp for a tap: lanes read adjacent vectors.
__device__ __forceinline__ int weight_place(int lane, int channel) {
  return channel / 4 * 4 + lane * 4 + channel % 4;
}

// Copies the weights of a tile to shared memory, output channels innermost; zeros where the channels end. `weight` are
// those of the tile's first group, first_out the tile's first channel in it.
__device__ __forceinline__ void stage_weights(float* __restrict__ weights, const float* __restrict__ weight,
                                              int first_out) {
  #pragma unroll 8
  for (unsigned int i = threadIdx.x; i < 960; i += kThreads) {
    const int tap = i % 15;
    const int channel = i / 15 % 8;
    const int ci = i / 120;
    const int co = first_out + channel;
    const int of_warp = channel % 4;
    const int place = channel / 4 * 4 + weight_place(0, of_warp);
    const float* from = weight + ((ci * 16 + co) * 15 + tap);
    copy_element(weights + ((ci * 15 + tap) * 8 + place), from);
  }
}

// ---- Products ----

// One thread's accumulators for one column phase.
using Accumulators = float[4][8];

// One tap: positions of a staged row times one weight for each channel.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const float* x, const float* weights) {
  #pragma unroll
  for (int channel = 0; channel < 4; ++channel) {
    const float weight = weights[weight_place(0, channel)];
    #pragma unroll
    for (int column = 0; column < 8; ++column) {
      const int place = column * kColumnStep;
      acc[channel][column] = fma(x[place], weight, acc[channel][column]);
    }
  }
}

// ---- Epilogue ----

// Every step of the chain in its order.
__device__ __forceinline__ float activate(float value) {
  value = value < 0 ? 0 : value;  // relu
  return value;
}

// Adds the bias and applies the fuse chain, where the layer has them.
__device__ __forceinline__ float epilogue(float acc, float bias) {
  const float value = acc + bias;
  return activate(value);
}

// Writes as many adjacent elements as 16 bytes have as one vector, to which `to` is aligned.
__device__ __forceinline__ void store_16(float* to, const float* values) {
  store_global_16(to, make_uint4(__float_as_uint(values[0]), __float_as_uint(values[1]), __float_as_uint(values[2]),
                                 __float_as_uint(values[3])));
}

// How many elements after the start of a 16-byte vector this one lies.
__device__ __forceinline__ int skew_of(const float* element) {
  return static_cast<int>(reinterpret_cast<unsigned long long>(element) / 4 % 4);
}

// A warp's place in the output: the first channel and the end of the channels that it may write, the row, and the
// first column of its first position.
struct Place {
  int channel;
  int channel_end;
  int row;
};

// The first element of a run in the image `y`.
__device__ __forceinline__ float* run_start(float* __restrict__ y, const Place& place, int run) {
  return y + ((place.channel + run * 4) * 257 + place.row) * 766;
}

// The elements of a run that lie inside the output.
__device__ __forceinline__ int run_length(const Place& place, int run) {
  return place.channel + run * 4 < place.channel_end ? min(max(766, 0), kRunLength) : 0;
}

// What of a run is inside the output: elements before its first whole vector, whole vectors, elements after them.
struct Run {
  float* start;
  int head;
  int vectors;
  int ends;
};

__device__ __forceinline__ Run run_of(float* __restrict__ y, const Place& place, int run) {
  const int length = run_length(place, run);
  float* start = run_start(y, place, run);
  const int head = min((4 - skew_of(start)) % 4, length);
  const int vectors = (length - head) / 4;
  return {start, head, vectors, length - vectors * 4};
}

// Stores the runs of a warp: whole vectors, and the ends of a run element by element.
__device__ __forceinline__ void store_runs(const float* __restrict__ exchanged, float* __restrict__ y,
                                           const Place& place) {
  const int lane = threadIdx.x % 32;
  #pragma unroll 2
  for (int run = lane / kRunLanes; run < 1; ++run) {
    const Run of_run = run_of(y, place, run);
    const int skew = skew_of(of_run.start);
    const float* from = exchanged + (run * kRunSums + (skew > 0 ? 4 : 0));  // the first whole vector
    #pragma unroll
    for (int round = 0; round < 6; ++round) {
      const int i = lane % kRunLanes + round * kRunLanes;
      if (i < of_run.vectors) {
        store_16(of_run.start + (of_run.head + i * 4), from + i * 4);
      }
    }
    #pragma unroll 1
    for (int i = lane % kRunLanes; i < of_run.ends; i += kRunLanes) {
      const int element = i < of_run.head ? i : i + of_run.vectors * 4;
      of_run.start[element] = exchanged[run * kRunSums + skew + element];
    }
  }
}

// Stores a row without taps of each channel of a warp: bias alone, which waits for nothing.
__device__ __forceinline__ void fill_runs(float* __restrict__ y, const float* __restrict__ bias, const Place& place) {
  const int lane = threadIdx.x % 32;
  #pragma unroll
  for (int channel = 0; channel < 4; ++channel) {
    Place of_channel = place;
    of_channel.channel += channel;
    #pragma unroll 2
    for (int run = lane / kRunLanes; run < 1; ++run) {
      const int co = of_channel.channel + run * 4;
      const float value = epilogue(0, bias[co]);
      float values[4];
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        values[i] = value;
      }
      const Run of_run = run_of(y, of_channel, run);
      #pragma unroll
      for (int round = 0; round < 6; ++round) {
        const int i = lane % kRunLanes + round * kRunLanes;
        if (i < of_run.vectors) {
          store_16(of_run.start + (of_run.head + i * 4), values);
        }
      }
      #pragma unroll 1
      for (int i = lane % kRunLanes; i < of_run.ends; i += kRunLanes) {
        of_run.start[i < of_run.head ? i : i + of_run.vectors * 4] = value;
      }
    }
  }
}

// Stores a warp's accumulators as runs through `exchange`, which is the warp's own.
__device__ __forceinline__ void store_exchanged(const Accumulators (&acc)[3], float* __restrict__ exchange,
                                                float* __restrict__ y, const float* __restrict__ bias,
                                                const Place& place, int lane_c, int lane_x) {
  #pragma unroll
  for (int channel = 0; channel < 4; ++channel) {
    const int of_warp = lane_c * 4 + channel;
    const int co = place.channel + of_warp;
    const float bias_value = bias[co];
    Place of_channel = place;
    of_channel.channel += channel;
    float* buffer = exchange + channel % 2 * kExchanged;
    const int skew = skew_of(run_start(y, of_channel, lane_c));
    const int pixel = lane_x * 3;
    float* to = buffer + (skew + lane_c * kRunSums + pixel);
    #pragma unroll
    for (int column = 0; column < 8; ++column) {
      #pragma unroll
      for (int phase = 0; phase < 3; ++phase) {
        const int offset = column * 96 + phase;
        to[offset] = epilogue(acc[phase][channel][column], bias_value);
      }
    }
    __syncwarp();  // all lanes have written
    store_runs(buffer, y, of_channel);
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 3)
    convtgen_direct_rows_forward_45f77d07c4e3148f(const float* __restrict__ x, const float* __restrict__ weight,
                                                  const float* __restrict__ bias, float* __restrict__ y) {
  // The block's place: channels vary fastest, so that blocks which read the same input run together.
  const int block = blockIdx.x;
  const int channel_tile = block % 8;
  const int tile = block / 8;
  const int tile_y = tile % 65;
  const int image = tile / 65;
  const int group = channel_tile / 2;
  const int first_in_group = channel_tile % 2 * 8;
  const int first_out = group * 16 + first_in_group;
  const int channel_end = (group + 1) * 16;

  // Bases are 64-bit; every offset from them fits its type.
  const long long image_channel = static_cast<long long>(image) * 32;
  const float* x_group = x + (image_channel + group * 8) * 32768;
  const float* weight_group = weight + static_cast<long long>(group) * 1920;
  float* y_image = y + static_cast<long long>(image) * 12599168;

  float* shared = static_cast<float*>(shared_memory());
  float* weights = shared + kWeightOffset;
  stage_input(shared, x_group, tile_y * 2 - 1);
  stage_weights(weights, weight_group, first_in_group);
  // The thread's place: its warp in the block, and its lane along channels and columns.
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int warp_c = warp % 2;
  const int warp_y = warp / 2;
  const int lane_c = lane / 32;
  const int lane_x = lane % 32;
  const float* x_thread = shared + lane_x;
  const float* weight_thread = weights + (warp_c * 4 + weight_place(lane_c, 0));
  float* exchange = shared + (kExchangeOffset + warp * 1544);
  Place place;
  place.channel = first_out + warp_c * 4;
  place.channel_end = channel_end;

  #pragma unroll 1
  for (int row = warp_y; row < 2; row += 2) {
    place.row = (tile_y * 2 + row) * 2;
    if (place.row < 257) {
      fill_runs(y_image, bias, place);
    }
  }
  async_copy_wait_all();
  __syncthreads();  // the tile is staged

  #pragma unroll 1
  for (int row = warp_y; row < 2; row += 2) {
    // The phases of kernel rows 0, 1, ..., which later ones repeat; then those without taps.
    place.row = (tile_y * 2 + row) * 2 + 1;
    if (place.row < 257) {
      Accumulators acc[3] = {};
      #pragma unroll 1
      for (int kh = 0; kh < 3; ++kh) {
        const int staged_row = row + -floor_div(2 * kh - 1) + 1;
        const float* x_row = x_thread + staged_row * kPitch;
        const float* weight_row = weight_thread + kh * 40;
        #pragma unroll 2
        for (int ci = 0; ci < 8; ++ci) {
          multiply_add(acc[1], x_row + 1, weight_row);      // taps (0 to 2, 0)
          multiply_add(acc[2], x_row + 1, weight_row + 8);  // taps (0 to 2, 1)
          multiply_add(acc[0], x_row, weight_row + 16);     // taps (0 to 2, 2)
          multiply_add(acc[1], x_row, weight_row + 24);     // taps (0 to 2, 3)
          multiply_add(acc[2], x_row, weight_row + 32);     // taps (0 to 2, 4)
          x_row += kPlane;
          weight_row += 120;
        }
      }
      store_exchanged(acc, exchange, y_image, bias, place, lane_c, lane_x);
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

// Copies `bytes` (0 to 4) from global to shared memory and writes zeros for the rest of 4.
__device__ __forceinline__ void async_copy_4(void* to, const void* from, unsigned int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
}

// Copies `bytes` (0 to 16) from global to shared memory and writes zeros for the rest of 16; aligned to 16. Not in L1.
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
}

// Waits for all copies of this thread, in groups or not.
__device__ __forceinline__ void async_copy_wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

#endif

}  // namespace convtgen_direct_rows_forward_45f77d07c4e3148f_source
using convtgen_direct_rows_forward_45f77d07c4e3148f_source::convtgen_direct_rows_forward_45f77d07c4e3148f;
