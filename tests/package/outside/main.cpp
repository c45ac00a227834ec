// Lists the kernels that were built into it, one a line: its name and the architectures.
#include <cstdio>
#include <kernels.h>

#define PASTE(a, b) a##b
#define NAME(a, b) PASTE(a, b)

int main() {
  for (auto kernel = NAME(NAMESPACE, _kernels)(); *kernel != nullptr; ++kernel) {
    std::printf("%s: %s\n", (*kernel)->name, (*kernel)->architectures);
  }
}
