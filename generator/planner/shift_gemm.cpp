#include "generator/planner/shift_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "generator/layer/phases.h"

namespace convtgen {
namespace {

constexpr std::int64_t kThreads = 384;
constexpr std::int64_t kMostSums = 256;  // of a thread: phases * tiles of 64 positions * columns
constexpr std::int64_t kMostRegisters = 152;
constexpr std::int64_t kMostProducts = 1024;  // in the unrolled body
constexpr std::int64_t kUnknownExtent = 256;  // what an open size is planned for

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}
std::int64_t round_up(std::int64_t a, std::int64_t b) {
  return ceil_div(a, b) * b;
}
std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  return (a % b + b) % b;
}
std::int64_t round_down(std::int64_t a, std::int64_t b) {
  return a - floor_mod(a, b);
}

/// The block, as the template's parameters of the same names.
struct Block {
  std::int64_t tile_h = 0, tile_w = 0, run = 2;
  std::int64_t columns = 8, channel_run = 2, store = 1, phase_rows = 1;
  std::int64_t chunk = 16, stages = 2, copy_bytes = 16;
  bool resident = false;
};

/// What the choice depends on.
struct Facts {
  const Layer& layer;
  Axis rows, columns;
  std::int64_t bytes;  // of an element
  std::int64_t depth;  // channels of a product
  std::int64_t pack;   // elements of 16 bytes
  bool channels_last;
  std::int64_t max_shared;
};

/// Shared memory of a block as the template lays it out, in bytes.
struct Bytes {
  std::int64_t input = 0;    // of a stage
  std::int64_t weights = 0;  // of a chunk
};
Bytes bytes_of(const Facts& f, const Block& b) {
  const Layer& layer = f.layer;
  const std::int64_t groups = layer.stride.h / b.phase_rows;
  const std::int64_t offsets = groups == 1 ? greatest_offset(f.rows) - least_offset(f.rows) + 1 : 1;
  const std::int64_t align = f.channels_last ? 1 : f.pack;
  const std::int64_t first = round_down(least_offset(f.columns), align);
  const std::int64_t plane = (b.tile_h + offsets - 1) * round_up(b.tile_w + greatest_offset(f.columns) - first, align);
  Bytes out;
  if (f.channels_last) {
    const std::int64_t words = b.chunk * f.bytes / 4;
    out.input = plane * (words + floor_mod(4 - words, b.run > 2 ? 8 : 16)) * 4;
  } else {
    const std::int64_t pitch =
        f.bytes == 4 ? plane + floor_mod(8 - plane, 32) : 2 * (plane / 2 + floor_mod(4 - plane / 2, 16));
    out.input = b.chunk * pitch * f.bytes;
  }
  out.weights = layer.kernel.h * layer.kernel.w / groups * (b.chunk / f.depth) * b.columns * 32;
  return out;
}

std::int64_t shared_bytes(const Facts& f, const Block& b) {
  const Bytes bytes = bytes_of(f, b);
  const std::int64_t chunks = ceil_div(f.layer.in_channels, b.chunk);
  return (b.resident ? chunks * bytes.weights : 0) + b.stages * (bytes.input + (b.resident ? 0 : bytes.weights) + 16);
}

/// As many stages as fit, of at most four; false where not even two do.
bool choose_stages(const Facts& f, Block& b) {
  for (const bool resident : {true, false}) {
    b.resident = resident;
    for (b.stages = 4; b.stages >= 2; --b.stages) {
      if (shared_bytes(f, b) <= f.max_shared) {
        return true;
      }
    }
  }
  return false;
}

std::int64_t positions(const Size& in, const Axis& axis, std::int64_t output_padding) {
  return in ? ceil_div(output_extent(*in, axis.kernel, axis.stride, axis.padding, output_padding, axis.dilation),
                       axis.stride)
            : kUnknownExtent;
}

/// The tile of 64 * run positions that wastes least at the image's end, then stages least.
void choose_tile(const Facts& f, Block& b) {
  const std::int64_t height = positions(f.layer.height, f.rows, f.layer.output_padding.h);
  const std::int64_t width = positions(f.layer.width, f.columns, f.layer.output_padding.w);
  const std::int64_t halo_h = greatest_offset(f.rows) - least_offset(f.rows);
  const std::int64_t halo_w = greatest_offset(f.columns) - least_offset(f.columns);
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t w = std::max(b.run, f.channels_last ? b.run : f.pack); w <= 64 * b.run; w *= 2) {
    const std::int64_t h = 64 * b.run / w;
    // The products of a tile cost as much as staging about twice its input.
    const std::int64_t cost = ceil_div(height, h) * ceil_div(width, w) * (2 * h * w + (h + halo_h) * (w + halo_w));
    if (cost < best) {
      best = cost;
      b.tile_h = h;
      b.tile_w = w;
    }
  }
}

