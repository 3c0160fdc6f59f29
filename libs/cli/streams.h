// stdin, stdout, stderr and "is it a terminal" as one object that is passed in, so that a test can construct them.
//
// stdout   holds the result, complete or empty: Print collects, FinishOutput writes it all as the last act of a tool.
// stderr   is for people. A status line (progress) is removed before any other text, so lines never mix.
// Threads. The stderr functions may be called from any thread; the others belong to the main thread.
// Errors.  stdin.read_failed, stdout.write_failed (kEnvironment); stdin.empty, stdin.too_long (kInput);
//          usage.no_input (kUsage).
#ifndef CK_CLI_STREAMS_H_
#define CK_CLI_STREAMS_H_

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace ck::cli {

class Streams {
 public:
  virtual ~Streams() = default;

  virtual bool InputIsTerminal() const = 0;
  virtual bool OutputIsTerminal() const = 0;
  virtual bool ErrorIsTerminal() const = 0;
  // Columns of the terminal that shows stdout; nullopt when it is none.
  virtual std::optional<int> OutputColumns() const = 0;

  // All of stdin. Throws usage.no_input when it is a terminal (nobody types a document), stdin.empty when there are no
  // bytes (the tool before failed and has said why), stdin.too_long beyond `limit_bytes`.
  std::string ReadInput(uint64_t limit_bytes);

  // Adds to the result. Nothing is visible before FinishOutput.
  void Print(std::string_view text) { output_.append(text); }
  // Forgets the result: an error leaves stdout empty.
  void DiscardOutput() { output_.clear(); }
  // Writes the result and proves that it arrived. At most once. Throws stdout.write_failed, also for a closed pipe.
  void FinishOutput();

  // Writes to stderr at once. Failures are ignored: there is nobody left to tell.
  void PrintError(std::string_view text);
  // Shows `line` (no newline) as the line that the next ShowStatus, ClearStatus or PrintError replaces. Terminals only.
  void ShowStatus(std::string_view line);
  void ClearStatus();

 protected:
  // Reads some bytes, 0 at the end. Returns an errno value, 0 for success.
  virtual int ReadSome(char* buffer, size_t capacity, size_t& count) = 0;
  // Writes all of `text`, then closes stdout. Returns an errno value, 0 for success.
  virtual int WriteOutput(std::string_view text) = 0;
  virtual void WriteError(std::string_view text) = 0;

 private:
  void ClearStatusLocked();

  std::string output_;
  std::mutex error_mutex_;
  bool status_shown_ = false;
};

// File descriptors.
class FdStreams : public Streams {
 public:
  // Takes over `output`, which FinishOutput closes. The others stay the caller's.
  FdStreams(int input, int output, int error) : input_(input), output_(output), error_(error) {}

  bool InputIsTerminal() const override;
  bool OutputIsTerminal() const override;
  bool ErrorIsTerminal() const override;
  std::optional<int> OutputColumns() const override;

 protected:
  int ReadSome(char* buffer, size_t capacity, size_t& count) override;
  int WriteOutput(std::string_view text) override;
  void WriteError(std::string_view text) override;

 private:
  int input_, output_, error_;
};

// The process's own descriptors. Ignores SIGPIPE (a closed pipe is stdout.write_failed) and fills descriptors 0 to 2
// that the caller closed with ones that fail, so that no data file can become "stdout". Construct it first in main.
class ProcessStreams : public FdStreams {
 public:
  ProcessStreams();
};

}  // namespace ck::cli

#endif  // CK_CLI_STREAMS_H_
