#include "tests/end_to_end/machine_code.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace convtgen {
namespace {

MachineCode kernel(const std::string& lines) {
  return kernels_of_listing(".text.kernel:\n" + lines).at(0);
}

// A loop whose products of one turn are in flight when the next begins.
constexpr const char* kLoop = R"(
.L_x_1:
        /*0010*/                   LDS.128 {}, [R3] ;
        /*0020*/                   FMUL {}, R8, R9 ;
        /*0030*/                   WARPGROUP.ARRIVE ;
        /*0040*/                   HGMMA.64x64x16.F32 R24, R100, gdesc[UR8], R24, gsb0 ;
        /*0050*/              @!P1 BRA `(.L_x_1) ;
        /*0060*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*0070*/                   STG.E desc[UR4][R2.64], R24 ;
        /*0080*/                   EXIT ;
)";

std::string loop(const std::string& loaded, const std::string& multiplied) {
  std::string out = kLoop;
  out.replace(out.find("{}"), 2, loaded);
  out.replace(out.find("{}"), 2, multiplied);
  return out;
}

TEST(OverwrittenOperands, AreNotThoseOfOthers) {
  EXPECT_EQ(overwritten_operands(kernel(loop("R12", "R104"))), std::vector<std::string>());
}

TEST(OverwrittenOperands, AreFoundFromOneTurnToTheNext) {
  EXPECT_EQ(overwritten_operands(kernel(loop("R12", "R103"))), std::vector<std::string>{"0020: FMUL R103, R8, R9"});
}

TEST(OverwrittenOperands, AreAllThatALoadWrites) {
  EXPECT_EQ(overwritten_operands(kernel(loop("R97", "R104"))), std::vector<std::string>{"0010: LDS.128 R97, [R3]"});
}

TEST(OverwrittenOperands, AreSumsToo) {
  EXPECT_EQ(overwritten_operands(kernel(loop("R12", "R55"))).size(), 1u);
  EXPECT_EQ(overwritten_operands(kernel(loop("R12", "R56"))).size(), 0u);
}

TEST(OverwrittenOperands, MayBeWrittenAfterTheWait) {
  const char* waits = R"(
.L_x_1:
        /*0010*/                   HGMMA.64x64x16.F32 R24, R100, gdesc[UR8], R24, gsb0 ;
        /*0020*/                   HGMMA.64x64x16.F32 R24, R104, gdesc[UR8], R24, gsb0 ;
        /*0030*/                   WARPGROUP.DEPBAR.LE gsb0, 0x1 ;
        /*0040*/                   FMUL {}, R8, R9 ;
        /*0050*/              @!P1 BRA `(.L_x_1) ;
        /*0060*/                   EXIT ;
)";
  std::string first = waits, second = waits;
  first.replace(first.find("{}"), 2, "R100");
  second.replace(second.find("{}"), 2, "R104");
  EXPECT_EQ(overwritten_operands(kernel(first)).size(), 0u);
  EXPECT_EQ(overwritten_operands(kernel(second)).size(), 1u);
}

// A loop in which two A operands alternate: the products of the second are in flight when it goes back.
constexpr const char* kAlternating = R"(
.L_x_1:
        /*0010*/                   LDS.128 R100, [R3] ;
        /*0020*/                   HGMMA.64x64x16.F32 R24, R100, gdesc[UR8], R24, gsb0 ;
        /*0030*/                   WARPGROUP.DEPBAR.LE gsb0, 0x1 ;
        /*0040*/                   LOP3.LUT R104, R8, R104, R4, 0xf8, !PT ;
        /*0050*/                   LOP3.LUT R105, R9, R105, R4, 0xf8, !PT ;
        /*0060*/                   {} ;
        /*0070*/                   LOP3.LUT R107, R11, R107, R4, 0xf8, !PT ;
        /*0080*/                   HGMMA.64x64x16.F32 R24, R104, gdesc[UR8], R24, gsb0 ;
        /*0090*/                   WARPGROUP.DEPBAR.LE gsb0, {} ;
        /*00a0*/              @!P1 BRA `({}) ;
        /*00b0*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*00c0*/                   EXIT ;
)";

std::vector<std::string> unkept(const std::string& third, const std::string& left = "0x1",
                                const std::string& label = ".L_x_1") {
  return unkept_operands(kernel(fmt::format(kAlternating, third, left, label)));
}

TEST(UnkeptOperands, AreThoseThatNothingReadsAfterTheWait) {
  const std::vector<std::string> found = {"0030: WARPGROUP.DEPBAR.LE gsb0, 0x1"};
  EXPECT_EQ(unkept("LOP3.LUT R106, R10, R106, R4, 0xf8, !PT"), std::vector<std::string>());
  EXPECT_EQ(unkept("IMAD.MOV.U32 R106, RZ, RZ, R10"), found);
  EXPECT_EQ(unkept("LDS R106, [R10]"), found);
  EXPECT_EQ(unkept("STS.128 [R10], R104"), std::vector<std::string>());
}

TEST(UnkeptOperands, AreOnlyThoseThatALoopGoesBackWith) {
  const std::string move = "IMAD.MOV.U32 R106, RZ, RZ, R10";
  EXPECT_EQ(unkept(move, "0x0"), std::vector<std::string>());
  EXPECT_EQ(unkept(move, "0x1", ".L_x_4"), std::vector<std::string>());  // goes nowhere
}

// What stands after the kernel's end for the loop's sake is not another turn.
TEST(UnkeptOperands, AreNotThoseBeforeCodeThatStandsElsewhere) {
  const std::string lines = R"(
        /*0010*/                   HGMMA.64x64x16.F32 R24, R104, gdesc[UR8], R24, gsb0 ;
        /*0020*/               @P0 BRA `(.L_x_2) ;
