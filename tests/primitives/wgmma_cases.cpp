// wgmma: every N and type, A from shared memory or registers; layouts, swizzles, shifted descriptors.
#include <fmt/format.h>

#include "generator/specializer/primitives.h"
#include "tests/primitives/case.h"

namespace convtgen::testing {
namespace {

WgmmaType type_of(Number number) {
  return number == Number::kF16 ? WgmmaType::kF16 : number == Number::kBf16 ? WgmmaType::kBf16 : WgmmaType::kTf32;
}

int k_of(Number number) {
  return 32 / bytes_of(number);
}

// How an operand lies in shared memory: wgmma_descriptor()'s terms and formula.
struct Layout {
  int swizzle = 0;  // bytes
  bool mn_major = false;
  int leading = 0;
  int stride = 0;

  [[nodiscard]] int byte(int row, int k, Number number) const {
    const int size = bytes_of(number), unit = 16 / size;
    if (!mn_major) {
      return swizzle == 0 ? row / 8 * stride + row % 8 * 16 + k / unit * leading + k % unit * size
                          : row / 8 * stride + row % 8 * swizzle + k * size;
    }
    const int run = swizzle / 2;
    return swizzle == 0 ? row / 8 * stride + row % 8 * 2 + k % 8 * 16 + k / 8 * leading
                        : row / run * leading + row % run * 2 + k % 8 * swizzle + k / 8 * stride;
  }
  // The address of a byte counted from a multiple of 1024.
  [[nodiscard]] int swizzled(int address) const {
    const int mask = swizzle == 0 ? 0 : swizzle / 16 - 1;
    return address ^ ((address >> 7 & mask) << 4);
  }
};

constexpr Layout k_major(int swizzle, int rows) {
  return swizzle == 0 ? Layout{.leading = rows * 16, .stride = 128}
                      : Layout{.swizzle = swizzle, .leading = 16, .stride = 8 * swizzle};
}
// For 16 values of k.
constexpr Layout mn_major_layout(int swizzle) {
  return swizzle == 0 ? Layout{.mn_major = true, .leading = 128, .stride = 256}
                      : Layout{.swizzle = swizzle, .mn_major = true, .leading = 16 * swizzle, .stride = 8 * swizzle};
}

// Puts a matrix into an image; `offset` is a multiple of 1024.
void lay(std::vector<std::uint8_t>& image, std::size_t offset, const Layout& layout, const Matrix& matrix,
         Number number) {
  for (int row = 0; row < matrix.rows; ++row) {
    for (int k = 0; k < matrix.columns; ++k) {
      put(image, offset + static_cast<std::size_t>(layout.swizzled(layout.byte(row, k, number))), number,
          matrix.at(row, k));
    }
  }
  image.resize((image.size() + 1023) / 1024 * 1024);
}

std::string head(std::size_t words) {
  return fmt::format(R"(extern "C" __global__ void __launch_bounds__(128) kernel(const unsigned int* __restrict__ image,
                                                         unsigned int* __restrict__ out) {{
  unsigned char* base = shared_align(shared_memory(), 1024);
  for (int i = threadIdx.x; i < {}; i += 128) {{
    reinterpret_cast<unsigned int*>(base)[i] = image[i];
  }}
  fence_proxy_async();
  __syncthreads();
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  const int t = threadIdx.x % 4;
)",
                     words);
}

std::string descriptor(const char* name, std::size_t offset, const Layout& layout) {
  return fmt::format("    const unsigned long long {} = wgmma_descriptor(base + {}, {}, {}, {});\n", name, offset,
                     layout.leading, layout.stride, layout.swizzle);
}

// The products a * b and then again a * b onto it, or once; accumulators begin as nonsense. Writes 64 x N words.
std::string multiply(const Wgmma& wgmma, const std::string& a, const std::string& b, std::size_t out, bool twice) {
  const std::string name = wgmma_name(wgmma);
  return fmt::format(R"(    float d[{0}];
    for (int i = 0; i < {0}; ++i) {{
      d[i] = 123.0f;
      wgmma_pin(d[i]);
    }}
    wgmma_fence();
    {1}(d, {2}, {3}, 0);
{4}    wgmma_commit();
    wgmma_wait(0);
    for (int i = 0; i < {0}; ++i) {{
      wgmma_pin(d[i]);
      out[{5} + (row + i / 2 % 2 * 8) * {6} + i / 4 * 8 + 2 * t + i % 2] = __float_as_uint(d[i]);
    }}
)",
                     wgmma.n / 2, name, a, b, twice ? fmt::format("    {}(d, {}, {}, 1);\n", name, a, b) : "", out,
                     wgmma.n);
}

// All types and both sources of A for one N, K-major without a swizzle.
Case every_type(int n, bool integers) {
  Case one;
  one.name = fmt::format("wgmma_n{}_{}", n, integers ? "exact" : "rounded");
  one.threads = 128;
  std::vector<std::uint8_t> image;
  std::string body;
  std::size_t section = 0;
  for (const Number number : {Number::kF16, Number::kBf16, Number::kTf32}) {
    const int k = k_of(number);
    const Matrix a = integers ? small_integers(64, k, 61) : random_matrix(64, k, number, 61);
    const Matrix b = integers ? small_integers(n, k, 62) : random_matrix(n, k, number, 62);
    const std::size_t a_at = image.size();
    lay(image, a_at, k_major(0, 64), a, number);
    const std::size_t b_at = image.size();
    lay(image, b_at, k_major(0, n), b, number);
    for (const bool registers : {false, true}) {
      const Wgmma wgmma{.n = n, .type = type_of(number), .a_in_registers = registers};
      // A block for each, so that the accumulators of one are live at a time.
      body += fmt::format("  if (blockIdx.x == {}) {{\n", section) + descriptor("b", b_at, k_major(0, n));
      if (registers) {
        body += fmt::format(R"(    unsigned int a[4];
    for (int i = 0; i < 4; ++i) {{
      a[i] = *reinterpret_cast<unsigned int*>(base + {} + (row + i % 2 * 8) * 16 + i / 2 * 1024 + t * 4);
      wgmma_pin_operand(a[i]);
    }}
)",
                            a_at);
      } else {
        body += descriptor("a", a_at, k_major(0, 64));
      }
      body += multiply(wgmma, "a", "b", section * 64 * static_cast<std::size_t>(n), true);
      body += registers ? "    wgmma_keep_operand(a, gridDim.x >> 31);\n  }\n" : "  }\n";
      ++section;
      const Words want = product(a, b, 2);
      one.want.insert(one.want.end(), want.begin(), want.end());
      if (!integers) {
        const std::vector<double> bound = product_bound(a, b, 2);
        one.bound.insert(one.bound.end(), bound.begin(), bound.end());
      }
    }
  }
  one.blocks = static_cast<int>(section);
  one.shared_bytes = static_cast<int>(image.size()) + 1024;
  one.inputs = {words_of_bytes(image)};
  one.body = head(image.size() / 4) + body + "}\n";
  return one;
}

