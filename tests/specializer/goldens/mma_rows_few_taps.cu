// conv_transpose2d 32 -> 64; kernel 3x3; stride 5x5; padding 1x1; dilation 2x2; dtype bf16; compute bf16; layout nhwc
// forward for sm_80. Template mma_rows: a block makes 80x160 outputs of 64 channels; 9 taps; 161.8 KiB shared.
// Launch
//   sizes: batch, in_height, in_width; out_height = 5 * in_height - 2, out_width = 5 * in_width - 2
//   compile: nvcc -gencode arch=compute_80,code=sm_80
//   tensor y: 64 * batch * out_height * out_width elements, written, 16-byte aligned
//     shape (N batch, H out_height, W out_width, Cout 64), contiguous
//   tensor x: 32 * batch * in_height * in_width elements, read, 16-byte aligned
//     shape (N batch, H in_height, W in_width, Cin 32), contiguous
//   tensor weight: 18432 elements, read, 2-byte aligned
//     shape (Cin 32, Cout 64, KH 3, KW 3), contiguous
//   kernel convtgen_mma_rows_forward_b3440010e652b4f7
//     arguments const unsigned short* x, const unsigned short* weight, unsigned short* y, int in_height, int in_width
//     grid ceil(out_height / 80) * ceil(out_width / 160) * batch; block 256; shared 165632
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 165632)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 165632)
//     at most out_height 2147483567, in_height 429496714, out_width 2147483487, in_width 429496698

namespace convtgen_mma_rows_forward_b3440010e652b4f7_source {

// ---- Constants ----

constexpr int kThreads = 256;
constexpr int kTileColumns = 32;
constexpr int kTileChannels = 64;
constexpr int kGroupOut = 64;
constexpr int kStagedColumns = 33;
constexpr int kUnitPixels = 570;  // from unit to unit
constexpr int kStepWords = 512;   // two of each lane
constexpr int kPixelPitch = 72;   // elements
constexpr int kExchanged = 5760;  // elements of a warp

// ---- Shared memory and packed weights, in bytes ----

constexpr long long kWeightOffset = 36480ll;
constexpr long long kEmptyOffset = 73344ll;
constexpr long long kExchangeOffset = 73472ll;

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void store_global_16(void* to, uint4 value);
__device__ __forceinline__ void async_copy_16(void* to, const void* from, unsigned int bytes);
__device__ __forceinline__ void async_copy_wait_all();
__device__ __forceinline__ void matrix_load_x4(unsigned int (&values)[4], const void* row);
__device__ __forceinline__ void mma_k16_bf16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);
__device__ __forceinline__ unsigned short float_to_bfloat16(float value);
__device__ __forceinline__ unsigned int floats_to_bfloat162(float low, float high);

#endif

__device__ int floor_div(int a) {
  return a >= 0 ? a / 5 : -((4 - a) / 5);
}

__device__ int floor_mod(int a) {
  return a - 5 * (a >= 0 ? a / 5 : -((4 - a) / 5));
}

// ---- Staging ----

// Copies the input of a tile with its halo to shared memory: zeros where the image ends.
// `x` is the first channel that is staged; row and column are the first staged.
__device__ __forceinline__ void stage_input(unsigned char* __restrict__ staged, const unsigned short* __restrict__ x,
                                            int first_row, int first_column, int in_h, int in_w) {
  #pragma unroll 4
  for (int i = threadIdx.x; i < 2244; i += kThreads) {
    const int unit = i % 4;
    const int pixel = i / 4;
    const int iy = first_row + pixel / kStagedColumns;
    const int ix = first_column + pixel % kStagedColumns;
    const bool is_inside = iy < in_h && ix < in_w;
    const unsigned short* from = x + ((static_cast<long long>(iy) * in_w + ix) * 32 + unit * 8);
    async_copy_16(staged + 16 * (unit * kUnitPixels + pixel), is_inside ? from : x, is_inside ? 16 : 0);
  }
}

// Where a weight lies among those of the tile, in elements: by kernel rows, steps, products, then as a lane holds them.
__device__ __forceinline__ int weight_place(int ci, int channel, int tap) {
  const int kh = tap / 3;
  const int kw = tap % 3;
  const int unit = ci / 8;
  const int step = unit / 2 * 3 + kw;
  const int half = unit % 2;
  const int lane = channel % 8 * 4 + ci % 8 / 2;
  return ((kh * 6 + step) * kStepWords + channel / 8 * 64 + lane * 2 + half) * 2 + ci % 2;
}

