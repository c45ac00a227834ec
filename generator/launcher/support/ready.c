/* Where kernels are ready, and the binary that a chip runs. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

const char* ns_launching(const ns_part* part) {
  static __thread char text[256];
  snprintf(text, sizeof text, "launching %s", part->symbol);
  return text;
}

const ns_place* ns_find_place(const ns_kernel* kernel, const void* context, unsigned long long id) {
  const ns_place* place = __atomic_load_n(kernel->form->places, __ATOMIC_ACQUIRE);
  while (place != NULL && (place->context != context || place->id != id)) {
    place = place->next;
  }
  return place;
}

const ns_place* ns_add_place(const ns_kernel* kernel, const ns_place* place) {
  ns_place* added = (ns_place*)malloc(sizeof *added);
  if (added != NULL) {
    *added = *place;
    added->next = *kernel->form->places;
    __atomic_store_n(kernel->form->places, added, __ATOMIC_RELEASE);
  }
  return added;
}

static int ns_runs_on(const ns_binary* binary, int capability) {
  if (binary->is_ptx) {
    return binary->capability <= capability;
  }
  return binary->capability / 10 == capability / 10 && (binary->minors >> capability % 10 & 1) != 0;
}

unsigned int ns_shared_bytes(const ns_binary* binary) {
  unsigned int most = 0;
  int i;
  for (i = 0; i < binary->part_count; ++i) {
    most = binary->parts[i].shared_bytes > most ? binary->parts[i].shared_bytes : most;
  }
  return most;
}

int ns_choose(const ns_kernel* kernel, int capability, int most_shared_bytes, uint64_t refused,
              const ns_binary** chosen) {
  const ns_form* form = kernel->form;
  const ns_binary* too_large = NULL;
  int i;
  *chosen = NULL;
  for (i = 0; i < form->binary_count; ++i) {
    const ns_binary* binary = &form->binaries[i];
    const ns_binary* best = *chosen;
    if (!ns_runs_on(binary, capability) || (i < 64 && (refused >> i & 1) != 0)) {
      continue;
    }
    if (ns_shared_bytes(binary) > (unsigned int)most_shared_bytes) {
      too_large = binary;
      continue;
    }
    if (best == NULL || (best->is_ptx && !binary->is_ptx) ||
        (best->is_ptx == binary->is_ptx && binary->capability > best->capability)) {
      *chosen = binary;
    }
  }
  if (*chosen != NULL) {
    return NS_OK;
  }
  if (too_large != NULL) {
    return ns_fail(NS_UNSUPPORTED,
                   "%s for %s needs %u bytes of shared memory a block, and this GPU of compute capability %d.%d has "
                   "%d; the set is built for %s",
                   kernel->name, too_large->architecture, ns_shared_bytes(too_large), capability / 10,
                   capability % 10, most_shared_bytes, kernel->architectures);
  }
  return ns_fail(NS_UNSUPPORTED,
                 "%s is built for %s, and nothing of that runs on this GPU of compute capability %d.%d; add its "
                 "architecture, or PTX of an older one, to the set's architectures",
                 kernel->name, kernel->architectures, capability / 10, capability % 10);
}
