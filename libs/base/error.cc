#include "libs/base/error.h"

#include <utility>

namespace ck {

Error::Error(Code code, std::string id, std::string message)
    : code_(code), id_(std::move(id)), message_(std::move(message)) {}

Error Error::At(std::string_view where) const { return Error(code_, id_, std::string(where) + ": " + message_); }

Error UsageError(std::string id, std::string message) { return {Code::kUsage, std::move(id), std::move(message)}; }
Error InputError(std::string id, std::string message) { return {Code::kInput, std::move(id), std::move(message)}; }
Error EnvironmentError(std::string id, std::string message) {
  return {Code::kEnvironment, std::move(id), std::move(message)};
}
Error PreconditionError(std::string id, std::string message) {
  return {Code::kPrecondition, std::move(id), std::move(message)};
}
Error InternalError(std::string id, std::string message) {
  return {Code::kInternal, std::move(id), std::move(message)};
}

void Check(bool condition, std::string_view what) {
  if (!condition) throw InternalError("internal.check_failed", std::string(what));
}

}  // namespace ck
