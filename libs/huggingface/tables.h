// The architectures as data: which Hugging Face tensors a Megatron tensor becomes. One table per family.
//
// Keys.    {i} is a layer, {e} an expert. Megatron keys are those of a GPT model with a key per layer, whatever form the checkpoint has (model_source.h).
// Shapes.  In words of one letter, one per dimension of the Megatron tensor: V vocabulary with its padding, h hidden, k fused query-key-value rows, q rows of all
//          query heads, d elements per head, f feed-forward width, m that of an expert, s that of the shared experts, E experts. Latent attention: l query rank, u rows
//          of all query heads, c rank of keys and values with the rotated part, z that rank alone, w rows of all keys and values, v columns of all values.
//          Mamba: i inner width, n state rows of all groups, t heads, p taps of the convolution. Gated delta net: r rows of all query or key heads, y rows of all
//          value heads, b value heads, o elements of one. a query heads, g rows of all keys, j what goes into an expert.
//          A 2 before a letter doubles it. One letter has one value in the whole model. Of tensors that are joined, one list each, with commas.
// Source.  docs/formats/huggingface.md
#ifndef CK_HUGGINGFACE_TABLES_H_
#define CK_HUGGINGFACE_TABLES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libs/huggingface/family.h"

namespace ck::huggingface {

enum class Transform {
  kCopy,
  kUnpad,   // the first vocab_size rows
  kQkv,     // query, key and value rows, regrouped
  kQkvJoin, // the same, one after the other in one tensor
  kGatedQkv,  // query with the gate behind each head, key and value rows, regrouped
  kGateUp,  // the first half of the rows, the second half
  kJoin,           // the rows of several tensors, one tensor after the other
  kGdnProjection,  // query, key, value, z of a gated delta net: regrouped by key head
  kGdnGates,       // beta, alpha: the same
  kAlternate,      // of each expert, the first half of the rows and the second half become alternate columns; of a vector, alternate elements
  kTranspose,      // of each expert, rows become columns
  kNorm,       // a norm's weight; Megatron stores it as w - 1 when its norms are zero-centred, the class when FamilyRow::norm_form says 1 + w: else 1 is added or taken
  kPlainNorm,  // the same, of a norm that multiplies by the weight itself whatever norm_form says
};

// Several Megatron tensors become one.
bool JoinsTensors(Transform transform);

enum class When {
  kAlways,
  kDense,   // in a layer without a router
  kMoe,     // in a layer with one
  kAttention,  // in a layer with linear_qkv
  kDeltaNet,   // in a layer with a gated delta net
  kMamba,      // in a layer with a Mamba mixer
  kMlp,        // in a layer with linear_fc1
  kUntied,  // when the model has a head of its own
  kTied,    // when it has none
  kPresent, // when the checkpoint has it
  kField,   // where Rule::field says
};

struct Rule {
  std::vector<std::string_view> megatron;  // other spellings of one tensor: exactly one of them is present; JoinsTensors: all of them, in order
  std::string_view shape;
  std::vector<std::string_view> hf;        // kQkv, kGatedQkv: query, key, value; kGateUp: gate, up; else one
  Transform transform = Transform::kCopy;
  When when = When::kAlways;
  // Given: the tensors of one field of config.json are there in every layer that `when` takes, or in none.
  std::string_view field = {};
};

// What a layer is. In a Hybrid model it is one of attention, Mamba, MLP or experts, with its own number.
enum class LayerForm { kGpt, kHybrid };

struct Table {
  Family family;
  std::vector<Rule> rules;  // without those of the head
  LayerForm form = LayerForm::kGpt;
  std::string_view head = "lm_head.weight";
  std::string_view value_weight = "score.weight", value_bias = "score.bias";  // of the class with a value per token
};

// In files of their own, because they are long.
std::vector<Table> LlamaLikeTables();
std::vector<Table> OtherGptTables();
std::vector<Table> HybridTables();

const std::vector<Table>& Tables();
const Table& TableOf(Family family);

// All rules of an architecture, those of the head last.
std::vector<Rule> RulesOf(const Architecture& architecture);

// A key or name of a rule with the first `mark` ("{i}", "{e}") as a number.
std::string Expand(std::string_view pattern, std::string_view mark, uint64_t number);

std::string_view Name(Transform transform);
// "always", "moe layers", "when attention_bias", ...
std::string Describe(const Rule& rule);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_TABLES_H_
