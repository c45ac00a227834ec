#include <fmt/format.h>

#include "convtgen_template_programs_embedded.h"
#include "generator/planner/planner.h"
#include "tests/templates/table.h"

namespace convtgen {
namespace planners::two_columns {

CONVTGEN_BLOCK(TwoColumnsBlock, (threads, 64));
constexpr std::int64_t kOutputs = 2;  // of a thread
inline constexpr std::array<std::string_view, 0> kNoConstantsOfTwoColumns = {};
using TwoColumnsFacts = FactsOf<TwoColumnsBlock>;

Result<void> check_two_columns(const Problem& problem) {
  const Layer& layer = problem.layer;
  // The identity: only layers of tests have it.
  if (layer.fuse != std::vector(3, Activation{ActivationKind::kScale, 1, 0})) {
    return fail("no 'fuse scale(1), scale(1), scale(1)', by which tests ask for it");
  }
  if (layer.dtype != Dtype::kF32) {
    return fail(fmt::format("dtype {}; it takes f32", name_of(layer.dtype)));
  }
  if (layer.layout != Layout::kNchw) {
    return fail(fmt::format("layout {}; it takes nchw", name_of(layer.layout)));
  }
  if (layer.groups != 1) {
    return fail(fmt::format("{} groups; it takes 1", layer.groups));
  }
  return {};
}

struct TwoColumns : Planner<TwoColumnsFacts, kNoConstantsOfTwoColumns, check_two_columns> {
  static Parameters parameters(const Problem& problem) {
    Parameters p = layer_parameters(problem.layer);
    for (const char* other : {"channels_last", "fuse_count", "fuse_kind", "fuse_a", "fuse_b"}) {
      p.erase(other);
    }
    return p;
  }
  static Blocks blocks(const Facts&) { return std::vector{Block()}; }
  static double seconds(const Facts&, const Block&, Constants&) { return 0; }
  static Words words(const Facts&, const Block& b, Constants&) {
    return {fmt::format("a block makes {} outputs of a row", kOutputs * b.threads), "the layer asks for it"};
  }
  static Grid grid(const Facts& f, const Block& b, Constants&) {
    return TileGrid{.stride_h = f.rows.stride,
                    .stride_w = f.columns.stride,
                    .tile_columns = kOutputs * b.threads,
                    .blocks_per_tile = f.layer.out_channels}
        .grid();
  }
};

}  // namespace planners::two_columns

CONVTGEN_TEMPLATE(TwoColumns, two_columns);

}  // namespace convtgen
