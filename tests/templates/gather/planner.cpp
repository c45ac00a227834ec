#include <fmt/format.h>

#include "convtgen_template_programs_embedded.h"
#include "tests/templates/asked.h"
#include "tests/templates/table.h"

namespace convtgen {
namespace planners::gather {

CONVTGEN_BLOCK(GatherBlock, (threads, 64));
using GatherFacts = FactsOf<GatherBlock>;

struct Gather : AskedPlanner<GatherFacts, 1> {
  static Blocks blocks(const Facts&) { return std::vector{Block()}; }
  static Chosen chosen(const Facts& f, const Block& b, Constants&) {
    return {fmt::format("a block makes {} outputs of a row", b.threads), "the layer asks for it",
            TileGrid{.stride_h = f.rows.stride,
                     .stride_w = f.columns.stride,
                     .tile_columns = b.threads,
                     .blocks_per_tile = f.layer.out_channels}
                .grid()};
  }
};

}  // namespace planners::gather

CONVTGEN_TEMPLATE(Gather, gather);

}  // namespace convtgen
