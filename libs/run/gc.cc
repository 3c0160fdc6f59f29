#include "libs/run/gc.h"

#include <algorithm>
#include <map>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/run/claim.h"
#include "libs/run/hidden_name.h"

namespace ck::run {
namespace {

// Runs keep checkpoints two or three levels below their root; a loop of bind mounts must end.
constexpr int kMaxDepth = 32;

struct Pending {
  std::string directory;
  int depth;
};

// The hidden entries of one directory, by the NAME they belong to.
using Groups = std::map<std::string, std::vector<HiddenName>>;

// A group with nothing but claims that live processes are just preparing is left alone: taking the claim would make them fail.
bool OnlyStarting(const std::string& directory, const std::vector<HiddenName>& group) {
  return std::all_of(group.begin(), group.end(), [&](const HiddenName& hidden) {
    return hidden.kind == HiddenName::Kind::kNewClaim && !Claim::NewClaimIsStale(fs::JoinPath(directory, FormatHiddenName(hidden)));
  });
}

// Holding the claim on a name proves that everything else under it was left by a process that ended (claim.cc).
void Collect(const std::string& directory, const std::string& name, const std::vector<HiddenName>& group, GcReport& report) {
  std::string failure;
  try {
    if (OnlyStarting(directory, group)) {
      failure = "a run is starting";
    } else {
      const auto claim = Claim::Take(directory, name);
      for (std::string& path : claim->Sweep()) report.removed.push_back({std::move(path), "the run that wrote it has ended"});
      for (const HiddenName& hidden : group) {
        if (hidden.kind != HiddenName::Kind::kClaim) continue;
        report.removed.push_back({fs::JoinPath(directory, FormatHiddenName(hidden)), "the process that held it is gone"});
      }
    }
  } catch (const Error& error) {
    failure = error.message();
  }
  for (const HiddenName& hidden : group) {
    const std::string path = fs::JoinPath(directory, FormatHiddenName(hidden));
    if (fs::NameTaken(path)) report.kept.push_back({path, failure.empty() ? "another run has started" : failure});
  }
}

}  // namespace

GcReport Gc(const std::string& root) {
  GcReport report;
  std::vector<Pending> pending = {{root, 0}};
  while (!pending.empty()) {
    const Pending at = std::move(pending.back());
    pending.pop_back();
    std::vector<fs::Name> entries;
    try {
      entries = fs::ListNames(at.directory);
    } catch (const Error& error) {
      if (at.depth == 0) throw;
      if (fs::NameTaken(at.directory)) report.kept.push_back({at.directory, Cat("not looked into: ", error.message())});
      continue;
    }
    Groups groups;
    for (const fs::Name& entry : entries) {
      const std::string path = fs::JoinPath(at.directory, entry.name);
      if (const auto hidden = ParseHiddenName(entry.name)) {
        if (hidden->kind == HiddenName::Kind::kStaged) {
          report.kept.push_back({path, "complete and checked: publish it with ck-publish --staged, or remove it"});
        } else {
          groups[hidden->name].push_back(*hidden);
        }
      } else if (entry.is_directory && at.depth == kMaxDepth) {
        report.kept.push_back({path, Cat("not looked into: more than ", kMaxDepth, " levels deep")});
      } else if (entry.is_directory) {
        pending.push_back({path, at.depth + 1});
      }
    }
    for (const auto& [name, group] : groups) Collect(at.directory, name, group, report);
  }
  return report;
}

}  // namespace ck::run
