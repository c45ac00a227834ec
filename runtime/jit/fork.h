// CUDA does not survive fork(): a child can start it itself, but not use what its parent started.
#pragma once

#include "runtime/support/failure.h"

namespace convtgen::jit {

/// Call it when this process has started CUDA.
void note_cuda_start();

/// Whether CUDA was started in this process's parent before the fork. One load.
[[nodiscard]] bool cuda_lost_in_fork();

/// The message for that.
[[nodiscard]] Failure forked_failure();

}  // namespace convtgen::jit
