// The architectures as data: which Hugging Face tensors a Megatron tensor becomes. One table per family.
//
// Keys.    {i} is a layer, {e} an expert. Megatron keys are those of a GPT model with a key per layer, whatever form the checkpoint has (model_source.h).
// Shapes.  In words of one letter, one per dimension of the Megatron tensor: V vocabulary with its padding, h hidden, k fused query-key-value rows, q rows of all
//          query heads, d elements per head, f feed-forward width, m that of an expert, s that of the shared experts, E experts. Latent attention: l query rank, u rows
//          of all query heads, c rank of keys and values with the rotated part, z that rank alone, w rows of all keys and values, v columns of all values.
//          A 2 before a letter doubles it. One letter has one value in the whole model.
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
  kGateUp,  // the first half of the rows, the second half
};

enum class When {
  kAlways,
  kDense,   // in a layer without a router
  kMoe,     // in a layer with one
  kUntied,  // when the model has a head of its own
  kPresent, // when the checkpoint has it
  kField,   // where Rule::field says
};

struct Rule {
  std::vector<std::string_view> megatron;  // other spellings of one tensor: exactly one of them is present
  std::string_view shape;
  std::vector<std::string_view> hf;        // kQkv: query, key, value; kGateUp: gate, up; else one
  Transform transform = Transform::kCopy;
  When when = When::kAlways;
  // Given: the tensors of one field of config.json are there in every layer that `when` takes, or in none.
  std::string_view field = {};
};

struct Table {
  Family family;
  std::vector<Rule> rules;  // without those of the head
};

// In two files, because they are long.
std::vector<Table> LlamaLikeTables();
std::vector<Table> OtherGptTables();

const std::vector<Table>& Tables();

// All rules of an architecture, those of the head last. Throws Error(kInput, "split.no_table") for a family that has none yet.
std::vector<Rule> RulesOf(const Architecture& architecture);

// A key or name of a rule with the first `mark` ("{i}", "{e}") as a number.
std::string Expand(std::string_view pattern, std::string_view mark, uint64_t number);

std::string_view Name(Transform transform);
// "always", "moe layers", "when attention_bias", ...
std::string Describe(const Rule& rule);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_TABLES_H_
