// conv_transpose3d 32 -> 32; kernel 3x3x3; padding 1x1x1; input 8x16x64x64; dtype f32; compute f32x3; layout nchw; directions grad_weight
// grad_weight for sm_80. Template mma_grad_weight: a block makes 3x3 taps of 32 by 32 channels; 36 slices; 150.1 KiB shared.
// Launch
//   sizes: batch 8, in_depth 16, in_height 64, in_width 64; out_depth 16, out_height 64, out_width 64
//   compile: nvcc -gencode arch=compute_80,code=sm_80
//   tensor grad_weight: 27648 elements, written, 4-byte aligned
//     shape (Cin 32, Cout 32, KD 3, KH 3, KW 3), contiguous
//   tensor x: 16777216 elements, read, 8-byte aligned
//     shape (N 8, Cin 32, D 16, H 64, W 64), contiguous
//   tensor grad_y: 16777216 elements, read, 8-byte aligned
//     shape (N 8, Cout 32, D 16, H 64, W 64), contiguous
//   workspace: 128-byte aligned; each region begins at a multiple of 128 bytes
//   region partial: 3981312 bytes, sums of slices of the positions
//   region maxima: 3328 bytes, the largest magnitudes of channels, by slices of the positions
//   kernel convtgen_mma_grad_weight_grad_weight_a216cf89f6b486b8_scan
//     arguments const float* x, const float* grad_y, float* maxima, int batch
//     grid 832; block 256; shared 32
//   kernel convtgen_mma_grad_weight_grad_weight_a216cf89f6b486b8
//     arguments const float* x, const float* grad_y, float* partial, const float* maxima, int batch
//     grid 108; block 256; shared 153664
//     shared memory above 48 KiB: before the first launch on a device, either of
//       cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 153664)
//       cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 153664)
//   kernel convtgen_mma_grad_weight_grad_weight_a216cf89f6b486b8_add
//     arguments const float* partial, float* grad_weight
//     grid 108; block 256; shared 0

namespace convtgen_mma_grad_weight_grad_weight_a216cf89f6b486b8_source {

// ---- Constants ----

constexpr float kLowScale = 2048.0f;
constexpr int kGroupOut = 32;
constexpr long long kWeights = 27648ll;
constexpr int kThreads = 256;
constexpr int kAccumulators = 36;  // of a thread
constexpr int kWindowPitch = 18;
constexpr int kPlanePixels = 324;
constexpr int kInputUnitPitch = 4096;
constexpr int kPlaneSpans = 180;
constexpr int kInputSpans = 128;
constexpr int kTapPitch = 36;
constexpr int kChannelPitch = 328;
constexpr unsigned long long kOutside = 0xfffffffffffffff0ull;
constexpr int kScanLanes = 256;
constexpr int kScanTilesIn = 32;
constexpr int kScanTiles = 64;
constexpr int kScannedChannels = 64;

// ---- Shared memory and packed weights, in bytes ----

constexpr int kInputPartBytes = 16384;
constexpr int kWindowPartBytes = 20736;
constexpr int kInputBytes = 32768;
constexpr int kStageBytes = 74240;
constexpr int kTableBytes = 2464;
constexpr int kTableOffset = 148480;
constexpr int kScalesOffset = 153408;  // of the block's channels of x, then of grad_y

// ---- Device primitives, defined at the end ----

#ifndef CONVTGEN_HOST_DEVICE

__device__ __forceinline__ void* shared_memory();
__device__ __forceinline__ void matrix_load_x2_transposed(unsigned int (&values)[2], const void* row);
__device__ __forceinline__ void matrix_load_x4_transposed(unsigned int (&values)[4], const void* row);
__device__ __forceinline__ void mma_k16_f16(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]);
__device__ __forceinline__ float half_to_float(unsigned short bits);
__device__ __forceinline__ unsigned int floats_to_half2(float low, float high);

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

__device__ __forceinline__ unsigned int low_parts(float a, float b, unsigned int high) {
  return floats_to_half2(fmaf(half_to_float(static_cast<unsigned short>(high & 0xffff)), -2048.0f, a * kLowScale),
                         fmaf(half_to_float(static_cast<unsigned short>(high >> 16)), -2048.0f, b * kLowScale));
}

