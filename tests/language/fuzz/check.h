// A claim that a fuzzer tries to break.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CONVTGEN_CHECK(claim)                                                         \
  do {                                                                                \
    if (!(claim)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #claim); \
      std::abort();                                                                   \
    }                                                                                 \
  } while (false)
