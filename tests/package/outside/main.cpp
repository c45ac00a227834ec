// Lists the kernels that were built into it, one a line: its name and the architectures.
#include <kernels.h>
#include <cstdio>

#define PASTE(a, b) a##b
#define NAME(a, b) PASTE(a, b)

int main() {
  for (auto kernel = NAME(NAMESPACE, _kernels)(); *kernel != nullptr; ++kernel) {
    std::printf("%s: %s\n", (*kernel)->name, (*kernel)->architectures);
  }
}
