// What the saved arguments of a plain DCP directory say about its format.
#ifndef CK_CHECKPOINT_MEGATRON_ARGS_H_
#define CK_CHECKPOINT_MEGATRON_ARGS_H_

#include <string>

namespace ck::checkpoint {

class Checkpoint;

// "fsdp_dtensor" or "torch_dcp" when the checkpoint is Megatron's, "" when it is any other DCP directory. Megatron
// writes both formats as plain DCP with an `args` object; args.ckpt_format decides, and where it is absent the
// `model.module.` prefix of Megatron-FSDP.
std::string SavedFormat(const Checkpoint& checkpoint);

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_MEGATRON_ARGS_H_