// Copies the weights of a tile to shared memory. `weight` are those of the tile's first group, first_out the tile's
// first channel in it.
__device__ __forceinline__ void stage_weights(unsigned short* __restrict__ weights,
                                              const unsigned short* __restrict__ weight) {
  #pragma unroll 8
  for (int i = threadIdx.x; i < 18432; i += kThreads) {
    const int tap = i % 9;
    const int channel = i / 9 % kTileChannels;
    const int ci = i / 576;
    weights[weight_place(ci, channel, tap)] = weight[(static_cast<long long>(ci) * kGroupOut + channel) * 9 + tap];
  }
}

// ---- Products ----

// One thread's accumulators: of each column phase and each product.
using Accumulators = float[5][4][4];

// 16 channels, or 8 of two taps.
__device__ __forceinline__ void multiply_add(float (&acc)[4][4], const unsigned int (&a)[4],
                                             const unsigned int* weights) {
  #pragma unroll
  for (int product = 0; product < 4; ++product) {
    const uint2 words = *reinterpret_cast<const uint2*>(weights + product * 64);
    const unsigned int b[2] = {words.x, words.y};
    mma_k16_bf16(acc[product], a, b);
  }
}

// One kernel row. `x` is the staged pixel of this lane at the least offset of columns, 0, and its first
// unit of the group; `weights` are the lane's own of the row.
__device__ __forceinline__ void multiply_row(Accumulators& acc, const unsigned char* x, const unsigned int* weights,
                                             int lane) {
  const unsigned char* x_pair = x + lane / 16 * 9120;
  const unsigned int* of_pair = weights;
  #pragma unroll 1
  for (int k_step = 0; k_step < 2; ++k_step) {
    unsigned int a[4];
    matrix_load_x4(a, x_pair + 16);
    multiply_add(acc[4], a, of_pair);  // taps (0 to 2, 0)
    matrix_load_x4(a, x_pair);
    multiply_add(acc[1], a, of_pair + 512);   // taps (0 to 2, 1)
    multiply_add(acc[3], a, of_pair + 1024);  // taps (0 to 2, 2)
    x_pair += 18240;
    of_pair += 1536;
  }
}

// ---- Epilogue ----

// Puts accumulators to what a warp exchanges: by column phases, positions and channels. `exchange` is the lane's own
// place for its first channels.
__device__ __forceinline__ void write_exchanged(const Accumulators& acc, unsigned short* __restrict__ exchange) {
  #pragma unroll
  for (int product = 0; product < 4; ++product) {
    {
      unsigned short* to = exchange + (1152 + product * 8);
      *reinterpret_cast<unsigned int*>(to) = floats_to_bfloat162(acc[1][product][0], acc[1][product][1]);
      *reinterpret_cast<unsigned int*>(to + 576) = floats_to_bfloat162(acc[1][product][2], acc[1][product][3]);
    }
    {
      unsigned short* to = exchange + (3456 + product * 8);
      *reinterpret_cast<unsigned int*>(to) = floats_to_bfloat162(acc[3][product][0], acc[3][product][1]);
      *reinterpret_cast<unsigned int*>(to + 576) = floats_to_bfloat162(acc[3][product][2], acc[3][product][3]);
    }
    {
      unsigned short* to = exchange + (4608 + product * 8);
      *reinterpret_cast<unsigned int*>(to) = floats_to_bfloat162(acc[4][product][0], acc[4][product][1]);
      *reinterpret_cast<unsigned int*>(to + 576) = floats_to_bfloat162(acc[4][product][2], acc[4][product][3]);
    }
  }
}

// Writes the outputs of phases without taps, which stay, to what a warp exchanges.
__device__ __forceinline__ void write_empty(unsigned short* __restrict__ exchange,
                                            const unsigned short* __restrict__ empty, int lane) {
  #pragma unroll 1
  for (int i = lane; i < 128; i += 32) {
    *reinterpret_cast<uint4*>(exchange + (i / 8 * kPixelPitch + i % 8 * 8)) =
        *reinterpret_cast<const uint4*>(empty + i % 8 * 8);
  }
  #pragma unroll 1
  for (int i = lane; i < 128; i += 32) {
    *reinterpret_cast<uint4*>(exchange + ((32 + i / 8) * kPixelPitch + i % 8 * 8)) =
        *reinterpret_cast<const uint4*>(empty + i % 8 * 8);
  }
}

// Stores a warp's row of outputs, of so many columns of the image: whole vectors. `y` is the first.
__device__ __forceinline__ void store_row(const unsigned short* __restrict__ exchange, unsigned short* __restrict__ y,
                                          int columns, int lane) {
  #pragma unroll 4
  for (int i = lane; i < 640; i += 32) {
    const int column = i / 8;
    const int vector = i % 8;
    if (column < columns) {
      const unsigned short* from = exchange + ((column % 5 * 16 + column / 5) * kPixelPitch + vector * 8);
      store_global_16(y + (column * 64 + vector * 8), *reinterpret_cast<const uint4*>(from));
    }
  }
}