__device__ __forceinline__ bool is_finite(float value) {
  return fabsf(value) <= 3.4028235e+38f;
}

// A total with an accumulator of low parts. Infinities have none: a total that isn't finite is the result.
__device__ __forceinline__ float with_low(float total, float low) {
  return is_finite(total) ? fmaf(low, 0.00048828125f, total) : total;
}

// ---- Tiles ----

// What a block makes.
struct Target {
  int slice;  // of the positions
};

// Weights vary fastest, so that blocks which read the same positions run together.
__device__ __forceinline__ Target target_of(int block) {
  Target target;
  target.slice = block / 3;
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
  const long long row = of_column * 16;
  Tile tile;
  tile.image = static_cast<int>(row / 66);
  tile.row = static_cast<int>(row % 66);
  tile.column = static_cast<int>(index / row_tiles) * 16;
  tile.left = row_tiles - 1 - of_column;
  return tile;
}

// The next one, without the divisions of 64 bits that finding it anew takes.
__device__ __forceinline__ void move_on(Tile& tile, long long row_tiles) {
  const int row = tile.row + 16;
  tile.image += row / 66;
  tile.row = row % 66;
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
  const float* x;       // its first channel
  const float* grad_y;  // the same
};

__device__ __forceinline__ Source source_of(const float* __restrict__ x, const float* __restrict__ grad_y) {
  return {x, grad_y};
}

// ---- Staging ----

// Writes the high parts of a unit, and its low parts so many bytes on. `scales` are those of its channels.
__device__ __forceinline__ void store_split(unsigned char* to, const float (&words)[8], const float* scales) {
  const float4 first = *reinterpret_cast<const float4*>(scales);
  const float4 second = *reinterpret_cast<const float4*>(scales + 4);
  const float scaled[8] = {words[0] * first.x, words[1] * first.y, words[2] * first.z, words[3] * first.w,
                           words[4] * second.x, words[5] * second.y, words[6] * second.z, words[7] * second.w};
  unsigned int high[4];
  unsigned int low[4];
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    high[i] = floats_to_half2(scaled[2 * i], scaled[2 * i + 1]);
    low[i] = low_parts(scaled[2 * i], scaled[2 * i + 1], high[i]);
  }
  *reinterpret_cast<uint4*>(to) = make_uint4(high[0], high[1], high[2], high[3]);
  *reinterpret_cast<uint4*>(to + 16384) = make_uint4(low[0], low[1], low[2], low[3]);
}

// Writes the high parts of a unit, and its low parts so many bytes on. `scales` are those of its channels.
__device__ __forceinline__ void store_split_2(unsigned char* to, const float (&words)[8], const float* scales) {
  const float4 first = *reinterpret_cast<const float4*>(scales);
  const float4 second = *reinterpret_cast<const float4*>(scales + 4);
  const float scaled[8] = {words[0] * first.x, words[1] * first.y, words[2] * first.z, words[3] * first.w,
                           words[4] * second.x, words[5] * second.y, words[6] * second.z, words[7] * second.w};
  unsigned int high[4];
  unsigned int low[4];
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    high[i] = floats_to_half2(scaled[2 * i], scaled[2 * i + 1]);
    low[i] = low_parts(scaled[2 * i], scaled[2 * i + 1], high[i]);
  }
  *reinterpret_cast<uint4*>(to) = make_uint4(high[0], high[1], high[2], high[3]);
  *reinterpret_cast<uint4*>(to + 20736) = make_uint4(low[0], low[1], low[2], low[3]);
}

// ---- Places ----

// The pixel, and the piece of its channels, that a thread brings in a turn. NCHW: adjacent threads bring adjacent
// pixels, else pieces of one pixel.
__device__ __forceinline__ unsigned int pixel_of(int turn, int thread) {
  const unsigned int index = turn * kThreads + thread;
  return index % 128;
}

// The pixel, and the piece of its channels, that a thread brings in a turn. NCHW: adjacent threads bring adjacent
// pixels, else pieces of one pixel.
__device__ __forceinline__ unsigned int pixel_of_2(int turn, int thread) {
  const unsigned int index = turn * kThreads + thread;
  return index % 180;
}

__device__ __forceinline__ unsigned int piece_of(int turn, int thread) {
  const unsigned int index = turn * kThreads + thread;
  return index / 128;
}

