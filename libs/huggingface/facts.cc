#include "libs/huggingface/facts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::huggingface {
namespace {

constexpr char kHead[] = "output_layer.weight";

std::string SomeNames(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) shown.push_back(Quote(names[i]));
  return Cat(Join(shown, ", "), names.size() > kShown ? Cat(" and ", names.size() - kShown, " more") : "");
}

// Looks for every tensor that the rules name.
class Matcher {
 public:
  Matcher(const ModelSource& source, const Architecture& architecture) : source_(source), architecture_(architecture) {}

  void Run(Facts& out) {
    out.layers = source_.layers;
    const bool hybrid = TableOf(architecture_.family).form == LayerForm::kHybrid;
    for (uint64_t i = 0; i < source_.layers; ++i) {
      (IsMoe(i) ? moe_layers_ : dense_layers_).push_back(i);
      out.kinds.push_back(hybrid ? HybridKind(i) : Has(i, kDeltaNet) ? LayerKind::kLinearAttention : LayerKind::kFullAttention);
    }
    out.has_experts = !moe_layers_.empty();
    if (out.has_experts) out.dense_layers = dense_layers_;
    out.tied = source_.parameters.count(kHead) == 0;
    for (const Rule& rule : RulesOf(architecture_)) Apply(rule, out);
    CheckFields();
    for (const auto& [field, seen] : fields_) out.fields[field] = !seen.present.empty();
    CheckComplete();
  }

 private:
  // The tensors by which a layer is known.
  static constexpr std::string_view kRouter = "mlp.router.weight", kAttention = "self_attention.linear_qkv.weight", kDeltaNet = "self_attention.in_proj.weight.query",
                                    kMamba = "mixer.A_log", kMlp = "mlp.linear_fc1.weight";

  bool Has(uint64_t layer, std::string_view rest) const { return source_.parameters.count(Cat("decoder.layers.", layer, ".", rest)) > 0; }
  bool IsMoe(uint64_t layer) const { return Has(layer, kRouter); }

  // Exactly one of four: two mixers would have one name.
  LayerKind HybridKind(uint64_t layer) const {
    std::vector<LayerKind> found;
    if (Has(layer, kMamba)) found.push_back(LayerKind::kMamba);
    if (Has(layer, kAttention)) found.push_back(LayerKind::kAttentionOnly);
    if (Has(layer, kMlp)) found.push_back(LayerKind::kMlpOnly);
    if (Has(layer, kRouter)) found.push_back(LayerKind::kExpertsOnly);
    if (found.size() == 1) return found[0];
    throw InputError("split.hybrid", Cat("layer ", layer, " has ", found.empty() ? "none" : "more than one", " of ", kMamba, ", ", kAttention, ", ", kMlp, ", ", kRouter, "; a layer of ",
                                         ClassName(architecture_), " is one of Mamba, attention, MLP and experts"));
  }

  bool Takes(When when, uint64_t layer) const {
    switch (when) {
      case When::kMoe:
        return IsMoe(layer);
      case When::kDense:
        return !IsMoe(layer);
      case When::kAttention:
        return Has(layer, kAttention);
      case When::kDeltaNet:
        return Has(layer, kDeltaNet);
      case When::kMamba:
        return Has(layer, kMamba);
      case When::kMlp:
        return Has(layer, kMlp);
      case When::kAlways:
      case When::kUntied:
      case When::kTied:
      case When::kPresent:
      case When::kField:
        return true;
    }
    throw InternalError("internal.check_failed", "unknown condition");
  }

  void Apply(const Rule& rule, Facts& out) {
    if (rule.megatron[0].find("{i}") == std::string_view::npos) {
      if ((rule.when == When::kUntied && out.tied) || (rule.when == When::kTied && !out.tied)) return;
      Look(rule, std::nullopt, out);
      return;
    }
    for (uint64_t i = 0; i < source_.layers; ++i) {
      if (!Takes(rule.when, i)) continue;
      if (JoinsTensors(rule.transform)) {
        LookForAll(rule, i, out);
      } else {
        Look(rule, i, out);
      }
    }
  }

