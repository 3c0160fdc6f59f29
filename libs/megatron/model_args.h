// The saved training arguments (argparse.Namespace) as far as a change of architecture depends on them.
//
// Trust.   An argument that is absent says nothing; one of an unexpected type is never taken for harmless.
// Source.  docs/formats/megatron.md
#ifndef CK_MEGATRON_MODEL_ARGS_H_
#define CK_MEGATRON_MODEL_ARGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/megatron/common_document.h"
#include "libs/pickle/graph.h"

namespace ck::megatron {

// args of a document, for reading and changing.
class Args {
 public:
  // No args when the document has none; everything below is then absent and Set does nothing.
  explicit Args(CommonDocument& document);

  bool exist() const { return args_ != pickle::kNoRef; }
  bool Has(std::string_view name) const;
  // nullopt when absent, None, or of another type. A number of numpy or a bool is no integer.
  std::optional<int64_t> Int(std::string_view name) const;
  std::optional<bool> Bool(std::string_view name) const;
  std::optional<std::string> String(std::string_view name) const;
  // True when the argument is there and neither None, False, 0 nor "".
  bool IsSet(std::string_view name) const;
  // The argument as text for a message.
  std::string Text(std::string_view name) const;

  pickle::Graph& graph() { return document_.graph; }
  const pickle::Graph& graph() const { return document_.graph; }
  pickle::Ref Find(std::string_view name) const;
  void Set(std::string_view name, pickle::Ref value);
  void SetInt(std::string_view name, int64_t value) { Set(name, graph().NewInt(value)); }
  void SetNone(std::string_view name) { Set(name, graph().NewNone()); }

 private:
  CommonDocument& document_;
  pickle::Ref args_ = pickle::kNoRef;
};

// What keeps a GPT model from being a stack of plain attention and MLP layers.
struct ArgumentFault {
  std::string id;  // retarget.interleaved_moe, .experimental_attention, .linear_attention, .heterogeneous, .latent_attention, .mtp
  std::string argument;
  std::string found;
  std::string message;
};
// Every reason, in a fixed order.
std::vector<ArgumentFault> CheckPlainGpt(const Args& args);

// The hybrid pattern of the model: hybrid_layer_pattern, else hybrid_override_pattern; nullopt for a GPT model.
std::optional<std::string> HybridPatternOf(const Args& args);

// iteration, consumed samples, train_iters and train_samples become 0, in args and beside it.
void ResetIterations(CommonDocument& document);

// Makes args those of a Hybrid model with this pattern, or of a GPT model of so many layers; content_metadata follows. Other arguments stay.
void SetHybrid(CommonDocument& document, const std::string& pattern, uint64_t layers);
enum class LayerKeys { kStacked, kPerLayer };
void SetGpt(CommonDocument& document, uint64_t layers, LayerKeys keys);

}  // namespace ck::megatron

#endif  // CK_MEGATRON_MODEL_ARGS_H_