__device__ __forceinline__ unsigned int piece_of_2(int turn, int thread) {
  const unsigned int index = turn * kThreads + thread;
  return index / 180;
}

// Whether there is such a piece, where threads have so many turns.
__device__ __forceinline__ bool is_piece(int turn, int thread) {
  return turn * kThreads + thread < 512;
}

// Whether there is such a piece, where threads have so many turns.
__device__ __forceinline__ bool is_piece_2(int turn, int thread) {
  return turn * kThreads + thread < 720;
}

// Where a piece lies in a stage.
__device__ __forceinline__ int input_place(int pixel, int piece) {
  return pixel * 16 + piece * kInputUnitPitch;
}

__device__ __forceinline__ int window_place(int pixel, int piece) {
  return kInputBytes + pixel * 16 + piece * 5184;
}

// A span of whole rows of the window: the pixel of one of its columns, counted from the first one of its row in memory;
// and whether the window has it.
__device__ __forceinline__ int spanned_pixel(unsigned int span) {
  const unsigned int of_plane = span % kPlaneSpans;
  const int of_row = static_cast<int>(of_plane % 10) * 2 - 1;
  return static_cast<int>(span / kPlaneSpans) * kPlanePixels + static_cast<int>(of_plane / 10) * kWindowPitch + of_row;
}

// A span of whole rows of the window: the pixel of one of its columns, counted from the first one of its row in memory;
// and whether the window has it.
__device__ __forceinline__ int spanned_pixel_2(unsigned int span) {
  const unsigned int of_plane = span % kPlaneSpans;
  const int of_row = static_cast<int>(of_plane % 10) * 2;
  return static_cast<int>(span / kPlaneSpans) * kPlanePixels + static_cast<int>(of_plane / 10) * kWindowPitch + of_row;
}

__device__ __forceinline__ bool is_spanned(unsigned int span) {
  const int of_row = static_cast<int>(span % 10) * 2 - 1;
  return of_row >= 0;
}

__device__ __forceinline__ bool is_spanned_2(unsigned int span) {
  const int of_row = static_cast<int>(span % 10) * 2;
  return of_row < 18;
}

// Where a pixel lies: how many images after the first one of its tile, its row and column; and whether there is one.
// A span's first pixel has the others next to it.
struct Pixel {
  int image;
  int row;
  int column;
  bool is_inside;
};

// How many images after the tile's first one a row is, counted from that image's first row.
__device__ __forceinline__ int images_before(int row) {
  return row >= 66 ? 1 : 0;
}

__device__ __forceinline__ Pixel input_pixel(unsigned int span, const Tile& tile, int planes) {
  const int row = tile.row + static_cast<int>(span / 8);
  Pixel place;
  place.image = images_before(row);
  place.row = row - place.image * 66;
  place.column = tile.column + static_cast<int>(span % 8) * 2;
  place.is_inside = tile.image + place.image < planes && place.row < 64 && place.column < 64;
  return place;
}

// The same of grad_y.
__device__ __forceinline__ Pixel window_pixel(unsigned int span, const Tile& tile, int planes) {
  const int plane_index = static_cast<int>(span / kPlaneSpans);
  const unsigned int of_plane = span % kPlaneSpans;
  const int row = tile.row + static_cast<int>(of_plane / 10);
  const int column = static_cast<int>(of_plane % 10);
  Pixel place;
  place.image = images_before(row);
  place.row = row - place.image * 66 + plane_index - 1;
  place.column = tile.column + column * 2 - 2;
  place.is_inside = tile.image + place.image < planes && static_cast<unsigned int>(place.row) < 64 &&
                    static_cast<unsigned int>(place.column) < 64;
  return place;
}

// The same from the first channel of all volumes, of a pixel in a plane `z` of its volume.
__device__ __forceinline__ long long offset_in_volume(const Pixel& pixel, int volume, int z) {
  const long long of_volume = z * 4096ll + (static_cast<long long>(pixel.row) * 64 + pixel.column);
  return volume * 2097152ll + of_volume;
}

// ---- Tables of pixels ----

// The table of a stage, which is this one of the slice.
__device__ __forceinline__ unsigned char* table_of(unsigned char* shared, int stage) {
  return shared + (kTableOffset + stage % 2 * kTableBytes);
}

