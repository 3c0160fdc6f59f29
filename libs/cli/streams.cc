#include "libs/cli/streams.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::cli {

namespace {

constexpr size_t kReadBytes = 64 * 1024;  // the capacity of a pipe
constexpr std::string_view kEraseLine = "\r\x1b[K";

// Writes all of `text`; returns an errno value, 0 for success.
int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// Opens /dev/null as `fd` when `fd` is closed. With the wrong access mode every use still fails with EBADF.
void FillClosed(int fd, int flags) {
  if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) return;
  const int opened = ::open("/dev/null", flags);
  if (opened < 0 || opened == fd) return;
  ::dup2(opened, fd);
  ::close(opened);
}

}  // namespace

std::string Streams::ReadInput(uint64_t limit_bytes) {
  if (InputIsTerminal()) {
    throw UsageError("usage.no_input",
                     "no input: stdin is a terminal, expected a plan from a pipe, or a path as an argument");
  }
  std::string text, buffer(kReadBytes, '\0');
  while (true) {
    size_t count = 0;
    if (const int error = ReadSome(buffer.data(), buffer.size(), count); error != 0) {
      throw EnvironmentError("stdin.read_failed", Cat("cannot read stdin: ", std::strerror(error)));
    }
    if (count == 0) break;
    if (count > limit_bytes - text.size()) {
      throw InputError("stdin.too_long", Cat("stdin holds more than ", limit_bytes, " bytes"));
    }
    text.append(buffer, 0, count);
  }
  if (text.empty()) throw InputError("stdin.empty", "stdin is empty: the program before this one printed nothing");
  return text;
}

void Streams::FinishOutput() {
  ClearStatus();
  const std::string text = std::move(output_);
  output_.clear();
  if (const int error = WriteOutput(text); error != 0) {
    throw EnvironmentError("stdout.write_failed", Cat("cannot write the result to stdout: ", std::strerror(error)));
  }
}

void Streams::PrintError(std::string_view text) {
  const std::lock_guard lock(error_mutex_);
  ClearStatusLocked();
  WriteError(text);
}

void Streams::ShowStatus(std::string_view line) {
  const std::lock_guard lock(error_mutex_);
  WriteError(Cat(kEraseLine, line));
  status_shown_ = true;
}

void Streams::ClearStatus() {
  const std::lock_guard lock(error_mutex_);
  ClearStatusLocked();
}

void Streams::ClearStatusLocked() {
  if (status_shown_) WriteError(kEraseLine);
  status_shown_ = false;
}

bool FdStreams::InputIsTerminal() const { return ::isatty(input_) == 1; }
bool FdStreams::OutputIsTerminal() const { return ::isatty(output_) == 1; }
bool FdStreams::ErrorIsTerminal() const { return ::isatty(error_) == 1; }

std::optional<int> FdStreams::OutputColumns() const {
  winsize size{};
  if (!OutputIsTerminal() || ::ioctl(output_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

int FdStreams::ReadSome(char* buffer, size_t capacity, size_t& count) {
  while (true) {
    const ssize_t got = ::read(input_, buffer, capacity);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    count = static_cast<size_t>(got);
    return 0;
  }
}

int FdStreams::WriteOutput(std::string_view text) {
  // Nothing to say: a closed stdout is no fault then.
  if (text.empty()) return 0;
  if (const int error = WriteAll(output_, text); error != 0) return error;
  // Some file systems report a failed write here only. After EINTR Linux has closed the descriptor all the same.
  return ::close(output_) == 0 || errno == EINTR ? 0 : errno;
}

void FdStreams::WriteError(std::string_view text) { WriteAll(error_, text); }

ProcessStreams::ProcessStreams() : FdStreams(STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO) {
  std::signal(SIGPIPE, SIG_IGN);
  FillClosed(STDIN_FILENO, O_WRONLY);
  FillClosed(STDOUT_FILENO, O_RDONLY);
  FillClosed(STDERR_FILENO, O_RDONLY);
}

}  // namespace ck::cli
