#include "libs/huggingface/import_source.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/huggingface/columns.h"
#include "libs/huggingface/import_names.h"

namespace ck::huggingface {
namespace {

// The sizes that config.json states, under the letters of Rule::shape, so that a tensor that does not fit is told together with the field.
void BindStatedSizes(const ModelConfig& model, Sizes& sizes) {
  const auto bind = [&](std::string_view letter, uint64_t value, std::string_view field) {
    if (value != 0) sizes.Bind(letter, {value}, Cat("config.json: ", field));
  };
  bind("h", model.hidden, "hidden_size");
  bind("V", model.vocab, "vocab_size");
  bind("f", model.ffn, "intermediate_size");
  if (model.mla) {
    const Mla& mla = *model.mla;
    bind("l", mla.q_rank.value_or(0), "q_lora_rank");
    bind("u", model.heads * (mla.nope_dim + mla.rope_dim), "num_attention_heads x (qk_nope_head_dim + qk_rope_head_dim)");
    bind("c", mla.kv_rank + mla.rope_dim, "kv_lora_rank + qk_rope_head_dim");
    bind("z", mla.kv_rank, "kv_lora_rank");
    bind("w", model.heads * (mla.nope_dim + mla.value_dim), "num_attention_heads x (qk_nope_head_dim + v_head_dim)");
    bind("v", model.heads * mla.value_dim, "num_attention_heads x v_head_dim");
  } else if (model.heads != 0) {
    bind("q", model.heads * model.head_dim, "num_attention_heads x head_dim");
    const bool gated = model.architecture.family == Family::kQwen3Next;
    bind("k", ((gated ? 2 : 1) * model.heads + 2 * model.kv_heads) * model.head_dim, "(num_attention_heads + 2 num_key_value_heads) x head_dim");
    bind("g", model.kv_heads * model.head_dim, "num_key_value_heads x head_dim");
    bind("d", model.head_dim, "head_dim");
  }
  if (model.heads != 0) bind("a", model.heads, "num_attention_heads");
  if (model.mamba) {
    bind("i", model.mamba->heads * model.mamba->head_dim, "the heads of Mamba x their size");
    bind("n", model.mamba->groups * model.mamba->state, "the groups of Mamba x their state");
    bind("t", model.mamba->heads, "the heads of Mamba");
    bind("p", model.mamba->conv_taps, "the width of the convolution");
  }
  if (model.gdn) {
    bind("r", model.gdn->key_heads * model.gdn->key_dim, "linear_num_key_heads x linear_key_head_dim");
    bind("y", model.gdn->value_heads * model.gdn->value_dim, "linear_num_value_heads x linear_value_head_dim");
    bind("b", model.gdn->value_heads, "linear_num_value_heads");
    bind("o", model.gdn->value_dim, "linear_value_head_dim");
    bind("p", model.gdn->conv_taps, "linear_conv_kernel_dim");
  }
  if (!model.experts) return;
  bind("j", model.experts->latent_width.value_or(model.hidden), "the width that experts work on");
  bind("E", model.experts->count, "the number of experts");
  bind("m", model.experts->width, "the width of an expert");
  bind("s", model.experts->shared_width, "the width of the shared experts");
}

class Joiner {
 public:
  Joiner(const transform::View& view, const ImportConfig& config, TransformerImpl impl) : view_(view), config_(config), model_(config.model), impl_(impl) {}

  ImportSource Join() {
    out_.sizes = {.heads = {.heads = model_.heads, .groups = model_.kv_heads, .head_dim = model_.head_dim}, .delta = {}, .vocab_size = model_.vocab};
    if (const auto& gdn = model_.gdn) out_.sizes.delta = {.key_heads = gdn->key_heads, .key_dim = gdn->key_dim, .value_heads = gdn->value_heads, .value_dim = gdn->value_dim};
    BindStatedSizes(model_, sizes_);
    AddTensors();
    CheckTie();
    for (const Rule& rule : RulesOf(model_.architecture)) Apply(rule);
    CheckFields();
    CheckComplete();
    return std::move(out_);
  }

