// Conversions of real Megatron checkpoints, compared with what Megatron saved of the other model and with the source itself after the way back.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/bytes/source.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/common_state.h"
#include "libs/fs/read.h"
#include "libs/fs/test_directory.h"
#include "libs/pickle/describe.h"
#include "libs/plan/edit.h"
#include "libs/plan/plan.h"
#include "libs/run/carry_out.h"
#include "libs/run/testing/read_tensor.h"
#include "libs/safetensors/header.h"
#include "libs/torchsave/read.h"

namespace ck::retarget {
namespace {

using checkpoint::Checkpoint;
using plan::RetargetStep;
using run::WholeTensor;
using State = std::map<std::string, WholeTensor>;
using To = RetargetStep::To;

const std::string kRoot = "testdata/fixtures/megatron/";

std::string PathOf(const std::string& folder) { return Cat(kRoot, folder, "/ckpt/", StartsWith(folder, "main_gpt_dense_release") ? "release" : "iter_0000010"); }

bool IsModel(std::string_view name) { return !StartsWith(name, "optimizer."); }

// The model's tensors as torch read them back.
State Truth(const std::string& folder) {
  const std::string content = fs::ReadSmallFile(Cat(kRoot, folder, "/truth.safetensors"), 1 << 28);
  State out;
  for (const safetensors::Tensor& tensor : safetensors::ReadHeader(bytes::StringSource(content)).tensors) {
    if (!StartsWith(tensor.name, "state.") || !IsModel(tensor.name.substr(6))) continue;
    out[tensor.name.substr(6)] = {.dtype = tensor.dtype, .shape = tensor.shape, .bytes = content.substr(tensor.begin, tensor.end - tensor.begin)};
  }
  return out;
}

State StateOf(const std::string& path) {
  State out;
  const auto opened = Checkpoint::Open(path);
  for (const dcp::Tensor& tensor : opened->tensors()) {
    if (IsModel(tensor.name)) out[tensor.name] = run::ReadTensor(*opened, tensor);
  }
  return out;
}

// Where each tensor is cut.
std::map<std::string, std::vector<Box>> ChunksOf(const std::string& path) {
  std::map<std::string, std::vector<Box>> out;
  const auto opened = Checkpoint::Open(path);
  for (const dcp::Tensor& tensor : opened->tensors()) {
    for (const dcp::Chunk& chunk : tensor.chunks) {
      if (IsModel(tensor.name)) out[tensor.name].push_back(chunk.box);
    }
  }
  return out;
}

// The extra states, by name.
std::map<std::string, std::string> ExtraStatesOf(const std::string& path) {
  std::map<std::string, std::string> out;
  const auto opened = Checkpoint::Open(path);
  for (const dcp::Object& object : opened->objects()) {
    if (object.name.find("_extra_state") != std::string::npos) out[object.name] = opened->ReadObject(object);
  }
  return out;
}

template <typename Map>
std::set<std::string> Names(const Map& map) {
  std::set<std::string> out;
  for (const auto& entry : map) out.insert(entry.first);
  return out;
}

void ExpectSame(const State& found, const State& expected) {
  EXPECT_EQ(Names(found), Names(expected));
  for (const auto& [name, tensor] : expected) {
    const auto at = found.find(name);
    EXPECT_TRUE(at == found.end() || at->second == tensor) << name;
  }
}

RetargetStep Step(To to, std::optional<std::string> pattern = {}) {
  RetargetStep step;
  step.to = to;
  step.pattern = std::move(pattern);
  return step;
}

plan::Plan PlanOf(const std::vector<std::string>& inputs) {
  plan::Plan plan;
  for (const std::string& path : inputs) {
    plan::Input input;
    input.path = fs::AbsolutePath(path);
    const auto opened = Checkpoint::Open(path);
    if (opened->format() == checkpoint::Format::kFsdpDtensor) input.format = plan::Format::kFsdpDtensor;
    if (inputs.size() > 1) input.weight = 1.0 / static_cast<double>(inputs.size());
    plan.inputs.push_back(std::move(input));
  }
  return plan;
}

class RetargetFixtures : public testing::Test {
 protected:
  run::CarryOutOptions Options(const std::string& name, unsigned threads = 2) const {
    run::CarryOutOptions options;
    options.output = scratch_.path() + "/" + name;
    options.threads = threads;
    options.durability = fs::Durability::kNoSync;
    return options;
  }

  // Converts and returns the result's path.
  std::string Convert(const std::string& source, const RetargetStep& step, const std::string& name, unsigned threads = 2) {
    plan::Plan plan = PlanOf({source});
    plan::AddStep(plan, step);
    last_ = run::CarryOut(plan, Options(name, threads), {});
    return last_.result.output;
  }

  // The ids of everything that stands against a conversion, in order.
  std::string Refusal(const std::string& source, const RetargetStep& step) {
    plan::Plan plan = PlanOf({source});
    plan::AddStep(plan, step);
    std::vector<std::string> ids;
    run::Observer observer;
    observer.finding = [&](const plan::Finding& finding) { ids.push_back(finding.id); };
    try {
      run::CarryOut(plan, Options("refused"), observer);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInput) << error.message();
      message_ = error.message();
      if (ids.empty()) ids.push_back(error.id());
    }
    EXPECT_FALSE(fs::Stat(scratch_.path() + "/refused"));
    return Join(ids, " ");
  }

