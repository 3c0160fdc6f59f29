// Collects what the checks of one checkpoint find.
#ifndef CK_VALIDATE_FINDINGS_H_
#define CK_VALIDATE_FINDINGS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/error.h"
#include "libs/plan/documents.h"

namespace ck::validate {

// A broken tool breaks every chunk in the same way: the first of them say what is wrong.
inline constexpr uint64_t kMaxFindingsPerId = 100;

// The members of a finding that a check may leave out.
struct Details {
  std::optional<std::string> where = {};
  std::optional<std::string> found = {};
  std::optional<std::string> expected = {};
  std::optional<std::string> source = {};
};

class Findings {
 public:
  // Every message names the path of the checkpoint: one that does not gets it in front.
  explicit Findings(std::string path) : path_(std::move(path)) {}

  void AddError(std::string_view id, std::string message, Details details = {});
  void AddWarning(std::string_view id, std::string message, Details details = {});
  // An error of a library. One of the environment is thrown on: it answers nothing about the checkpoint.
  void AddCaught(const Error& error, std::optional<std::string> where = {});

  bool has_errors() const { return errors_ > 0; }
  // The findings in the order found; after those of an id that had too many, one says how many more there were.
  std::vector<plan::Finding> Take();

 private:
  void Add(std::string_view id, plan::Severity severity, std::string message, Details details);

  struct Count {
    uint64_t findings = 0;
    plan::Severity severity = plan::Severity::kError;
  };
  std::string path_;
  std::vector<plan::Finding> findings_;
  std::map<std::string, Count, std::less<>> counts_;
  uint64_t errors_ = 0;
};

}  // namespace ck::validate

#endif  // CK_VALIDATE_FINDINGS_H_
