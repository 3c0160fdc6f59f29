#include "libs/run/placement.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/fs/write.h"
#include "libs/run/hidden_name.h"

namespace ck::run {
namespace {

constexpr size_t kMaxNameBytes = 255;     // NAME_MAX
constexpr size_t kIterationDigits = 7;    // Megatron's iter_{:07d}; larger numbers take more
constexpr std::string_view kIterationPrefix = "iter_";
constexpr std::string_view kRelease = "release";

using Identity = std::pair<uint64_t, uint64_t>;

Identity IdentityOf(const fs::Info& info) { return {info.device, info.inode}; }

// What a marker says about the iteration.
std::string MarkerValue(const plan::TargetIteration& iteration) {
  if (std::holds_alternative<plan::Release>(iteration)) return std::string(kRelease);
  const int64_t number = std::get<int64_t>(iteration);
  Check(number >= 0, "an iteration is not negative");
  return Cat(number);
}

std::string DirectoryName(const plan::TargetIteration& iteration) {
  std::string digits = MarkerValue(iteration);
  if (digits == kRelease) return digits;
  return Cat(kIterationPrefix, std::string(kIterationDigits - std::min(kIterationDigits, digits.size()), '0'), digits);
}

bool IsIterationName(std::string_view name) {
  if (!StartsWith(name, kIterationPrefix) || name.size() == kIterationPrefix.size()) return false;
  return name.find_first_not_of("0123456789", kIterationPrefix.size()) == std::string_view::npos;
}

void CheckFinalName(const std::string& final_path) {
  const std::string name = fs::BaseName(final_path);
  if (ParseHiddenName(name)) {
    throw UsageError("publish.reserved_name", Cat("output ", Quote(final_path, 4096), ": this name is kept for unfinished outputs"));
  }
  if (name.size() + kHiddenNameOverhead > kMaxNameBytes) {
    throw UsageError("publish.name_too_long", Cat("output ", Quote(final_path, 4096), ": the last name has ", name.size(),
                                                  " bytes, at most ", kMaxNameBytes - kHiddenNameOverhead, " are possible"));
  }
}

// The nearest directory above `path` that exists.
std::string ExistingParent(const std::string& path) {
  std::string at = fs::DirName(path);
  while (!fs::Stat(at) && at != "/") at = fs::DirName(at);
  return at;
}

// The identities of a directory that exists and of every directory above it, in the real tree.
std::vector<Identity> SelfAndAbove(const std::string& path) {
  std::vector<Identity> identities;
  for (std::string at = fs::RealPath(path);; at = fs::DirName(at)) {
    if (const auto info = fs::Stat(at)) identities.push_back(IdentityOf(*info));
    if (at == "/") return identities;
  }
}

bool Contains(const std::vector<Identity>& identities, const Identity& identity) {
  return std::find(identities.begin(), identities.end(), identity) != identities.end();
}

}  // namespace

Markers MarkersOf(const plan::Plan& plan) {
  if (const auto* split = plan::FindStep<plan::SplitStep>(plan)) return split->to == plan::SplitStep::To::kHf ? Markers::kNever : Markers::kAllowed;
  const bool safetensors = !plan.inputs.empty() && plan.inputs[0].format == plan::Format::kSafetensors;
  return safetensors ? Markers::kNever : Markers::kAllowed;
}

Placement Place(const std::string& out, const plan::TargetIteration& iteration, Markers markers) {
  if (out.empty()) throw UsageError("publish.bad_output", "the name of the output is empty");
  Placement placement;
  placement.final_path = fs::AbsolutePath(out);
  if (!std::holds_alternative<std::monostate>(iteration) && markers == Markers::kAllowed) {
    const std::string name = fs::BaseName(placement.final_path), wanted = DirectoryName(iteration);
    std::string root = placement.final_path;
    if (name == wanted) {
      root = fs::DirName(placement.final_path);
    } else if (IsIterationName(name)) {
      throw UsageError("publish.other_iteration", Cat("output ", Quote(placement.final_path, 4096), " is named as an iteration, but the plan's target is ",
                                                      wanted, ": give the directory above it, or a name that is no iteration"));
    } else {
      placement.final_path = fs::JoinPath(root, wanted);
    }
    placement.marker_path = fs::JoinPath(root, kMarkerFile);
    placement.marker_value = MarkerValue(iteration);
  }
  CheckFinalName(placement.final_path);
  return placement;
}

void CheckTarget(const Placement& placement, const std::vector<std::string>& inputs) {
  const std::string& target = placement.final_path;
  const auto target_info = fs::Stat(target);
  const std::vector<Identity> above_target = SelfAndAbove(ExistingParent(target));
  for (const std::string& input : inputs) {
    const auto input_info = fs::Stat(input);
    if (!input_info) throw InputError("fs.not_found", Cat("input ", Quote(input, 4096), " does not exist"));
    const auto refuse = [&](const char* id, const char* relation) {
      throw PreconditionError(id, Cat("output ", Quote(target, 4096), " ", relation, " the input ", Quote(input, 4096)));
    };
    if (target_info && IdentityOf(*target_info) == IdentityOf(*input_info)) refuse("publish.output_is_input", "is");
    if (Contains(above_target, IdentityOf(*input_info))) refuse("publish.output_inside_input", "lies inside");
    if (target_info && Contains(SelfAndAbove(input), IdentityOf(*target_info))) refuse("publish.output_holds_input", "holds");
  }
  if (fs::NameTaken(target)) {
    throw PreconditionError("publish.target_exists", Cat("output ", Quote(target, 4096), " exists; nothing is ever written into or over it"));
  }
}

void CheckSpace(const Placement& placement, uint64_t needed_bytes) {
  const std::string parent = ExistingParent(placement.final_path);
  const uint64_t free_bytes = fs::FreeSpace(parent);
  if (free_bytes < needed_bytes) {
    throw EnvironmentError("publish.no_space", Cat("output ", Quote(placement.final_path, 4096), " needs ", needed_bytes, " bytes (",
                                                   FormatBytes(needed_bytes), "), ", Quote(parent, 4096), " has ", free_bytes, " free (",
                                                   FormatBytes(free_bytes), ")"));
  }
}

bool MadeFromSamePlan(const Placement& placement, std::string_view plan_text) {
  const std::string path = fs::JoinPath(placement.final_path, kPlanFile);
  const auto info = fs::Stat(path);
  if (!info || info->type != fs::FileType::kFile || info->size_bytes != plan_text.size()) return false;
  return fs::ReadSmallFile(path, plan_text.size()) == plan_text;
}

}  // namespace ck::run
