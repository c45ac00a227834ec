// What the tests know of each template: one file a template, with one value. Suites go over all of them, so that a new
// template is in every suite by its file. What a file needs for its value is in a namespace of the template's name.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/layer/layer.h"
#include "generator/layer/shape.h"
#include "generator/planner/plan/plan.h"
#include "tests/template_facts/drawer.h"
#include "tests/template_facts/kinds.h"

namespace convtgen::testing {

/// A layer that the template refuses.
struct Refused {
  const char* layer;  // without "conv_transpose2d"
  const char* reason;
  const char* architecture = "sm_90a";
};

/// A layer that runs on the host device with the source for another chip than sm_90a.
struct OnOtherChips {
  const char* layer;                    // without "conv_transpose2d"
  InputSizes sizes;                     // of x in the call
  std::vector<std::string> chips = {};  // none: TemplateFacts::other_chips
  bool all_plans = false;               // of the template run; else its first
};

/// Another text in the template's program, by which the shared memory of its plan for the layer becomes another.
struct ChangedProgram {
  const char* layer;
  std::string_view before, after;
};

/// A committed source (tests/specializer/goldens).
struct Golden {
  const char* name;
  const char* layer;
  const char* architecture = "sm_90a";
  std::vector<const char*> others = {};  // layers of 72 -> 40 channels whose sources are read, too
};

/// How a golden of a template without wgmma names its taps.
enum class NamedTaps { kUnchecked, kEach, kOfKernelRows, kOfKernelRowsInPairs };

/// A layer at sizes whose last tiles have offsets of more than 32 bits.
struct FarTile {
  const char* name;
  const char* layer;     // of stride 1 and without padding where it is `flat`
  bool by_rows = false;  // its height grows, and there are images before; else its batch grows
  bool flat = false;
  bool by_planes = false;  // as by_rows, of its depth
  std::optional<bool> bulk = {};
  std::optional<bool> staged_epilogue = {};
};

/// The same of a gradient.
struct FarGradientLayer {
  const char* name;
  const char* layer;
  bool by_rows = false;                // its height grows; else its batch
  std::optional<bool> by_copies = {};  // rows are copied as they lie, and turned
  bool scans = false;                  // the kernel that finds the largest magnitudes of channels, alone
  bool by_planes = false;              // its depth grows
};

/// Places of the template's source that need not be 64-bit in any of the layers, each with the reason.
using UnseenOffsets = std::set<std::string>;

/// Layers that are far, forward.
struct FarTileFacts {
  std::vector<FarTile> layers = {};
  UnseenOffsets unseen = {};
  /// Parameters that plans get, so that far images begin where tiles do and a small image has one tile.
  std::vector<std::pair<const char*, std::int64_t>> parameters = {};
  /// Rows of positions that a tile makes all outputs of. Null: the parameter tile_h.
  std::int64_t (*rows)(const Layer& layer, const Plan& plan) = nullptr;
  /// Blocks of a tile. Null: those of the launch's grid.
  std::int64_t (*blocks)(const Layer& layer, const Plan& plan) = nullptr;
  /// Tiles of a call; of one whose positions are a sequence. Null: those of the launch's grid.
  std::int64_t (*tiles)(const Layer& layer, const Plan& plan, const Shape& shape) = nullptr;
  std::int64_t (*tiles_of_sequence)(const Layer& layer, const Plan& plan, const Shape& shape) = nullptr;
  bool by_strips = false;           // of a sequence: the segments of a strip follow one another
  bool images_share_tiles = false;  // tile_n of them: the last image is the first of its tile
};

/// A kernel that is broken in one place after the other.
struct MutatedKernel {
  const char* name;
  const char* layer;
  std::size_t least_mutants = 0;
  bool resident = false;   // for tensor cores: a plan with its weights in shared memory
  bool ping_pong = false;  // a plan whose warpgroups have tiles of their own
  bool bound_checks = true;
  int unseen = 0;  // mutants that the host device can't tell from the kernel
  // So that blocks use stages again and go on to other tiles. With one seed each block has one tile all the same.
  bool few_blocks = false;
  // A plan whose positions are one sequence, whose outputs go through shared memory, whose rows come by bulk copies.
  std::optional<bool> flat = {}, staged_epilogue = {}, bulk = {};
  std::optional<std::int64_t> thread_positions = {}, block_n = {};  // of a block
  std::int64_t cluster = 1;                                         // blocks that share a tile's channels
  // Parameters that the plan gets, as "stages 2, slices 1": a small block, so that a small layer uses stages again.
  const char* block = "";
};

/// A kernel whose numbers are made wrong in one place after the other (tests/end_to_end/wrong_numbers.h).
struct NumbersKernel {
  const char* name;
  const char* layer;
  const char* has = "";  // words of the source that the kernel is known by
  std::int64_t least_stages = 1;
  int multiprocessors = 132;  // the fewer, the fuller are tiles
  const char* block = "";     // with_block(): of gradients
};

/// Which numbers are made wrong.
struct WrongNumbers {
  std::vector<NumbersKernel> scales = {};             // of f32x3's stages
  std::vector<NumbersKernel> rounding = {};           // to tf32
  std::vector<NumbersKernel> channel_scales = {};     // of f32x3's channels
  std::vector<NumbersKernel> gradient_rounding = {};  // to tf32
  std::vector<NumbersKernel> activation = {};         // of x by `fuse_input`
};

/// A kernel that is given NaNs or infinities.
struct NotFinite {
  const char* name;
  const char* rest;  // of the layer; in five images, or seven of gradients
  std::optional<bool> bulk = {}, ping_pong = {}, by_copies = {};
  std::optional<std::int64_t> copy_bytes = {};
  const char* compute = "compute tf32";
};

/// Plans that are compiled, for what the assembler says of them and for their machine code.
struct CompiledPlans {
  const char* group;
  Compute compute = Compute::kF16;
  Layout layout = Layout::kNchw;
  std::vector<std::string_view> benchmarks = {};  // names of the benchmark's layers
  int most = 1;                                   // plans of each
  bool recorded = true;                           // also of layers that records are shipped for
  Direction direction = Direction::kForward;
  /// The first plan of this kind, which each of the layers has.
  bool (*wanted)(const Plan& plan) = nullptr;
  const char* kind = "";
  std::vector<const char*> layers = {};  // besides: the template's first plan of each
};

/// Layers of the benchmarks that show something in several templates: those outside of what templates were made for;
/// those of stride 1; of gradients of the weights; with strides.
[[nodiscard]] inline std::vector<std::string_view> outside_layers() {
  return {"k5x5", "k5x5s2n1", "k2x3", "k2x3n1", "k4x4s2", "k4x4s2n1", "k3x3s2", "k3x3s2n1", "k3x3s3", "k3x3s3n1"};
}
[[nodiscard]] inline std::vector<std::string_view> rolling_layers() {
  return {"kb57", "kb65", "kb69", "kb71", "kb78"};
}
[[nodiscard]] inline std::vector<std::string_view> summed_layers() {
  return {"kb65", "kb69", "kb71", "unet4", "dcgan4", "pose1", "k3x3s2n1"};
}
[[nodiscard]] inline std::vector<std::string_view> strided_layers() {
  return {"unet1", "unet4", "dcgan4", "pose1", "hifi1", "k3x3s3"};
}

/// A kernel of launch code whose weights are packed once, on the host device.
struct PackedKernelOfTemplate {
  const char* name;
  const char* layer;
  std::int64_t cluster = 1;  // blocks of a cluster
};

/// A parameter that few plans have set.
struct RareParameter {
  const char* name;
  bool (*may_be_set)(const Layer& layer);
};

/// What the machine code of the template's plans has.
struct MachineCodeFacts {
  const char* stored_vector = nullptr;  // the parameter of how many elements a thread stores as one vector
  bool warp_products = false;           // mma.sync
  bool vectors_alone = false;           // stores of 16 bytes, and no others
  // Of its loads of shared memory, of those that their bytes need: an epilogue may load a few outputs whose banks meet.
  double most_wavefronts = 1.02;
};

/// One template. What a suite asks for and the template does not have stays at its default.
struct TemplateFacts {
  std::string_view name;
  std::vector<Compute> computes;
  std::vector<Layout> layouts;
  bool takes_all = false;        // every layer of its direction
  bool packs_weights = false;    // a kernel of the plan packs them
  bool names_taps = true;        // the source says for which tap a product is
  const char* search = nullptr;  // the layers that a search on a GPU draws for it (tests/search/draw.py); null: none

