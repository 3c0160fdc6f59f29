// ck-split --list: the tables of libs/huggingface, for people and as JSON.
#ifndef CK_TOOLS_CK_SPLIT_LIST_H_
#define CK_TOOLS_CK_SPLIT_LIST_H_

#include <string>

#include "libs/json/value.h"

namespace ck::split {

// One block per class: Megatron key, shape, Hugging Face keys, transform, condition.
std::string TablesAsText();
json::Value TablesAsJson();

}  // namespace ck::split

#endif  // CK_TOOLS_CK_SPLIT_LIST_H_
