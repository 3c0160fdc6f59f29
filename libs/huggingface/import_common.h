// The common state of an import: arguments and the few entries that Megatron-Core's loader reads.
#ifndef CK_HUGGINGFACE_IMPORT_COMMON_H_
#define CK_HUGGINGFACE_IMPORT_COMMON_H_

#include <cstdint>
#include <vector>

#include "libs/huggingface/megatron_config.h"
#include "libs/megatron/common_document.h"
#include "libs/megatron/model_args.h"

namespace ck::huggingface {

struct ImportCommon {
  std::vector<Argument> arguments;  // of the model
  int64_t iteration = 0;
  uint64_t tensor_parallel = 1;
  uint64_t layers = 0;
  // What content_metadata and hetereogenous_dist_checkpoint (Megatron's spelling) say: kPerLayer only where Megatron would stack by itself.
  megatron::LayerKeys keys = megatron::LayerKeys::kStacked;
};

// args (argparse.Namespace), checkpoint_version 3.0, iteration, num_floating_point_operations_so_far, content_metadata. The arguments say that there is neither
// optimizer nor rng state.
megatron::CommonDocument MakeCommon(const ImportCommon& common);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_IMPORT_COMMON_H_