// Finds the pixels of a stage: those of x, then those of the window. All threads share them. An offset is odd where a
// row ends within the span.
__device__ __forceinline__ void find_pixels(unsigned char* table, const Tile& tile, int kd, int thread, int planes) {
  #pragma unroll 1
  for (int span = thread; span < 308; span += kThreads) {
    const bool is_input = span < kInputSpans;
    const Pixel place = is_input ? input_pixel(span, tile, planes) : window_pixel(span - kInputSpans, tile, planes);
    bool is_inside = place.is_inside;
    long long offset = 0;
    const int plane = tile.image + place.image;
    const int volume = plane / 16;
    const int iz = plane % 16;
    const int oz = iz + (kd - 1);
    is_inside = is_inside && (is_input || (oz >= 0 && oz < 16));
    offset = is_input ? offset_in_volume(place, volume, iz) : offset_in_volume(place, volume, oz);
    unsigned long long found = is_inside ? static_cast<unsigned long long>(offset) * 4 : kOutside;
    *reinterpret_cast<unsigned long long*>(table + span * 8) = found;
  }
}

// What was found, in bytes.
__device__ __forceinline__ unsigned long long pixel_offset(const unsigned char* table, int span) {
  return *reinterpret_cast<const unsigned long long*>(table + span * 8);
}

// The elements of a pixel.
__device__ __forceinline__ const float* at_pixel(const float* first, unsigned long long offset) {
  return reinterpret_cast<const float*>(reinterpret_cast<const unsigned char*>(first) + offset);
}

// What a stage is read from: its first image.
__device__ __forceinline__ const float* input_of(const Source& source) {
  return source.x;
}

__device__ __forceinline__ const float* window_of(const Source& source) {
  return source.grad_y;
}

// ---- Through registers ----

// A batch in registers, on its way to shared memory: the words of each position of a turn. Of two elements of 16 bits
// that were loaded together the first position has both.
using Words = float[2][2][8];

// The same of two adjacent positions, which are one vector where rows are even. Where a row is cut it has the first.
__device__ __forceinline__ void load_span(float (&words)[2][8], const float* __restrict__ from, bool is_inside) {
  #pragma unroll
  for (int c = 0; c < 8; ++c) {
    const float* at = from + c * 65536ll;
    const uint2 two = is_inside ? *reinterpret_cast<const uint2*>(at) : make_uint2(0, 0);
    words[0][c] = __uint_as_float(two.x);
    words[1][c] = __uint_as_float(two.y);
  }
}

// Loads a turn: a unit, or two of adjacent positions. `offset` is what was found of its pixel.
__device__ __forceinline__ void load_turn(float (&words)[2][8], const float* __restrict__ first,
                                          unsigned long long offset) {
  const bool is_inside = offset != kOutside;
  load_span(words, at_pixel(first, offset), is_inside);
}

// Loads a batch of a stage.
__device__ __forceinline__ void load_batch(Words& words, const Source& source, const unsigned char* table,
                                           int batch_index, int thread) {
  const float* x = input_of(source);
  const float* grad_y = window_of(source);
  {
    const bool is_there = is_piece(batch_index, thread);
    const int channel = piece_of(batch_index, thread) * 8;
    const unsigned long long offset = is_there ? pixel_offset(table, pixel_of(batch_index, thread)) : kOutside;
    load_turn(words[0], x + channel * 65536ll, offset);
  }
  {
    const bool is_there = is_piece_2(batch_index, thread);
    const int channel = piece_of_2(batch_index, thread) * 8;
    const unsigned long long offset =
        is_there ? pixel_offset(table, kInputSpans + pixel_of_2(batch_index, thread)) : kOutside;
    load_turn(words[1], grad_y + channel * 65536ll, offset);
  }
}

// Writes the units of two adjacent positions to their places, each if it is wanted; the second one first if
// `is_turned`. Then half of the lanes write odd pixels while the others write even ones, which are in other banks.
__device__ __forceinline__ void store_span(unsigned char* first, unsigned char* second, bool is_turned,
                                           const float (&words)[2][8], const float* scales) {
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const bool is_second = is_turned == (i == 0);
    unsigned char* to = is_second ? second : first;
    float unit[8];
    #pragma unroll
    for (int c = 0; c < 8; ++c) {
      unit[c] = is_second ? words[1][c] : words[0][c];
    }
    store_split(to, unit, scales);
  }
}

