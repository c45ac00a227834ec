#include "generator/specializer/primitives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "generator/specializer/print_layout.h"

namespace convtgen {
namespace {

using enum Feature;

constexpr std::string_view kWgmmaPrefix = "wgmma_m64n";
constexpr std::string_view kIncreasePrefix = "setmaxnreg_increase_";
constexpr std::string_view kDecreasePrefix = "setmaxnreg_decrease_";

std::string_view type_word(WgmmaType type) {
  return type == WgmmaType::kF16 ? "f16" : type == WgmmaType::kBf16 ? "bf16" : "tf32";
}

int k_of(WgmmaType type) {
  return type == WgmmaType::kTf32 ? 8 : 16;
}

bool take(std::string_view& rest, std::string_view prefix) {
  if (!rest.starts_with(prefix)) {
    return false;
  }
  rest.remove_prefix(prefix.size());
  return true;
}

// A number as it is written without leading zeros.
std::optional<int> take_number(std::string_view& rest) {
  int value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc() || rest.front() == '0' || rest.front() == '-') {
    return std::nullopt;
  }
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return value;
}

Result<Wgmma> parse_wgmma(std::string_view name) {
  const auto wrong = [&](std::string_view what) { return fail(fmt::format("no primitive '{}': {}", name, what)); };
  std::string_view rest = name;
  Wgmma wgmma;
  (void)take(rest, kWgmmaPrefix);
  const std::optional<int> n = take_number(rest);
  if (!n || *n < 8 || *n > 256 || *n % 8 != 0) {
    return wrong("N is 8 to 256 in steps of 8");
  }
  wgmma.n = *n;
  const std::optional<int> k = take(rest, "k") ? take_number(rest) : std::nullopt;
  if (!k || !take(rest, "_")) {
    return wrong("after N stands the K of an instruction, as in wgmma_m64n64k16_f16_ss");
  }
  if (take(rest, "f16_")) {
    wgmma.type = WgmmaType::kF16;
  } else if (take(rest, "bf16_")) {
    wgmma.type = WgmmaType::kBf16;
  } else if (take(rest, "tf32_")) {
    wgmma.type = WgmmaType::kTf32;
  } else {
    return wrong("types are f16, bf16, tf32");
  }
  if (*k != k_of(wgmma.type)) {
    return wrong(fmt::format("K of {} is {}", type_word(wgmma.type), k_of(wgmma.type)));
  }
  if (take(rest, "rs")) {
    wgmma.a_in_registers = true;
  } else if (!take(rest, "ss")) {
    return wrong("A is in shared memory (ss) or in registers (rs)");
  }
  if (rest.empty()) {
    return wgmma;
  }
  if (rest != "_mn_a" && rest != "_mn_b" && rest != "_mn_ab") {
    return wrong("the end is nothing, _mn_a, _mn_b or _mn_ab");
  }
  if (wgmma.type == WgmmaType::kTf32) {
    return wrong("tf32 operands are K-major; only f16 and bf16 ones may be MN-major");
  }
  wgmma.a_mn_major = rest != "_mn_b";
  wgmma.b_mn_major = rest != "_mn_a";
  if (wgmma.a_mn_major && wgmma.a_in_registers) {
    return wrong("only operands in shared memory may be MN-major, so with rs B alone (_mn_b)");
  }
  return wgmma;
}

// "%3, %4, %5"
std::string operands(int first, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    names.push_back(fmt::format("%{}", first + i));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// Lines of at most this many operands, so that a text stays readable.
constexpr int kOperandsPerLine = 16;

std::string wgmma_text(const Wgmma& wgmma) {
  const int count = wgmma.n / 2;
  const int k = k_of(wgmma.type);
  const std::string_view type = type_word(wgmma.type);
  const int a_operands = wgmma.a_in_registers ? 4 : 1;
  const int b = count + a_operands;
  const std::string shape = fmt::format("m64n{}k{}", wgmma.n, k);

  std::string text = fmt::format(
      "// d (64x{0}, f32) = a (64x{1}) * b ({1}x{0}), added to d where `accumulate` is not 0: {2}, A {3}, B {4}.\n",
      wgmma.n, k, type,
      wgmma.a_in_registers ? "in registers"
                           : (wgmma.a_mn_major ? "M-major in shared memory" : "K-major in shared memory"),
      wgmma.b_mn_major ? "N-major" : "K-major");
  std::string line = fmt::format("__device__ __forceinline__ void {}(", wgmma_name(wgmma));
  const std::size_t indent = line.size();
  for (const std::string& parameter :
       {fmt::format("float (&d)[{}], ", count),
        std::string(wgmma.a_in_registers ? "const unsigned int (&a)[4], " : "unsigned long long a, "),
        std::string("unsigned long long b, "), std::string("int accumulate) {")}) {
    if (line.size() + parameter.size() > static_cast<std::size_t>(kColumns)) {
      text += line.substr(0, line.size() - 1) + "\n";
      line.assign(indent, ' ');
    }
    line += parameter;
  }
  text += line + "\n";
  text += fmt::format("  asm volatile(\"{{ .reg .pred p; setp.ne.b32 p, %{}, 0; ", b + 1);
  text += fmt::format("wgmma.mma_async.sync.aligned.{}.f32.{}.{} \"\n", shape, type, type);
  for (int first = 0; first < count; first += kOperandsPerLine) {
    const int here = std::min(kOperandsPerLine, count - first);
    text += fmt::format("      \"{}{}{}\"\n", first == 0 ? "{" : "", operands(first, here),
                        first + here == count ? "}, " : ", ");
  }
  const std::string a = wgmma.a_in_registers ? "{" + operands(count, 4) + "}" : operands(count, 1);
  std::string majors;
  if (wgmma.type != WgmmaType::kTf32) {
    majors = wgmma.a_in_registers ? fmt::format(", {:d}", wgmma.b_mn_major)
                                  : fmt::format(", {:d}, {:d}", wgmma.a_mn_major, wgmma.b_mn_major);
  }
  text += fmt::format("      \"{}, %{}, p, 1, 1{}; }}\"\n", a, b, majors);
  for (int first = 0; first < count; first += kOperandsPerLine / 2) {
    std::vector<std::string> line;
    for (int i = first; i < std::min(first + kOperandsPerLine / 2, count); ++i) {
      line.push_back(fmt::format("\"+f\"(d[{}])", i));
    }
    text += fmt::format("      {}{}{}\n", first == 0 ? ": " : "  ", fmt::join(line, ", "),
                        first + kOperandsPerLine / 2 < count ? "," : "");
  }
  text += wgmma.a_in_registers ? "      : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), " : "      : \"l\"(a), ";
  text += "\"l\"(b), \"r\"(accumulate) : \"memory\");\n}";
  return text;
}

Primitive primitive_of(std::string_view name, std::string text) {
  Primitive primitive;
  primitive.type.name = "void";
  primitive.name = name;
  primitive.text = std::move(text);
  return primitive;
}

std::vector<PrimitiveNeed> make_table() {
  std::vector<PrimitiveNeed> table;
  const auto add = [&](std::string_view header, Features needs, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      table.push_back({std::string(name), fmt::format("device/{}.h", header), needs});
    }
  };
  add("memory", {},
      {"shared_memory", "shared_address", "shared_align", "load_constant_16", "store_global_4", "store_global_8",
       "store_global_16"});
  add("convert", {},
      {"half_to_float", "float_to_half", "accumulator_to_half", "bfloat16_to_float", "float_to_bfloat16", "halves_of"});
  add("convert", {kPackedConvert}, {"floats_to_half2", "floats_to_bfloat162"});
  add("convert", {kTf32Convert}, {"float_to_tf32"});
  add("warp", {}, {"lane_id", "warp_uniform"});
  add("warp", {kElect}, {"elect_one"});
  add("async_copy", {kCpAsync},
      {"async_copy_4", "async_copy_8", "async_copy_16", "async_copy_commit", "async_copy_wait", "async_copy_wait_all",
       "async_copy_arrive"});
  add("barrier", {}, {"named_barrier_sync", "named_barrier_arrive"});
  add("barrier", {kMbarrier},
      {"mbarrier_init", "mbarrier_invalidate", "mbarrier_arrive", "mbarrier_test", "mbarrier_poll"});
  add("barrier", {kTma},
      {"fence_mbarrier_init", "mbarrier_arrive_expect", "mbarrier_expect", "mbarrier_arrive_remote",
       "mbarrier_release_remote", "mbarrier_try_wait", "mbarrier_wait", "mbarrier_wait_cluster"});
  add("matrix_load", {kLdmatrix},
      {"matrix_load_x1", "matrix_load_x1_transposed", "matrix_load_x2", "matrix_load_x2_transposed", "matrix_load_x4",
       "matrix_load_x4_transposed"});
  add("matrix_load", {kStmatrix},
      {"matrix_store_x1", "matrix_store_x1_transposed", "matrix_store_x2", "matrix_store_x2_transposed",
       "matrix_store_x4", "matrix_store_x4_transposed"});
  add("mma", {kMmaF16K8}, {"mma_k8_f16"});
  add("mma", {kMmaF16}, {"mma_k16_f16"});
  add("mma", {kMmaBf16}, {"mma_k16_bf16", "mma_k8_bf16"});
  add("mma", {kMmaTf32}, {"mma_k8_tf32"});
  for (int rank = 1; rank <= 5; ++rank) {
    for (const std::string_view kind : {"load", "load_multicast", "store"}) {
      table.push_back({fmt::format("tensor_{}_{}d", kind, rank), "device/tensor_copy.h", {kTma}});
    }
  }
  add("tensor_copy", {kTma},
      {"tensor_prefetch", "bulk_load", "bulk_load_multicast", "bulk_store", "bulk_commit", "bulk_wait_read",
       "bulk_wait", "fence_proxy_async"});
  add("cluster", {kCluster},
      {"cluster_rank", "cluster_size", "cluster_arrive", "cluster_arrive_relaxed", "cluster_wait", "cluster_pointer",
       "cluster_load_4", "cluster_load_16", "cluster_store_4", "cluster_store_16"});
  add("grid", {kPdl}, {"grid_dependents_launch", "grid_dependency_wait"});
  add("warpgroup", {},
      {"wgmma_pin", "wgmma_pin_operand", "wgmma_keep_operand", "wgmma_descriptor", "wgmma_descriptor_move"});
  add("warpgroup", {kWgmma}, {"wgmma_fence", "wgmma_commit", "wgmma_wait"});
  return table;
}

Result<Features> needs_of(std::string_view name) {
  if (is_printed_primitive(name)) {
    if (const Result<Primitive> printed = printed_primitive(name); !printed) {
      return std::unexpected(printed.error());
    }
    return Features{name.starts_with(kWgmmaPrefix) ? kWgmma : kSetmaxnreg};
  }
  const std::vector<PrimitiveNeed>& known = known_primitives();
  const auto found = std::ranges::find(known, name, &PrimitiveNeed::name);
  if (found == known.end()) {
    return fail(fmt::format("no primitive '{}'", name));
  }
  return found->needs;
}

}  // namespace