  /// Random layers (tests/end_to_end/random_layers.h), and the kinds of plans in the net.
  LayerDrawer drawer = {};
  void (*kinds)(Kinds& kinds) = nullptr;
  /// Makes a drawn layer, of this number, one that the template takes more often; for tests of constants.
  void (*fit)(Layer& layer, int number) = nullptr;

  /// Planner.
  std::vector<Refused> refused = {};
  int least_plans = 50;  // of 60 layers drawn for each template
  std::size_t least_constants = 15;
  std::optional<ChangedProgram> changed = {};

  /// Sources.
  std::vector<Golden> goldens = {};
  NamedTaps golden_taps = NamedTaps::kUnchecked;
  const char* emitted = nullptr;       // a layer whose source compiles for sm_90a alone
  const char* as_it_stands = nullptr;  // a layer; the template, compiled with a plan's parameters, is tried against it
  /// Whether the source goes over the layer's taps or phases by loops, or parts phases.
  bool (*is_of_many_taps)(const Layer& layer) = nullptr;
  std::vector<CompiledPlans> compiled = {};
  MachineCodeFacts machine_code = {};

  /// The chips that have tensor copies and no wgmma, if it serves them; layers that it plans there.
  std::vector<std::string> other_chips = {};
  std::vector<OnOtherChips> on_other_chips = {};

