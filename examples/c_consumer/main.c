/* One layer of a vocoder, with a kernel that the build made, compared with the definition. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <vocoder.h> /* made by convtgen_add_kernels() */

#include "../api/arrays.h"

static void check(int status) {
  if (status != VOCODER_OK) {
    fprintf(stderr, "%s: %s\n", vocoder_error_text(status), vocoder_last_error());
    exit(1);
  }
}

static float* filled(const Arrays* arrays, int64_t count) {
  float* values = arrays_allocate(arrays, (size_t)count * sizeof(float));
  for (int64_t i = 0; i < count; ++i) {
    values[i] = sinf((float)i);
  }
  return values;
}

int main(void) {
  check(vocoder_prepare());
  const Arrays arrays = arrays_open(vocoder_uses_host());
  vocoder_sizes sizes;
  check(vocoder_upsample_forward_sizes(20, &sizes));
  const float* x = filled(&arrays, sizes.x_elements);
  const float* weight = filled(&arrays, sizes.weight_elements);
  float* y = filled(&arrays, sizes.y_elements);
  const size_t workspace_bytes = vocoder_upsample_forward_workspace(sizes.in[2]);
  void* workspace = arrays_allocate(&arrays, workspace_bytes);
  check(vocoder_upsample_forward(x, weight, y, workspace, workspace_bytes, sizes.in[2], NULL));
  arrays_wait(&arrays);

  double worst = 0;
  for (int64_t co = 0; co < sizes.out_channels; ++co) {
    for (int64_t o = 0; o < sizes.out[2]; ++o) {
      double sum = 0;
      for (int64_t ci = 0; ci < sizes.in_channels; ++ci) {
        for (int64_t i = 0; i < sizes.in[2]; ++i) {
          const int64_t k = o - 8 * i + 4; /* o = i * stride - padding + k */
          if (k >= 0 && k < 16) {
            sum += (double)x[ci * sizes.in[2] + i] * weight[(ci * sizes.out_channels + co) * 16 + k];
          }
        }
      }
      worst = fmax(worst, fabs(y[co * sizes.out[2] + o] - sum));
    }
  }
  printf("%lld samples from %lld on %s; the largest error is %g\n", (long long)sizes.out[2], (long long)sizes.in[2],
         vocoder_uses_host() ? "the host device" : "the GPU", worst);
  return worst < 1e-4 ? 0 : 1;
}