  std::string Arg(const std::string& path, const char* name) {
    const checkpoint::CommonState common = checkpoint::ReadCommonState(*Checkpoint::Open(path));
    const pickle::Ref ref = common.object.graph.Attribute(common.args(), name);
    return ref == pickle::kNoRef ? "absent" : pickle::Describe(common.object.graph, ref, 200);
  }

  uint64_t LeftOut(const std::string& rule) const {
    for (const plan::LeftOut& left : last_.result.left_out) {
      if (left.rule == rule) return left.count;
    }
    return 0;
  }

  fs::TestDirectory scratch_;
  run::Outcome last_;
  std::string message_;
};

TEST_F(RetargetFixtures, GptBecomesWhatMegatronSavesOfTheHybridModel) {
  const struct {
    const char *source, *pattern, *truth;
  } cases[] = {
      {"gpt_dense_stacked", "*-*-*-", "hybrid_attn_mlp"},   {"gpt_dense_perlayer", "*-*-*-", "hybrid_attn_mlp"},
      {"gpt_dense_tp2pp2", "*-|*-*-", "hybrid_attn_mlp"},   {"te_gpt_dense", "*-*-*-", "hybrid_attn_mlp"},
      {"main_gpt_dense_stacked", "*-*-*-", "hybrid_attn_mlp"}, {"main_gpt_dense_release", "*-*-*-", "main_hybrid_attn_mlp"},
      {"gpt_moe_stacked", "*E*E", "hybrid_moe"},            {"gpt_moe_ep2", "*E*E", "hybrid_moe"},
  };
  int count = 0;
  for (const auto& c : cases) {
    SCOPED_TRACE(c.source);
    const std::string output = Convert(PathOf(c.source), Step(To::kHybrid, c.pattern), Cat("out", count++));
    ExpectSame(StateOf(output), Truth(c.truth));
    if (std::string_view(c.source) == "gpt_dense_tp2pp2") continue;  // cut by TP
    EXPECT_EQ(ChunksOf(output), ChunksOf(PathOf(c.truth)));
    if (StartsWith(c.source, "te_")) continue;  // has extra states of its norm, too
    EXPECT_EQ(Names(ExtraStatesOf(output)), Names(ExtraStatesOf(PathOf(c.truth))));
  }
}

TEST_F(RetargetFixtures, AnotherOrderNeedsConsent) {
  EXPECT_EQ(Refusal(PathOf("gpt_dense_stacked"), Step(To::kHybrid, "**-*--")), "pattern.reordered");
  RetargetStep step = Step(To::kHybrid, "**-*--");
  step.allow_reorder = true;
  ExpectSame(StateOf(Convert(PathOf("gpt_dense_stacked"), step, "out")), Truth("hybrid_attn_mlp_ordered"));
}

TEST_F(RetargetFixtures, HybridBecomesWhatMegatronSavesOfTheGptModel) {
  int count = 0;
  for (const char* source : {"hybrid_attn_mlp", "main_hybrid_attn_mlp"}) {
    SCOPED_TRACE(source);
    const std::string output = Convert(PathOf(source), Step(To::kGpt), Cat("out", count++));
    ExpectSame(StateOf(output), Truth("gpt_dense_stacked"));
    EXPECT_EQ(ChunksOf(output), ChunksOf(PathOf("gpt_dense_stacked")));
    EXPECT_EQ(Names(ExtraStatesOf(output)), Names(ExtraStatesOf(PathOf("gpt_dense_stacked"))));
    EXPECT_EQ(LeftOut("output_extra_state"), 1u);
  }
  RetargetStep per_layer = Step(To::kGpt);
  per_layer.per_layer = true;
  const std::string indexed = Convert(PathOf("hybrid_attn_mlp"), per_layer, "indexed");
  ExpectSame(StateOf(indexed), Truth("gpt_dense_perlayer"));
  EXPECT_EQ(Names(ExtraStatesOf(indexed)), Names(ExtraStatesOf(PathOf("gpt_dense_perlayer"))));
  RetargetStep local = Step(To::kGpt);
  local.transformer_impl = plan::TransformerImpl::kLocal;
  ExpectSame(StateOf(Convert(PathOf("hybrid_moe"), local, "moe_local")), Truth("gpt_moe_stacked"));
  const State te = StateOf(Convert(PathOf("hybrid_moe"), Step(To::kGpt), "moe_te"));
  EXPECT_EQ(te.count("decoder.layers.pre_mlp_layernorm.weight"), 1u);
  EXPECT_EQ(te.count("decoder.layers.mlp.linear_fc1.layer_norm_weight"), 0u);
}

TEST_F(RetargetFixtures, ThereAndBackIsTheSource) {
  const struct {
    const char *folder, *pattern;
    bool per_layer, local;
  } cases[] = {
      {"gpt_dense_stacked", "*-*-*-", false, false},   {"gpt_dense_stacked", "M*-*M-*-M", false, false}, {"gpt_dense_perlayer", "*-*-*-", true, false},
      {"gpt_dense_tp2pp2", "*-*-*-", false, false},    {"gpt_qkvbias_tied", "*-*-*-", false, false},       {"gpt_qkvbias_tied_pp2", "*-*-*-", false, false},
      {"gpt_qknorm", "*-*-*-", false, false},          {"gpt_mqa", "*-*-", false, false},                {"gpt_mqa_tp2", "*-*-", false, false},
      {"gpt_moe_stacked", "*E*E", false, true},        {"gpt_moe_ep2", "*E*E", false, true},             {"gpt_moe_legacy_grouped", "*E*E", false, true},
      {"gpt_moe_shared_gate", "*E*E", false, true},    {"gpt_layernorm_gelu", "*-*-", false, false},     {"te_gpt_dense", "*-*-*-", false, false},
      {"te_gpt_moe", "*E*E", false, false},            {"te_gpt_moe", "*EM*E", false, false},            {"main_gpt_dense_stacked", "*-*-*-", false, false},
  };
  int count = 0;
  for (const auto& c : cases) {
    SCOPED_TRACE(Cat(c.folder, " ", c.pattern));
    const std::string source = PathOf(c.folder);
    const uint64_t layers = static_cast<uint64_t>(std::count(c.pattern, c.pattern + std::string_view(c.pattern).size(), '*'));
    const auto recorded = ParseInt64(Arg(source, "num_layers"));
    ASSERT_EQ(recorded, static_cast<int64_t>(layers)) << "the case is wrong";
    RetargetStep there = Step(To::kHybrid, c.pattern), back = Step(To::kGpt);
    there.mamba = {.d_model = {}, .d_state = 4, .n_groups = 2, .head_dim = 4, .d_conv = {}, .expand = {}};
    back.per_layer = c.per_layer;
    back.drop_ssm = true;
    if (c.local) back.transformer_impl = plan::TransformerImpl::kLocal;
    const std::string hybrid = Convert(source, there, Cat("hybrid", count));
    const std::string gpt = Convert(hybrid, back, Cat("gpt", count++));
    ExpectSame(StateOf(gpt), StateOf(source));
    EXPECT_EQ(ChunksOf(gpt), ChunksOf(source));
    EXPECT_EQ(ExtraStatesOf(gpt), ExtraStatesOf(source));
    for (const char* name : {"num_layers", "hybrid_override_pattern", "is_hybrid_model", "spec", "iteration", "encoder_num_layers"}) EXPECT_EQ(Arg(gpt, name), Arg(source, name)) << name;
    EXPECT_EQ(Arg(gpt, "hybrid_layer_pattern"), "None");
  }
}

TEST_F(RetargetFixtures, LayersAreKeyedTheOtherWay) {
  RetargetStep indexed = Step(To::kGpt);
  indexed.per_layer = true;
  const std::string a = Convert(PathOf("gpt_dense_stacked"), indexed, "a");
  ExpectSame(StateOf(a), Truth("gpt_dense_perlayer"));
  EXPECT_EQ(ExtraStatesOf(a), ExtraStatesOf(PathOf("gpt_dense_perlayer")));
  EXPECT_EQ(Arg(a, "hetereogenous_dist_checkpoint"), "True");
  const std::string b = Convert(PathOf("gpt_dense_perlayer"), Step(To::kGpt), "b");
  ExpectSame(StateOf(b), Truth("gpt_dense_stacked"));
  EXPECT_EQ(ChunksOf(b), ChunksOf(PathOf("gpt_dense_stacked")));
  // Architectures that have no Hybrid counterpart can still be keyed the other way, and what stays stacked stays whole.
  ExpectSame(StateOf(Convert(PathOf("gpt_mla"), Step(To::kGpt), "c")), Truth("gpt_mla"));
  ExpectSame(StateOf(Convert(Convert(PathOf("gpt_mtp"), indexed, "d"), Step(To::kGpt), "d2")), Truth("gpt_mtp"));
  ExpectSame(StateOf(Convert(PathOf("hybrid_mamba"), Step(To::kHybrid), "e")), Truth("hybrid_mamba"));
  ExpectSame(StateOf(Convert(PathOf("hybrid_mamba_tp2"), Step(To::kHybrid, "M*-M-*"), "f")), Truth("hybrid_mamba_tp2"));
  EXPECT_EQ(Refusal(PathOf("hybrid_mamba"), Step(To::kHybrid, "*-*-")), "retarget.pattern_mismatch");
  EXPECT_EQ(Refusal(PathOf("gpt_dense_stacked"), Step(To::kGpt, "*-*-*-")), "retarget.pattern_mismatch");
  EXPECT_EQ(Refusal(PathOf("gpt_moe_perlayer_mixed"), Step(To::kGpt)), "retarget.layers_differ");
}

TEST_F(RetargetFixtures, MambaLayersAreDroppedOnlyWhenAsked) {
  RetargetStep step = Step(To::kGpt);
  step.allow_reorder = true;  // M*-M-*
  EXPECT_EQ(Refusal(PathOf("hybrid_mamba"), step), "retarget.drop_ssm");
  EXPECT_NE(message_.find("2 Mamba layers (34 tensors, "), std::string::npos) << message_;
  step.drop_ssm = true;
  const std::string output = Convert(PathOf("hybrid_mamba"), step, "out");
  EXPECT_EQ(LeftOut("ssm"), 38u);  // 34 tensors, 4 extra states
  for (const auto& entry : StateOf(output)) EXPECT_EQ(entry.first.find("mixer"), std::string::npos);
  const State source = Truth("hybrid_mamba"), gpt = StateOf(output);
  const std::string& stacked = gpt.at("decoder.layers.self_attention.linear_qkv.weight").bytes;
  EXPECT_EQ(stacked, source.at("decoder.layers.1.self_attention.linear_qkv.weight").bytes + source.at("decoder.layers.5.self_attention.linear_qkv.weight").bytes);
  EXPECT_EQ(Arg(output, "num_layers"), "2");
  // Nothing to drop is no error.
  RetargetStep nothing = Step(To::kGpt);
  nothing.drop_ssm = true;
  ExpectSame(StateOf(Convert(PathOf("hybrid_attn_mlp"), nothing, "nothing")), Truth("gpt_dense_stacked"));
}

TEST_F(RetargetFixtures, ArchitecturesWithoutACounterpartAreRefused) {
  const struct {
    const char *folder, *pattern, *ids;
  } cases[] = {
      {"gpt_mla", "*-*-", "retarget.latent_attention retarget.latent_attention"},
      {"gpt_mla_noqlora", "*-*-", "retarget.latent_attention retarget.latent_attention"},
      {"gpt_mtp", "*-*-", "retarget.mtp retarget.mtp"},
      {"gpt_moe_perlayer_mixed", "*E*E*E", "retarget.interleaved_moe retarget.mlp_kind"},
      {"gpt_dense_stacked", "*E*E*E", "retarget.mlp_kind"},
      {"gpt_moe_stacked", "*-*-", "retarget.mlp_kind"},
      {"gpt_dense_stacked", "*-*-", "retarget.num_layers"},
      {"gpt_dense_stacked", "MMM", "pattern.unpaired"},
      {"gpt_dense_stacked", "*-*-*-/*-", "pattern.mtp"},
      {"gpt_dense_stacked", "G-*-*-", "pattern.not_gpt pattern.unpaired"},
      {"gpt_dense_stacked", "*-*-*E", "pattern.mixed_mlp"},
      {"gpt_dense_stacked", "*-x", "pattern.unknown_symbol"},
  };
  for (const auto& c : cases) EXPECT_EQ(Refusal(PathOf(c.folder), Step(To::kHybrid, c.pattern)), c.ids) << c.folder << " " << c.pattern;
  EXPECT_EQ(Refusal(PathOf("gpt_dense_stacked"), Step(To::kHybrid)), "retarget.pattern_required");
}

// Every tensor, those of the optimizer too.
State WholeStateOf(const std::string& path) {
  State out;
  const auto opened = Checkpoint::Open(path);
  for (const dcp::Tensor& tensor : opened->tensors()) out[tensor.name] = run::ReadTensor(*opened, tensor);
  return out;
}

TEST_F(RetargetFixtures, OptimizerStateIsCarriedLikeTheWeights) {
  int count = 0;
  for (const char* folder : {"window_full", "full_nodistopt"}) {
    for (const char* pattern : {"*-*-", "M*-*-"}) {
      SCOPED_TRACE(Cat(folder, " ", pattern));
      RetargetStep there = Step(To::kHybrid, pattern), back = Step(To::kGpt);
      there.optimizer = back.optimizer = RetargetStep::Optimizer::kCarry;
      there.mamba = {.d_model = {}, .d_state = 4, .n_groups = 2, .head_dim = 4, .d_conv = {}, .expand = {}};
      back.drop_ssm = true;
      const std::string hybrid = Convert(PathOf(folder), there, Cat("hybrid", count));
      EXPECT_EQ(LeftOut("optimizer"), 0u);
      EXPECT_EQ(LeftOut("rng"), 1u);
      const State source = WholeStateOf(PathOf(folder)), carried = WholeStateOf(hybrid);
      const uint64_t shift = pattern[0] == 'M' ? 1 : 0;
      for (const char* plane : {"", "optimizer.state.exp_avg.", "optimizer.state.exp_avg_sq."}) {
        const std::string rows = Cat(plane, "decoder.layers.", shift + 1, ".mlp.linear_fc2.weight"), next = Cat(plane, "decoder.layers.", shift + 3, ".mlp.linear_fc2.weight");
        ASSERT_EQ(carried.count(rows) + carried.count(next), 2u) << rows;
        EXPECT_EQ(carried.at(rows).bytes + carried.at(next).bytes, source.at(Cat(plane, "decoder.layers.mlp.linear_fc2.weight")).bytes) << rows;
        EXPECT_EQ(carried.count(Cat(plane, "decoder.final_norm.weight")), 1u);
      }
      const checkpoint::CommonState common = checkpoint::ReadCommonState(*Checkpoint::Open(hybrid));
      EXPECT_NE(common.object.graph.Find(common.dict, "optimizer"), pickle::kNoRef);
      EXPECT_EQ(common.object.graph.Find(common.dict, "rerun_state_machine"), pickle::kNoRef);
      ExpectSame(WholeStateOf(Convert(hybrid, back, Cat("gpt", count++))), source);
    }
  }
  RetargetStep carry = Step(To::kHybrid, "*-*-");
  carry.optimizer = RetargetStep::Optimizer::kCarry;
  EXPECT_EQ(Refusal(PathOf("full_dp_reshardable"), carry), "retarget.optimizer_format");
  EXPECT_NE(message_.find("--dist-ckpt-optim-fully-reshardable"), std::string::npos) << message_;
  EXPECT_EQ(Refusal(PathOf("window"), carry), "retarget.no_optimizer");
}

TEST_F(RetargetFixtures, OptimizerRngAndRerunStateIsLeftOut) {
  const struct {
    const char *folder, *weights;
    uint64_t optimizer;
  } cases[] = {{"window_full", "window", 27}, {"full_dp_reshardable", "", 0}, {"full_nodistopt", "", 0}};
  int count = 0;
  for (const auto& c : cases) {
    SCOPED_TRACE(c.folder);
    const std::string output = Convert(PathOf(c.folder), Step(To::kHybrid, "*-*-"), Cat("out", count++));
    const auto opened = Checkpoint::Open(output);
    for (const dcp::Tensor& tensor : opened->tensors()) EXPECT_TRUE(StartsWith(tensor.name, "decoder.") || StartsWith(tensor.name, "embedding.") || StartsWith(tensor.name, "output_layer.")) << tensor.name;
    for (const dcp::Object& object : opened->objects()) EXPECT_NE(object.name.find("_extra_state"), std::string::npos) << object.name;
    EXPECT_GT(LeftOut("optimizer"), 0u);
    EXPECT_TRUE(c.optimizer == 0 || LeftOut("optimizer") == c.optimizer) << LeftOut("optimizer");
    const checkpoint::CommonState common = checkpoint::ReadCommonState(*opened);
    for (const char* name : {"optimizer", "rng_state", "rerun_state_machine"}) EXPECT_EQ(common.object.graph.Find(common.dict, name), pickle::kNoRef) << name;
    State weights = StateOf(PathOf(c.folder));
    EXPECT_EQ(StateOf(output).at("embedding.word_embeddings.weight"), weights.at("embedding.word_embeddings.weight"));
  }
}

// The argument in the byte object `args` of fsdp_dtensor.
std::string LooseArg(const std::string& path, const char* name) {
  const auto opened = Checkpoint::Open(path);
  const dcp::Object* args = opened->FindObject("args");
  if (!args) return "no args";
  const std::string stored = opened->ReadObject(*args);
  const torchsave::SavedObject saved = torchsave::ReadObject(bytes::StringSource(stored));
  const pickle::Ref ref = saved.graph.Attribute(saved.root, name);
  return ref == pickle::kNoRef ? "absent" : pickle::Describe(saved.graph, ref, 200);
}

TEST_F(RetargetFixtures, FsdpDtensorThereAndBack) {
  int count = 0;
  for (const char* folder : {"fsdp_dtensor", "fsdp_dtensor_full"}) {
    for (const char* pattern : {"*-*-", "*-M*-"}) {
      SCOPED_TRACE(Cat(folder, " ", pattern));
      RetargetStep there = Step(To::kHybrid, pattern), back = Step(To::kGpt);
      there.mamba = {.d_model = {}, .d_state = 4, .n_groups = 2, .head_dim = 4, .d_conv = {}, .expand = {}};
      back.drop_ssm = true;
      const std::string hybrid = Convert(PathOf(folder), there, Cat("hybrid", count)), gpt = Convert(hybrid, back, Cat("gpt", count));
      ++count;
      const State source = Truth(folder), converted = StateOf(hybrid);
      const std::string root = "model.module.decoder.";
      const uint64_t second = std::string_view(pattern) == "*-*-" ? 2 : 3;
      for (const auto& [from, to] : std::map<std::string, std::string>{{"layers.0.input_layernorm.weight", "layers.0.input_layernorm.weight"},
                                                                       {"layers.0.mlp.linear_fc1.weight_w", "layers.1.mlp.linear_fc1.weight_w"},
                                                                       {"layers.1.self_attention.linear_qkv.weight", Cat("layers.", second, ".self_attention.linear_qkv.weight")},
                                                                       {"layers.1.pre_mlp_layernorm.weight", Cat("layers.", second + 1, ".pre_mlp_layernorm.weight")},
                                                                       {"final_layernorm.weight", "final_norm.weight"}}) {
        ASSERT_EQ(converted.count(root + to), 1u) << to;
        EXPECT_TRUE(converted.at(root + to) == source.at(root + from)) << to;
      }
      EXPECT_EQ(LooseArg(hybrid, "num_layers"), Cat(second + 2));
      EXPECT_EQ(LooseArg(hybrid, "hybrid_layer_pattern"), Cat("'", pattern, "'"));
      // Nothing of torch_dist: no extra states, Mamba tensors in one piece.
      EXPECT_TRUE(ExtraStatesOf(hybrid).empty());
      if (second == 3) {
        EXPECT_EQ(converted.at(root + "layers.2.mixer.in_proj.weight").shape, (Dims{2 * 32 + 2 * 8 + 8, 16}));
      }
      const auto opened = Checkpoint::Open(hybrid);
      EXPECT_EQ(opened->format(), checkpoint::Format::kFsdpDtensor);
      const auto& paths = *opened->metadata().planner_data;
      EXPECT_EQ(paths.at(root + "final_norm.weight"), (dcp::Path{"model", "module.decoder.final_norm.weight"}));
      EXPECT_EQ(paths.size(), opened->tensors().size() + opened->objects().size());
      for (const dcp::Object& object : opened->objects()) EXPECT_FALSE(StartsWith(object.name, "optimizer.") || StartsWith(object.name, "rng_state")) << object.name;
      State returned = StateOf(gpt), expected = source;
      std::erase_if(expected, [](const auto& entry) { return StartsWith(entry.first, "rng_state"); });
      ExpectSame(returned, expected);
      EXPECT_EQ(LooseArg(gpt, "num_layers"), "2");
      EXPECT_EQ(LooseArg(gpt, "hybrid_layer_pattern"), "None");
    }
  }
  RetargetStep reset = Step(To::kHybrid, "*-*-");
  reset.reset_iterations = true;
  EXPECT_EQ(LooseArg(Convert(PathOf("fsdp_dtensor"), reset, "reset"), "iteration"), "0");
  RetargetStep carry = Step(To::kHybrid, "*-*-");
  carry.optimizer = RetargetStep::Optimizer::kCarry;
  EXPECT_EQ(Refusal(PathOf("fsdp_dtensor_full"), carry), "retarget.optimizer_format");
}

std::string Rows(const WholeTensor& tensor, uint64_t begin, uint64_t end) {
  const uint64_t row = tensor.bytes.size() / tensor.shape[0];
  return tensor.bytes.substr(begin * row, (end - begin) * row);
}

RetargetStep StepTo(plan::Format format, To to) {
  RetargetStep step = Step(to);
  step.format = format;
  return step;
}

TEST_F(RetargetFixtures, FsdpDtensorBecomesTorchDist) {
  for (const char* folder : {"fsdp_dtensor", "fsdp_dtensor_full"}) {
    SCOPED_TRACE(folder);
    const std::string torch = Convert(PathOf(folder), StepTo(plan::Format::kTorchDist, To::kGpt), Cat(folder, "_torch"));
    const State source = Truth(folder), state = StateOf(torch);
    const WholeTensor& fc1 = state.at("decoder.layers.mlp.linear_fc1.weight");
    EXPECT_EQ(fc1.shape, (Dims{2, 52, 16}));
    std::string expected;
    for (const char* part : {"0.mlp.linear_fc1.weight_w", "0.mlp.linear_fc1.weight_v", "1.mlp.linear_fc1.weight_w", "1.mlp.linear_fc1.weight_v"}) {
      expected += source.at(Cat("model.module.decoder.layers.", part)).bytes;
    }
    EXPECT_TRUE(fc1.bytes == expected);
    const auto norm = [&](int layer, const char* name) { return source.at(Cat("model.module.decoder.layers.", layer, ".", name, ".weight")).bytes; };
    EXPECT_TRUE(state.at("decoder.layers.self_attention.linear_qkv.layer_norm_weight").bytes == norm(0, "input_layernorm") + norm(1, "input_layernorm"));
    EXPECT_TRUE(state.at("decoder.layers.mlp.linear_fc1.layer_norm_weight").bytes == norm(0, "pre_mlp_layernorm") + norm(1, "pre_mlp_layernorm"));
    EXPECT_EQ(state.size(), 9u);
    EXPECT_EQ(Arg(torch, "ckpt_format"), "'torch_dist'");
    EXPECT_EQ(checkpoint::ReadCommonState(*Checkpoint::Open(torch)).iteration(), 10);
    State model = source;
    std::erase_if(model, [](const auto& entry) { return StartsWith(entry.first, "rng_state"); });
    const std::string back = Convert(torch, StepTo(plan::Format::kFsdpDtensor, To::kGpt), Cat(folder, "_back"));
    ExpectSame(StateOf(back), model);
    EXPECT_EQ(Checkpoint::Open(back)->format(), checkpoint::Format::kFsdpDtensor);
    EXPECT_EQ(LooseArg(back, "ckpt_format"), "'fsdp_dtensor'");
    EXPECT_EQ(LooseArg(back, "num_layers"), "2");
  }
}

TEST_F(RetargetFixtures, TorchDistToFsdpDtensorAndBackIsTheSource) {
  const struct {
    const char* folder;
    To to;
    bool per_layer, local;
  } cases[] = {{"gpt_dense_stacked", To::kGpt, false, false}, {"gpt_dense_perlayer", To::kGpt, true, false}, {"gpt_dense_tp2pp2", To::kGpt, false, false},
               {"gpt_qknorm", To::kGpt, false, false},        {"gpt_moe_stacked", To::kGpt, false, true},    {"gpt_moe_ep2", To::kGpt, false, true},
               {"gpt_moe_shared_gate", To::kGpt, false, true}, {"gpt_layernorm_gelu", To::kGpt, false, false}, {"te_gpt_moe", To::kGpt, false, false},
               {"hybrid_attn_mlp", To::kHybrid, false, false}, {"hybrid_moe", To::kHybrid, false, false},      {"hybrid_mamba", To::kHybrid, false, false},
               {"hybrid_mamba_tp2", To::kHybrid, false, false}, {"main_hybrid_mamba", To::kHybrid, false, false}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.folder);
    RetargetStep there = StepTo(plan::Format::kFsdpDtensor, c.to), back = StepTo(plan::Format::kTorchDist, c.to);
    back.per_layer = c.per_layer;
    if (c.local) back.transformer_impl = plan::TransformerImpl::kLocal;
    const std::string fsdp = Convert(PathOf(c.folder), there, Cat(c.folder, "_fsdp"));
    EXPECT_EQ(Checkpoint::Open(fsdp)->format(), checkpoint::Format::kFsdpDtensor);
    ExpectSame(StateOf(Convert(fsdp, back, Cat(c.folder, "_torch"))), Truth(c.folder));
  }
}

