/* One layer, from its text to verified numbers, in C: one_layer [auto | host | cuda]. */
#include <convtgen/convtgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "arrays.h"

static void check(convtgen_status status) {
  if (status != CONVTGEN_OK) {
    fprintf(stderr, "%s: %s\n", convtgen_status_text(status), convtgen_last_error());
    exit(1);
  }
}

/* What output (co, oy, ox) of the layer below must be: the definition, term by term. */
static double expected(const float* x, const float* weight, const float* bias, const convtgen_shape* shape, int64_t co,
                       int64_t oy, int64_t ox) {
  double sum = bias[co];
  for (int64_t ci = 0; ci < shape->in_channels; ++ci) {
    for (int64_t iy = 0; iy < shape->in[1]; ++iy) {
      for (int64_t ix = 0; ix < shape->in[2]; ++ix) {
        const int64_t kh = oy - 2 * iy + 1, kw = ox - 2 * ix + 1; /* oy = iy * stride - padding + kh */
        if (kh >= 0 && kh < 4 && kw >= 0 && kw < 4) {
          sum += (double)x[(ci * shape->in[1] + iy) * shape->in[2] + ix] *
                 weight[((ci * shape->out_channels + co) * 4 + kh) * 4 + kw];
        }
      }
    }
  }
  return sum;
}

int main(int argc, char** argv) {
  convtgen_layer* layer = NULL;
  convtgen_device* device = NULL;
  convtgen_kernel* kernel = NULL;
  check(convtgen_layer_parse("conv_transpose2d 3 -> 2; kernel 4; stride 2; padding 1; bias", NULL, &layer));
  check(convtgen_device_open(argc > 1 ? argv[1] : "auto", &device));
  check(convtgen_prepare(device, layer, CONVTGEN_FORWARD, &kernel));
  printf("%s\non %s\n", convtgen_layer_text(layer), convtgen_device_name(device));

  convtgen_shape shape = {.struct_size = sizeof(shape)};
  const convtgen_sizes sizes = {1, {1, 5, 7}};
  check(convtgen_layer_shape(layer, &sizes, &shape));
  const Arrays arrays = arrays_open(convtgen_device_is_host(device));
  const size_t element = (size_t)shape.element_bytes;
  float* x = arrays_allocate(&arrays, (size_t)shape.x_elements * element);
  float* weight = arrays_allocate(&arrays, (size_t)shape.weight_elements * element);
  float* bias = arrays_allocate(&arrays, (size_t)shape.bias_elements * element);
  float* y = arrays_allocate(&arrays, (size_t)shape.y_elements * element);
  size_t workspace_bytes = 0;
  check(convtgen_kernel_workspace(kernel, &sizes, &workspace_bytes, NULL));
  const convtgen_tensors tensors = {.struct_size = sizeof(tensors),
                                    .x = x,
                                    .weight = weight,
                                    .bias = bias,
                                    .y = y,
                                    .workspace = arrays_allocate(&arrays, workspace_bytes),
                                    .workspace_bytes = workspace_bytes};
  for (int64_t i = 0; i < shape.x_elements; ++i) {
    x[i] = (float)(i % 13) - 6.0f;
  }
  for (int64_t i = 0; i < shape.weight_elements; ++i) {
    weight[i] = 0.25f * (float)(i % 7) - 0.75f;
  }
  for (int64_t i = 0; i < shape.bias_elements; ++i) {
    bias[i] = (float)i;
  }

  check(convtgen_launch(kernel, &tensors, &sizes, NULL));
  arrays_wait(&arrays);

  double worst = 0;
  for (int64_t i = 0; i < shape.y_elements; ++i) {
    const int64_t ox = i % shape.out[2], oy = i / shape.out[2] % shape.out[1];
    const int64_t co = i / shape.out[2] / shape.out[1];
    worst = fmax(worst, fabs(y[i] - expected(x, weight, bias, &shape, co, oy, ox)));
  }
  printf("y is 1x%lldx%lldx%lld; the largest error is %g\n", (long long)shape.out_channels, (long long)shape.out[1],
         (long long)shape.out[2], worst);
  convtgen_kernel_destroy(kernel);
  convtgen_device_close(device);
  convtgen_layer_destroy(layer);
  return worst < 1e-4 ? 0 : 1;
}