 private:
  using Names = std::vector<std::vector<std::string>>;  // by part, then by expert

  const transform::Tensor& TensorOf(uint32_t index) const { return view_.tensors[index]; }

  void AddTensors() {
    for (uint32_t i = 0; i < view_.tensors.size(); ++i) {
      const transform::Tensor& tensor = view_.tensors[i];
      RefuseAdapterOrQuantized(tensor.name, tensor.dtype);
      if (IsRotaryBuffer(tensor.name)) {
        transform::LeftOut& left = out_.left_out["inv_freq"];
        left.rule = "inv_freq";
        ++left.count;
        out_.left_out_tensors.insert(tensor.name);
        left.bytes += Volume(tensor.shape).value_or(0) * ElementSize(tensor.dtype);
      } else {
        unused_[tensor.name] = i;
      }
    }
  }

  void CheckTie() const {
    const std::string head(TableOf(model_.architecture.family).head);
    if (model_.architecture.head != Head::kCausalLm || !model_.tied || unused_.count(head) == 0) return;
    throw InputError("split.tied", Cat("the head is the embedding (tie_word_embeddings), but ", Quote(head), " is in the model as well; --tied no takes it as a head of its own"));
  }

  void Apply(const Rule& rule) {
    if (rule.when == When::kUntied && model_.tied) return;
    if (rule.when == When::kTied) return;  // the same elements as the embedding's
    if (rule.megatron[0].find("{i}") == std::string_view::npos) return Look(rule, std::nullopt);
    for (uint64_t layer = 0; layer < model_.layer_count(); ++layer) {
      if (Takes(rule.when, layer)) Look(rule, layer);
    }
  }

  bool Takes(When when, uint64_t layer) const {
    const LayerKind kind = model_.layers[layer];
    switch (when) {
      case When::kMoe:
        return model_.HasExperts(layer);
      case When::kDense:
        return !model_.HasExperts(layer);
      case When::kAttention:
        return kind == LayerKind::kFullAttention || kind == LayerKind::kSlidingAttention || kind == LayerKind::kAttentionOnly;
      case When::kDeltaNet:
        return kind == LayerKind::kLinearAttention;
      case When::kMamba:
        return kind == LayerKind::kMamba;
      case When::kMlp:
        return kind == LayerKind::kMlpOnly;
      case When::kAlways:
      case When::kUntied:
      case When::kTied:
      case When::kPresent:
      case When::kField:
        return true;
    }
    throw InternalError("internal.check_failed", "unknown condition of a rule");
  }

  Names NamesOf(const Rule& rule, std::optional<uint64_t> layer) const {
    Names out;
    for (const std::string_view pattern : rule.hf) {
      const std::string name = Expand(pattern, "{i}", layer.value_or(0));
      std::vector<std::string> names;
      if (name.find("{e}") == std::string::npos) {
        names.push_back(name);
      } else {
        for (uint64_t e = 0; e < ExpertCount(); ++e) names.push_back(Expand(name, "{e}", e));
      }
      out.push_back(std::move(names));
    }
    return out;
  }

  uint64_t ExpertCount() const {
    Check(model_.experts.has_value(), "a rule of experts is applied to layers that have some");
    if (model_.experts->count > kMaxImportedExperts) {
      throw InputError("split.too_many_experts", Cat("config.json says that the model has ", model_.experts->count, " experts, at most ", kMaxImportedExperts, " are imported"));
    }
    return model_.experts->count;
  }

  // ---- Finding a rule's tensors