// One product of m64n64 with A moved by `a_move` bytes from where its matrix begins, so that it reads rows (or k) from
// `first` on; `extra` is or-ed into A's descriptor.
struct Shift {
  std::string name;
  Number number = Number::kF16;
  Layout a, b;
  int rows = 64;      // of A's matrix in memory
  int depth = 16;     // of A's matrix in memory
  int first_row = 0;  // of the product
  int first_k = 0;
  int a_move = 0;
  std::string extra = {};
  bool must_differ = false;
};

Case layout_case(const Shift& shift) {
  const int k = k_of(shift.number);
  Case one;
  one.name = shift.name;
  one.threads = 128;
  one.must_differ = shift.must_differ;
  const Matrix whole = small_integers(shift.rows, shift.depth, 63);
  const Matrix b = small_integers(64, k, 64);
  Matrix a{64, k, {}};
  for (int row = 0; row < 64; ++row) {
    for (int i = 0; i < k; ++i) {
      a.values.push_back(whole.at(row + shift.first_row, i + shift.first_k));
    }
  }
  std::vector<std::uint8_t> image;
  lay(image, 0, shift.a, whole, shift.number);
  const std::size_t b_at = image.size();
  lay(image, b_at, shift.b, b, shift.number);
  const Wgmma wgmma{
      .n = 64, .type = type_of(shift.number), .a_mn_major = shift.a.mn_major, .b_mn_major = shift.b.mn_major};
  one.want = product(a, b);
  one.body =
      head(image.size() / 4) + "  {\n" + descriptor("a", 0, shift.a) + descriptor("b", b_at, shift.b) +
      fmt::format("    const unsigned long long moved = wgmma_descriptor_move(a, {}){};\n", shift.a_move, shift.extra) +
      multiply(wgmma, "moved", "b", 0, false) + "  }\n}\n";
  one.shared_bytes = static_cast<int>(image.size()) + 1024;
  one.inputs = {words_of_bytes(image)};
  return one;
}

}  // namespace