  void Look(const Rule& rule, std::optional<uint64_t> layer, Facts& out) {
    std::vector<std::string> found;
    for (const std::string_view pattern : rule.megatron) {
      const std::string key = Expand(pattern, "{i}", layer.value_or(0));
      const bool is_free = used_.count(key) == 0 || rule.when == When::kTied;  // a tied tensor has two names
      if (source_.parameters.count(key) > 0 && is_free) found.push_back(key);
    }
    if (found.size() > 1) throw InputError("split.extra_tensor", Cat(Quote(found[0]), " and ", Quote(found[1]), " are two spellings of one tensor; which of them counts cannot be told"));
    Note(rule, Expand(rule.megatron[0], "{i}", layer.value_or(0)), !found.empty());
    if (found.empty()) return;
    used_.insert(found[0]);
    out.matches.push_back({.rule = rule, .layer = layer, .key = found[0]});
    const Parameter& parameter = source_.parameters.at(found[0]);
    out.sizes.Bind(rule.shape, parameter.shape, parameter.source_name);
  }

  // Tensors that are joined: all of them or, when a field may say so, none.
  void LookForAll(const Rule& rule, uint64_t layer, Facts& out) {
    std::vector<std::string> keys;
    size_t present = 0;
    for (const std::string_view pattern : rule.megatron) {
      keys.push_back(Expand(pattern, "{i}", layer));
      present += source_.parameters.count(keys.back());
    }
    const bool all = present == keys.size();
    if (!all && (present > 0 || rule.field.empty())) {
      for (const std::string& key : keys) {
        if (source_.parameters.count(key) == 0) missing_.push_back(key);
        used_.insert(key);
      }
      return;
    }
    Note(rule, keys[0], all);
    if (!all) return;
    const std::vector<std::string> shapes = Split(rule.shape, ',');
    for (size_t i = 0; i < keys.size(); ++i) {
      used_.insert(keys[i]);
      const Parameter& parameter = source_.parameters.at(keys[i]);
      out.sizes.Bind(shapes.at(i).substr(i == 0 ? 0 : 1), parameter.shape, parameter.source_name);
    }
    out.matches.push_back({.rule = rule, .layer = layer, .key = keys[0], .more_keys = {keys.begin() + 1, keys.end()}});
  }

  void Note(const Rule& rule, const std::string& key, bool found) {
    if (!rule.field.empty()) {
      FieldTensors& tensors = fields_[std::string(rule.field)];
      (found ? tensors.present : tensors.absent).push_back(key);
    } else if (!found && rule.when != When::kPresent) {
      missing_.push_back(key);
    }
  }

  void CheckFields() const {
    for (const auto& [field, tensors] : fields_) {
      if (tensors.present.empty() || tensors.absent.empty()) continue;
      throw InputError("split.missing_tensor", Cat(ClassName(architecture_), " has all tensors of ", field, " or none, but ", Quote(tensors.present[0]), " is there and ",
                                                   SomeNames(tensors.absent), " is not"));
    }
  }

  void CheckComplete() const {
    std::vector<std::string> extra;
    for (const auto& [key, parameter] : source_.parameters) {
      if (used_.count(key) == 0) extra.push_back(key);
    }
    const std::string class_name = ClassName(architecture_);
    const std::string extra_text = extra.empty() ? "" : Cat(extra.size(), " have no place in it: ", SomeNames(extra));
    if (!missing_.empty()) {
      throw InputError("split.missing_tensor", Cat(missing_.size(), " tensors that ", class_name, " needs are not in the checkpoint: ", SomeNames(missing_), extra.empty() ? "" : "; ", extra_text));
    }
    if (!extra.empty()) throw InputError("split.extra_tensor", Cat("of the checkpoint's tensors, ", extra_text, " (", class_name, ")"));
  }

  struct FieldTensors {
    std::vector<std::string> present, absent;
  };
  const ModelSource& source_;
  const Architecture& architecture_;
  std::vector<uint64_t> moe_layers_, dense_layers_;
  std::set<std::string> used_;
  std::map<std::string, FieldTensors> fields_;
  std::vector<std::string> missing_;
};

// A number that the arguments and config.json may state: the arguments', unless config.json is to win.
std::optional<uint64_t> Stated(std::optional<uint64_t> argument, std::optional<uint64_t> of_config, const plan::SplitStep& step) {
  if (step.config_from == plan::SplitStep::ConfigFrom::kTemplate && of_config) return of_config;
  return argument && *argument > 0 ? argument : of_config;
}

uint64_t ReadHeadCount(const SavedArgs& args, const ModelConfig* config, const plan::SplitStep& step) {
  const auto heads = Stated(args.Uint("num_attention_heads"), config == nullptr ? std::nullopt : std::optional(config->heads), step);
  if (!heads || *heads == 0) {
    throw InputError("split.heads", "neither the checkpoint's arguments nor a config.json say num_attention_heads, which no tensor shows");
  }
  return *heads;
}