TEST_F(RetargetFixtures, FsdpDtensorHasTheNamesAndRowsOfMemory) {
  // Experts one by one, gated halves.
  const State moe = StateOf(Convert(PathOf("te_gpt_moe"), StepTo(plan::Format::kFsdpDtensor, To::kGpt), "moe")), moe_source = Truth("te_gpt_moe");
  const WholeTensor& experts = moe_source.at("decoder.layers.mlp.experts.experts.linear_fc1.weight");  // [2, 4, 40, 16] BF16
  for (uint64_t layer = 0; layer < 2; ++layer) {
    for (uint64_t e = 0; e < 4; ++e) {
      const uint64_t begin = (layer * 4 + e) * 40 * 16 * 2;
      const std::string name = Cat("model.module.decoder.layers.", layer, ".mlp.experts.linear_fc1.weight", e);
      ASSERT_EQ(moe.count(name + "_w") + moe.count(name + "_v"), 2u) << name;
      EXPECT_TRUE(moe.at(name + "_w").bytes == experts.bytes.substr(begin, 20 * 16 * 2)) << name;
      EXPECT_TRUE(moe.at(name + "_v").bytes == experts.bytes.substr(begin + 20 * 16 * 2, 20 * 16 * 2)) << name;
    }
  }
  // Mamba packed: z, x, B, C, dt of the first rank, then of the second. Inner 48, groups * state 20, heads 6.
  for (const char* folder : {"hybrid_mamba", "hybrid_mamba_tp2"}) {
    SCOPED_TRACE(folder);
    const uint64_t ranks = EndsWith(folder, "tp2") ? 2 : 1;
    const State packed = StateOf(Convert(PathOf(folder), StepTo(plan::Format::kFsdpDtensor, To::kHybrid), folder)), source = Truth(folder);
    for (const auto& [name, parts] : std::map<std::string, std::vector<std::string>>{{"in_proj.weight", {"z", "x", "B", "C", "dt"}}, {"conv1d.weight", {"x", "B", "C"}}, {"conv1d.bias", {"x", "B", "C"}}}) {
      std::string expected;
      for (uint64_t rank = 0; rank < ranks; ++rank) {
        for (const std::string& part : parts) {
          const WholeTensor& tensor = source.at(Cat("decoder.layers.0.mixer.", name, ".", part));
          expected += Rows(tensor, rank * tensor.shape[0] / ranks, (rank + 1) * tensor.shape[0] / ranks);
        }
      }
      EXPECT_TRUE(packed.at(Cat("model.module.decoder.layers.0.mixer.", name)).bytes == expected) << name;
    }
  }
}