.L_x_1:
        /*0030*/                   WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*0040*/                   EXIT ;
.L_x_2:
        /*0050*/                   BRA `(.L_x_1) ;
)";
  EXPECT_EQ(unkept_operands(kernel(lines)), std::vector<std::string>());
}

TEST(EarlyArrivals, AreThoseAfterLoadsThatNothingTook) {
  // The values of a load come together.
  const std::string load = "        /*0010*/                   LDS.128 R12, [R3] ;\n";
  const std::string use = "        /*0020*/                   LOP3.LUT R4, R15, R5, RZ, 0xfc, !PT ;\n";
  const std::string arrival = "        /*0030*/              @!P0 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R20+URZ], RZ ;\n";
  const std::string first_use = "        /*0020*/                   LOP3.LUT R4, R12, R5, RZ, 0xfc, !PT ;\n";
  const std::string last_use = "        /*0040*/                   LOP3.LUT R4, R12, R5, RZ, 0xfc, !PT ;\n";
  EXPECT_EQ(early_arrivals(kernel(load + arrival)).size(), 0u);  // of a value that nobody reads
  EXPECT_EQ(early_arrivals(kernel(load + arrival + last_use)).size(), 1u);
  EXPECT_EQ(early_arrivals(kernel(load + first_use + arrival)).size(), 0u);
  EXPECT_EQ(early_arrivals(kernel(load + use + arrival)).size(), 0u);
  EXPECT_EQ(early_arrivals(kernel(load + arrival + use)).size(), 1u);
  // A product takes four registers.
  const std::string second = "        /*0010*/                   LDS R14, [R3] ;\n";
  const std::string product = "        /*0020*/                   HGMMA.64x64x16.F32 R56, R12, gdesc[UR12], R56 ;\n";
  EXPECT_EQ(early_arrivals(kernel(second + product + arrival)).size(), 0u);
  // One of a warp takes two of tf32 as B, and writes four.
  const std::string of_pair = "        /*0010*/                   LDS R13, [R3] ;\n";
  const std::string read = "        /*0060*/                   FMUL R4, R13, R5 ;\n";
  const auto warp_product = [](const std::string& operation, const std::string& operands) {
    return "        /*0020*/                   " + operation + " " + operands + " ;\n";
  };
  const std::string pairs = warp_product("HMMA.1688.F32.TF32", "R36, R24.reuse, R12, R36");
  const std::string singles = warp_product("HMMA.1688.F32", "R36, R24.reuse, R12, R36");
  const std::string over = warp_product("HMMA.16816.F32.BF16", "R12, R24, R28, R36");
  EXPECT_EQ(early_arrivals(kernel(of_pair + pairs + arrival + read)).size(), 0u);
  EXPECT_EQ(early_arrivals(kernel(of_pair + singles + arrival + read)).size(), 1u);
  EXPECT_EQ(early_arrivals(kernel(of_pair + over + arrival + read)).size(), 0u);
}

// A load, something, a branch past its use, and an arrival.
constexpr const char* kSometimes = R"(
        /*0010*/               @!P2 LDS.128 R12, [R3] ;
        /*0020*/                   {} ;
        /*0030*/              {} BRA `(.L_x_1) ;
        /*0040*/                   FMUL R4, R12, R5 ;
.L_x_1:
        /*0050*/              @!P0 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R20+URZ], RZ ;
        /*0060*/                   FMUL R4, R12, R5 ;
)";

std::size_t arrivals_after(const std::string& between, const std::string& predicate) {
  return early_arrivals(kernel(fmt::format(kSometimes, between, predicate))).size();
}

TEST(EarlyArrivals, AreNotAfterLoadsThatTheirPathDoesNotDo) {
  EXPECT_EQ(arrivals_after("NOP", "@P2"), 0u);
  EXPECT_EQ(arrivals_after("NOP", "@!P2"), 1u);  // goes past the use where the load was done
  EXPECT_EQ(arrivals_after("NOP", "@P1"), 1u);
  EXPECT_EQ(arrivals_after("NOP", ""), 1u);
  // The same predicate with another value, or perhaps.
  EXPECT_EQ(arrivals_after("ISETP.GT.AND P2, PT, R5, 0x5, PT", "@P2"), 1u);
  EXPECT_EQ(arrivals_after("ISETP.GT.AND P1, P2, R5, 0x5, PT", "@P2"), 1u);
  EXPECT_EQ(arrivals_after("R2P PR, R5, 0x7f", "@P2"), 1u);
  EXPECT_EQ(arrivals_after("ISETP.GT.AND P1, PT, R5, 0x5, PT", "@P2"), 0u);
}

TEST(EarlyArrivals, AreNotAfterLoadsThatABranchNotTakenRulesOut) {
  const std::string load = "        /*0010*/              @P2 LDS.128 R12, [R3] ;\n";
  const std::string leave = "        /*0020*/              {} EXIT ;\n";
  const std::string arrival =
      "        /*0030*/                   SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R20+URZ], RZ ;\n"
      "        /*0038*/                   FMUL R4, R12, R5 ;\n";
  EXPECT_EQ(early_arrivals(kernel(load + fmt::format(fmt::runtime(leave), "@P2") + arrival)).size(), 0u);
  EXPECT_EQ(early_arrivals(kernel(load + fmt::format(fmt::runtime(leave), "@!P2") + arrival)).size(), 1u);
  // This one may go on though its predicate is true.
  const std::string perhaps = "        /*0020*/              @P2 BRA UP0, `(.L_x_1) ;\n";
  const std::string end = ".L_x_1:\n        /*0040*/                   EXIT ;\n";
  EXPECT_EQ(early_arrivals(kernel(load + perhaps + arrival + end)).size(), 1u);
}

}  // namespace
}  // namespace convtgen