  void Look(const Rule& rule, std::optional<uint64_t> layer) {
    for (const std::string& name : WholeNames(rule, layer)) {
      if (unused_.count(name) == 0) continue;
      JoinedTensor joined = Start(rule, layer);
      joined.whole = Take(name);
      NoteField(rule, name, true);
      return Finish(std::move(joined), TensorOf(*joined.whole).shape, name);
    }
    Names names = NamesOf(rule, layer);
    std::vector<std::string> absent;
    bool any = false;
    for (std::vector<std::string>& part : names) {
      for (std::string& name : part) {
        if (const std::string other = OtherName(name); !other.empty() && unused_.count(name) == 0 && unused_.count(other) > 0) name = other;
        if (unused_.count(name) > 0) {
          any = true;
        } else {
          absent.push_back(name);
        }
      }
    }
    const bool optional = !rule.field.empty() || rule.when == When::kPresent;
    if (!any && optional) return NoteField(rule, names[0][0], false);
    if (!absent.empty()) {
      missing_.insert(missing_.end(), absent.begin(), absent.end());
      for (const auto& part : names) {
        for (const std::string& name : part) unused_.erase(name);  // they have a place; what is wrong is told already
      }
      return;
    }
    NoteField(rule, names[0][0], true);
    JoinParts(rule, layer, names);
  }

  uint32_t Take(const std::string& name) {
    const auto at = unused_.find(name);
    Check(at != unused_.end(), "a tensor that is taken was found");
    const uint32_t index = at->second;
    unused_.erase(at);
    return index;
  }

  JoinedTensor Start(const Rule& rule, std::optional<uint64_t> layer) const {
    const bool hybrid = TableOf(model_.architecture.family).form == LayerForm::kHybrid;
    const LocalNorms local_norms = hybrid ? LocalNorms::kAsTheEngine : model_.mla ? LocalNorms::kAlone : LocalNorms::kFused;
    JoinedTensor out{.rule = rule, .layer = layer, .key = KeyFor(rule, layer, impl_, local_norms), .dtype = DType::kF32, .shape = {}, .parts = {}, .has_expert_axis = false, .whole = {}, .ranges = {}};
    out.has_expert_axis = out.key.find(".experts.experts.") != std::string::npos;
    return out;
  }

  // One tensor that holds several of Megatron's, one after the other.
  void TakeApart(const Rule& rule, std::optional<uint64_t> layer, const std::string& name) {
    const uint32_t index = Take(name);
    const transform::Tensor& tensor = TensorOf(index);
    const std::vector<std::string> words = Split(rule.shape, ',');
    Check(words.size() == rule.megatron.size(), "a joined rule has a shape for each of its tensors");
    if (tensor.shape.empty()) throw InputError("split.bad_shape", Cat("tensor ", Quote(name), " has no dimension"));
    std::vector<uint64_t> rows;
    uint64_t all = 0;
    for (const std::string& shape : words) {
      rows.push_back(sizes_.Get(std::string(Trim(shape))[0]));
      all += rows.back();
    }
    if (all != tensor.shape[0]) throw InputError("split.bad_shape", Cat("tensor ", Quote(name), " has ", tensor.shape[0], " rows, expected ", all, " as config.json says (", rule.shape, ")"));
    const std::vector<RowRange> ranges = RowsOfPart(rule.transform, 0, all, out_.sizes);
    uint64_t begin = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      JoinedTensor joined = Start(rule, layer);
      joined.key = Expand(rule.megatron[i], "{i}", layer.value_or(0));
      joined.parts = {{index}};
      joined.ranges.emplace();
      const uint64_t end = begin + rows[i];
      for (const RowRange& range : ranges) {
        const uint64_t first = std::max(range.source, begin), last = std::min(range.source + range.rows, end);
        if (first < last) joined.ranges->push_back({.source = first - begin, .target = range.target + (first - range.source), .rows = last - first});
      }
      Dims shape = tensor.shape;
      shape[0] = rows[i];
      sizes_.Bind(Trim(words[i]), shape, name);
      joined.shape = std::move(shape);
      joined.dtype = tensor.dtype;
      out_.tensors.push_back(std::move(joined));
      begin = end;
    }
  }