/// The largest copy that rows (or pixels, with channels last) of this many elements allow; 0 where none does.
std::int64_t choose_copy(const Facts& f) {
  const Size extent = f.channels_last ? Size(f.layer.in_channels) : f.layer.width;
  for (std::int64_t bytes = 16; bytes >= 4; bytes /= 2) {
    if (extent ? *extent * f.bytes % bytes == 0 : f.bytes == 4 && bytes == 4) {
      return bytes;
    }
  }
  return 0;
}

void choose_store(const Facts& f, Block& b) {
  const Layer& layer = f.layer;
  b.store = f.pack;
  if (f.channels_last) {
    while (b.store > 1 && (b.columns % (4 * b.store) != 0 || layer.out_channels % b.store != 0)) {
      b.store /= 2;
    }
    b.channel_run = b.store;
    return;
  }
  b.channel_run = 2;
  // An open width allows no store of more than one element.
  const std::int64_t out = layer.width ? output_extent(*layer.width, layer.kernel.w, layer.stride.w, layer.padding.w,
                                                       layer.output_padding.w, layer.dilation.w)
                                       : 1;
  while (b.store > 1 && (b.run * layer.stride.w % b.store != 0 || out % b.store != 0)) {
    b.store /= 2;
  }
}

/// Registers of a consumer that hold sums and, in two turns, the operands of a run: products of more than these are
/// serialised by the assembler (C7512).
bool registers_suffice(const Facts& f, const Block& b) {
  const std::int64_t sums = b.phase_rows * f.layer.stride.w * (b.run / 2) * b.columns / 2;
  const std::int64_t operands = b.run - 1 + greatest_offset(f.columns) - least_offset(f.columns);
  return sums + 2 * 4 * operands <= kMostRegisters;
}

/// The rest of a block whose run and phase rows are chosen; false where nothing fits.
bool complete(const Facts& f, Block& b) {
  const Layer& layer = f.layer;
  const std::int64_t most = kMostSums / (b.phase_rows * layer.stride.w * (b.run / 2)) / 8 * 8;
  if (most < 8) {
    return false;
  }
  b.columns = round_up(ceil_div(layer.out_channels, ceil_div(layer.out_channels, most)), 8);
  if (f.channels_last && b.columns > 16) {
    b.columns = std::min(round_up(b.columns, 4 * f.pack), round_down(most, 4 * f.pack));
    b.columns = std::max<std::int64_t>(b.columns, 8);
  }
  b.copy_bytes = choose_copy(f);
  b.chunk = 2 * f.depth;
  if (b.copy_bytes == 0) {
    return false;
  }
  choose_tile(f, b);
  choose_store(f, b);
  const std::int64_t products = layer.kernel.h * layer.kernel.w * b.phase_rows / layer.stride.h * 2 * (b.run / 2);
  return products <= kMostProducts && registers_suffice(f, b) && choose_stages(f, b);
}

Parameters parameters_of(const Layer& l, const Block& b) {
  std::vector<std::int64_t> kinds;
  std::vector<double> as, bs;
  for (const Activation& step : l.fuse) {
    kinds.push_back(static_cast<std::int64_t>(step.kind));
    as.push_back(step.a);
    bs.push_back(step.b);
  }
  return {
      {"kernel_h", l.kernel.h},
      {"kernel_w", l.kernel.w},
      {"stride_h", l.stride.h},
      {"stride_w", l.stride.w},
      {"padding_h", l.padding.h},
      {"padding_w", l.padding.w},
      {"output_padding_h", l.output_padding.h},
      {"output_padding_w", l.output_padding.w},
      {"dilation_h", l.dilation.h},
      {"dilation_w", l.dilation.w},
      {"in_channels", l.in_channels},
      {"out_channels", l.out_channels},
      {"has_bias", l.bias},
      {"channels_last", l.layout == Layout::kNhwc},
      {"height", l.height.value_or(-1)},
      {"width", l.width.value_or(-1)},
      {"Element", TypeName{l.dtype == Dtype::kF32 ? "float" : "unsigned short"}},
      {"Sum", TypeName{"float"}},
      {"type", std::int64_t{l.dtype == Dtype::kF16    ? 0
                            : l.dtype == Dtype::kBf16 ? 1
                                                      : 2}},
      {"fuse_count", static_cast<std::int64_t>(l.fuse.size())},
      {"fuse_kind", kinds},
      {"fuse_a", as},
      {"fuse_b", bs},
      {"tile_h", b.tile_h},
      {"tile_w", b.tile_w},
      {"run", b.run},
      {"columns", b.columns},
      {"channel_run", b.channel_run},
      {"store", b.store},
      {"phase_rows", b.phase_rows},
      {"chunk", b.chunk},
      {"stages", b.stages},
      {"copy_bytes", b.copy_bytes},
      {"resident", b.resident},
  };
}

