// conv_transpose2d 3 -> 4; kernel 2x3; stride 2x1; padding 0x1; input ?x5x40; bias; fuse scale(1), scale(1), scale(1); dtype f32; compute f32; layout nchw
// forward for sm_90a. Template two_columns: a block makes 128 outputs of a row.
// Launch
//   sizes: batch, in_height 5, in_width 40; out_height 10, out_width 40
//   compile: nvcc -gencode arch=compute_90a,code=sm_90a
//   tensor y: 1600 * batch elements, written, 4-byte aligned
//     shape (N batch, Cout 4, H 10, W 40), contiguous
//   tensor x: 600 * batch elements, read, 4-byte aligned
//     shape (N batch, Cin 3, H 5, W 40), contiguous
//   tensor weight: 72 elements, read, 4-byte aligned
//     shape (Cin 3, Cout 4, KH 2, KW 3), contiguous
//   tensor bias: 4 elements, read, 4-byte aligned
//     shape (Cout 4), contiguous
//   kernel convtgen_two_columns_forward_07af4c6c533385cd
//     arguments const float* x, const float* weight, const float* bias, float* y
//     grid 40 * batch; block 64; shared 0

namespace convtgen_two_columns_forward_07af4c6c533385cd_source {

extern "C" __global__ void __launch_bounds__(64)
    convtgen_two_columns_forward_07af4c6c533385cd(const float* __restrict__ x, const float* __restrict__ weight,
                                                  const float* __restrict__ bias, float* __restrict__ y) {
  const int block = blockIdx.x;
  const int channel = block % 4;
  const int first = static_cast<int>(threadIdx.x) * 2;
  const int row = block / 4 % 10;
  const long long image = block / 40;
  const float* x_image = x + image * 600;
  #pragma unroll 1
  for (int column = first; column < min(first + 2, 40); ++column) {
    float sum = bias[channel];
    {
      // Tap (0, 0).
      const int from_w = column + 1;
      if (row >= 0 && row % 2 == 0 && from_w >= 0 && from_w < 40) {
        #pragma unroll 1
        for (int c = 0; c < 3; ++c) {
          sum += x_image[(static_cast<long long>(c) * 5 + row / 2) * 40 + from_w] *
                 weight[(static_cast<long long>(c) * 4 + channel) * 6];
        }
      }
    }
    // Tap (0, 1).
    if (row >= 0 && row % 2 == 0 && column >= 0 && column < 40) {
      #pragma unroll 1
      for (int c = 0; c < 3; ++c) {
        sum += x_image[(static_cast<long long>(c) * 5 + row / 2) * 40 + column] *
               weight[(static_cast<long long>(c) * 4 + channel) * 6 + 1];
      }
    }
    {
      // Tap (0, 2).
      const int from_w = column - 1;
      if (row >= 0 && row % 2 == 0 && from_w >= 0 && from_w < 40) {
        #pragma unroll 1
        for (int c = 0; c < 3; ++c) {
          sum += x_image[(static_cast<long long>(c) * 5 + row / 2) * 40 + from_w] *
                 weight[(static_cast<long long>(c) * 4 + channel) * 6 + 2];
        }
      }
    }
    {
      // Tap (1, 0).
      const int from_h = row - 1;
      const int from_w = column + 1;
      if (from_h >= 0 && from_h % 2 == 0 && from_w >= 0 && from_w < 40) {
        #pragma unroll 1
        for (int c = 0; c < 3; ++c) {
          sum += x_image[(static_cast<long long>(c) * 5 + from_h / 2) * 40 + from_w] *
                 weight[(static_cast<long long>(c) * 4 + channel) * 6 + 3];
        }
      }
    }
    {
      // Tap (1, 1).
      const int from_h = row - 1;
      if (from_h >= 0 && from_h % 2 == 0 && column >= 0 && column < 40) {
        #pragma unroll 1
        for (int c = 0; c < 3; ++c) {
          sum += x_image[(static_cast<long long>(c) * 5 + from_h / 2) * 40 + column] *
                 weight[(static_cast<long long>(c) * 4 + channel) * 6 + 4];
        }
      }
    }
    {
      // Tap (1, 2).
      const int from_h = row - 1;
      const int from_w = column - 1;
      if (from_h >= 0 && from_h % 2 == 0 && from_w >= 0 && from_w < 40) {
        #pragma unroll 1
        for (int c = 0; c < 3; ++c) {
          sum += x_image[(static_cast<long long>(c) * 5 + from_h / 2) * 40 + from_w] *
                 weight[(static_cast<long long>(c) * 4 + channel) * 6 + 5];
        }
      }
    }
    y[((image * 4 + channel) * 10 + row) * 40 + column] = sum;
  }
}

}  // namespace convtgen_two_columns_forward_07af4c6c533385cd_source
using convtgen_two_columns_forward_07af4c6c533385cd_source::convtgen_two_columns_forward_07af4c6c533385cd;