  // All experts in one tensor, in dimensions of its own.
  void TakeColumns(const Rule& rule, std::optional<uint64_t> layer, const std::string& name) {
    JoinedTensor joined = Start(rule, layer);
    const uint32_t index = Take(name);
    const Dims& shape = TensorOf(index).shape;
    const bool alternates = rule.transform == Transform::kAlternate;
    const size_t rank = Split(rule.shape, ' ').size();
    if (shape.size() != rank || (alternates && shape.back() % 2 != 0)) {
      throw InputError("split.bad_shape", Cat("tensor ", Quote(name), " has the shape ", FormatDims(shape), ", expected ", rank, " dimensions", alternates ? " and an even last one" : ""));
    }
    joined.parts = {{index}};
    Finish(std::move(joined), FromColumns(rule.transform, shape).shape, name);
  }

  void JoinParts(const Rule& rule, std::optional<uint64_t> layer, const Names& names) {
    if (JoinsTensors(rule.transform)) return TakeApart(rule, layer, names[0][0]);
    if (rule.transform == Transform::kAlternate || rule.transform == Transform::kTranspose) return TakeColumns(rule, layer, names[0][0]);
    JoinedTensor joined = Start(rule, layer);
    if (joined.has_expert_axis && rule.hf[0].find("{e}") == std::string_view::npos) {
      Check(rule.transform == Transform::kCopy, "all experts in one tensor are Megatron's tensor");
      joined.whole = Take(names[0][0]);
      return Finish(std::move(joined), TensorOf(*joined.whole).shape, names[0][0]);
    }
    uint64_t rows = 0;
    Dims shape;
    for (const std::vector<std::string>& part : names) {
      std::vector<uint32_t> indexes;
      for (const std::string& name : part) indexes.push_back(Take(name));
      const Dims& first = TensorOf(indexes[0]).shape;
      for (const uint32_t index : indexes) CheckLike(TensorOf(indexes[0]), TensorOf(index), 0);
      if (first.empty()) throw InputError("split.bad_shape", Cat("tensor ", Quote(part[0]), " has no dimension"));
      if (!joined.parts.empty()) CheckLike(TensorOf(joined.parts[0][0]), TensorOf(indexes[0]), 1);
      rows += first[0];
      shape = first;
      joined.parts.push_back(std::move(indexes));
    }
    shape[0] = rows;
    if (joined.has_expert_axis) shape.insert(shape.begin(), names[0].size());
    CheckRows(joined, rows);
    Finish(std::move(joined), std::move(shape), names[0][0]);
  }

  // Same dtype, and same dimensions from `first_dimension` on.
  static void CheckLike(const transform::Tensor& a, const transform::Tensor& b, size_t first_dimension) {
    if (a.dtype != b.dtype) {
      throw InputError("split.mixed_dtype", Cat("tensors ", Quote(a.name), ", ", Name(a.dtype), ", and ", Quote(b.name), ", ", Name(b.dtype), ", become one tensor and must have one dtype"));
    }
    const bool same = a.shape.size() == b.shape.size() && std::equal(a.shape.begin() + static_cast<std::ptrdiff_t>(std::min(first_dimension, a.shape.size())), a.shape.end(),
                                                                     b.shape.begin() + static_cast<std::ptrdiff_t>(std::min(first_dimension, b.shape.size())));
    if (same) return;
    throw InputError("split.bad_shape", Cat("tensors ", Quote(a.name), " ", FormatDims(a.shape), " and ", Quote(b.name), " ", FormatDims(b.shape), " become one tensor, and their shapes do not fit together"));
  }

