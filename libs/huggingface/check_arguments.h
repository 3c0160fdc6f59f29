// Refuses a model that computes something else than its Hugging Face class would, although every tensor fits.
#ifndef CK_HUGGINGFACE_CHECK_ARGUMENTS_H_
#define CK_HUGGINGFACE_CHECK_ARGUMENTS_H_

#include "libs/huggingface/family.h"
#include "libs/huggingface/saved_args.h"

namespace ck::huggingface {

// What ConfigFromArgs does not look at: a router, window or activation that the class does not have: Error(kInput, "split.unsupported_argument"). Nothing without arguments.
void CheckArguments(const Architecture& architecture, const SavedArgs& args);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_CHECK_ARGUMENTS_H_
