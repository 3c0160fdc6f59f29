// The training arguments that a Megatron checkpoint carries, for reading.
#ifndef CK_HUGGINGFACE_SAVED_ARGS_H_
#define CK_HUGGINGFACE_SAVED_ARGS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/pickle/graph.h"
#include "libs/torchsave/read.h"
#include "libs/transform/view.h"

namespace ck::huggingface {

class SavedArgs {
 public:
  // Those of the view's common state, or of its object `args` (fsdp_dtensor, plain DCP). The view must outlive the result.
  explicit SavedArgs(const transform::View& view);

  // False: the checkpoint has none, and every reader below gives nullopt.
  bool exist() const { return args_ != pickle::kNoRef; }
  // The Namespace itself. Precondition: exist().
  const pickle::Graph& graph() const { return *graph_; }
  pickle::Ref ref() const { return args_; }
  // nullopt: absent, None, or of another type.
  std::optional<int64_t> Int(std::string_view name) const;
  std::optional<double> Number(std::string_view name) const;  // an integer too
  std::optional<bool> Bool(std::string_view name) const;
  std::optional<std::string> String(std::string_view name) const;
  // The items of a list or tuple of integers.
  std::optional<std::vector<int64_t>> Ints(std::string_view name) const;
  bool IsNone(std::string_view name) const;  // absent, or None
  // The value as Python shows it, for messages.
  std::string Text(std::string_view name) const;

 private:
  pickle::Ref Find(std::string_view name) const;

  std::unique_ptr<torchsave::SavedObject> own_;  // of the object `args`
  const pickle::Graph* graph_ = nullptr;
  pickle::Ref args_ = pickle::kNoRef;
};

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_SAVED_ARGS_H_