// Writes the units of two adjacent positions to their places, each if it is wanted; the second one first if
// `is_turned`. Then half of the lanes write odd pixels while the others write even ones, which are in other banks.
__device__ __forceinline__ void store_span_2(unsigned char* first, unsigned char* second, bool has_first,
                                             bool has_second, bool is_turned, const float (&words)[2][8],
                                             const float* scales) {
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    const bool is_second = is_turned == (i == 0);
    unsigned char* to = is_second ? second : first;
    const bool is_wanted = is_second ? has_second : has_first;
    float unit[8];
    #pragma unroll
    for (int c = 0; c < 8; ++c) {
      unit[c] = is_second ? words[1][c] : words[0][c];
    }
    if (is_wanted) {
      store_split_2(to, unit, scales);
    }
  }
}

// Writes a batch to its stage.
__device__ __forceinline__ void store_batch(unsigned char* to, const Words& words, const float* scales, int batch_index,
                                            int thread) {
  const bool is_turned = thread / 4 % 2 == 1;
  if (is_piece(batch_index, thread)) {
    const int unit = piece_of(batch_index, thread);
    const unsigned int span = pixel_of(batch_index, thread);
    const int pixel = static_cast<int>(span / 8 * 16 + span % 8 * 2);
    store_span(to + input_place(pixel, unit), to + input_place(pixel + 1, unit), is_turned, words[0],
               scales + unit * 8);
  }
  if (is_piece_2(batch_index, thread)) {
    const int unit = piece_of_2(batch_index, thread);
    const unsigned int span = pixel_of_2(batch_index, thread);
    const float* own_scales = scales + (32 + unit * 8);
    store_span_2(to + window_place(spanned_pixel(span), unit), to + window_place(spanned_pixel_2(span), unit),
                 is_spanned(span), is_spanned_2(span), is_turned, words[1], own_scales);
  }
}

// ---- Products ----

// One thread's accumulators: of each tap of its warp, tile of 16 input channels and tile of 8 output channels. Values
// that are split have those of products of high parts, and of products of a high with a low part.
using PartAccumulators = float[9][1][1][4];
using Accumulators = PartAccumulators[2];

struct Places {
  int input;
  int window[3];
};

// A lane's place in the first product of a stage. 16 bits: the row of 8x8 matrices that it points to, of two units of
// channels by halves of the positions. Those of A are the units of a half, then of the other one; those of B the halves
// of a unit, then of the other one. tf32: its first word, of channel lane / 4. Whole rows: the row of matrices of A,
// whose rows are channels; of B the word of two positions of channel lane / 4.
__device__ __forceinline__ int lane_place(int lane) {
  const int position = lane % 8 + lane / 16 * 8;
  const int pixel = position / 16 * 256 + position % 16;
  return pixel * 16 + lane / 8 % 2 * 4096;
}

// A lane's place in the first product of a stage. 16 bits: the row of 8x8 matrices that it points to, of two units of
// channels by halves of the positions. Those of A are the units of a half, then of the other one; those of B the halves
// of a unit, then of the other one. tf32: its first word, of channel lane / 4. Whole rows: the row of matrices of A,
// whose rows are channels; of B the word of two positions of channel lane / 4.
__device__ __forceinline__ int lane_place_2(int lane) {
  const int position = lane % 16;
  return position * 16 + lane / 16 * 5184;
}

__device__ __forceinline__ Places places_of(int lane, int warp_in, int warp_out) {
  Places places;
  places.input = lane_place(lane) + warp_in * 8192;
  const int window = kInputBytes + lane_place_2(lane) + warp_out * 5184;
  #pragma unroll
  for (int column = 0; column < 3; ++column) {
    places.window[column] = window + column * 16;
  }
  return places;
}

// Loads two B fragments, one after the other: eight output channels each. A warp may have the first alone.
__device__ __forceinline__ void load_columns(unsigned int (&b)[4], const unsigned char* from) {
  unsigned int one[2];
  matrix_load_x2_transposed(one, from);
  b[0] = one[0];
  b[1] = one[1];
}

