// A committed program must come from the templates as they stand; this notices it without LLVM.
#include "generator/templatec/digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "generator/program/program_text.h"

namespace convtgen::templatec {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = CONVTGEN_SOURCE_DIR;
const fs::path kTemplates = kRoot / "templates";

/// Where templates are, each with its program.
const fs::path kFolders[] = {kTemplates, kRoot / "tests/templates"};

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return std::nullopt;
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// The files of a template by their names from its folder or from the one of what templates share.
SourceFiles sources_of_template(const fs::path& templates, const std::string& name) {
  return sources_of(name, [&](const std::string& file) {
    std::optional<std::string> own = read_file(templates / name / file);
    return own ? own : read_file(kTemplates / file);
  });
}

std::vector<std::string> names_in(const fs::path& folder, const std::string& extension) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == extension) {
      names.push_back(entry.path().stem());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(CommittedPrograms, EveryTemplateHasOne) {
  for (const fs::path& templates : kFolders) {
    EXPECT_EQ(names_in(templates, ".cu"), names_in(templates, ".sexp"));
    EXPECT_FALSE(names_in(templates, ".cu").empty());
  }
}

TEST(CommittedPrograms, AreMadeFromTheTemplatesAsTheyStand) {
  for (const fs::path& templates : kFolders) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(templates)) {
      if (entry.path().extension() != ".sexp") {
        continue;
      }
      const Result<Program> program = read_program(read_file(entry.path()).value());
      ASSERT_TRUE(program) << program.error().message;
      EXPECT_EQ(program->name, entry.path().stem());
      EXPECT_EQ(program->digest, digest_of(sources_of_template(templates, program->name)))
          << "templates/" << program->name << " or a file that it includes was changed; build with "
          << "-DCONVTGEN_REGENERATE=ON -DCONVTGEN_TEST_TEMPLATES=ON and take over the new program with the target "
          << "convtgen_update_programs";
    }
  }
}

TEST(CommittedPrograms, TheSourcesOfDirectAreAllOfItsFiles) {
  const SourceFiles files = sources_of_template(kTemplates, "direct");
  std::vector<std::string> names;
  for (const auto& [name, text] : files) {
    names.push_back(name);
    EXPECT_FALSE(text.empty()) << name;
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "device/activation.h", "device/async_copy.h", "device/call_sizes.h", "device/convert.h",
                "device/depth.h", "device/epilogue.h", "device/input_activation.h", "device/memory.h",
                "device/scalar.h", "device/stage_element.h", "device/static_parameters.h", "device/store_vector.h",
                "device/template.h", "device/weight_order.h", "direct.cu", "parameters.h", "scalar/staging.h"}));
}

TEST(Digest, IsSha256OverLengthPrefixedFields) {
  // Made with Python: hashlib.sha256(b"".join(struct.pack("<Q", len(f)) + f for f in fields)).
  EXPECT_EQ(digest_of({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest_of({{"a.cu", "text\n"}, {"b.h", ""}}),
            "4190cdf5fa413a0426fca745e12059f912851eaf8ae27777736cc8811d374ab2");
}

TEST(Digest, TellsApartWhatConcatenationWouldNot) {
  EXPECT_NE(digest_of({{"a", "bc"}}), digest_of({{"ab", "c"}}));
  EXPECT_NE(digest_of({{"a", "b"}, {"c", ""}}), digest_of({{"a", ""}, {"c", "b"}}));
}

}  // namespace
}  // namespace convtgen::templatec