std::string wgmma_name(const Wgmma& wgmma) {
  const std::string_view major = wgmma.a_mn_major && wgmma.b_mn_major ? "_mn_ab"
                                 : wgmma.a_mn_major                   ? "_mn_a"
                                 : wgmma.b_mn_major                   ? "_mn_b"
                                                                      : "";
  return fmt::format("{}{}k{}_{}_{}{}", kWgmmaPrefix, wgmma.n, k_of(wgmma.type), type_word(wgmma.type),
                     wgmma.a_in_registers ? "rs" : "ss", major);
}

bool is_printed_primitive(std::string_view name) {
  return name.starts_with(kWgmmaPrefix) || name.starts_with(kIncreasePrefix) || name.starts_with(kDecreasePrefix);
}

Result<Primitive> printed_primitive(std::string_view name) {
  if (name.starts_with(kWgmmaPrefix)) {
    const Result<Wgmma> wgmma = parse_wgmma(name);
    if (!wgmma) {
      return std::unexpected(wgmma.error());
    }
    return primitive_of(name, wgmma_text(*wgmma));
  }
  std::string_view rest = name;
  const bool increase = take(rest, kIncreasePrefix);
  if (!increase && !take(rest, kDecreasePrefix)) {
    return fail(fmt::format("no printed primitive '{}'; their names begin with {}, {} or {}", name, kWgmmaPrefix,
                            kIncreasePrefix, kDecreasePrefix));
  }
  const std::optional<int> registers = take_number(rest);
  if (!registers || !rest.empty() || *registers < 24 || *registers > 256 || *registers % 8 != 0) {
    return fail(fmt::format("no primitive '{}': registers are 24 to 256 in steps of 8", name));
  }
  return primitive_of(
      name,
      fmt::format("// {}.\n__device__ __forceinline__ void {}() {{\n"
                  "  asm volatile(\"setmaxnreg.{}.sync.aligned.u32 {};\");\n}}",
                  increase
                      ? fmt::format("Waits until each thread of this warpgroup can have {} registers, more than it "
                                    "has, and takes them. Collective",
                                    *registers)
                      : fmt::format("Gives back the registers of each thread of this warpgroup beyond {}. Collective",
                                    *registers),
                  name, increase ? "inc" : "dec", *registers));
}

