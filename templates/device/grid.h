// Device primitives: launches that overlap (programmatic dependent launches). sm_90 and later.
//
// A launch that the host allows to may begin when all blocks of the launch before it have called
// grid_dependents_launch() or ended. What the launch before writes it may read only after grid_dependency_wait(), in
// each thread that reads; what was written before that launch began is there at once.
#pragma once

// Lets the launch after this one begin, as soon as all blocks have said so or ended.
__device__ __forceinline__ void grid_dependents_launch() {
  asm volatile("griddepcontrol.launch_dependents;");
}

// Waits until the launch before this one has ended, where the two overlap; what it wrote is visible after.
//
// To asynchronous copies too.
__device__ __forceinline__ void grid_dependency_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
