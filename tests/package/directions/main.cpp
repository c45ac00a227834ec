// Calls the kernels of a layer with one channel, kernel (1, 2, 3) and stride 2 on the host device. The results are by
// hand.
#include <named.h>
#include <own.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Floats = std::vector<float>;

const Floats x{1, 10}, weight{1, 2, 3}, bias{0.5F}, grad_y{1, -1, 2, 0, 3};
const Floats y{1.5F, 2.5F, 13.5F, 20.5F, 30.5F}, grad_x{5, 11}, grad_weight{21, -1, 32}, grad_bias{5};
alignas(128) char workspace[1 << 20];
int failures = 0;

void expect(const char* name, int status, const char* error, const Floats& want, const Floats& got) {
  if (status != 0 || got != want) {
    std::printf("%s: %s\n", name, status != 0 ? error : "a wrong result");
    ++failures;
  }
}

}  // namespace

int main() {
  if (named_use_host(1) != NAMED_OK || own_use_host(1) != OWN_OK) {
    std::printf("%s%s\n", named_last_error(), own_last_error());
    return 1;
  }
  void* const room = workspace;
  const std::size_t bytes = sizeof workspace;
  Floats to_y(5), to_x(2), to_weight(3), to_bias(1);

  int status = named::up_forward(x.data(), weight.data(), bias.data(), to_y.data(), room, bytes, 1, 2, nullptr);
  expect("up_forward", status, named_last_error(), y, to_y);
  status = named::up_grad_input(grad_y.data(), weight.data(), to_x.data(), room, bytes, 1, 2, nullptr);
  expect("up_grad_input", status, named_last_error(), grad_x, to_x);
  status = named::up_grad_weight(x.data(), grad_y.data(), to_weight.data(), to_bias.data(), room, bytes, 1, 2, nullptr);
  expect("up_grad_weight", status, named_last_error(), grad_weight, to_weight);
  expect("its grad_bias", status, named_last_error(), grad_bias, to_bias);
  to_weight = {9, 9, 9};
  status = named::bare_grad_weight(x.data(), grad_y.data(), to_weight.data(), room, bytes, 1, 2, nullptr);
  expect("bare_grad_weight", status, named_last_error(), grad_weight, to_weight);
  to_bias = {9};
  status = own::alone_grad_bias(grad_y.data(), to_bias.data(), room, bytes, 1, 2, nullptr);
  expect("alone_grad_bias", status, own_last_error(), grad_bias, to_bias);

  // The same numbers along the depth of a volume.
  to_y.assign(5, 9);
  status = own::volume_forward(x.data(), weight.data(), bias.data(), to_y.data(), room, bytes, 1, 2, 1, 1, nullptr);
  expect("volume_forward", status, own_last_error(), y, to_y);
  status = own::volume_grad_weight(x.data(), grad_y.data(), to_weight.data(), to_bias.data(), room, bytes, 1, 2, 1, 1,
                                   nullptr);
  expect("volume_grad_weight", status, own_last_error(), grad_weight, to_weight);
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
