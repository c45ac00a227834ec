// conv_transpose2d 32 -> 64; kernel 3x5; stride 2x3; padding 1x2; dilation 2x1; groups 4; input 16x128x256; bias; fuse relu; dtype f16; compute f16; layout nhwc
// forward for sm_90a. Template mma_rows: a block makes 8x384 outputs of 32 channels; 15 taps; 63.4 KiB shared.
// Launch
//   sizes: batch 16, in_height 128, in_width 256; out_height 257, out_width 766
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 201586688 elements, written, 16-byte aligned
//     shape (N 16, H 257, W 766, Cout 64), contiguous
//   tensor x: 16777216 elements, read, 16-byte aligned
//     shape (N 16, H 128, W 256, Cin 32), contiguous
//   tensor weight: 7680 elements, read, 2-byte aligned
//     shape (Cin 32, Cout / groups 16, KH 3, KW 5), contiguous
//   tensor bias: 64 elements, read, 2-byte aligned
//     shape (Cout 64), contiguous
//   kernel convtgen_mma_rows_forward_ea5c1cfe719cf26c
//     arguments const unsigned short* x, const unsigned short* weight, const unsigned short* bias, unsigned short* y
//     grid 2112; block 256; shared 64960
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64960)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 64960)

namespace convtgen_mma_rows_forward_ea5c1cfe719cf26c_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kTileColumns = 128;
constexpr int kTileChannels = 32;
constexpr int kStagedColumns = 129;
constexpr int kUnitPixels = 780;  // from unit to unit
constexpr int kStepWords = 256;   // two of each lane
constexpr int kPixelPitch = 40;   // elements
constexpr int kExchanged = 1920;  // elements of a warp

// ---- Shared memory and packed weights, in bytes ----

constexpr long long kWeightOffset = 24960ll;
constexpr long long kEmptyOffset = 34176ll;
constexpr long long kExchangeOffset = 34240ll;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_wait_all();
__device__ __forceinline__ void matrix_load_x2(unsigned int (&values)[2], const void* row);
__device__ __forceinline__ void matrix_load_x4(unsigned int (&values)[4], const void* row);
__device__ __forceinline__ void mma_k16_f16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);
__device__ __forceinline__ void mma_k8_f16(float (&d)[4], const unsigned int (&a)[2], unsigned int b);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned short float_to_half(float value);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);

#endif

__device__ int floor_div(int a) {
  return a >= 0 ? a / 2 : -((1 - a) / 2);
}

// ---- Staging ----

// Copies the input of a tile with its halo to shared memory: zeros where the image ends.
// `x` is the first channel that is staged; row and column are the first staged.
__device__ __forceinline__ void stage_input(unsigned char* __restrict__ staged, const unsigned short* __restrict__ x,
                                            int first_row, int first_column) {
  #pragma unroll 4
  for (int i = threadIdx.x; i < 1548; i += kThreads) {
    const int unit = i % 2;
    const int pixel = i / 2;
    const int iy = first_row + pixel / kStagedColumns;
    const int ix = first_column + pixel % kStagedColumns;
    const bool is_inside = iy >= 0 && iy < 128 && ix < 256;
    const unsigned short* from = x + ((iy * 256 + ix) * 32 + unit * 8);
    async_copy_16(staged + 16 * (unit * kUnitPixels + pixel), is_inside ? from : x, is_inside ? 16 : 0);
  }
}

// Where a weight lies among those of the tile, in elements: by kernel rows, steps, products, then as a lane holds them.
__device__ __forceinline__ int weight_place(int ci, int channel, int tap) {
  const int kh = tap / 5;
  const int kw = tap % 5;
  const int step = kw % 3;
  const int half = kw / 3;
  const int lane = channel % 8 * 4 + ci % 8 / 2;
  return ((kh * 3 + step) * kStepWords + channel / 8 * 64 + lane * 2 + half) * 2 + ci % 2;
}

// Copies the weights of a tile to shared memory. `weight` are those of the tile's first group, first_out the tile's
// first channel in it.
__device__ __forceinline__ void stage_weights(unsigned short* __restrict__ weights,
                                              const unsigned short* __restrict__ weight) {
  #pragma unroll 8
  for (int i = threadIdx.x; i < 3840; i += kThreads) {
    const int tap = i % 15;
    const int channel = i / 15 % kTileChannels;
    const int ci = i / 480;
    const int group = channel / 16;
    const int co = channel % 16;
    weights[weight_place(ci, channel, tap)] = weight[((group * 8 + ci) * 16 + co) * 15 + tap];
  }
}

// ---- Products ----

// One thread's accumulators: of each column phase and each product.
using Accumulators = float[3][2][4];