TEST_F(RetargetFixtures, ModelAndFormatChangeTogether) {
  RetargetStep step = StepTo(plan::Format::kFsdpDtensor, To::kHybrid);
  step.pattern = "*-M*-";
  step.mamba = {.d_model = {}, .d_state = 4, .n_groups = 2, .head_dim = 4, .d_conv = {}, .expand = {}};
  const std::string one = Convert(PathOf("gpt_mqa"), step, "one");
  RetargetStep model = step, format = StepTo(plan::Format::kFsdpDtensor, To::kHybrid);
  model.format = plan::Format::kTorchDist;
  ExpectSame(StateOf(Convert(Convert(PathOf("gpt_mqa"), model, "model"), format, "two")), StateOf(one));
  EXPECT_EQ(StateOf(one).at("model.module.decoder.layers.2.mixer.in_proj.weight").shape, (Dims{2 * 32 + 2 * 8 + 8, 16}));
  RetargetStep back = StepTo(plan::Format::kTorchDist, To::kGpt);
  back.drop_ssm = true;
  ExpectSame(StateOf(Convert(one, back, "back")), Truth("gpt_mqa"));
  step.optimizer = RetargetStep::Optimizer::kCarry;
  EXPECT_EQ(Refusal(PathOf("window_full"), step), "retarget.optimizer_format");
}

