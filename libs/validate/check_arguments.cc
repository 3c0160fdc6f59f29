// What Megatron's saved arguments say about the shapes of the tensors. Every rule is an equation; a failure prints it with its numbers.
// A rule that the arguments leave open (a member missing, None, or of another kind) is not checked. Source: docs/formats/megatron.md.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/checked.h"
#include "libs/base/text.h"
#include "libs/megatron/keys.h"
#include "libs/validate/checks.h"

namespace ck::validate {
namespace {

class Arguments {
 public:
  Arguments(const pickle::Graph& graph, pickle::Ref args) : graph_(graph), args_(args) {}

  // A positive integer below 2^32, so that products of a few of them do not overflow.
  std::optional<uint64_t> Count(std::string_view name) const {
    const pickle::Ref value = graph_.Attribute(args_, name);
    if (value == pickle::kNoRef || graph_.kind(value) != pickle::Kind::kInt) return std::nullopt;
    const int64_t number = graph_.AsInt(value);
    return number > 0 && number < int64_t{1} << 32 ? std::optional(static_cast<uint64_t>(number)) : std::nullopt;
  }
  std::optional<bool> Flag(std::string_view name) const {
    const pickle::Ref value = graph_.Attribute(args_, name);
    if (value == pickle::kNoRef || graph_.kind(value) != pickle::Kind::kBool) return std::nullopt;
    return graph_.AsBool(value);
  }
  bool IsOn(std::string_view name) const { return Flag(name).value_or(false); }
  // There and not None.
  bool IsSet(std::string_view name) const {
    const pickle::Ref value = graph_.Attribute(args_, name);
    return value != pickle::kNoRef && graph_.kind(value) != pickle::Kind::kNone;
  }

 private:
  const pickle::Graph& graph_;
  pickle::Ref args_;
};

// A dimension of every model tensor with this ending.
struct Rule {
  std::string ending;
  size_t from_end;  // 1: the last dimension
  std::string dimension;
  uint64_t expected;
  std::string equation;  // "ffn_hidden_size 32 * 2 (swiglu) = 64"
};

class Rules {
 public:
  explicit Rules(const Arguments& args) : args_(args) {
    AddVocabulary();
    // Heterogeneous models give every block its own sizes.
    if (args.IsSet("heterogeneous_layers_config_path") || args.IsSet("heterogeneous_layers_config_encoded_json")) return;
    AddAttention();
    AddMlp();
    AddExperts();
  }
  const std::vector<Rule>& list() const { return rules_; }

 private:
  void Add(std::string ending, size_t from_end, std::string dimension, uint64_t expected, const std::string& left_side) {
    std::string equation = left_side == Cat(expected) ? left_side : Cat(left_side, " = ", expected);
    rules_.push_back({std::move(ending), from_end, std::move(dimension), expected, std::move(equation)});
  }

  void AddVocabulary() {
    if (const auto rows = args_.Count("padded_vocab_size")) {
      for (const char* key : {"embedding.word_embeddings.weight", "output_layer.weight"}) Add(key, 2, "rows", *rows, "padded_vocab_size");
    }
    if (const auto hidden = args_.Count("hidden_size")) Add("embedding.word_embeddings.weight", 1, "columns", *hidden, "hidden_size");
  }

  // (heads + 2 * groups) * head dimension; as many gate rows as query rows where attention has an output gate.
  void AddAttention() {
    const auto heads = args_.Count("num_attention_heads"), hidden = args_.Count("hidden_size");
    if (!heads || !hidden || args_.IsOn("multi_latent_attention")) return;
    const bool grouped = args_.IsOn("group_query_attention");  // off: num_query_groups is a default that means nothing
    const auto groups = grouped ? args_.Count("num_query_groups") : heads;
    const uint64_t head_size = args_.Count("kv_channels").value_or(*hidden / *heads);
    if (!groups) return;
    const uint64_t query_heads = args_.IsOn("attention_output_gate") ? 2 * *heads : *heads;
    const auto rows = CheckedMul(query_heads + 2 * *groups, head_size);
    if (!rows) return;
    const std::string left = Cat("(", query_heads == *heads ? "" : "2 * ", "num_attention_heads ", *heads, " + 2 * ",
                                 grouped ? "num_query_groups " : "num_attention_heads ", *groups, ") * kv_channels ", head_size);
    Add(".self_attention.linear_qkv.weight", 2, "rows", *rows, left);
    Add(".self_attention.linear_qkv.bias", 1, "rows", *rows, left);
  }

  // fc1 holds gate and up rows where the activation is gated.
  void AddWidths(const std::string& module, std::string_view argument, uint64_t width) {
    Add(module + ".linear_fc2.weight", 1, "columns", width, Cat(argument, " ", width));
    const auto swiglu = args_.Flag("swiglu");
    if (!swiglu) return;
    const bool gated = *swiglu || args_.IsOn("quick_geglu") || args_.IsOn("gated_linear_unit");
    Add(module + ".linear_fc1.weight", 2, "rows", gated ? 2 * width : width, Cat(argument, " ", width, gated ? " * 2 (gated)" : " (not gated)"));
  }