// Adds the products of a tap at one step.
__device__ __forceinline__ void multiply_tap(Accumulators& acc, int tap, const unsigned int (&a)[2][1][4],
                                             const unsigned int (&b)[2][1][4]) {
  const unsigned int high[2] = {b[0][0][0], b[0][0][1]};
  mma_k16_f16(acc[0][tap][0][0], a[0][0], high);
  const unsigned int low[2] = {b[1][0][0], b[1][0][1]};
  mma_k16_f16(acc[1][tap][0][0], a[1][0], high);
  mma_k16_f16(acc[1][tap][0][0], a[0][0], low);
}

// Adds the products of a strip of a stage, which begins at `stage`.
__device__ __forceinline__ void multiply_strip(Accumulators& acc, const unsigned char* stage, const Places& places,
                                               int strip) {
  const int row = strip * 4;
  const unsigned char* input = stage + places.input + row * 256;
  const unsigned char* window = stage + row * 288;
  // taps (0 to 2, 0 to 2)
  unsigned int a[4][2][1][4];
  #pragma unroll
  for (int outer = 0; outer < 3; ++outer) {
    unsigned int b[6][2][1][4];
    #pragma unroll
    for (int step = 0; step < 4; ++step) {
      if (outer == 0) {
        #pragma unroll
        for (int part = 0; part < 2; ++part) {
          matrix_load_x4_transposed(a[step][part][0], input + (part * kInputPartBytes + step * 256));
        }
      }
      #pragma unroll
      for (int inner = 0; inner < 3; ++inner) {
        const int load = step + inner;
        if (step < 1 || inner + 1 >= 3) {
          #pragma unroll
          for (int part = 0; part < 2; ++part) {
            load_columns(b[load][part][0],
                         window + places.window[outer] + (part * kWindowPartBytes + (step + inner) * 288));
          }
        }
        const int tap = inner * 3 + outer;
        multiply_tap(acc, tap, a[step], b[load]);
      }
    }
  }
}

// ---- Epilogue ----