  // Every part has the rows that the transform takes from it.
  void CheckRows(const JoinedTensor& joined, uint64_t rows) const {
    for (size_t part = 0; part < joined.parts.size(); ++part) {
      const transform::Tensor& tensor = TensorOf(joined.parts[part][0]);
      uint64_t wanted = 0;
      for (const RowRange& range : RowsOfPart(joined.rule.transform, part, rows, out_.sizes)) wanted += range.rows;
      if (wanted == tensor.shape[0]) continue;
      const std::string found = Cat("tensor ", Quote(tensor.name), " has ", tensor.shape[0], " rows, expected ", wanted);
      switch (joined.rule.transform) {
        case Transform::kQkv:
        case Transform::kQkvJoin:
        case Transform::kGatedQkv:
          throw InputError("split.heads", Cat(found, ": config.json says ", model_.heads, " heads in ", model_.kv_heads, " groups, ", model_.head_dim, " elements each"));
        case Transform::kUnpad:
          throw InputError("split.vocab_size", Cat(found, ", the vocab_size of config.json"));
        default:
          throw InputError("split.bad_shape", Cat(found, ", as its counterpart ", Quote(TensorOf(joined.parts[1 - part][0]).name), " has"));
      }
    }
  }

  void Finish(JoinedTensor joined, Dims shape, const std::string& name) {
    sizes_.Bind(joined.rule.shape, shape, name);
    joined.shape = std::move(shape);
    joined.dtype = TensorOf(joined.whole ? *joined.whole : joined.parts[0][0]).dtype;
    out_.tensors.push_back(std::move(joined));
  }

  // ---- Tensors that one field of config.json switches on

  void NoteField(const Rule& rule, const std::string& name, bool present) {
    if (rule.field.empty()) return;
    FieldTensors& field = fields_[std::string(rule.field)];
    (present ? field.present : field.absent).push_back(name);
  }

  // Whether a field switches its tensors on: true, or a number above 0. nullopt where neither the file nor the class's default settles it here.
  std::optional<bool> Stated(const std::string& field) const {
    if (const json::Value* value = config_.root.Find(field)) {
      if (const auto flag = value->AsBool()) return *flag;
      if (const auto number = value->AsUint()) return *number > 0;
      if (value->is_null()) return false;
    }
    const BiasFields& bias = model_.row().bias;
    if (field == bias.attention) return bias.attention_default;
    if (field == bias.mlp) return bias.mlp_default;
    return std::nullopt;
  }

  void CheckFields() const {
    for (const auto& [field, tensors] : fields_) {
      const auto stated = Stated(field);
      const bool there = !tensors.present.empty();
      if (there && !tensors.absent.empty()) {
        throw InputError("split.missing_tensor", Cat(ClassName(model_.architecture), " has all tensors of ", field, " or none, but ", Quote(tensors.present[0]), " is there and ",
                                                     SomeNames(tensors.absent), " is not"));
      }
      if (!stated || *stated == there) continue;
      throw InputError("split.config_contradiction", Cat("config.json says ", field, *stated ? " true" : " false", ", but ", Quote(there ? tensors.present[0] : tensors.absent[0]), there ? " is" : " is not",
                                                         " in the model"));
    }
  }

  void CheckComplete() const {
    std::vector<std::string> extra;
    for (const auto& [name, index] : unused_) extra.push_back(name);
    const std::string class_name = ClassName(model_.architecture);
    const std::string extra_text = extra.empty() ? "" : Cat(extra.size(), " have no place in it: ", SomeNames(extra));
    if (!missing_.empty()) {
      throw InputError("split.missing_tensor", Cat(missing_.size(), " tensors that ", class_name, " needs are not in the model: ", SomeNames(missing_), extra.empty() ? "" : "; ", extra_text));
    }
    if (!extra.empty()) throw InputError("split.extra_tensor", Cat("of the model's tensors, ", extra_text, " (", class_name, ")"));
  }

  struct FieldTensors {
    std::vector<std::string> present, absent;
  };
  const transform::View& view_;
  const ImportConfig& config_;
  const ModelConfig& model_;
  const TransformerImpl impl_;
  ImportSource out_;
  Sizes sizes_;
  std::map<std::string, uint32_t> unused_;  // tensors by name
  std::map<std::string, FieldTensors> fields_;
  std::vector<std::string> missing_;
};

}  // namespace

ImportSource ReadImportSource(const transform::View& view, const ImportConfig& config, TransformerImpl impl) { return Joiner(view, config, impl).Join(); }

}  // namespace ck::huggingface