Result<std::string> printed_name(const PrintedCall& call) {
  const std::vector<std::int64_t>& values = call.values;
  if ((call.name == "setmaxnreg_increase" || call.name == "setmaxnreg_decrease") && values.size() == 1) {
    return fmt::format("{}_{}", call.name, values[0]);
  }
  const bool a_in_registers = call.name == "wgmma_rs";
  if ((!a_in_registers && call.name != "wgmma_ss") || values.size() != (a_in_registers ? 2 : 3)) {
    return fail(fmt::format("no printed primitive '{}' with {} static arguments", call.name, values.size()));
  }
  if (values[0] < 0 || values[0] > static_cast<int>(WgmmaType::kTf32)) {
    return fail(fmt::format("{}: {} is no WgmmaType", call.name, values[0]));
  }
  if (call.accumulators < 4 || call.accumulators > 128 || call.accumulators % 4 != 0) {
    return fail(fmt::format("{}: d has {} elements; it has N / 2, which is 4 to 128 in steps of 4", call.name,
                            call.accumulators));
  }
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] != 0 && values[i] != 1) {
      return fail(fmt::format("{}: {} is no WgmmaMajor", call.name, values[i]));
    }
  }
  return wgmma_name({.n = 2 * call.accumulators,
                     .type = static_cast<WgmmaType>(values[0]),
                     .a_in_registers = a_in_registers,
                     .a_mn_major = !a_in_registers && values[1] == 1,
                     .b_mn_major = values.back() == 1});
}

const std::vector<PrimitiveNeed>& known_primitives() {
  static const std::vector<PrimitiveNeed> table = make_table();
  return table;
}

Result<void> check_primitive(std::string_view name, std::string_view architecture) {
  const Result<Features> needs = needs_of(name);
  if (!needs) {
    return std::unexpected(needs.error());
  }
  const Result<Target> target = target_named(architecture);
  if (!target) {
    return std::unexpected(target.error());
  }
  if (target->features.has_all(*needs)) {
    return {};
  }
  std::vector<std::string_view> able;
  for (const Target& known : known_targets()) {
    if (known.features.has_all(*needs)) {
      able.push_back(known.architecture);
    }
  }
  return fail(fmt::format("{} has no '{}'; {} {}", architecture, name, fmt::join(able, ", "),
                          able.size() == 1 ? "has" : "have"));
}

const Target* only_target_with(std::string_view name) {
  const Result<Features> needs = needs_of(name);
  const Target* only = nullptr;
  for (const Target& known : known_targets()) {
    if (needs && known.features.has_all(*needs)) {
      if (is_portable(known)) {
        return nullptr;
      }
      only = &known;
    }
  }
  return only;
}

}  // namespace convtgen
