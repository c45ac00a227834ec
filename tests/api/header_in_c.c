/* The header is C: this file need only compile, with every warning an error. */
#include <convtgen/convtgen.h>
#include <convtgen/host.h>

int convtgen_test_header_in_c(void);
int convtgen_test_header_in_c(void) {
  convtgen_layer_fields fields = {.struct_size = 0};
  convtgen_shape shape = {.struct_size = sizeof(shape)};
  convtgen_counters counters = {.struct_size = sizeof(counters)};
  return (int)(fields.struct_size + shape.struct_size + counters.struct_size) + CONVTGEN_OK;
}