TEST_F(RetargetFixtures, ArgsAreThoseOfTheResult) {
  const std::string hybrid = Convert(PathOf("gpt_dense_stacked"), Step(To::kHybrid, "*-|*-*-"), "hybrid");
  EXPECT_EQ(Arg(hybrid, "num_layers"), "6");
  EXPECT_EQ(Arg(hybrid, "encoder_num_layers"), "6");
  EXPECT_EQ(Arg(hybrid, "hybrid_layer_pattern"), "'*-|*-*-'");
  EXPECT_EQ(Arg(hybrid, "is_hybrid_model"), "True");
  EXPECT_EQ(Arg(hybrid, "consumed_train_samples"), "160");
  RetargetStep reset = Step(To::kHybrid, "*-*-*-");
  reset.reset_iterations = true;
  const std::string output = Convert(PathOf("gpt_dense_stacked"), reset, "reset");
  EXPECT_EQ(output, scratch_.path() + "/reset/iter_0000000");
  EXPECT_EQ(fs::ReadSmallFile(scratch_.path() + "/reset/latest_checkpointed_iteration.txt", 100), "0\n");
  for (const char* name : {"iteration", "consumed_train_samples", "train_iters"}) EXPECT_EQ(Arg(output, name), "0") << name;
  EXPECT_EQ(Arg(output, "train_samples"), "None");
  EXPECT_EQ(checkpoint::ReadCommonState(*Checkpoint::Open(output)).iteration(), 0);
}

