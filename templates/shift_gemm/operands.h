// Part of the template `shift_gemm`, which uses what stands above its line there: how input comes from shared memory to
// registers, as the A operands of products.
#pragma once

// Where a thread reads in rows that begin anywhere.
struct Place {
  int piece;     // the tile's first staged column in its piece, in the first row that the thread reads
  int column;    // the image's, of the thread's first word
  bool at_edge;  // the tile has columns outside of the image
};

// How registers are kept from one chunk to the next: by stores that are never done, which read four each.
constexpr bool kKeptByStores = kOwnChunks > 1 && !P::channels_last && P::type != kWgmmaTf32;

// Takes a thread's run of one staged row to registers, for one step. `row` is its first position of its first channel.
//
// A word stands in two operands. Words are pinned, so that they are made before the fence: made between the products,
// they would have these run one after the other. (CUDA 13.5's assembler does the same to copies that are pinned.)
//
// Where a tile has several chunks, a chunk begins while products still read the last run of the chunk before. The
// assembler keeps registers of products in flight in straight code only, not from one turn of a loop to the next: what
// keeps them is an instruction that reads them behind the wait. So the run that is loaded behind a chunk's first wait
// (`reads_before`) depends on the run `before`; or, where words are made by permutes, which leave no room for that,
// keep_run() reads the run that is `last` in its chunk. The two copies of a word are different values then, each with a
// register of its own. `zero` is 0, but the compiler doesn't know that.
__device__ __forceinline__ void load_run(Run& run, const Element* row, const Run& before, bool reads_before, bool last,
                                         unsigned int zero, const Place& place, const int in_w) {
  unsigned int words[2][kRun];  // for the halves of a product's depth
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int i = 0; i < kRun; i += kVector) {
      if (P::channels_last) {
        words[half][i] = operand(*reinterpret_cast<const unsigned int*>(
            row + (P::bulk ? i / P::run * kRunPitch + i % P::run * P::chunk : i * kPixelPitch) + half * (4 / kBytes)));
      } else if (P::type == kWgmmaTf32 && kVector == 4) {
        const uint4 v = *reinterpret_cast<const uint4*>(row + half * 4 * kChannelPitch + i);
        words[half][i] = operand(v.x);
        words[half][i + 1] = operand(v.y);
        words[half][i + 2] = operand(v.z);
        words[half][i + 3] = operand(v.w);
      } else if (kVector == 1) {
        words[half][i] = operand(*reinterpret_cast<const unsigned int*>(row + half * 4 * kChannelPitch + i));
      } else if (P::type == kWgmmaTf32) {
        const uint2 v = *reinterpret_cast<const uint2*>(row + half * 4 * kChannelPitch + i);
        words[half][i] = operand(v.x);
        words[half][i + 1] = operand(v.y);
      } else {
        // Two channels, position by position.
        const unsigned int low = *reinterpret_cast<const unsigned int*>(row + half * 8 * kChannelPitch + i);
        const unsigned int high = *reinterpret_cast<const unsigned int*>(row + (half * 8 + 1) * kChannelPitch + i);
        words[half][i] = (low & 0xffffu) | high << 16;
        words[half][i + 1] = low >> 16 | (high & 0xffff0000u);
      }
    }
  }
  if (kSkewed && place.at_edge) {
#pragma unroll
    for (int i = 0; i < kRun; ++i) {
      if (static_cast<unsigned int>(place.column + i) >= static_cast<unsigned int>(in_w)) {
        words[0][i] = 0;
        words[1][i] = 0;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kRun; ++i) {
    wgmma_pin_operand(words[0][i]);
    wgmma_pin_operand(words[1][i]);
  }
#pragma unroll
  for (int i = 0; i < kRun - 1; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const unsigned int word = words[j / 2][i + j % 2];
      if (kOwnChunks == 1) {
        run[i][j] = word;
      } else if (kKeptByStores) {
        run[i][j] = word | (last && j % 2 == 1 ? zero : 0);
      } else {
        run[i][j] = word | (reads_before ? before[i][j] & zero : j % 2 == 1 ? zero : 0);
      }
      if (kOwnChunks > 1 && is_operand(i) && (!kKeptByStores || (last && j % 2 == 1))) {
        wgmma_pin_operand(run[i][j]);
      }
    }
  }
}

// Behind a chunk's first wait, which is the one for the products of the chunk before: reads the run that these read.
__device__ __forceinline__ void keep_run(const Run& run, unsigned int zero) {
#pragma unroll
  for (int i = 0; i < kRun - 1; ++i) {
    if (is_operand(i)) {
      wgmma_keep_operand(run[i], zero);
    }
  }
}
