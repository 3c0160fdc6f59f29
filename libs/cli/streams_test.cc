#include "libs/cli/streams.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/cli/testing/string_streams.h"

namespace ck::cli {
namespace {

template <typename Function>
std::string ErrorIdOf(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.id();
  }
  return "no error";
}

TEST(Streams, InputIsReadWhole) {
  StringStreams streams;
  streams.input = std::string(200'000, 'x') + "end";
  EXPECT_EQ(streams.ReadInput(1 << 20), streams.input);
}

TEST(Streams, InputThatCannotBeADocument) {
  StringStreams terminal;
  terminal.input_is_terminal = true;
  EXPECT_EQ(ErrorIdOf([&] { terminal.ReadInput(100); }), "usage.no_input");
  StringStreams empty;
  EXPECT_EQ(ErrorIdOf([&] { empty.ReadInput(100); }), "stdin.empty");
  StringStreams fault;
  fault.read_fault = EIO;
  EXPECT_EQ(ErrorIdOf([&] { fault.ReadInput(100); }), "stdin.read_failed");
}

TEST(Streams, InputLimitIsExact) {
  StringStreams fits, exceeds;
  fits.input = exceeds.input = "12345678";
  EXPECT_EQ(fits.ReadInput(8), "12345678");
  EXPECT_EQ(ErrorIdOf([&] { exceeds.ReadInput(7); }), "stdin.too_long");
}

TEST(Streams, ResultAppearsOnlyAtTheEnd) {
  StringStreams streams;
  streams.Print("one ");
  streams.Print("two\n");
  EXPECT_EQ(streams.output, "");
  streams.FinishOutput();
  EXPECT_EQ(streams.output, "one two\n");
}

TEST(Streams, StatusLineIsErasedBeforeOtherText) {
  StringStreams streams;
  streams.ShowStatus("10%");
  streams.ShowStatus("20%");
  streams.PrintError("warning\n");
  streams.PrintError("again\n");
  streams.ClearStatus();
  EXPECT_EQ(streams.error, "\r\x1b[K10%\r\x1b[K20%\r\x1b[Kwarning\nagain\n");
}

TEST(FdStreams, WritesThroughAPipeAndClosesIt) {
  int pipe_fds[2];
  ASSERT_EQ(::pipe(pipe_fds), 0);
  FdStreams streams(0, pipe_fds[1], 2);
  streams.Print("result\n");
  streams.FinishOutput();
  char buffer[100];
  ASSERT_EQ(::read(pipe_fds[0], buffer, sizeof buffer), 7);
  EXPECT_EQ(std::string(buffer, 7), "result\n");
  EXPECT_EQ(::read(pipe_fds[0], buffer, sizeof buffer), 0) << "the write end is still open";
  ::close(pipe_fds[0]);
}

TEST(FdStreams, FailuresToWriteAreSeen) {
  std::signal(SIGPIPE, SIG_IGN);
  int pipe_fds[2];
  ASSERT_EQ(::pipe(pipe_fds), 0);
  ::close(pipe_fds[0]);
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  const int read_only = ::open("/dev/null", O_RDONLY);
  for (const int fd : {pipe_fds[1], full, read_only, -1}) {
    FdStreams streams(0, fd, 2);
    streams.Print("result\n");
    EXPECT_EQ(ErrorIdOf([&] { streams.FinishOutput(); }), "stdout.write_failed") << fd;
  }
}

TEST(FdStreams, NothingToSayNeedsNoStdout) {
  FdStreams streams(0, -1, 2);
  streams.FinishOutput();
}

TEST(FdStreams, ReadsUntilTheEnd) {
  int pipe_fds[2];
  ASSERT_EQ(::pipe(pipe_fds), 0);
  ASSERT_EQ(::write(pipe_fds[1], "{}\n", 3), 3);
  ::close(pipe_fds[1]);
  FdStreams streams(pipe_fds[0], 1, 2);
  EXPECT_FALSE(streams.InputIsTerminal());
  EXPECT_EQ(streams.ReadInput(10), "{}\n");
  ::close(pipe_fds[0]);
  EXPECT_EQ(ErrorIdOf([&] { streams.ReadInput(10); }), "stdin.read_failed");
}

// In a child: a tool started with `>&-` must not get a data file as its stdout.
TEST(ProcessStreams, ClosedDescriptorsAreFilledWithOnesThatFail) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::close(0);
    ::close(1);
    ProcessStreams streams;
    const int data = ::open("/dev/null", O_WRONLY);
    streams.Print("x");
    const bool right = data > 2 && ErrorIdOf([&] { streams.FinishOutput(); }) == "stdout.write_failed" &&
                       ErrorIdOf([&] { streams.ReadInput(10); }) == "stdin.read_failed";
    ::_exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace ck::cli
