/* Lists the kernels, one a line. */
#include <plain.h>
#include <stdio.h>

size_t workspace_of_up(void);

int main(void) {
  const plain_kernel* const* kernel;
  for (kernel = plain_kernels(); *kernel != NULL; ++kernel) {
    printf("%s: %s\n", (*kernel)->name, (*kernel)->architectures);
  }
  return (int)workspace_of_up();
}
