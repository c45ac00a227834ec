// What the facts of several forward templates for the tensor cores of warpgroups share.
#pragma once

#include <vector>

#include "tests/planner/problems.h"
#include "tests/template_facts/facts.h"

namespace convtgen::testing {

/// Makes the columns of a drawn layer whole vectors, of a known width.
inline void know_whole_rows(DrawnAxis& drawn) {
  if (!drawn.is_rows) {
    drawn.is_known = true;
    drawn.size = (drawn.size + 7) / 8 * 8;
  }
}

/// Layers of 72 -> 40 channels (Golden::others).
[[nodiscard]] inline std::vector<const char*> other_layers() {
  return {"kernel 3x3; input 8x512x512; dtype f16", "kernel 3x3; stride 2x2; input ?x?x?; compute tf32; bias",
          "kernel 5x5; dilation 3x1; input 1x9x8; compute tf32; fuse gelu",
          "kernel 2x2; stride 2x2; dtype f16; input 1x8x8"};
}

/// Of tiles of output channels whose input comes by copies.
inline void add_tile_kinds(Kinds& kinds) {
  kinds.channel_tiles(kinds.integer("block_n"));
  kinds.add_value("store", "store");
  kinds.is(kinds.integer("phase_rows") < kinds.rows.stride, "phase rows parted");
  kinds.add_value("adjacent channels", "adjacent_channels");
  kinds.add_value("copies of", "copy_bytes");
  kinds.add_value("k-blocks of", "block_k");
}

/// Of products of shifted positions, by clusters of so many blocks.
inline void add_gemm_kinds(Kinds& kinds, std::int64_t cluster, bool ping_pong) {
  const bool is_bulk = kinds.flag("bulk");
  const std::int64_t block_k = kinds.integer("block_k"), block_n = kinds.integer("block_n");
  const Size width = kinds.columns.extent;
  kinds.k_blocks();
  add_tile_kinds(kinds);
  kinds.add_value("positions", "thread_positions");
  kinds.add(fmt::format("clusters of {}", cluster));
  kinds.is(kinds.integer("tile_n") > 1, "tiles of several images");
  kinds.is(is_bulk && kinds.plan.reason.contains("whole images"), "images in one row");
  kinds.is(is_bulk && !(width && *width * bytes_of(kinds.layer.dtype) % 16 == 0),
           "rows that begin anywhere in 16 bytes");
  kinds.is(is_bulk && kinds.group_in > block_k, "several k-blocks by bulk copies");
  kinds.is(is_bulk && kinds.group_in % block_k != 0, "a k-block in part by bulk copies");
  kinds.is(ping_pong && kinds.group_in > block_k * kinds.integer("stages"),
           "more k-blocks than stages by ping-pong warpgroups");
  kinds.is(cluster > 1 && is_bulk, "clusters with bulk copies");
  kinds.is(cluster > 1 && kinds.integer("phase_rows") < kinds.rows.stride, "clusters with phase rows parted");
  kinds.is(cluster > 1 && kinds.group_out % block_n != 0, "clusters with channels beyond");
  kinds.is(kinds.layer.groups > 1, "groups");
  kinds.is(kinds.layer.groups > 1 && is_bulk, "groups with bulk copies");
  kinds.is(kinds.layer.groups > 1 && block_n < kinds.group_out, "groups of several channel tiles");
}

}  // namespace convtgen::testing
