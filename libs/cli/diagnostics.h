// Errors, warnings and notes for people, one line each on stderr.
//
// Text     "ck-merge: MESSAGE [id]", "ck-merge: warning: MESSAGE [id]", "ck-merge: MESSAGE".
// JSON     {"tool":...,"severity":"error"|"warning"|"note","id":...,"message":...,"exit":...}; only the line of a
//          non-zero exit has "exit", notes have no "id". A finding has the severity it was found with.
// Threads. All functions may be called from any thread.
#ifndef CK_CLI_DIAGNOSTICS_H_
#define CK_CLI_DIAGNOSTICS_H_

#include <string>
#include <string_view>

#include "libs/base/error.h"
#include "libs/cli/streams.h"

namespace ck::cli {

enum class ErrorFormat { kText, kJson };
enum class Verbosity { kQuiet, kNormal, kVerbose };

class Diagnostics {
 public:
  Diagnostics(std::string tool, Streams& streams) : tool_(std::move(tool)), streams_(streams) {}

  void set_format(ErrorFormat format) { format_ = format; }
  void set_verbosity(Verbosity verbosity) { verbosity_ = verbosity; }
  Verbosity verbosity() const { return verbosity_; }

  // The line of a non-zero exit. A usage error also says how to get help.
  void PrintError(const Error& error);
  // The same for exit 1: "the answer is no" is not an error, but its line has an id too.
  void PrintAnswerNo(std::string_view id, std::string_view message);
  // One of several faults that a check found, shown at every verbosity; the line of the exit follows. In text a fault
  // reads like an error, a finding of severity warning like a warning.
  enum class Finding { kError, kWarning };
  void PrintFinding(Finding severity, std::string_view id, std::string_view message);
  // Shown at every verbosity. `id` as in ck::Error.
  void Warn(std::string_view id, std::string_view message);
  // Shown unless quiet.
  void Note(std::string_view message);
  // Shown when verbose.
  void Detail(std::string_view message);

 private:
  void PrintLine(std::string_view severity, std::string_view id, std::string_view message, int exit_code);

  std::string tool_;
  Streams& streams_;
  ErrorFormat format_ = ErrorFormat::kText;
  Verbosity verbosity_ = Verbosity::kNormal;
};

}  // namespace ck::cli

#endif  // CK_CLI_DIAGNOSTICS_H_
