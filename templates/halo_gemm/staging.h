// Part of the template `halo_gemm`: producers load input to shared memory.
#pragma once

// One asynchronous copy: `bytes` from memory, and zeros for the rest of it.
__device__ __forceinline__ void copy(void* to, const Element* from, int bytes) {
  if (P::copy_bytes == 16) {
    async_copy_16(to, from, bytes);
  } else if (P::copy_bytes == 8) {
    async_copy_8(to, from, bytes);
  } else {
    async_copy_4(to, from, bytes);
  }
}

// Copies of a pixel's k-block of channels, and where one of a stage's lies in it.
constexpr int kCopyBytes = larger(P::copy_bytes, kBytes);  // of one asynchronous copy
constexpr int kCopy = kCopyBytes / kBytes;                 // elements
constexpr int kCopies = P::block_k / kCopy;
__device__ inline int place_of_copy(int channel, int pixel) {
  return channel / kPack * kUnitPitch + pixel * 16 + channel % kPack * kBytes;
}

// Issues the copies of a k-block of input channels of a tile with its halo: zeros where the image or the channels end.
// `tile` is the place of the first pixel.
__device__ __forceinline__ void stage_input(unsigned char* to, const Element* __restrict__ x, const Tile& tile,
                                            int first_channel, int thread, const int batch, const int in_h,
                                            const int in_w) {
#pragma unroll 4
  for (int i = thread; i < kPixels * kCopies; i += P::producers) {
    const int channel = i % kCopies * kCopy;
    const int pixel = i / kCopies;
    const int at = P::flat ? tile.m_x + pixel : 0;  // in the sequence
    const int image = P::flat ? tile.image + at / ((in_h + kGapH) * (in_w + kGapW)) : tile.image;
    const int iy = P::flat ? at / (in_w + kGapW) % (in_h + kGapH) : tile.m_y + pixel / kStagedColumns;
    const int ix = P::flat ? at % (in_w + kGapW) : tile.m_x + pixel % kStagedColumns;
    const bool inside =
        P::flat ? image >= 0 && image < batch && iy < in_h && ix < in_w : iy >= 0 && iy < in_h && ix >= 0 && ix < in_w;
    const int ci = first_channel + channel;
    const int left = P::in_channels % P::block_k == 0 ? kCopy : P::in_channels - ci;
    const Element* from = x + ((static_cast<long long>(image) * in_h + iy) * in_w + ix) * P::in_channels + ci;
    copy(to + place_of_copy(channel, pixel), inside && left > 0 ? from : x,
         inside ? max(0, min(left, kCopy)) * kBytes : 0);
  }
}

// tf32: rounds in place what the thread's own copies have written to a stage.
__device__ __forceinline__ void round_input(unsigned char* stage, int thread) {
#pragma unroll 4
  for (int i = thread; i < kPixels * kCopies; i += P::producers) {
    unsigned char* place = stage + place_of_copy(i % kCopies * kCopy, i / kCopies);
    if (kCopyBytes == 16) {
      const uint4 v = *reinterpret_cast<const uint4*>(place);
      *reinterpret_cast<uint4*>(place) = make_uint4(operand(v.x), operand(v.y), operand(v.z), operand(v.w));
    } else if (kCopyBytes == 8) {
      const uint2 v = *reinterpret_cast<const uint2*>(place);
      *reinterpret_cast<uint2*>(place) = make_uint2(operand(v.x), operand(v.y));
    } else {
      *reinterpret_cast<unsigned int*>(place) = operand(*reinterpret_cast<const unsigned int*>(place));
    }
  }
}

// Arrives on the full barrier of a stage whose copies have completed.
__device__ __forceinline__ void publish_stage(unsigned char* stages, unsigned long long* full, int stage, int thread) {
  if (P::type == kWgmmaTf32) {
    round_input(stages + stage * kStageBytes, thread);
  }
  fence_proxy_async();
  mbarrier_arrive(&full[stage]);
}

// Input in registers, on its way to shared memory: of some items, the words of a unit of channels. An item is `vector`
// adjacent pixels, or with channels last one.
constexpr int kVector = P::channels_last ? 1 : P::vector;  // pixels
constexpr bool kWholeUnits = P::channels_last && P::vector == kPack;
constexpr int kWords = kWholeUnits ? 4 : kPack;  // of an item
constexpr int kItems = kUnits * (kPixels / kVector);
constexpr int kBatch = 32 / kWords;  // items that a thread has in flight
constexpr int kBatches = ceil_div(kItems, kBatch* P::producers);
using Words = unsigned int[kBatch][kWords];