TEST_F(RetargetFixtures, FreshMambaLayersHaveTheKeysAndShapesOfMegatron) {
  // The sizes of hybrid_mamba: its keys and shapes are what Megatron stores for such a layer.
  RetargetStep step = Step(To::kHybrid, "M*-*-");
  step.mamba = {.d_model = 16, .d_state = 10, .n_groups = 2, .head_dim = 8, .d_conv = 4, .expand = 3};
  step.seed = "1";
  const std::string output = Convert(PathOf("gpt_mqa"), step, "out");
  const State fresh = StateOf(output), known = Truth("hybrid_mamba");
  uint64_t count = 0;
  for (const auto& [name, tensor] : known) {
    if (!StartsWith(name, "decoder.layers.0.mixer.")) continue;
    ++count;
    ASSERT_EQ(fresh.count(name), 1u) << name;
    EXPECT_EQ(fresh.at(name).shape, tensor.shape) << name;
  }
  EXPECT_EQ(count, 17u);
  for (const auto& [name, tensor] : fresh) EXPECT_TRUE(!StartsWith(name, "decoder.layers.0.") || known.count(name) == 1) << name;
  const auto extra = ExtraStatesOf(output);
  EXPECT_EQ(extra.count("decoder.layers.0.mixer.in_proj._extra_state/shard_0_1"), 1u);
  EXPECT_EQ(extra.count("decoder.layers.0.mixer.out_proj._extra_state/shard_0_1"), 1u);
  EXPECT_EQ(Arg(output, "mamba_num_heads"), "6");
  EXPECT_EQ(Arg(output, "mamba_state_dim"), "10");
  // The same seed gives the same bytes with any threads, and in another place of the pattern a layer of its own; another seed gives others.
  EXPECT_TRUE(StateOf(Convert(PathOf("gpt_mqa"), step, "again", 1)) == fresh);
  step.pattern = "M*-*-M";
  const State two = StateOf(Convert(PathOf("gpt_mqa"), step, "two"));
  for (const auto& [name, tensor] : fresh) {
    EXPECT_TRUE(!StartsWith(name, "decoder.layers.0.mixer.") || two.at(name) == tensor) << name;
  }
  EXPECT_NE(two.at("decoder.layers.5.mixer.out_proj.weight").bytes, two.at("decoder.layers.0.mixer.out_proj.weight").bytes);
  step.seed = "2";
  EXPECT_NE(StateOf(Convert(PathOf("gpt_mqa"), step, "other")).at("decoder.layers.0.mixer.A_log").bytes, fresh.at("decoder.layers.0.mixer.A_log").bytes);
}

