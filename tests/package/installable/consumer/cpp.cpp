// The same header in C++.
#include <plain.h>

#include <cstddef>

extern "C" std::size_t workspace_of_up() {
  return plain::up_forward_workspace();
}
