// Megatron's common state: the part of a checkpoint that is no sharded tensor (args, iteration, scheduler, ...).
//
// Forms.   common.pt (Megatron-Core up to 0.18) or the byte object `common_state/shard_0_1` (0.19 and later), a list
//          of one dict. Where both exist Megatron uses common.pt, and so does this; `both_forms` is then set, and a
//          merge refuses such an input.
// Errors.  common.unknown_layout, common.not_a_dict, and those of torchsave and libs/fs (kInput).
// Source.  docs/formats/megatron.md
#ifndef CK_CHECKPOINT_COMMON_STATE_H_
#define CK_CHECKPOINT_COMMON_STATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "libs/checkpoint/checkpoint.h"
#include "libs/pickle/graph.h"
#include "libs/torchsave/read.h"

namespace ck::checkpoint {

enum class CommonForm { kNone, kCommonPt, kEmbedded };

std::string_view Name(CommonForm form);  // "none", "common.pt", "embedded"

struct CommonState {
  CommonForm form = CommonForm::kNone;
  bool both_forms = false;
  torchsave::SavedObject object;
  pickle::Ref dict = pickle::kNoRef;  // kNoRef exactly when form is kNone
  // The bytes that `object` was read from; storages (a 0-d step tensor, rng states) lie in it.
  std::string stored;

  // dict["iteration"] when it is an integer.
  std::optional<int64_t> iteration() const;
  // dict["args"], an argparse.Namespace; kNoRef when absent.
  pickle::Ref args() const;
  std::string StorageBytes(const std::string& key) const;
};

inline constexpr std::string_view kCommonFile = "common.pt";
inline constexpr std::string_view kEmbeddedCommonKey = "common_state/shard_0_1";
inline constexpr uint64_t kMaxCommonBytes = uint64_t{1} << 30;  // param_groups of many parameters reach some MiB

// True for the object keys that hold (or claim to hold) common state.
bool IsCommonStateKey(std::string_view object_name);

CommonState ReadCommonState(const Checkpoint& checkpoint);

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_COMMON_STATE_H_
