#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "cli/progress.h"
#include "cli/terminal.h"
#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(Terminal, ColoursOnlyWhereThereIsOne) {
  const std::vector<std::string> wrong{"check", "-e", "conv_transpose2d 4 -> 2; kernel 0"};
  EXPECT_THAT(convtgen(wrong, {.environment = {{"TERM", "xterm"}, {"NO_COLOR", ""}}, .terminal = true}).out,
              HasSubstr("\x1b["));
  EXPECT_THAT(convtgen(wrong, {.environment = {{"TERM", "xterm"}, {"NO_COLOR", "1"}}, .terminal = true}).out,
              Not(HasSubstr("\x1b[")));
  EXPECT_THAT(convtgen(wrong, {.environment = {{"TERM", "dumb"}, {"NO_COLOR", ""}}, .terminal = true}).out,
              Not(HasSubstr("\x1b[")));
  EXPECT_THAT(convtgen(wrong).err, Not(HasSubstr("\x1b[")));
}

TEST(Terminal, AProgressBarAfterASecond) {
  const auto slow = [] {
    cli::Progress progress("digging");
    progress.update(0.5);
    std::this_thread::sleep_for(std::chrono::milliseconds(1300));
    progress.update("filling");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  };
  const std::string shown = shown_on_terminal(slow);
  EXPECT_THAT(shown, HasSubstr("[############............]  50% digging 1 s"));
  EXPECT_THAT(shown, HasSubstr("\r\x1b[Kfilling"));
  EXPECT_THAT(shown, EndsWith("\r\x1b[K"));
  EXPECT_EQ(shown_on_terminal([] { const cli::Progress progress("quick"); }), "");
  testing::internal::CaptureStderr();  // a file is no terminal
  slow();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Terminal, NothingIsLeftByWhatIsQuick) {
  const Outcome quick = convtgen({"check", seeds()}, {.environment = {{"NO_COLOR", "1"}}, .terminal = true});
  EXPECT_EQ(quick.out, "7 layers: no errors\r\n");
}

TEST(Terminal, NumbersReadWell) {
  EXPECT_EQ(cli::bytes_text(0), "0 B");
  EXPECT_EQ(cli::bytes_text(26726.4), "26.1 KiB");
  EXPECT_EQ(cli::bytes_text(1 << 20), "1 MiB");
  EXPECT_EQ(cli::bytes_text(545e6), "520 MiB");
  EXPECT_EQ(cli::count_text(999), "999 ");
  EXPECT_EQ(cli::count_text(1.8e11), "180 G");
  EXPECT_EQ(cli::seconds_text(0.00353), "3.53 ms");
  EXPECT_EQ(cli::seconds_text(1.2e-5), "12 us");
  EXPECT_EQ(cli::seconds_text(75), "75 s");
}

}  // namespace
}  // namespace convtgen::test