  /// Results.
  std::vector<const char*> launched_gradients = {};  // layers whose gradient's launch code runs on the host device
  std::vector<PackedKernelOfTemplate> packed = {};
  std::optional<RareParameter> rare_in_gradients = {};
  FarTileFacts far = {};
  std::vector<FarGradientLayer> far_gradients = {};
  const char* far_weights = nullptr;  // the rest of a layer of gradients with more than 2^31 weights
  UnseenOffsets unseen_of_gradients = {};
  /// Of a gradient whose launches have fewer blocks than tiles: blocks of a call if each tile had its own, where `all`
  /// is what the grid has then. Null: as many.
  std::int64_t (*blocks_of_all)(const Plan& plan, const Shape& shape, std::int64_t all, std::int64_t cluster) = nullptr;
  std::vector<MutatedKernel> mutants = {};
  WrongNumbers wrong_numbers = {};
  std::vector<NotFinite> nans = {}, nan_gradients = {};
  std::vector<NotFinite> infinities = {};  // of products with zeros where a phase has no tap
};

inline void PrintTo(const TemplateFacts& facts, std::ostream* out) {
  *out << facts.name;
}

/// The facts of all templates(), in their order.
[[nodiscard]] std::span<const TemplateFacts> template_facts();
/// Throws where there is no template of this name.
[[nodiscard]] const TemplateFacts& facts_of(std::string_view template_name);
/// Those of the templates that convtgen has; the others are for tests alone.
[[nodiscard]] std::vector<const TemplateFacts*> shipped_facts();

/// A template, in a direction that it makes plans for. It says nothing of the layers that the template takes.
struct DirectedTemplate {
  Direction direction = Direction::kForward;
  std::string_view template_name;
};
/// "roll_gemm", "grad_input_roll_gemm": as a test's name.
[[nodiscard]] std::string name_of(const DirectedTemplate& directed);
inline void PrintTo(const DirectedTemplate& directed, std::ostream* out) {
  *out << name_of(directed);
}
/// All templates in all their directions; and those of the gradients.
[[nodiscard]] std::vector<DirectedTemplate> directed_templates();
[[nodiscard]] std::vector<DirectedTemplate> gradient_templates();
/// The gradient that the template makes: of the input, if it is one of forward layers.
[[nodiscard]] Direction gradient_of(std::string_view template_name);

/// Something of each template's facts, with the template's name.
template <typename Fact>
struct OfTemplate {
  std::string_view template_name;
  Fact fact;
};
/// All that `field` has of all templates, as in all_of(&TemplateFacts::mutants).
template <typename Fact>
[[nodiscard]] std::vector<OfTemplate<Fact>> all_of(std::vector<Fact> TemplateFacts::* field) {
  std::vector<OfTemplate<Fact>> all;
  for (const TemplateFacts& facts : template_facts()) {
    for (const Fact& fact : facts.*field) {
      all.push_back({facts.name, fact});
    }
  }
  return all;
}
/// What a failure prints of one of these.
template <typename Fact>
void PrintTo(const OfTemplate<Fact>& one, std::ostream* out) {
  *out << one.template_name << ' ';
  if constexpr (requires { one.fact.name; }) {
    *out << one.fact.name;
  } else {
    *out << one.fact.layer;
  }
}
/// The name of a test of one of these.
template <typename Info>
[[nodiscard]] std::string name_of_fact(const Info& info) {
  return info.param.fact.name;
}

}  // namespace convtgen::testing