// The largest finite magnitudes that a thread finds in its part of a slice.
__device__ __forceinline__ float4 scan_slice(const float* __restrict__ from, int tile, int slice, int batch,
                                             int thread) {
  float4 most = make_float4(0, 0, 0, 0);
  const long long end = batch * 32ll * (slice + 1) / 13;
  for (long long piece = batch * 32ll * slice / 13 + thread / kScanLanes; piece < end; ++piece) {
    const long long image = piece / 32;
    const long long position = piece % 32 * 2048 + thread % kScanLanes;
    const float* next = from + (image * 32 + tile) * 65536 + position;
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
    convtgen_mma_grad_weight_grad_weight_a216cf89f6b486b8_scan(const float* __restrict__ x,
                                                               const float* __restrict__ grad_y,
                                                               float* __restrict__ maxima, int batch) {
  const int thread = threadIdx.x;
  const int slice = blockIdx.x / kScanTiles;
  const int tile = blockIdx.x % kScanTiles;
  const bool is_input = tile < kScanTilesIn;
  const float4 most = is_input ? scan_slice(x, tile, slice, batch, thread)
                      : scan_slice(grad_y, tile - kScanTilesIn, slice, batch, thread);
  // Those of a channel: in NCHW first of a warp.
  float* found = static_cast<float*>(shared_memory());
  float* to = maxima + slice * kScannedChannels + (is_input ? 0 : 32);
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
  for (int slice = 0; slice < 13; ++slice) {
    most = fmaxf(most, maxima[slice * kScannedChannels + channel]);
  }
  return power_of_two(scale_exponent(most));
}

// The scales of the block's channels, and 1 for those beyond the group's last. All threads share them.
__device__ __forceinline__ void find_scales(float* scales, const float* __restrict__ maxima, int thread) {
  for (int i = thread; i < 64; i += kThreads) {
    const int channel = i < 32 ? i : i - 32;
    const bool is_there = channel < 32;
    scales[i] = is_there ? scale_of_channel(maxima, channel + (i < 32 ? 0 : 32)) : 1;
  }
}

__device__ __forceinline__ int exponent_of(float scale) {
  return __float_as_int(scale) / 0x800000 - 127;
}

// The thread's accumulator of this number.
__device__ __forceinline__ float& acc_at(PartAccumulators& acc, int i) {
  return acc[i / 4][0][0][i % 4];
}

// Adds accumulators of high parts to the totals of values that are split, and begins them anew.
__device__ __forceinline__ void promote_high(PartAccumulators& totals, PartAccumulators& high) {
  #pragma unroll
  for (int i = 0; i < kAccumulators; ++i) {
    acc_at(totals, i) += acc_at(high, i);
    acc_at(high, i) = 0;
  }
}

// The same of low parts.
__device__ __forceinline__ void promote_low(PartAccumulators& totals, PartAccumulators& low) {
  #pragma unroll
  for (int i = 0; i < kAccumulators; ++i) {
    acc_at(totals, i) = with_low(acc_at(totals, i), acc_at(low, i));
    acc_at(low, i) = 0;
  }
}

// Undoes the scales of the totals, of their input and output channels.
__device__ __forceinline__ void unscale(PartAccumulators& totals, const float* scales, int warp_in, int warp_out,
                                        int lane) {
  const float* of_ins = scales + (warp_in * 16 + lane / 4);
  const float* of_outs = scales + (32 + warp_out * 8 + lane % 4 * 2);
  #pragma unroll
  for (int tap = 0; tap < 9; ++tap) {
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
      totals[tap][0][0][i] =
          scaled_by(totals[tap][0][0][i], -exponent_of(of_ins[i / 2 * 8]) - exponent_of(of_outs[i % 2]));
    }
  }
}

// Stores the sums of eight input channels of each warp, which lie in shared memory, in the order of the weights.
__device__ __forceinline__ void store_channels(const float* sums, int first_channel, const Target& target, int kd,
                                               float* __restrict__ partial, int thread) {
  #pragma unroll 2
  for (int i = thread; i < 4608; i += kThreads) {
    const int stored = i / 288;
    const int of_channel = i % 288;
    const int tap = of_channel % 9;
    const int out = of_channel / 9;
    const int ci = stored / 8 * 16 + first_channel + stored % 8;
    const int kh = tap / 3;
    const int kw = tap % 3;
    const float sum = sums[stored * kChannelPitch + tap * kTapPitch + out];
    const long long weight = ((static_cast<long long>(ci) * kGroupOut + out) * 9 + (kd * 3 + kh)) * 3 + kw;
    partial[target.slice * kWeights + weight] = sum;
  }
}

// Stores a block's results, through shared memory, where warps that share the positions add theirs in their order.
__device__ __forceinline__ void store_block(const PartAccumulators& acc, float* sums, const Target& target, int kd,
                                            float* __restrict__ partial, int warp_in, int warp_out, int thread) {
  const int lane = thread % 32;
  float* own = sums + (warp_in * 8 + lane / 4) * kChannelPitch + warp_out * 8 + lane % 4 * 2;
  #pragma unroll
  for (int half = 0; half < 2; ++half) {
    // of a tile of 16 input channels
    __syncthreads();  // the stages, or the channels before, have been read, or the warps before have added theirs
    #pragma unroll
    for (int tap = 0; tap < 9; ++tap) {
      float2* to = reinterpret_cast<float2*>(own + tap * kTapPitch);
      float2 sum = make_float2(acc[tap][0][0][half * 2], acc[tap][0][0][half * 2 + 1]);
      *to = sum;
    }
    __syncthreads();
    store_channels(sums, half * 8, target, kd, partial, thread);
  }
}

// ---- Kernels ----

// Adds the slices in order: one thread for each weight, then one for each channel of the bias.
extern "C" __global__ void __launch_bounds__(256)
    convtgen_mma_grad_weight_grad_weight_a216cf89f6b486b8_add(const float* __restrict__ partial,
                                                              float* __restrict__ grad_weight) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < 27648) {
    float sum = 0;
    #pragma unroll 8
    for (int slice = 0; slice < 36; ++slice) {
      sum += partial[slice * kWeights + i];
    }
    grad_weight[i] = sum;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    convtgen_mma_grad_weight_grad_weight_a216cf89f6b486b8(const float* __restrict__ x, const float* __restrict__ grad_y,
                                                          float* __restrict__ partial, const float* __restrict__ maxima,
                                                          int batch) {
  const int planes = batch * 16;
  const long long row_tiles = (static_cast<long long>(planes) * 66 + 15) / 16;
  const long long tiles = row_tiles * 4;

  const int block = blockIdx.x;
  const Target target = target_of(block);
  const int kd = block % 3;
  const Source source = source_of(x, grad_y);
  const long long first_tile = tiles * target.slice / 36;
  const int count = static_cast<int>(tiles * (target.slice + 1) / 36 - first_tile);

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  const int thread = threadIdx.x;
  // Unsigned divisions take fewer registers; split values spill with them.
  const int lane = static_cast<unsigned int>(thread % 32);
  const int warp = static_cast<unsigned int>(thread / 32);
  const int warp_out = warp % 4;
  const int warp_in = warp / 4;
  const Places places = places_of(lane, warp_in, warp_out);

  // The tile whose pixels are found next, and the first image of that which is brought next.
  Tile next;
  if (count > 0) {
    next = tile_at(first_tile, row_tiles);
    find_pixels(shared + kTableOffset, next, kd, thread, planes);
    move_on(next, row_tiles);
  }
  float* scales = reinterpret_cast<float*>(shared + kScalesOffset);
  find_scales(scales, maxima, thread);
  int issued = 0;
  Words words;
  // The first stages. What goes through registers comes as a whole.
  #pragma unroll 1
  for (; issued < 1; ++issued) {
    __syncthreads();  // the stage's pixels have been found
    if (issued < count) {
      unsigned char* to = shared + issued * kStageBytes;
      #pragma unroll 1
      for (int part = 0; part < 4; ++part) {
        load_batch(words, source, table_of(shared, issued), part, thread);
        store_batch(to, words, scales, part, thread);
      }
      if (issued + 1 < count) {
        find_pixels(table_of(shared, issued + 1), next, kd, thread, planes);
        move_on(next, row_tiles);
      }
    }
  }

  Accumulators acc = {};
  PartAccumulators sums = {};  // fp32 totals of values that are split
  int stage = 0;
  #pragma unroll 1
  for (int consumed = 0; consumed < count; ++consumed) {
    const unsigned char* from = shared + stage * kStageBytes;
    unsigned char* to = shared + (stage == 0 ? 1 : stage - 1) * kStageBytes;
    // The stage has come, all have read the one that is brought now, and its pixels have been found.
    __syncthreads();
    const bool more = issued < count;
    #pragma unroll 1
    for (int strip = 0; strip < 4; ++strip) {
      if (more) {
        load_batch(words, source, table_of(shared, issued), strip, thread);
      }
      multiply_strip(acc, from, places, strip);
      // With copies, what was loaded before the first strip is written after the last one.
      if (more) {
        store_batch(to, words, scales, strip, thread);
      }
      // Warps find pixels after different strips, so that others multiply meanwhile.
      if (issued + 1 < count && strip == warp % 4) {
        find_pixels(table_of(shared, issued + 1), next, kd, thread, planes);
      }
    }
    if (more) {
      move_on(next, row_tiles);
      ++issued;
    }
    stage = stage + 1 == 2 ? 0 : stage + 1;
    promote_high(sums, acc[0]);
    if ((consumed + 1) % 32 == 0) {
      promote_low(sums, acc[1]);
    }
  }
  float* results = reinterpret_cast<float*>(shared);
  promote_high(sums, acc[0]);
  promote_low(sums, acc[1]);
  unscale(sums, scales, warp_in, warp_out, lane);
  store_block(sums, results, target, kd, partial, warp_in, warp_out, thread);
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

// Reads two matrices, transposed.
__device__ __forceinline__ void matrix_load_x2_transposed(unsigned int (&values)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(values[0]), "=r"(values[1])
               : "r"(shared_address(row))
               : "memory");
}

// Reads four matrices, transposed.
__device__ __forceinline__ void matrix_load_x4_transposed(unsigned int (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
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

#endif

}  // namespace convtgen_mma_grad_weight_grad_weight_a216cf89f6b486b8_source
using convtgen_mma_grad_weight_grad_weight_a216cf89f6b486b8_source::convtgen_mma_grad_weight_grad_weight_a216cf89f6b486b8_scan;
using convtgen_mma_grad_weight_grad_weight_a216cf89f6b486b8_source::convtgen_mma_grad_weight_grad_weight_a216cf89f6b486b8_add;
using convtgen_mma_grad_weight_grad_weight_a216cf89f6b486b8_source::convtgen_mma_grad_weight_grad_weight_a216cf89f6b486b8;