std::vector<Case> wgmma_cases() {
  std::vector<Case> cases;
  for (int n = 8; n <= 256; n += 8) {
    cases.push_back(every_type(n, true));
  }
  for (const int n : {8, 96, 256}) {
    cases.push_back(every_type(n, false));
  }
  Case registers;
  registers.name = "setmaxnreg";
  registers.threads = 256;
  registers.body = R"(extern "C" __global__ void __launch_bounds__(256) kernel(unsigned int* __restrict__ out) {
  if (warp_uniform(threadIdx.x / 128) == 0) {
    setmaxnreg_decrease_24();
    out[threadIdx.x] = 1;
  } else {
    setmaxnreg_increase_240();
    out[threadIdx.x] = 2;
  }
}
)";
  registers.want = Words(128, 1);
  registers.want.insert(registers.want.end(), 128, 2);
  cases.push_back(registers);
  return cases;
}

std::vector<Case> wgmma_layout_cases() {
  std::vector<Case> cases;
  const auto add = [&](const Shift& shift) { cases.push_back(layout_case(shift)); };
  for (const int swizzle : {0, 32, 64, 128}) {
    for (const Number number : {Number::kF16, Number::kBf16, Number::kTf32}) {
      add({.name = fmt::format("wgmma_{}_swizzle_{}", word_of(number), swizzle),
           .number = number,
           .a = k_major(swizzle, 64),
           .b = k_major(swizzle, 64),
           .depth = k_of(number)});
    }
    for (const Number number : {Number::kF16, Number::kBf16}) {
      for (const int majors : {1, 2, 3}) {
        add({.name = fmt::format("wgmma_{}_swizzle_{}_mn_{}", word_of(number), swizzle,
                                 majors == 1   ? "a"
                                 : majors == 2 ? "b"
                                               : "ab"),
             .number = number,
             .a = (majors & 1) != 0 ? mn_major_layout(swizzle) : k_major(swizzle, 64),
             .b = (majors & 2) != 0 ? mn_major_layout(swizzle) : k_major(swizzle, 64)});
      }
    }
  }
  // K of 64 bytes in rows of 64 or 128: the second 32 bytes by moving the start along K.
  for (const int swizzle : {64, 128}) {
    add({.name = fmt::format("wgmma_along_k_swizzle_{}", swizzle),
         .a = k_major(swizzle, 64),
         .b = k_major(swizzle, 64),
         .depth = 32,
         .first_k = 16,
         .a_move = 32});
  }
  // Shifts by one to seven rows.
  for (const int shift : {1, 3, 4, 7}) {
    for (const Number number : {Number::kF16, Number::kTf32}) {
      add({.name = fmt::format("wgmma_{}_shift_{}_no_swizzle", word_of(number), shift),
           .number = number,
           .a = k_major(0, 72),
           .b = k_major(0, 64),
           .rows = 72,
           .depth = k_of(number),
           .first_row = shift,
           .a_move = 16 * shift});
    }
    for (const int swizzle : {64, 128}) {
      const Shift exact{.name = fmt::format("wgmma_shift_{}_swizzle_{}", shift, swizzle),
                        .a = k_major(swizzle, 72),
                        .b = k_major(swizzle, 64),
                        .rows = 72,
                        .first_row = shift,
                        .a_move = swizzle * shift};
      add(exact);
      if (swizzle == 128) {
        Shift wrong = exact;
        wrong.name += "_base_offset_is_wrong";
        wrong.extra = fmt::format(" | {}ull << 49", shift & 7);
        wrong.must_differ = true;
        add(wrong);
      }
    }
    // K is what moves here: [8 rows of A][k][16 bytes], 24 values of k in memory.
    add({.name = fmt::format("wgmma_shift_{}_mn_major", shift),
         .a = {.mn_major = true, .leading = 128, .stride = 24 * 16},
         .b = k_major(0, 64),
         .depth = 24,
         .first_k = shift,
         .a_move = 16 * shift});
  }
  return cases;
}

}  // namespace convtgen::testing
