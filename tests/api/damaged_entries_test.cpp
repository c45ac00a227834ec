// Entries that were damaged on disk, and real compilers that make them anew: the machine's NVRTC, or without one
// a stand-in, and the host device's C++ compiler.
#include <random>

#include "generator/language/language.h"
#include "runtime/compile/nvrtc_search.h"
#include "runtime/jit/device.h"
#include "runtime/make/cubin_maker.h"
#include "runtime/support/counters.h"
#include "tests/store/folders.h"

namespace convtgen::jit {
namespace {

using convtgen::testing::files_in;
using convtgen::testing::read_whole;
using convtgen::testing::Scratch;
using convtgen::testing::Variable;
using convtgen::testing::write_whole;

struct Damaged {
  std::string what;
  std::string file;
};

// Cut at ten random places, and one bit flipped at ten others.
std::vector<Damaged> damaged(const std::string& whole) {
  std::mt19937 random(7);
  std::vector<Damaged> all;
  for (int i = 0; i < 20; ++i) {
    const std::size_t at = random() % whole.size();
    std::string file = whole;
    if (i % 2 == 0) {
      file.resize(at);
    } else {
      file[at] = static_cast<char>(file[at] ^ 1 << random() % 8);
    }
    all.push_back({(i % 2 == 0 ? "cut at " : "flipped at ") + std::to_string(at), std::move(file)});
  }
  return all;
}

TEST(DamagedEntriesTest, AreCompiledAnewByNvrtc) {
  const Scratch scratch;
  const Variable nvrtc("CONVTGEN_NVRTC", locate_nvrtc().found() ? std::getenv("CONVTGEN_NVRTC") : CONVTGEN_FAKE_NVRTC);
  const Layer layer = parse_layer("conv_transpose1d 1 -> 1; kernel 2").value();
  // As another process would: nothing is remembered but the folder.
  const auto make = [&] {
    CubinMaker maker(std::make_shared<Store>(StoreOptions{.folder = scratch.path().string()}));
    auto made = maker.make_for_chip(layer, Direction::kForward, Chip{80}, {});
    EXPECT_TRUE(made) << made.error().message;
    return made.value_or(MadeKernel{});
  };
  const MadeKernel first = make();
  ASSERT_TRUE(first.compiled);
  const auto entry = files_in(scratch.path(), ".entry").at(0);
  const std::string whole = read_whole(entry);
  for (const Damaged& damage : damaged(whole)) {
    write_whole(entry, damage.file);
    const auto compiles = counters().compiles.load();
    const MadeKernel again = make();
    EXPECT_EQ(counters().compiles, compiles + 1) << damage.what;
    EXPECT_EQ(again.binary.bytes, first.binary.bytes) << damage.what;
    EXPECT_EQ(read_whole(entry), whole) << damage.what;
    EXPECT_FALSE(make().compiled) << damage.what;
    EXPECT_EQ(files_in(scratch.path()).size(), 1u) << damage.what;
  }
}

TEST(DamagedEntriesTest, AreCompiledAnewByTheHostsCompiler) {
  const Scratch scratch;
  const auto store = scratch.path() / "store";
  // The machine's compiler, with a note of each kernel that it compiles.
  const auto compiler = scratch.path() / "compiler";
  const auto noted = scratch.path() / "noted";
  write_whole(compiler, "#!/bin/sh\ncase \"$*\" in *unit.cpp*) printf x >> '" + noted.string() +
                            "' ;; esac\nexec \"${CONVTGEN_TEST_CXX:-g++}\" \"$@\"\n");
  std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
  const Variable real("CONVTGEN_TEST_CXX", std::getenv("CXX"));
  const Variable cxx("CXX", compiler.c_str());
  const KernelKey layer(parse_layer("conv_transpose1d 1 -> 1; kernel 2; stride 2").value());
  const auto run = [&] {
    const auto device = JitDevice::open("host", {.store_folder = store.string()}).value();
    const float x[] = {1, 10}, weight[] = {2, 3};
    std::vector<float> y(4);
    const auto ran = device->run(layer, forward_arrays(x, weight, nullptr, y.data()), {1, {1, 2}}, nullptr);
    EXPECT_TRUE(ran) << ran.error().message;
    return y;
  };
  const std::vector<float> right = {2, 3, 20, 30};
  ASSERT_EQ(run(), right);
  const auto entry = files_in(store, ".entry").at(0);
  for (const Damaged& damage : damaged(read_whole(entry))) {
    write_whole(entry, damage.file);
    const std::size_t compiles = read_whole(noted).size();
    EXPECT_EQ(run(), right) << damage.what;
    EXPECT_EQ(read_whole(noted).size(), compiles + 1) << damage.what;
    EXPECT_EQ(Store({.folder = store.string()}).verify().good, 1u) << damage.what;
    EXPECT_EQ(run(), right) << damage.what;
    EXPECT_EQ(read_whole(noted).size(), compiles + 1) << damage.what;
    EXPECT_EQ(files_in(store).size(), 1u) << damage.what;
  }
}

}  // namespace
}  // namespace convtgen::jit