TEST_F(RetargetFixtures, MambaSizesThatDoNotFitAreRefused) {
  RetargetStep step = Step(To::kHybrid, "M*-*-");
  step.mamba = {.d_model = 17, .d_state = {}, .n_groups = 2, .head_dim = 5, .d_conv = {}, .expand = {}};
  EXPECT_EQ(Refusal(PathOf("gpt_mqa"), step), "retarget.mamba_size retarget.mamba_size");
  step.mamba = {.d_model = {}, .d_state = {}, .n_groups = 3, .head_dim = 8, .d_conv = {}, .expand = {}};
  EXPECT_EQ(Refusal(PathOf("gpt_mqa"), step), "retarget.mamba_size");
}

TEST_F(RetargetFixtures, ExtraStatesCanBeDropped) {
  RetargetStep step = Step(To::kHybrid, "*-*-*-");
  step.extra_state = RetargetStep::ExtraState::kDrop;
  const std::string output = Convert(PathOf("gpt_dense_stacked"), step, "out");
  EXPECT_TRUE(ExtraStatesOf(output).empty());
  EXPECT_EQ(LeftOut("extra_state"), 12u);
}

TEST_F(RetargetFixtures, OnePassIsTwoSteps) {
  const std::string root = Cat(kRoot, "window/ckpt/");
  plan::Plan merge = PlanOf({root + "iter_0000010", root + "iter_0000020", root + "iter_0000040"});
  plan::AddStep(merge, plan::MergeStep{});
  plan::Plan both = merge;
  plan::AddStep(both, Step(To::kHybrid, "*-*-"));
  EXPECT_EQ(run::DryRun(both, Options("one"), {}).bytes_to_read, run::DryRun(merge, Options("merged"), {}).bytes_to_read);
  const run::Outcome one = run::CarryOut(both, Options("one"), {});
  run::CarryOut(merge, Options("merged"), {});
  const std::string two = Convert(scratch_.path() + "/merged", Step(To::kHybrid, "*-*-"), "two");
  for (const char* name : {"__0_0.distcp", ".metadata", "metadata.json", "common.pt"}) {
    EXPECT_TRUE(fs::ReadSmallFile(one.result.output + "/" + name, 1 << 28) == fs::ReadSmallFile(two + "/" + name, 1 << 28)) << name;
  }
  EXPECT_EQ(one.result.averaged_tensors, 9u);
}

}  // namespace
}  // namespace ck::retarget
