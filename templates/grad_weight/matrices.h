// Where producers that turn rows write to: positions, and matrices of eight positions by eight channels.
#pragma once

#include "device/matrix_load.h"
#include "grad_weight/rows.h"

// A position of x or of the window, and whether anybody reads it.
struct Position {
  int at;
  bool is_wanted;
};
using Positions = Position[kLanePositions];

// Writes those of so many octets of channels, transposed. Each lane points at a position of one of them; of octet
// lane / 8, or of one below the number of octets, which is a power of two.
__device__ __forceinline__ void store_matrices(unsigned char* to, const unsigned int (&values)[4], const int octets) {
  if (octets == 4) {
    matrix_store_x4_transposed(to, values);
  } else if (octets == 2) {
    const unsigned int both[2] = {values[0], values[1]};
    matrix_store_x2_transposed(to, both);
  } else {
    matrix_store_x1_transposed(to, values[0]);
  }
}
