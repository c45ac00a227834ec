#include <fmt/format.h>

#include "convtgen_template_programs_embedded.h"
#include "tests/templates/asked.h"
#include "tests/templates/table.h"

namespace convtgen {
namespace planners::two_columns {

CONVTGEN_BLOCK(TwoColumnsBlock, (threads, 64));
constexpr std::int64_t kOutputs = 2;  // of a thread
using TwoColumnsFacts = FactsOf<TwoColumnsBlock>;

struct TwoColumns : AskedPlanner<TwoColumnsFacts, 3> {
  static Blocks blocks(const Facts&) { return std::vector{Block()}; }
  static Chosen chosen(const Facts& f, const Block& b, Constants&) {
    return {fmt::format("a block makes {} outputs of a row", kOutputs * b.threads), "the layer asks for it",
            TileGrid{.stride_h = f.rows.stride,
                     .stride_w = f.columns.stride,
                     .tile_columns = kOutputs * b.threads,
                     .blocks_per_tile = f.layer.out_channels}
                .grid()};
  }
};

}  // namespace planners::two_columns

CONVTGEN_TEMPLATE(TwoColumns, two_columns);

}  // namespace convtgen