Plan plan_of(const Facts& f, const Block& b) {
  const Layer& layer = f.layer;
  Plan plan;
  plan.template_name = "shift_gemm";
  plan.parameters = parameters_of(layer, b);
  plan.threads = kThreads;
  plan.shared_bytes = shared_bytes(f, b);
  plan.alignment = std::max(b.copy_bytes, b.store * f.bytes);
  plan.summary =
      fmt::format("a block makes {}x{} outputs of {} channels; {} taps; {:.1f} KiB shared", b.tile_h * b.phase_rows,
                  b.tile_w * layer.stride.w, std::min(b.columns, layer.out_channels), layer.kernel.h * layer.kernel.w,
                  static_cast<double>(plan.shared_bytes) / 1024.0);
  plan.reason = fmt::format(
      "tensor cores: products of 64 positions x {} channels, {} a warpgroup, {} stages of {} input channels, weights "
      "{}",
      b.columns, b.run / 2 * b.phase_rows * layer.stride.w, b.stages, b.chunk,
      b.resident ? "resident" : "with each stage");
  return plan;
}

bool applies(const Problem& problem) {
  const Layer& layer = problem.layer;
  return problem.target.architecture == "sm_90a" && layer.groups == 1 &&
         (layer.compute == Compute::kTf32 || layer.compute == Compute::kF16 || layer.compute == Compute::kBf16);
}

std::int64_t integer(const Plan& plan, std::string_view name) {
  return std::get<std::int64_t>(plan.parameters.find(name)->second);
}

}  // namespace

std::vector<Plan> plans_shift_gemm(const Problem& problem) {
  if (!applies(problem)) {
    return {};
  }
  const Layer& layer = problem.layer;
  const std::int64_t bytes = layer.dtype == Dtype::kF32 ? 4 : 2;
  const Facts facts{.layer = layer,
                    .rows = {layer.kernel.h, layer.stride.h, layer.padding.h, layer.dilation.h},
                    .columns = {layer.kernel.w, layer.stride.w, layer.padding.w, layer.dilation.w},
                    .bytes = bytes,
                    .depth = 32 / bytes,
                    .pack = 16 / bytes,
                    .channels_last = layer.layout == Layout::kNhwc,
                    .max_shared = problem.target.max_shared_bytes};
  const bool rows_part = layer.kernel.h == layer.stride.h && layer.padding.h == 0 && layer.dilation.h == 1;
  std::vector<std::pair<std::int64_t, Plan>> ranked;
  for (const std::int64_t phase_rows : {layer.stride.h, std::int64_t{1}}) {
    if (phase_rows != layer.stride.h && !rows_part) {
      continue;
    }
    for (const std::int64_t run : {4, 2, 8}) {
      Block block;
      block.run = run;
      block.phase_rows = phase_rows;
      if (complete(facts, block)) {
        // Wide products first, then runs that are stored in one piece, then long runs.
        const bool in_pieces = !facts.channels_last && block.store < std::min(run * layer.stride.w, facts.pack);
        const std::int64_t score = 1000 * std::min<std::int64_t>(block.columns, 64) - (in_pieces ? 10 * run : 0) + run;
        ranked.emplace_back(-score, plan_of(facts, block));
      }
    }
    if (layer.stride.h == 1) {
      break;
    }
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& entry) { return entry.first; });
  std::vector<Plan> plans;
  for (auto& [score, plan] : ranked) {
    plans.push_back(std::move(plan));
  }
  return plans;
}

Grid shift_gemm_grid(const Problem& problem, const Plan& plan) {
  const Layer& layer = problem.layer;
  const std::int64_t columns =
      ceil_div(layer.out_channels, integer(plan, "columns")) * (layer.stride.h / integer(plan, "phase_rows"));
  return {.stride_h = layer.stride.h,
          .stride_w = layer.stride.w,
          .tile_rows = layer.stride.h * integer(plan, "tile_h"),
          .tile_columns = layer.stride.w * integer(plan, "tile_w"),
          .blocks_per_tile = columns,
          .most_tiles = std::max<std::int64_t>(1, problem.target.multiprocessors / columns)};
}

}  // namespace convtgen