// Behind each query head its gate.
bool HasGate(const Facts& facts) {
  return std::any_of(facts.matches.begin(), facts.matches.end(), [](const Match& match) { return match.rule.transform == Transform::kGatedQkv; });
}

Heads ReadHeads(const Sizes& sizes, uint64_t heads, bool gate, const SavedArgs& args) {
  const uint64_t q = sizes.Get('q'), k = sizes.Get('k');
  const auto misfit = [&](const std::string& what) {
    return InputError("split.heads", Cat(what, ": linear_proj takes ", sizes.Origin('q'), ", linear_qkv has ", sizes.Origin('k'), " rows, num_attention_heads is ", heads));
  };
  if (q == 0 || q % heads != 0) throw misfit("the heads do not divide the attention's width");
  Heads out{.heads = heads, .groups = 0, .head_dim = q / heads};
  const uint64_t queries = gate ? 2 * q : q;
  if (k <= queries || (k - queries) % (2 * out.head_dim) != 0) throw misfit(Cat("the fused rows are not (", gate ? "2 heads" : "heads", " + 2 groups) x head_dim"));
  out.groups = (k - queries) / (2 * out.head_dim);
  if (out.heads % out.groups != 0) throw misfit(Cat("the heads are no multiple of the ", out.groups, " groups that the rows give"));
  if (const auto d = sizes.Find('d'); d && *d != out.head_dim) throw misfit(Cat("a head would have ", out.head_dim, " elements, its norm has ", sizes.Origin('d')));
  if (const auto g = sizes.Find('g'); g && *g != out.groups * out.head_dim) throw misfit(Cat("the keys are ", out.groups * out.head_dim, " wide, their norm is ", sizes.Origin('g')));
  if (const auto a = sizes.Find('a'); a && *a != heads) throw misfit(Cat("a tensor with one element a head has ", sizes.Origin('a')));
  const auto channels = args.Uint("kv_channels");
  if (channels && *channels != out.head_dim) throw misfit(Cat("a head would have ", out.head_dim, " elements, args.kv_channels is ", *channels));
  // Without grouped-query attention num_query_groups is 1 and means nothing.
  const auto groups = args.Uint("num_query_groups");
  if (args.Flag("group_query_attention") && groups && *groups != out.groups) {
    throw misfit(Cat("the rows give ", out.groups, " groups, args.num_query_groups is ", *groups));
  }
  return out;
}

// How the state's rows divide into groups is in no shape.
Mamba ReadMamba(const Sizes& sizes, const SavedArgs& args, const ModelConfig* config, const plan::SplitStep& step) {
  const uint64_t inner = sizes.Get('i'), heads = sizes.Get('t'), state_rows = sizes.Get('n');
  const auto of_config = config != nullptr && config->mamba ? std::optional(config->mamba->groups) : std::nullopt;
  const auto groups = Stated(args.Uint("mamba_num_groups"), of_config, step);
  if (!groups || *groups == 0) throw InputError("split.heads", "neither the checkpoint's arguments nor a config.json say mamba_num_groups, which no tensor shows");
  if (heads == 0 || inner % heads != 0) throw InputError("split.heads", Cat("the ", sizes.Origin('t'), " heads of Mamba do not divide its width, ", sizes.Origin('i')));
  if (state_rows % *groups != 0 || heads % *groups != 0) {
    throw InputError("split.heads", Cat("mamba_num_groups, ", *groups, ", does not divide the rows of the state, ", sizes.Origin('n'), ", and the heads, ", sizes.Origin('t')));
  }
  Mamba out{.heads = heads, .head_dim = inner / heads, .groups = *groups, .state = state_rows / *groups, .conv_taps = sizes.Get('p'), .chunk_size = 0};
  if (config != nullptr && config->mamba) out.chunk_size = config->mamba->chunk_size;
  return out;
}

