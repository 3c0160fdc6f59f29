// The training arguments that a Megatron checkpoint carries, by name and type. None and absence are one; another type is
// an error that names the argument.
//
// Errors.  huggingface.args_missing, huggingface.args_type, huggingface.args_not_expressible (kInput).
#ifndef CK_HUGGINGFACE_SAVED_ARGS_H_
#define CK_HUGGINGFACE_SAVED_ARGS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/base/error.h"
#include "libs/pickle/graph.h"

namespace ck::huggingface {

class SavedArgs {
 public:
  // Of a checkpoint without arguments.
  SavedArgs() = default;
  // `args` is the Namespace, an object of the graph, which must outlive this; kNoRef when there is none.
  SavedArgs(const pickle::Graph& graph, pickle::Ref args)
      : SavedArgs(std::shared_ptr<const pickle::Graph>(std::shared_ptr<void>(), &graph), args) {}
  SavedArgs(std::shared_ptr<const pickle::Graph> graph, pickle::Ref args) : graph_(std::move(graph)), args_(args) {}

  // False: the checkpoint has none, and every argument is absent.
  bool exist() const { return args_ != pickle::kNoRef; }

  std::optional<uint64_t> Uint(std::string_view name) const;
  uint64_t Size(std::string_view name) const;  // must be there and positive
  std::optional<double> Double(std::string_view name) const;
  std::optional<bool> Bool(std::string_view name) const;
  bool Flag(std::string_view name) const { return Bool(name).value_or(false); }
  std::optional<std::string> String(std::string_view name) const;
  // An int, or a list or tuple of ints.
  std::optional<std::vector<int64_t>> Ints(std::string_view name) const;
  std::optional<std::vector<double>> Doubles(std::string_view name) const;
  // "bfloat16" of torch.bfloat16.
  std::optional<std::string> Dtype(std::string_view name) const;
  bool Has(std::string_view name) const { return Find(name) != pickle::kNoRef; }
  bool IsAbsent(std::string_view name) const;  // or None
  bool IsInt(std::string_view name) const;
  // Neither absent, None, False, 0 nor empty.
  bool IsSet(std::string_view name) const;
  // hybrid_layer_pattern, before r0.17 hybrid_override_pattern; "" without.
  std::string_view PatternName() const;

  // The value as Python shows it, for messages.
  std::string Text(std::string_view name) const;

  Error Wrong(std::string_view name, std::string_view expected) const;
  Error Missing(std::string_view name) const;
  Error NotExpressible(std::string_view name, std::string_view why) const;

 private:
  template <typename T, typename Get>
  std::optional<std::vector<T>> List(std::string_view name, const Get& get) const;

  pickle::Ref Find(std::string_view name) const;

  std::shared_ptr<const pickle::Graph> graph_;
  pickle::Ref args_ = pickle::kNoRef;
};

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_SAVED_ARGS_H_