// Loads a batch of a k-block of input channels of a tile with its halo: zeros where the image or the channels end.
__device__ __forceinline__ void load_batch(Words& words, const Element* __restrict__ x, const Tile& tile,
                                           int first_channel, int batch_index, int thread, const int batch,
                                           const int in_h, const int in_w) {
#pragma unroll
  for (int item = 0; item < kBatch; ++item) {
    const int i = (batch_index * kBatch + item) * P::producers + thread;
    const int unit = P::channels_last ? i % kUnits : i / (kPixels / kVector);
    const int pixel = (P::channels_last ? i / kUnits : i % (kPixels / kVector)) * kVector;
    const int at = P::flat ? tile.m_x + pixel : 0;  // in the sequence
    const int image = P::flat ? tile.image + at / ((in_h + kGapH) * (in_w + kGapW)) : tile.image;
    const int iy = P::flat ? at / (in_w + kGapW) % (in_h + kGapH) : tile.m_y + pixel / kStagedColumns;
    const int ix = P::flat ? at % (in_w + kGapW) : tile.m_x + pixel % kStagedColumns;
    const bool inside = (kItems % (kBatch * P::producers) == 0 || i < kItems) &&
                        (P::flat ? image >= 0 && image < batch && iy < in_h && ix < in_w
                                 : iy >= 0 && iy < in_h && ix >= 0 && ix < in_w);
    const int ci = first_channel + unit * kPack;
    const int left = P::in_channels - ci;
    const long long plane = static_cast<long long>(in_h) * in_w;
    const Element* from = P::channels_last
                              ? x + ((static_cast<long long>(image) * in_h + iy) * in_w + ix) * P::in_channels + ci
                              : x + (static_cast<long long>(image) * P::in_channels + ci) * plane +
                                    static_cast<long long>(iy) * in_w + ix;
    if (kWholeUnits) {
      uint4 loaded = make_uint4(0, 0, 0, 0);
      if (inside && (P::in_channels % P::block_k == 0 || left > 0)) {
        loaded = load_constant_16(from);
      }
      words[item][0] = loaded.x;
      words[item][1] = loaded.y;
      words[item][2] = loaded.z;
      words[item][3] = loaded.w;
    } else {
#pragma unroll
      for (int c = 0; c < kPack; ++c) {
        const Element* element = P::channels_last ? from + c : from + c * plane;
        words[item][c] = 0;
        if (inside && (P::in_channels % P::block_k == 0 || c < left)) {
          words[item][c] =
              P::vector * kBytes == 4 ? *reinterpret_cast<const unsigned int*>(element) : bits_of(*element);
        }
      }
    }
  }
}

// Writes a batch to its stage.
__device__ __forceinline__ void store_batch(unsigned char* to, const Words& words, int batch_index, int thread) {
#pragma unroll
  for (int item = 0; item < kBatch; ++item) {
    const int i = (batch_index * kBatch + item) * P::producers + thread;
    if (kItems % (kBatch * P::producers) == 0 || i < kItems) {
      const int unit = P::channels_last ? i % kUnits : i / (kPixels / kVector);
      const int pixel = (P::channels_last ? i / kUnits : i % (kPixels / kVector)) * kVector;
      uint4* place = reinterpret_cast<uint4*>(to + unit * kUnitPitch + pixel * 16);
      if (P::type == kWgmmaTf32 || kWholeUnits) {
        *place = make_uint4(operand(words[item][0]), operand(words[item][1]), operand(words[item][2]),
                            operand(words[item][3]));
      } else {
        // Two channels in a word.
        *place = make_uint4(low_halves(words[item][0], words[item][1]), low_halves(words[item][2], words[item][3]),
                            low_halves(words[item][4], words[item][5]), low_halves(words[item][6], words[item][7]));
        if (kVector == 2) {
          place[1] =
              make_uint4(high_halves(words[item][0], words[item][1]), high_halves(words[item][2], words[item][3]),
                         high_halves(words[item][4], words[item][5]), high_halves(words[item][6], words[item][7]));
        }
      }
    }
  }
}