// The number of key heads is in no shape.
Gdn ReadGdn(const Sizes& sizes, const SavedArgs& args, const ModelConfig* config, const plan::SplitStep& step) {
  const uint64_t keys = sizes.Get('r'), value_heads = sizes.Get('b'), value_dim = sizes.Get('o');
  const auto heads = Stated(args.Uint("linear_num_key_heads"), config != nullptr && config->gdn ? std::optional(config->gdn->key_heads) : std::nullopt, step);
  if (!heads || *heads == 0) throw InputError("split.heads", "neither the checkpoint's arguments nor a config.json say linear_num_key_heads, which no tensor shows");
  if (keys % *heads != 0 || value_heads % *heads != 0) {
    throw InputError("split.heads", Cat("linear_num_key_heads, ", *heads, ", does not divide the rows of the keys, ", sizes.Origin('r'), ", and the value heads, ", sizes.Origin('b')));
  }
  if (sizes.Get('y') != value_heads * value_dim) {
    throw InputError("split.heads", Cat("the values have ", sizes.Origin('y'), " rows, expected ", sizes.Origin('b'), " heads of ", sizes.Origin('o'), " elements"));
  }
  return {.key_heads = *heads, .key_dim = keys / *heads, .value_heads = value_heads, .value_dim = value_dim, .conv_taps = sizes.Get('p')};
}

// Without projections to a latent width the experts work on the hidden size.
void CheckLatentExperts(const Facts& facts) {
  const auto latent = facts.fields.find("moe_latent_size");
  if (latent == facts.fields.end() || latent->second || !facts.sizes.Find('j') || facts.sizes.Get('j') == facts.sizes.Get('h')) return;
  throw InputError("split.missing_tensor", Cat("the experts take ", facts.sizes.Origin('j'), " of ", facts.sizes.Origin('h'), " elements, but there is no fc1_latent_proj"));
}

// Megatron-Core computes attention and MLP one after the other.
void CheckSequential(const ModelConfig* config) {
  if (config == nullptr || !config->parallel_residual) return;
  throw InputError("split.config_contradiction", "config.json has attention and MLP side by side (use_parallel_residual, parallel_attn); the layers of Megatron-Core are sequential");
}

// Classes whose fused tensor is one block per head, so that there are as many groups as heads; Falcon's may also share one group.
void CheckGroups(const Facts& facts) {
  const Family family = facts.architecture.family;
  const Heads& heads = facts.heads;
  const bool fits = heads.groups == heads.heads || (family == Family::kFalcon && heads.groups == 1);
  if ((family != Family::kGptNeox && family != Family::kFalcon) || fits) return;
  throw InputError("split.heads", Cat(ClassName(facts.architecture), " has a key and a value for every head, the checkpoint has ", heads.heads, " heads and ", heads.groups, " groups"));
}

// Every size follows from the shapes once the number of heads is known.
Mla ReadLatent(const Facts& facts, uint64_t heads) {
  const Sizes& sizes = facts.sizes;
  const auto per_head = [&](char letter) {
    const uint64_t rows = sizes.Get(letter);
    if (rows % heads != 0) throw InputError("split.heads", Cat("the ", heads, " heads do not divide ", sizes.Origin(letter)));
    return rows / heads;
  };
  const uint64_t q = per_head('u'), kv = per_head('w'), value = per_head('v'), rank = sizes.Get('z'), with_rope = sizes.Get('c');
  if (with_rope <= rank || kv <= value || q != kv - value + with_rope - rank) {
    throw InputError("split.heads", Cat("a head of latent attention has ", q, " rows of q, ", kv, " of keys and values, ", value, " columns of values; the keys' rank is ", rank, ", with the rotated part ",
                                        with_rope, ": these do not fit each other, num_attention_heads being ", heads));
  }
  if (facts.fields.at("q_proj") == facts.fields.at("q_lora_rank")) {
    throw InputError("split.missing_tensor", facts.fields.at("q_proj") ? "the model has linear_q_proj and linear_q_down_proj, one of which is not its own" : "the model has neither linear_q_proj nor linear_q_down_proj");
  }
  return {.q_rank = sizes.Find('l'), .kv_rank = rank, .nope_dim = kv - value, .rope_dim = with_rope - rank, .value_dim = value};
}

void ReadVocabulary(const SavedArgs& args, const ModelConfig* config, const plan::SplitStep& step, Facts& out) {
  const uint64_t rows = out.sizes.Get('V');
  const auto of_config = config == nullptr ? std::nullopt : std::optional(config->vocab);
  const auto stated = step.vocab_size ? step.vocab_size : Stated(args.Uint("vocab_size"), of_config, step);
  if (!stated) {
    throw InputError("split.vocab_size", Cat("the embedding has ", rows, " rows, padding included; neither args.vocab_size nor a config.json says how many are real: give --vocab-size"));
  }
  out.vocab_size = *stated;
  const bool of_args = args.Uint("vocab_size") == *stated;
  out.vocab_origin = step.vocab_size ? "--vocab-size" : of_args ? "args.vocab_size" : "config.json";
  if (*stated == 0 || *stated > rows) throw InputError("split.vocab_size", Cat("vocab_size is ", *stated, " (", out.vocab_origin, "), the embedding has ", out.sizes.Origin('V'), " rows"));
}

