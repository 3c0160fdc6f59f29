// The hidden names that belong to an output NAME while it is written. All are siblings of it, so a rename is enough to publish:
//
//   .NAME.ck-claim        directory; the one entry in it names the process that may write NAME (claim.h)
//   .NAME.ck-ID           what is being written: a directory, or the next content of a marker file
//   .NAME.ck-staged-ID    complete and checked, waiting for `ck-publish --staged`
//   .NAME.ck-new-ID       a claim that is being prepared
//   .NAME.ck-trash-ID     on its way out
//
// ID is 12 random hex digits. Source: docs/manual/publication.md.
#ifndef CK_RUN_HIDDEN_NAME_H_
#define CK_RUN_HIDDEN_NAME_H_

#include <optional>
#include <string>
#include <string_view>

namespace ck::run {

struct HiddenName {
  enum class Kind { kClaim, kStaging, kStaged, kNewClaim, kTrash };
  std::string name;  // NAME
  Kind kind = Kind::kClaim;
  std::string id;  // empty for kClaim
};

// The bytes that a hidden name adds to NAME at most: ".", ".ck-staged-" and the id.
inline constexpr size_t kHiddenNameOverhead = 24;

std::string NewId();
std::string FormatHiddenName(const HiddenName& hidden);
// nullopt for any name that this program would not have made.
std::optional<HiddenName> ParseHiddenName(std::string_view text);

}  // namespace ck::run

#endif  // CK_RUN_HIDDEN_NAME_H_
