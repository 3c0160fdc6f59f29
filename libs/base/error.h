// The one exception type of ck, and the exit codes it maps to.
//
// Thrown where a fault is seen, caught once in libs/cli. Findings of a validation are data, never exceptions.
#ifndef CK_BASE_ERROR_H_
#define CK_BASE_ERROR_H_

#include <exception>
#include <string>
#include <string_view>

namespace ck {

// Values are the process exit codes (docs/manual/exit-codes.md). An error may also hold 128 + n: a run that signal n stopped
// (libs/run/signals.h).
enum class Code : int {
  kUsage = 2,         // the command line is wrong
  kInput = 3,         // input is bad, unsafe, or does not fit the request
  kEnvironment = 4,   // cannot read or write, disk full, stdout failed
  kPrecondition = 5,  // target exists, plan does not match its inputs
  kInternal = 70,     // our own bug
};

// A fault. `id` is stable: lower-case words joined by dots, e.g. "pickle.truncated"; scripts match on it.
// `message` is one line: what, where, what was found, what was expected and where that expectation comes from.
class Error : public std::exception {
 public:
  Error(Code code, std::string id, std::string message);

  Code code() const { return code_; }
  const std::string& id() const { return id_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

  // Returns the same error with "WHERE: " before its message. Layers add what they know: a file, a key.
  Error At(std::string_view where) const;

 private:
  Code code_;
  std::string id_;
  std::string message_;
};

// Shorthands, so that a throw fits on a line: throw InputError("zip.no_end_record", Cat(...)).
Error UsageError(std::string id, std::string message);
Error InputError(std::string id, std::string message);
Error EnvironmentError(std::string id, std::string message);
Error PreconditionError(std::string id, std::string message);
Error InternalError(std::string id, std::string message);

// Throws InternalError("internal.check_failed") when `condition` is false: a bug of ours, never bad input.
void Check(bool condition, std::string_view what);

}  // namespace ck

#endif  // CK_BASE_ERROR_H_