  void AddMlp() {
    if (const auto width = args_.Count("ffn_hidden_size")) AddWidths(".mlp", "ffn_hidden_size", *width);
  }

  void AddExperts() {
    const auto experts = args_.Count("num_experts");
    if (!experts) return;
    const std::string left = Cat("num_experts ", *experts);
    for (const char* key : {".mlp.experts.experts.linear_fc1.weight", ".mlp.experts.experts.linear_fc2.weight"}) Add(key, 3, "experts", *experts, left);
    Add(".mlp.router.weight", 2, "rows", *experts, left);
    if (const auto width = args_.Count("moe_ffn_hidden_size")) AddWidths(".mlp.experts.experts", "moe_ffn_hidden_size", *width);
    if (const auto width = args_.Count("moe_shared_expert_intermediate_size")) {
      AddWidths(".mlp.shared_experts", "moe_shared_expert_intermediate_size", *width);
    }
  }

  const Arguments& args_;
  std::vector<Rule> rules_;
};

// What contradicts one rule: tensors with the same wrong size are one finding.
struct Violation {
  std::string tensor;
  uint64_t tensors = 0;

  void Add(const std::string& name) {
    if (tensors++ == 0) tensor = name;
  }
  // "'a' has", "'a' and 3 more tensors have".
  std::string Subject() const {
    return tensors == 1 ? Cat(Quote(tensor), " has") : Cat(Quote(tensor), " and ", tensors - 1, tensors == 2 ? " more tensor have" : " more tensors have");
  }
};

bool EndsWithKey(std::string_view name, std::string_view ending) {
  if (!EndsWith(name, ending)) return false;
  return ending[0] == '.' || name.size() == ending.size() || name[name.size() - ending.size() - 1] == '.';
}

void ApplyRule(const Checkpoint& checkpoint, const Rule& rule, Findings& findings) {
  std::map<uint64_t, Violation> violations;  // by the size found
  for (const dcp::Tensor& tensor : checkpoint.tensors()) {
    if (!EndsWithKey(tensor.name, rule.ending) || megatron::Classify(tensor.name) != megatron::KeyClass::kModel) continue;
    if (tensor.shape.size() < rule.from_end) continue;
    const uint64_t found = tensor.shape[tensor.shape.size() - rule.from_end];
    if (found == rule.expected) continue;
    violations[found].Add(tensor.name);
  }
  for (const auto& [found, violation] : violations) {
    findings.AddError("args.mismatch", Cat(violation.Subject(), " ", found, " ", rule.dimension, ", the saved arguments say ", rule.equation),
                      {.where = violation.tensor, .found = Cat(found), .expected = Cat(rule.expected), .source = "args of the common state"});
  }
}

// The number N of "decoder.layers.N."; nullopt for any other key.
std::optional<uint64_t> LayerNumber(std::string_view name) {
  constexpr std::string_view kLayers = "decoder.layers.";
  const size_t at = name.find(kLayers);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = name.substr(at + kLayers.size());
  return ParseUint64(rest.substr(0, rest.find('.')));
}

void CheckLayers(const Checkpoint& checkpoint, const Arguments& args, Findings& findings) {
  const auto decoder = args.Count("decoder_num_layers"), layers = decoder ? decoder : args.Count("num_layers");
  if (!layers) return;
  const std::string argument = Cat(decoder ? "decoder_num_layers " : "num_layers ", *layers);
  const Details details = {.where = "decoder.layers", .expected = Cat(*layers), .source = "args of the common state"};
  std::set<uint64_t> numbers;
  std::map<uint64_t, Violation> axes;
  for (const dcp::Tensor& tensor : checkpoint.tensors()) {
    if (megatron::Classify(tensor.name) != megatron::KeyClass::kModel) continue;
    if (const auto number = LayerNumber(tensor.name)) numbers.insert(*number);
    if (!megatron::IsStackedKey(tensor.name) || tensor.shape.empty() || tensor.shape[0] == *layers) continue;
    axes[tensor.shape[0]].Add(tensor.name);
  }
  for (const auto& [found, violation] : axes) {
    findings.AddError("args.mismatch",
                      Cat(violation.Subject(), " ", found, " along the layer axis, the saved arguments say ", argument), details);
  }
  if (numbers.empty() || args.IsSet("heterogeneous_layers_config_path") || args.IsSet("heterogeneous_layers_config_encoded_json")) return;
  if (numbers.size() == *layers && *numbers.rbegin() == *layers - 1) return;
  findings.AddError("args.mismatch",
                    Cat("there are keys of ", numbers.size(), " layers, numbered ", *numbers.begin(), " to ", *numbers.rbegin(),
                        ", the saved arguments say ", argument),
                    details);
}

}  // namespace

void CheckArguments(const Checkpoint& checkpoint, const pickle::Graph& graph, pickle::Ref args, Findings& findings) {
  if (graph.kind(args) != pickle::Kind::kObject) return;
  const Arguments arguments(graph, args);
  CheckLayers(checkpoint, arguments, findings);
  const Rules rules(arguments);
  for (const Rule& rule : rules.list()) ApplyRule(checkpoint, rule, findings);
}

}  // namespace ck::validate