// The same of a row phase without taps.
__device__ __forceinline__ void store_empty_row(const unsigned short* __restrict__ empty,
                                                unsigned short* __restrict__ y, int columns, int lane) {
  #pragma unroll 4
  for (int i = lane; i < 640; i += 32) {
    const int column = i / 8;
    const int vector = i % 8;
    if (column < columns) {
      store_global_16(y + (column * 64 + vector * 8), *reinterpret_cast<const uint4*>(empty + vector * 8));
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_mma_rows_forward_b3440010e652b4f7(const unsigned short* __restrict__ x,
                                               const unsigned short* __restrict__ weight,
                                               unsigned short* __restrict__ y, int height, int width) {
  const int out_h = (height - 1) * 5 + 3;
  const int out_w = (width - 1) * 5 + 3;
  const int tiles_y = (out_h + 79) / 80;
  const int tiles_x = (out_w + 159) / 160;

  // The block's place: channels vary fastest, so that blocks which read the same input run together.
  const int block = blockIdx.x;
  const int tile_x = block % tiles_x;
  const int tile_y = block / tiles_x % tiles_y;
  const int image = block / tiles_x / tiles_y;

  // Bases are 64-bit; every offset from them fits its type.
  const unsigned short* x_group = x + static_cast<long long>(image) * 32 * (static_cast<long long>(height) * width);
  unsigned short* y_image = y + static_cast<long long>(image) * 64 * (static_cast<long long>(out_h) * out_w);

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  unsigned short* empty = reinterpret_cast<unsigned short*>(shared + kEmptyOffset);
  stage_input(shared, x_group, tile_y * 16, tile_x * kTileColumns, height, width);
  stage_weights(reinterpret_cast<unsigned short*>(shared + kWeightOffset), weight);
  #pragma unroll 1
  for (int channel = threadIdx.x; channel < kTileChannels; channel += kThreads) {
    empty[channel] = float_to_bfloat16(0.0f);
  }
  async_copy_wait_all();
  __syncthreads();  // the tile is staged

  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  unsigned short* exchange = reinterpret_cast<unsigned short*>(shared + kExchangeOffset) + warp * kExchanged;
  unsigned short* exchange_lane = exchange + (lane / 4 * kPixelPitch + lane % 4 * 2);
  const unsigned int* weight_lane = reinterpret_cast<const unsigned int*>(shared + kWeightOffset) + lane * 2;
  write_empty(exchange, empty, lane);

  #pragma unroll 1
  for (int item = warp; item < 32; item += 8) {
    const int row = item / 2;
    const int column = item % 2 * 16;
    const int first_column = (tile_x * kTileColumns + column) * 5;
    const int columns = out_w - first_column;
    const unsigned char* x_lane = shared + 16 * (row * kStagedColumns + column + lane % 16);
    #pragma unroll 1
    for (int i = 0; i < 5; ++i) {
      // The phases of kernel rows 0, 1, ..., which later ones repeat; then those without taps.
      const int y_row = (tile_y * 16 + row) * 5 + (floor_mod(2 * (i % 5) - 1) + i / 5) % 5;
      if (columns > 0 && y_row < out_h) {
        unsigned short* to = y_image + (static_cast<long long>(y_row) * out_w + first_column) * 64;
        if (i < 3) {
          #pragma unroll 1
          for (int part = 0; part < 2; ++part) {
            const int product = part * 4;
            Accumulators acc = {};
            #pragma unroll 1
            for (int kh = i; kh < 3; kh += 5) {
              const int offset_h = -floor_div(2 * kh - 1);
              multiply_row(acc, x_lane + 16 * (offset_h * kStagedColumns), weight_lane + (kh * 3072 + product * 64),
                           lane);
            }
            write_exchanged(acc, exchange_lane + product * 8);
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

// Reads four matrices.
__device__ __forceinline__ void matrix_load_x4(unsigned int (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared_address(row))
               : "memory");
}

// K = 16, bf16.
__device__ __forceinline__ void mma_k16_bf16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// In integers, since sm_75 has no instruction for it; every NaN becomes 0x7fff, as the instruction's does.
__device__ __forceinline__ unsigned short float_to_bfloat16(float value) {
  const unsigned int bits = __float_as_uint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return 0x7fff;
  }
  return static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// The same to bf16. sm_80 and later.
__device__ __forceinline__ unsigned int floats_to_bfloat162(float low, float high) {
  unsigned int bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}

#endif

}  // namespace convtgen_mma_rows_forward_b3440010e652b4f7_source
using convtgen_mma_rows_forward_b3440010e652b4f7_source::convtgen_mma_rows_forward_b3440010e652b4f7;