void CheckTie(const Facts& facts, const SavedArgs& args, const plan::SplitStep& step) {
  if (facts.architecture.head != Head::kCausalLm) return;
  using Tied = plan::SplitStep::Tied;
  const auto untied = args.Bool("untie_embeddings_and_output_weights");
  const std::string source = step.tied != Tied::kAuto ? Cat("--tied ", step.tied == Tied::kYes ? "yes" : "no")
                                                      : Cat("args.untie_embeddings_and_output_weights ", args.Text("untie_embeddings_and_output_weights"));
  const auto wanted = step.tied != Tied::kAuto ? std::optional(step.tied == Tied::kYes) : untied ? std::optional(!*untied) : std::nullopt;
  if (!wanted || *wanted == facts.tied) return;
  throw InputError("split.tied", facts.tied ? Cat("the model has a head of its own (", source, "), but ", Quote(kHead), " is not in the checkpoint")
                                            : Cat("the head is the embedding (", source, "), but the checkpoint has ", Quote(kHead), " as well; --tied no writes it"));
}

}  // namespace

void Sizes::Bind(std::string_view words, const Dims& shape, const std::string& tensor) {
  const std::vector<std::string> split = Split(words, ' ');
  if (split.size() != shape.size()) {
    throw InputError("split.bad_shape", Cat("tensor ", Quote(tensor), " has the shape ", FormatDims(shape), " in a layer, expected ", split.size(), " dimensions (", words, ")"));
  }
  for (size_t d = 0; d < split.size(); ++d) {
    const std::string& word = split[d];
    if (word == "1") {
      if (shape[d] != 1) throw InputError("split.bad_shape", Cat("dimension ", d, " of ", Quote(tensor), " is ", shape[d], ", expected 1"));
      continue;
    }
    const uint64_t factor = word.size() == 2 ? 2 : 1;
    const char letter = word.back();
    if (shape[d] % factor != 0) throw InputError("split.bad_shape", Cat("dimension ", d, " of ", Quote(tensor), " is ", shape[d], ", which does not divide into a gate and an up half"));
    const auto [at, is_new] = bound_.emplace(letter, Bound{.value = shape[d] / factor, .tensor = tensor});
    if (!is_new && at->second.value != shape[d] / factor) {
      throw InputError("split.bad_shape", Cat("dimension ", d, " of ", Quote(tensor), " is ", shape[d], ", expected ", at->second.value * factor, " as ", Quote(at->second.tensor), " has it"));
    }
  }
}

std::optional<uint64_t> Sizes::Find(char letter) const {
  const auto at = bound_.find(letter);
  return at == bound_.end() ? std::nullopt : std::optional(at->second.value);
}

uint64_t Sizes::Get(char letter) const {
  const auto at = bound_.find(letter);
  Check(at != bound_.end(), "a size that every table has was bound");
  return at->second.value;
}

std::string Sizes::Origin(char letter) const { return Cat(Get(letter), " (of ", Quote(bound_.at(letter).tensor), ")"); }

Facts ReadFacts(const ModelSource& source, const Architecture& architecture, const SavedArgs& args, const ModelConfig* config, const plan::SplitStep& step) {
  Facts out;
  out.architecture = architecture;
  Matcher(source, architecture).Run(out);
  CheckSequential(config);
  out.zero_centered_norms = args.exist() ? args.Bool("layernorm_zero_centered_gamma").value_or(false) || args.Bool("apply_layernorm_1p").value_or(false)
                                         : RowOf(architecture.family).norm_form == NormForm::kOnePlus;
  if (out.sizes.Find('k')) {
    out.heads = ReadHeads(out.sizes, ReadHeadCount(args, config, step), HasGate(out), args);
    CheckGroups(out);
  } else if (out.sizes.Find('u')) {
    const uint64_t heads = ReadHeadCount(args, config, step);
    out.latent = ReadLatent(out, heads);
    out.heads = {.heads = heads, .groups = heads, .head_dim = out.latent->rope_dim};
  }
  if (out.sizes.Find('i')) out.mamba = ReadMamba(out.sizes, args, config, step);
  if (out.sizes.Find('r')) out.gdn = ReadGdn(out.sizes, args, config, step);
  CheckLatentExperts(out);
  ReadVocabulary(args, config, step, out);
  CheckTie(out, args, step);
  return out;
}

}  // namespace ck::huggingface
