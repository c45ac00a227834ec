// Static parameters of the template `pipeline`.
#pragma once

struct Parameters {
  static constexpr int type = 0;  // WgmmaType
  static constexpr int tile_n = 128;
  static constexpr int stages = 3;
  static constexpr int steps = 7;  // of the whole product along k, 128 bytes each
  static constexpr int columns = 256;
  static constexpr bool cluster = false;  // 2 blocks work on the same columns, and each loads half of b for both
};