// 16 channels, or 8 of two taps.
__device__ __forceinline__ void multiply_add(float (&acc)[2][4], const unsigned int (&a)[4],
                                             const unsigned int* weights) {
  #pragma unroll
  for (int product = 0; product < 2; ++product) {
    const uint2 words = *reinterpret_cast<const uint2*>(weights + product * 64);
    const unsigned int b[2] = {words.x, words.y};
    mma_k16_f16(acc[product], a, b);
  }
}

// 8 channels of one tap.
__device__ __forceinline__ void multiply_add_unit(float (&acc)[2][4], const unsigned int (&a)[2],
                                                  const unsigned int* weights) {
  #pragma unroll
  for (int product = 0; product < 2; ++product) {
    mma_k8_f16(acc[product], a, weights[product * 64]);
  }
}

// One kernel row. `x` is the staged pixel of this lane at the least offset of columns, 0, and its first
// unit of the group; `weights` are the lane's own of the row.
__device__ __forceinline__ void multiply_row(Accumulators& acc, const unsigned char* x, const unsigned int* weights,
                                             int lane) {
  const unsigned char* x_unit = x;
  const unsigned char* x_taps = x_unit - lane / 16 * 16;
  unsigned int a[4];
  matrix_load_x4(a, x_taps + 16);
  // taps (0 to 2, 0) (0 to 2, 3)
  multiply_add(acc[1], a, weights);
  // taps (0 to 2, 1) (0 to 2, 4)
  multiply_add(acc[2], a, weights + 256);
  {
    unsigned int alone[2];
    matrix_load_x2(alone, x_unit);
    // taps (0 to 2, 2)
    multiply_add_unit(acc[0], alone, weights + 512);
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

// Puts accumulators to what a warp exchanges: by column phases, positions and channels. `exchange` is the lane's own
// place for its first channels; `bias` are those of these.
__device__ __forceinline__ void write_exchanged(const Accumulators& acc, unsigned short* __restrict__ exchange,
                                                const unsigned short* __restrict__ bias) {
  #pragma unroll
  for (int product = 0; product < 2; ++product) {
    const float low = half_to_float(bias[product * 8]);
    const float high = half_to_float(bias[product * 8 + 1]);
    {
      unsigned short* to = exchange + product * 8;
      *reinterpret_cast<unsigned int*>(to) =
          floats_to_half2(epilogue(acc[0][product][0], low), epilogue(acc[0][product][1], high));
      *reinterpret_cast<unsigned int*>(to + 320) =
          floats_to_half2(epilogue(acc[0][product][2], low), epilogue(acc[0][product][3], high));
    }
    {
      unsigned short* to = exchange + (640 + product * 8);
      *reinterpret_cast<unsigned int*>(to) =
          floats_to_half2(epilogue(acc[1][product][0], low), epilogue(acc[1][product][1], high));
      *reinterpret_cast<unsigned int*>(to + 320) =
          floats_to_half2(epilogue(acc[1][product][2], low), epilogue(acc[1][product][3], high));
    }
    {
      unsigned short* to = exchange + (1280 + product * 8);
      *reinterpret_cast<unsigned int*>(to) =
          floats_to_half2(epilogue(acc[2][product][0], low), epilogue(acc[2][product][1], high));
      *reinterpret_cast<unsigned int*>(to + 320) =
          floats_to_half2(epilogue(acc[2][product][2], low), epilogue(acc[2][product][3], high));
    }
  }
}

// Stores a warp's row of outputs, of so many columns of the image: whole vectors. `y` is the first.
__device__ __forceinline__ void store_row(const unsigned short* __restrict__ exchange, unsigned short* __restrict__ y,
                                          int columns, int lane) {
  #pragma unroll 4
  for (int i = lane; i < 192; i += 32) {
    const int column = i / 4;
    const int vector = i % 4;
    if (column < columns) {
      const unsigned short* from = exchange + ((column % 3 * 16 + column / 3) * kPixelPitch + vector * 8);
      store_global_16(y + (column * 64 + vector * 8), *reinterpret_cast<const uint4*>(from));
    }
  }
}

// The same of a row phase without taps.
__device__ __forceinline__ void store_empty_row(const unsigned short* __restrict__ empty,
                                                unsigned short* __restrict__ y, int columns, int lane) {
  #pragma unroll 4
  for (int i = lane; i < 192; i += 32) {
    const int column = i / 4;
    const int vector = i % 4;
    if (column < columns) {
      store_global_16(y + (column * 64 + vector * 8), *reinterpret_cast<const uint4*>(empty + vector * 8));
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 3)
    convtgen_mma_rows_forward_ea5c1cfe719cf26c(const unsigned short* __restrict__ x,
                                               const unsigned short* __restrict__ weight,
                                               const unsigned short* __restrict__ bias,
                                               unsigned short* __restrict__ y) {
  // The block's place: channels vary fastest, so that blocks which read the same input run together.
  const int block = blockIdx.x;
  const int channel_tile = block % 2;
  const int tile = block / 2;
  const int tile_x = tile % 2;
  const int tile_y = tile / 2 % 33;
  const int image = tile / 66;
  const int group = channel_tile * 2;
  const int first_out = group * 16;

  // Bases are 64-bit; every offset from them fits its type.
  const unsigned short* x_group = x + (static_cast<long long>(image) * 1048576 + group * 8);
  const unsigned short* weight_group = weight + static_cast<long long>(group) * 1920;
  unsigned short* y_image = y + (static_cast<long long>(image) * 12599168 + first_out);

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned short* empty = reinterpret_cast<unsigned short*>(shared + kEmptyOffset);
  stage_input(shared, x_group, tile_y * 4 - 1, tile_x * kTileColumns);
  stage_weights(reinterpret_cast<unsigned short*>(shared + kWeightOffset), weight_group);
  #pragma unroll 1
  for (int channel = threadIdx.x; channel < kTileChannels; channel += kThreads) {
    empty[channel] = float_to_half(epilogue(0, half_to_float(bias[first_out + channel])));
  }
  async_copy_wait_all();
  __syncthreads();  // the tile is staged

  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  unsigned short* exchange = reinterpret_cast<unsigned short*>(shared + kExchangeOffset) + warp * kExchanged;
  unsigned short* exchange_lane = exchange + (lane / 4 * kPixelPitch + lane % 4 * 2);
  const unsigned int* weight_lane = reinterpret_cast<const unsigned int*>(shared + kWeightOffset) + lane * 2;

  #pragma unroll 1
  for (int item = warp; item < 32; item += 8) {
    const int row = item / 8;
    const int column = item % 8 * 16;
    const int first_column = (tile_x * kTileColumns + column) * 3;
    const int columns = 766 - first_column;
    const unsigned char* x_lane = shared + 16 * (row * kStagedColumns + column + lane % 16);
    #pragma unroll 1
    for (int i = 0; i < 2; ++i) {
      // The phases of kernel rows 0, 1, ..., which later ones repeat; then those without taps.
      const int y_row = (tile_y * 4 + row) * 2 + (1 + i) % 2;
      if (y_row < 257) {
        unsigned short* to = y_image + (y_row * 766 + first_column) * 64;
        if (i < 1) {
          #pragma unroll 1
          for (int part = 0; part < 2; ++part) {
            const int product = part * 2;
            const int unit = product * 8 / 16;
            Accumulators acc = {};
            #pragma unroll 1
            for (int kh = i; kh < 3; ++kh) {
              const int offset_h = -floor_div(2 * kh - 1);
              multiply_row(acc, x_lane + 16 * ((offset_h + 1) * kStagedColumns + unit * kUnitPixels),
                           weight_lane + (kh * 768 + product * 64), lane);
            }
            write_exchanged(acc, exchange_lane + product * 8, bias + (first_out + product * 8 + lane % 4 * 2));
          }
          __syncwarp();  // all lanes have written
          store_row(exchange, to, columns, lane);
          __syncwarp();  // all lanes have read what is written next
        } else {
          store_empty_row(empty, to, columns, lane);
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

// Copies `bytes` (0 to 16) from global to shared memory and writes zeros for the rest of 16; aligned to 16. Not in L1.
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
}

// Waits for all copies of this thread, in groups or not.
__device__ __forceinline__ void async_copy_wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// Reads two matrices.
__device__ __forceinline__ void matrix_load_x2(unsigned int (&values)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(values[0]), "=r"(values[1])
               : "r"(shared_address(row))
               : "memory");
}

// Reads four matrices.
__device__ __forceinline__ void matrix_load_x4(unsigned int (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared_address(row))
               : "memory");
}

// K = 16, f16.
__device__ __forceinline__ void mma_k16_f16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// K = 8, f16.
__device__ __forceinline__ void mma_k8_f16(float (&d)[4], const unsigned int (&a)[2], unsigned int b) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(b));
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

// Two floats to f16, nearest even, `low` in the low half. Every NaN becomes 0x7fff. sm_80 and later.
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high) {
  unsigned int bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

#endif

}  // namespace convtgen_mma_rows_forward_ea5c1cfe719cf26c_source
using convtgen_mma_rows_forward_ea5c1cfe719cf26c_source::convtgen_mma_rows_forward_ea5c1cfe719cf26c;
