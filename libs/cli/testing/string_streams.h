// Streams over strings, for tests of tools.
#ifndef CK_CLI_TESTING_STRING_STREAMS_H_
#define CK_CLI_TESTING_STRING_STREAMS_H_

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "libs/cli/streams.h"

namespace ck::cli {

class StringStreams : public Streams {
 public:
  // What stdin holds, and what was written.
  std::string input;
  std::string output;
  std::string error;
  bool input_is_terminal = false;
  bool output_is_terminal = false;
  bool error_is_terminal = false;
  // Errno values that the next read or write fails with.
  int read_fault = 0;
  int write_fault = 0;

  bool InputIsTerminal() const override { return input_is_terminal; }
  bool OutputIsTerminal() const override { return output_is_terminal; }
  bool ErrorIsTerminal() const override { return error_is_terminal; }
  std::optional<int> OutputColumns() const override {
    return output_is_terminal ? std::optional<int>(80) : std::nullopt;
  }

 protected:
  int ReadSome(char* buffer, size_t capacity, size_t& count) override {
    if (read_fault != 0) return read_fault;
    count = std::min(capacity, input.size() - position_);
    std::memcpy(buffer, input.data() + position_, count);
    position_ += count;
    return 0;
  }
  int WriteOutput(std::string_view text) override {
    if (write_fault != 0) return write_fault;
    output.append(text);
    return 0;
  }
  void WriteError(std::string_view text) override { error.append(text); }

 private:
  size_t position_ = 0;
};

}  // namespace ck::cli

#endif  // CK_CLI_TESTING_STRING_STREAMS_H_
