// The --dtype of a split: a cast at the end, of the tensors that may be cast.
// Errors. split.double_cast (kInput): an earlier step casts too, and two roundings are not one.
#ifndef CK_HUGGINGFACE_CASTER_H_
#define CK_HUGGINGFACE_CASTER_H_

#include <cstdint>
#include <string>

#include "libs/huggingface/family.h"
#include "libs/plan/plan.h"
#include "libs/transform/view.h"

namespace ck::huggingface {

class Caster {
 public:
  Caster(const plan::SplitStep& step, Family family) : step_(step), family_(family) {}

  // Sets the tensor's dtype. Its pieces read leaves of `source`; `key` is its Megatron key, which says whether it must stay as it is.
  void Apply(const transform::View& source, const std::string& key, transform::Tensor& tensor);
  // How many tensors stayed as they are.
  void AddNote(transform::View& view) const;

 private:
  bool KeepsDtype(const std::string& key) const;

  const plan::SplitStep& step_;
  Family family_;
  uint64_t kept_ = 0;
};

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_CASTER_H_
