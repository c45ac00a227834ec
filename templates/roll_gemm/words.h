// Part of the template `roll_gemm`: consumers load staged input as A fragments.
#pragma once

// Whether some kernel column uses the fragment of this first position.
__host__ __device__ constexpr bool is_operand(int place) {
  bool taken = false;
  for (int kw = 0; kw < P::kernel_w; ++kw) {
    for (int tile = 0; tile < kMTiles; ++tile) {
      taken = taken || place == 2 * tile + (P::padding_w - kFirstColumn - kLoadStart) - P::dilation_w * kw;
    }
  }
  return taken;
}

// Loads a thread's A fragments of a staged row, for one k-step. `row` is its first position of its first channel.
// Returns a word that depends on all loads.
//
// With several k-blocks, a k-block begins while products still read the last fragments of the k-block before. The
// assembler keeps registers of products in flight only in straight code, not across iterations of a loop. An
// instruction that reads them after the wait keeps them. So the fragments that are loaded after a k-block's first wait,
// to the same registers, depend on what these held (`reads_before`). `zero` is 0, but the compiler does not know that.
// It also keeps the two copies of a word in registers of their own.
__device__ __forceinline__ unsigned int load_fragments(Fragments& fragments, const Element* row, bool reads_before,
                                                       unsigned int zero) {
  unsigned int words[2][kLoadedColumns];  // for the halves of a product's channels
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const Element* from = row + half * kVector * kChannelPitch;
#pragma unroll
    for (int i = 0; i < kLoadedColumns; i += P::thread_positions) {
      if (P::type == kWgmmaTf32 && P::thread_positions == 4) {
        const uint4 v = *reinterpret_cast<const uint4*>(from + i);
        words[half][i] = operand(v.x);
        words[half][i + 1] = operand(v.y);
        words[half][i + 2] = operand(v.z);
        words[half][i + 3] = operand(v.w);
      } else if (P::type == kWgmmaTf32) {
        const uint2 v = *reinterpret_cast<const uint2*>(from + i);
        words[half][i] = operand(v.x);
        words[half][i + 1] = operand(v.y);
      } else if (P::thread_positions == 4) {
        // Two channels, position by position.
        const uint2 a = *reinterpret_cast<const uint2*>(from + i);
        const uint2 b = *reinterpret_cast<const uint2*>(from + kChannelPitch + i);
        words[half][i] = low_halves(a.x, b.x);
        words[half][i + 1] = high_halves(a.x, b.x);
        words[half][i + 2] = low_halves(a.y, b.y);
        words[half][i + 3] = high_halves(a.y, b.y);
      } else {
        const unsigned int a = *reinterpret_cast<const unsigned int*>(from + i);
        const unsigned int b = *reinterpret_cast<const unsigned int*>(from + kChannelPitch + i);
        words[half][i] = low_halves(a, b);
        words[half][i + 1] = high_halves(a, b);
      }
    }
  }
#pragma unroll
  for (int i = kFirstWord; i < kFirstWord + P::thread_positions + kReach; ++i) {
    wgmma_pin_operand(words[0][i]);
    wgmma_pin_operand(words[1][i]);
  }
  unsigned int read = words[0][kLoadedColumns - 1] | words[1][kLoadedColumns - 1];
#pragma unroll
  for (int i = 0; i < kLoadedColumns - 1; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const unsigned int word = words[j / 2][i + j % 2];
      fragments[i][j] = kKBlocks == 1 ? word : word | (reads_before ? fragments[i][j] & zero : j % 2 == 1 ? zero : 0);
      if (kKBlocks > 1 && is_operand(i)) {
        wgmma_pin_operand(fragments[i][j]);
      }
    }
    read |= words[0][i] | words[1][i];
  }
  return read;
}

// A thread's words with channels last, for the halves of a product's instruction k.
using Words = unsigned int[2][kLoadedColumns];

// The first of a pair's two words, or the second where the thread takes the pixels crossed: `turn` is then negative.
__device__ __forceinline__ unsigned int pick(unsigned int first, unsigned int second, const int turn) {
  return operand(turn > 0 ? first : second);
}

__device__ __forceinline__ void pin_words(Words& words) {
#pragma unroll
  for (int i = 0; i < P::thread_positions + kReach; ++i) {
    wgmma_pin_operand(words[0][i]);
    wgmma_pin_operand(words[1][i]);
  }
}

// Loads a thread's staged pixels for two k-steps. `row` is the pixel that it loads first, at the 16 bytes which it
// reads of each, or zeros where these do not exist. {with turn: The other pixel of the pair lies `turn`
// elements further.}
__device__ __forceinline__ void load_pixels(Words& even, Words& odd, const Element* row, const int turn,
                                            const bool exists) {
  const Element* other = row + turn;
#pragma unroll
  for (int i = 0; i < kLoadedColumns; i += 2) {
    const uint4 a = exists ? *reinterpret_cast<const uint4*>(row + i * P::in_channels) : make_uint4(0, 0, 0, 0);
    const uint4 b = exists ? *reinterpret_cast<const uint4*>(other + i * P::in_channels) : make_uint4(0, 0, 0, 0);
    even[0][i] = pick(a.x, b.x, turn);
    even[1][i] = pick(a.y, b.y, turn);
    odd[0][i] = pick(a.z, b.z, turn);
    odd[1][i] = pick(a.w, b.w, turn);
    even[0][i + 1] = pick(b.x, a.x, turn);
    even[1][i + 1] = pick(b.y, a.y, turn);
    odd[0][i + 1] = pick(b.z, a.z, turn);
    odd[1][i + 1] = pick(b.w, a.w, turn);
  }
  pin_words(even);
  pin_words(odd);
}

// The same for one k-step, of 8 bytes.
__device__ __forceinline__ void load_last_pixels(Words& words, const Element* row, const int turn, const bool exists) {
  const Element* other = row + turn;
#pragma unroll
  for (int i = 0; i < kLoadedColumns; i += 2) {
    const uint2 a = exists ? *reinterpret_cast<const uint2*>(row + i * P::in_channels) : make_uint2(0, 0);
    const uint2 b = exists ? *reinterpret_cast<const uint2*>(other + i * P::in_channels) : make_uint2(0, 0);
    words[0][i] = pick(a.x, b.x, turn);
    words[1][i] = pick(a.y, b.y, turn);
    words[0][i + 1] = pick(b.x, a.x, turn);
    words[1][i + 1] = pick(b.y, a.y, turn);
  }
  pin_words(words);
}

// Makes a k-step's A fragments of its words; each word is in two of them. Returns a word that depends on all loads.
__device__ __forceinline__ unsigned int arrange(Fragments& fragments, const Words& words) {
  unsigned int read = words[0][kLoadedColumns - 1];
#pragma unroll
  for (int i = 0; i < kLoadedColumns - 1; ++i) {
    fragments[i][0] = words[0][i];
    fragments[i][1] = words[0][i + 1];
    fragments[i][2] = words[1][i];
    fragments[i][3] = words[1][i + 1];
    read |= words[0][i];
  }
  return read;
}
