#include "generator/launcher/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace convtgen {
namespace {

using testing::HasSubstr;

TEST(LauncherNames, Stems) {
  EXPECT_EQ(stem_of("up", Direction::kForward), "up_forward");
  EXPECT_EQ(stem_of("int", Direction::kGradInput), "int_grad_input");
}

TEST(LauncherNames, Files) {
  const Target target = target_named("sm_80").value();
  EXPECT_EQ(source_file("up_forward", target), "up_forward.sm_80.cu");
  EXPECT_EQ(code_file("up_forward", {target, false}), "up_forward.sm_80.cubin");
  EXPECT_EQ(code_file("up_forward", {target, true}), "up_forward.compute_80.ptx");
  EXPECT_EQ(host_file("up_forward"), "up_forward.host.so");
}

TEST(LauncherNames, Namespaces) {
  for (const char* name : {"net", "n", "Net2", "my_net", "ns", "NS"}) {
    EXPECT_TRUE(check_namespace(name)) << name;
  }
  for (const char* name : {"", "2net", "_net", "net_", "my__net", "my-net", "a::b", "n\xc3\xa9t", "int", "class", "std",
                           "co_await", "restrict", "unix"}) {
    const auto checked = check_namespace(name);
    ASSERT_FALSE(checked) << name;
    EXPECT_THAT(checked.error().message, HasSubstr("namespace '" + std::string(name) + "'"));
  }
}

TEST(LauncherNames, TheSupportCodesPrefixBecomesTheNamespace) {
  EXPECT_EQ(with_namespace("int ns_launch(ns_kernel* k); NS_OK; columns_left; ns; \"ns_prepare()\"", "net"),
            "int net_launch(net_kernel* k); NET_OK; columns_left; ns; \"net_prepare()\"");
  EXPECT_EQ(with_namespace("ns_a ns_b", "ns"), "ns_a ns_b");
}

TEST(CodeTargets, RealAndVirtual) {
  for (const std::string& name : code_target_names()) {
    const auto code = code_target_named(name);
    ASSERT_TRUE(code) << name;
    EXPECT_EQ(name_of(*code), name);
  }
  EXPECT_FALSE(code_target_named("sm_90a")->is_ptx);
  EXPECT_TRUE(code_target_named("compute_80")->is_ptx);
  EXPECT_EQ(code_target_named("compute_80")->target.architecture, "sm_80");
  EXPECT_THAT(code_target_named("compute_90a").error().message, HasSubstr("runs on that chip alone"));
  EXPECT_THAT(code_target_named("sm_81").error().message,
              testing::AllOf(HasSubstr("'sm_81'"), HasSubstr("sm_90a"), HasSubstr("compute_80")));
}

}  // namespace
}  // namespace convtgen
