#include "libs/transform/retarget.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/text.h"
#include "libs/megatron/common_document.h"
#include "libs/megatron/model_args.h"
#include "libs/torchsave/write.h"

namespace ck::transform {
namespace {

using plan::RetargetStep;
using To = RetargetStep::To;

// A view of whole tensors, as a copy of a checkpoint is one.
class ModelBuilder {
 public:
  ModelBuilder() {
    view_.common.emplace();
    view_.common->root = view_.common->graph.NewDict();
    args_ = view_.common->graph.NewObject(pickle::Form::kReduce, view_.common->graph.NewGlobal("argparse", "Namespace"), view_.common->graph.NewTuple({}));
    view_.common->graph.DictSet(view_.common->root, "args", args_);
  }

  ModelBuilder& Tensor(const std::string& name, const Dims& shape, DType dtype = DType::kBF16) {
    const auto leaf = static_cast<uint32_t>(view_.leaves.size());
    view_.leaves.push_back({.name = name, .dtype = dtype, .shape = shape, .arithmetic = Arithmetic::kCopy, .terms = {{0, 1.0}}});
    view_.tensors.push_back({.name = name, .dtype = dtype, .shape = shape, .chunks = {Box::Whole(shape)}, .pieces = {Piece::Whole(leaf, shape)}});
    return *this;
  }
  ModelBuilder& Object(const std::string& name) {
    view_.objects.push_back({.name = name, .input = 0, .source_name = "", .literal = name});
    return *this;
  }
  ModelBuilder& Without(const std::string& name) {
    std::erase_if(view_.tensors, [&](const auto& tensor) { return tensor.name == name; });
    return *this;
  }
  ModelBuilder& ArgRef(const char* name, pickle::Ref value) {
    view_.common->graph.SetAttribute(args_, name, value);
    return *this;
  }
  ModelBuilder& Arg(const char* name, int64_t value) { return ArgRef(name, graph().NewInt(value)); }
  ModelBuilder& Arg(const char* name, const char* value) { return ArgRef(name, graph().NewString(value)); }
  ModelBuilder& NoArgs() {
    graph().DictErase(view_.common->root, "args");
    return *this;
  }
  pickle::Graph& graph() { return view_.common->graph; }

  View Build() {
    const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    std::sort(view_.tensors.begin(), view_.tensors.end(), by_name);
    std::sort(view_.objects.begin(), view_.objects.end(), by_name);
    return std::move(view_);
  }

 private:
  View view_;
  pickle::Ref args_;
};

// Two dense layers, hidden 8.
ModelBuilder Stacked(const std::string& prefix = "") {
  ModelBuilder model;
  model.Tensor(prefix + "embedding.word_embeddings.weight", {16, 8}).Tensor(prefix + "output_layer.weight", {16, 8}).Tensor(prefix + "decoder.final_layernorm.weight", {8});
  model.Tensor(prefix + "decoder.layers.self_attention.linear_qkv.weight", {2, 24, 8}).Tensor(prefix + "decoder.layers.self_attention.linear_proj.weight", {2, 8, 8});
  model.Tensor(prefix + "decoder.layers.mlp.linear_fc1.weight", {2, 32, 8}).Tensor(prefix + "decoder.layers.mlp.linear_fc2.weight", {2, 8, 16});
  model.Arg("num_layers", 2);
  return model;
}

ModelBuilder Indexed() {
  ModelBuilder model;
  model.Tensor("embedding.word_embeddings.weight", {16, 8}).Tensor("output_layer.weight", {16, 8}).Tensor("decoder.final_layernorm.weight", {8});
  for (int i = 0; i < 2; ++i) {
    const std::string layer = Cat("decoder.layers.", i, ".");
    model.Tensor(layer + "self_attention.linear_qkv.weight", {24, 8}).Tensor(layer + "self_attention.linear_proj.weight", {8, 8});
    model.Tensor(layer + "mlp.linear_fc1.weight", {32, 8}).Tensor(layer + "mlp.linear_fc2.weight", {8, 16});
  }
  model.Arg("num_layers", 2);
  return model;
}

RetargetStep Step(To to, std::optional<std::string> pattern = {}) {
  RetargetStep step;
  step.to = to;
  step.pattern = std::move(pattern);
  return step;
}

std::string Ids(View view, const RetargetStep& step = Step(To::kHybrid, "*-*-")) {
  std::vector<std::string> ids;
  for (const plan::Finding& finding : Retarget(step, std::move(view), "ck").findings) ids.push_back(finding.id);
  return Join(ids, " ");
}

std::string Message(View view, const RetargetStep& step = Step(To::kHybrid, "*-*-")) {
  const auto findings = Retarget(step, std::move(view), "ck").findings;
  return findings.empty() ? "" : findings[0].message;
}

std::vector<std::string> Names(const View& view) {
  std::vector<std::string> out;
  for (const Tensor& tensor : view.tensors) out.push_back(Cat(tensor.name, " ", FormatDims(tensor.shape)));
  return out;
}

TEST(Retarget, KeysAndShapes) {
  View view = Retarget(Step(To::kHybrid, "*-*-"), Stacked().Build(), "ck").view;
  CheckView(view);
  EXPECT_EQ(Names(view), (std::vector<std::string>{"decoder.final_norm.weight [8]", "decoder.layers.0.self_attention.linear_proj.weight [8, 8]", "decoder.layers.0.self_attention.linear_qkv.weight [24, 8]",
                                                   "decoder.layers.1.mlp.linear_fc1.weight [32, 8]", "decoder.layers.1.mlp.linear_fc2.weight [8, 16]",
                                                   "decoder.layers.2.self_attention.linear_proj.weight [8, 8]", "decoder.layers.2.self_attention.linear_qkv.weight [24, 8]",
                                                   "decoder.layers.3.mlp.linear_fc1.weight [32, 8]", "decoder.layers.3.mlp.linear_fc2.weight [8, 16]", "embedding.word_embeddings.weight [16, 8]",
                                                   "output_layer.weight [16, 8]"}));
  ASSERT_EQ(view.objects.size(), 1u);
  EXPECT_EQ(view.objects[0].name, "output_layer._extra_state/shard_0_1");
  View back = Retarget(Step(To::kGpt), std::move(view), "ck").view;
  CheckView(back);
  EXPECT_EQ(Names(back), Names(Stacked().Build()));
  EXPECT_EQ(back.left_out.size(), 1u);
}

TEST(Retarget, AWrapperPrefixStays) {
  const Retargeted result = Retarget(Step(To::kHybrid, "*-*-"), Stacked("model.module.").Build(), "ck");
  EXPECT_TRUE(result.findings.empty());
  for (const Tensor& tensor : result.view.tensors) EXPECT_TRUE(StartsWith(tensor.name, "model.module.")) << tensor.name;
  EXPECT_NE(Join(result.view.notes, "\n").find("all keys begin with 'model.module.'"), std::string::npos);
  EXPECT_EQ(Ids(Stacked("model.").Tensor("module.decoder.final_layernorm.bias", {8}).Build()), "retarget.prefix");
  EXPECT_EQ(Ids(Stacked().Tensor("language_model.decoder.final_layernorm.bias", {8}).Build()), "retarget.unmapped");
}

TEST(Retarget, NothingIsLostSilently) {
  const struct {
    const char* name;
    const char* ids;
  } cases[] = {
      {"decoder.layers.post_mlp_layernorm.weight", "retarget.unmapped"},
      {"decoder.layers.cross_attention.linear_q.weight", "retarget.unmapped"},
      {"decoder.layers.self_attention_hyper_connection.alpha_pre", "retarget.unmapped"},
      {"decoder.layers.self_attention.in_proj.weight.query", "retarget.unmapped"},
      {"decoder.layers.self_attention.linear_kv_down_proj.weight", "retarget.latent_attention"},
      {"decoder.layers.mlp.unknown.weight", "retarget.unmapped"},
      {"decoder.other.weight", "retarget.unmapped"},
      {"vision_model.weight", "retarget.unmapped"},
      {"mtp.layers.0.enorm.weight", "retarget.mtp"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Ids(Stacked().Tensor(c.name, {2, 8}).Build()), c.ids) << c.name;
    EXPECT_NE(Message(Stacked().Tensor(c.name, {2, 8}).Build()).find(std::string(c.name).substr(std::string(c.name).rfind("layers.") == std::string::npos ? 0 : 15)), std::string::npos) << c.name;
  }
  // q and k norms follow attention.
  const View view = Retarget(Step(To::kHybrid, "*-*-"), Stacked().Tensor("decoder.layers.self_attention.q_layernorm.weight", {2, 4}).Build(), "ck").view;
  EXPECT_EQ(std::count_if(view.tensors.begin(), view.tensors.end(), [](const Tensor& t) { return t.name == "decoder.layers.2.self_attention.q_layernorm.weight"; }), 1);
}

TEST(Retarget, LayersMustBeWhole) {
  EXPECT_EQ(Ids(Stacked().Without("decoder.layers.mlp.linear_fc2.weight").Build()), "retarget.missing_key");
  EXPECT_EQ(Ids(Stacked().Tensor("decoder.layers.0.mlp.linear_fc1.bias", {32}).Build()), "retarget.mixed_layout");
  EXPECT_EQ(Ids(Stacked().Tensor("decoder.layers.mlp.linear_fc1.bias", {3, 32}).Build()), "retarget.layer_count");
  EXPECT_EQ(Ids(Stacked().Tensor("decoder.layers.mlp.linear_fc1.bias", {}).Build()), "retarget.layer_count");
  EXPECT_EQ(Ids(Indexed().Tensor("decoder.layers.3.mlp.linear_fc1.weight", {32, 8}).Build()), "retarget.layer_count");
  EXPECT_EQ(Ids(Indexed().Tensor("decoder.layers.2000000000000.mlp.linear_fc1.weight", {32, 8}).Build()), "retarget.layer_count");
  EXPECT_EQ(Ids(Indexed().Tensor("decoder.layers.01.mlp.linear_fc1.weight", {32, 8}).Build()), "retarget.unmapped");
  EXPECT_EQ(Ids(ModelBuilder().Tensor("embedding.word_embeddings.weight", {16, 8}).Build()), "retarget.no_layers");
  EXPECT_EQ(Ids(Indexed().Tensor("decoder.layers.1.mlp.linear_fc1.bias", {32}).Build(), Step(To::kGpt)), "retarget.layers_differ");
  EXPECT_EQ(Ids(Indexed().Without("decoder.layers.1.mlp.linear_fc1.weight").Tensor("decoder.layers.1.mlp.linear_fc1.weight", {30, 8}).Build(), Step(To::kGpt)), "retarget.layers_differ");
  EXPECT_EQ(Ids(Stacked().Arg("num_layers", 3).Build()), "retarget.num_layers");
}

TEST(Retarget, ExtraStatesMustHaveAPlace) {
  EXPECT_EQ(Ids(Stacked().Object("decoder.layers.mlp.linear_fc1._extra_state/shard_1_2").Build()), "");
  for (const char* name : {"decoder.layers.mlp.linear_fc1._extra_state/shard_2_2", "decoder.layers.mlp.linear_fc1._extra_state/shard_1_3", "decoder.layers.mlp.linear_fc1._extra_state/shard_1.0.0_2.1.1",
                           "decoder.layers.mlp.linear_fc1._extra_state/shard_x", "decoder.layers.mlp.linear_fc1._extra_state", "decoder.layers.0.mlp.linear_fc1._extra_state/shard_0_1"}) {
    EXPECT_EQ(Ids(Stacked().Object(name).Build()), "retarget.unmapped") << name;
  }
  EXPECT_EQ(Ids(Stacked().Object("something/shard_0_1").Build()), "retarget.unmapped");
}

TEST(Retarget, KindOfModel) {
  EXPECT_EQ(Ids(Stacked().Tensor("decoder.final_norm.weight", {8}).Build()), "retarget.model_kind");
  EXPECT_EQ(Ids(Indexed().Without("decoder.final_layernorm.weight").Build()), "retarget.model_kind");
  EXPECT_EQ(Ids(Stacked().Arg("hybrid_layer_pattern", "*-*-").Build()), "retarget.model_kind");
  EXPECT_EQ(Ids(Stacked().Arg("hybrid_override_pattern", "*-*-").Build()), "retarget.model_kind");
}

TEST(Retarget, MissingArgsNeedConsent) {
  EXPECT_EQ(Ids(Stacked().NoArgs().Build()), "retarget.no_args");
  RetargetStep step = Step(To::kHybrid, "*-*-");
  step.assume_compatible = true;
  EXPECT_EQ(Ids(Stacked().NoArgs().Build(), step), "");
}

TEST(Retarget, ArgumentsOfOtherArchitectures) {
  const auto refused = [](const std::function<void(ModelBuilder&)>& change) {
    ModelBuilder model = Stacked();
    change(model);
    return Ids(model.Build());
  };
  using Model = ModelBuilder&;
  EXPECT_EQ(refused([](Model m) { m.Arg("num_moe_experts", 8).Arg("moe_shared_expert_intermediate_size", 4).Arg("moe_layer_freq", 1); }), "");
  EXPECT_EQ(refused([](Model m) { m.ArgRef("moe_layer_freq", m.graph().NewList({m.graph().NewInt(1), m.graph().NewInt(1)})); }), "");
  EXPECT_EQ(refused([](Model m) { m.ArgRef("moe_layer_freq", m.graph().NewNone()); }), "");
  EXPECT_EQ(refused([](Model m) { m.ArgRef("moe_layer_freq", m.graph().NewList({m.graph().NewInt(1), m.graph().NewInt(0)})); }), "retarget.interleaved_moe");
  EXPECT_EQ(refused([](Model m) { m.Arg("moe_layer_freq", 2); }), "retarget.interleaved_moe");
  EXPECT_EQ(refused([](Model m) { m.Arg("moe_layer_freq", "([0]*3+[1]*58)"); }), "retarget.interleaved_moe");
  EXPECT_EQ(refused([](Model m) { m.Arg("experimental_attention_variant", "gated_delta_net"); }), "retarget.experimental_attention");
  EXPECT_EQ(refused([](Model m) { m.Arg("linear_attention_freq", 4); }), "retarget.linear_attention");
  EXPECT_EQ(refused([](Model m) { m.ArgRef("heterogeneous_block_specs", m.graph().NewBool(true)); }), "retarget.heterogeneous");
  EXPECT_EQ(refused([](Model m) { m.Arg("heterogeneous_layers_config_path", "specs.json"); }), "retarget.heterogeneous");
  EXPECT_EQ(refused([](Model m) { m.ArgRef("multi_latent_attention", m.graph().NewBool(true)); }), "retarget.latent_attention");
  EXPECT_EQ(refused([](Model m) { m.ArgRef("multi_latent_attention", m.graph().NewBool(false)).Arg("kv_lora_rank", 32); }), "");
  EXPECT_EQ(refused([](Model m) { m.Arg("mtp_num_layers", 2); }), "retarget.mtp");
  EXPECT_EQ(refused([](Model m) { m.Arg("mtp_num_layers", 2).Arg("linear_attention_freq", 4).Arg("moe_layer_freq", 2); }), "retarget.interleaved_moe retarget.linear_attention retarget.mtp");
  EXPECT_EQ(Message(Stacked().Arg("moe_layer_freq", 2).Build()), "args.moe_layer_freq is 2: an interleaved MoE model has layers of two kinds");
}

TEST(Retarget, TwoNamesOfOneNormAreNotOne) {
  ModelBuilder model;
  model.Tensor("embedding.word_embeddings.weight", {16, 8}).Tensor("decoder.final_layernorm.weight", {8});
  for (const char* name : {"self_attention.linear_qkv.weight", "self_attention.linear_proj.weight", "mlp.router.weight", "mlp.experts.experts.linear_fc1.weight", "mlp.experts.experts.linear_fc2.weight",
                           "pre_mlp_layernorm.weight", "mlp.linear_fc1.layer_norm_weight"}) {
    model.Tensor(Cat("decoder.layers.", name), {1, 4, 8});
  }
  EXPECT_EQ(Ids(model.Build(), Step(To::kHybrid, "*E")), "retarget.duplicate");
}

TEST(Retarget, PatternOfTheSource) {
  const auto hybrid = [](const char* pattern) {
    ModelBuilder model;
    model.Tensor("embedding.word_embeddings.weight", {16, 8}).Tensor("decoder.final_norm.weight", {8});
    model.Tensor("decoder.layers.0.self_attention.linear_qkv.weight", {24, 8}).Tensor("decoder.layers.1.mlp.linear_fc1.weight", {32, 8});
    model.Arg("hybrid_layer_pattern", pattern).Arg("num_layers", 2);
    return model;
  };
  EXPECT_EQ(Ids(hybrid("*-").Build(), Step(To::kGpt)), "");
  EXPECT_EQ(Ids(hybrid("*|-").Build(), Step(To::kGpt, "*-")), "");
  EXPECT_EQ(Ids(hybrid("-*").Build(), Step(To::kGpt)), "retarget.pattern_mismatch");
  EXPECT_EQ(Ids(hybrid("*-").Build(), Step(To::kGpt, "*E")), "retarget.pattern_mismatch");
  EXPECT_EQ(Ids(hybrid("*-/M").Build(), Step(To::kGpt)), "pattern.mtp");
  EXPECT_EQ(Ids(hybrid("*-").Arg("num_layers", 1).Build(), Step(To::kGpt)), "retarget.num_layers");
  EXPECT_EQ(Ids(hybrid("*-").Tensor("decoder.layers.2.other.weight", {8}).Build(), Step(To::kGpt)), "retarget.unmapped");
  EXPECT_EQ(Ids(hybrid("*-").Tensor("decoder.layers.0.norm.weight", {8}).Build(), Step(To::kGpt)), "retarget.unmapped");
}

// Hidden 8, head size 4, 2 groups, state 4: 52 rows of in_proj.
TEST(Retarget, FreshMambaShapes) {
  RetargetStep step = Step(To::kHybrid, "M*-M*-");
  step.mamba = {.d_model = 8, .d_state = 4, .n_groups = 2, .head_dim = 4, .d_conv = {}, .expand = {}};
  const View view = Retarget(step, Stacked().Build(), "ck").view;
  CheckView(view);
  uint64_t rows = 0, fills = 0;
  for (const Tensor& tensor : view.tensors) {
    if (StartsWith(tensor.name, "decoder.layers.0.mixer.in_proj.weight.")) rows += tensor.shape[0];
    if (tensor.name.find("mixer") == std::string::npos) continue;
    ++fills;
    const bool single = EndsWith(tensor.name, "A_log") || EndsWith(tensor.name, "mixer.D");
    EXPECT_EQ(tensor.dtype, single ? DType::kF32 : DType::kBF16) << tensor.name;
  }
  EXPECT_EQ(rows, 52u);
  EXPECT_EQ(fills, 34u);
  // Norms that are stored zero-centred start from zero.
  View centred = Retarget(step, Stacked().Arg("layernorm_zero_centered_gamma", int64_t{1}).Build(), "ck").view;
  const auto norm = std::find_if(centred.leaves.begin(), centred.leaves.end(), [](const Leaf& leaf) { return EndsWith(leaf.name, "in_proj.layer_norm_weight"); });
  ASSERT_NE(norm, centred.leaves.end());
  EXPECT_EQ(norm->fill.low, 0);
}

TEST(Retarget, OptimizerStateMustCopyTheModel) {
  RetargetStep step = Step(To::kHybrid, "*-*-");
  step.optimizer = RetargetStep::Optimizer::kCarry;
  const std::string plane = "optimizer.state.exp_avg.";
  const auto model = [&] {
    ModelBuilder out = Stacked();
    out.Tensor(plane + "decoder.layers.mlp.linear_fc1.weight", {2, 32, 8}, DType::kF32);
    return out;
  };
  EXPECT_EQ(Ids(model().Build(), step), "");
  EXPECT_EQ(Ids(Stacked().Build(), step), "retarget.no_optimizer");
  EXPECT_EQ(Ids(model().Tensor(plane + "decoder.layers.mlp.linear_fc1.bias", {2, 32}).Build(), step), "retarget.optimizer_mismatch");
  EXPECT_EQ(Ids(model().Tensor(plane + "output_layer.weight", {15, 8}).Build(), step), "retarget.optimizer_mismatch");
  EXPECT_EQ(Ids(Stacked().Tensor(plane + "decoder.layers.mlp.linear_fc1.weight", {3, 32, 8}).Build(), step), "retarget.optimizer_mismatch");
  EXPECT_EQ(Ids(model().Tensor(plane + "other.weight", {2}).Build(), step), "retarget.unmapped");
  EXPECT_EQ(Ids(model().Tensor("optimizer.distributed.dp_group_idx_0.param", {99}).Build(), step), "retarget.optimizer_format");
  EXPECT_EQ(Ids(model().Object("optimizer.distributed.dp_group_idx_0.optimizer/shard_0_1").Build(), step), "retarget.optimizer_format");
}

TEST(Retarget, UnsupportedFormats) {
  View dcp = Stacked().Build();
  dcp.format = checkpoint::Format::kDcp;
  EXPECT_EQ(Ids(std::move(dcp)), "retarget.unsupported_format");
}

// One MoE layer of fsdp_dtensor with these experts' fc1 halves.
View FsdpMoe(const std::vector<std::string>& fc1) {
  const std::string layer = "model.module.decoder.layers.0.";
  ModelBuilder model;
  model.Tensor("model.module.embedding.word_embeddings.weight", {16, 8}).Tensor("model.module.decoder.final_layernorm.weight", {8});
  model.Tensor(layer + "self_attention.linear_qkv.weight", {24, 8}).Tensor(layer + "self_attention.linear_proj.weight", {8, 8}).Tensor(layer + "mlp.router.weight", {2, 8});
  for (const std::string& name : fc1) model.Tensor(Cat(layer, "mlp.experts.", name), {6, 8});
  model.Tensor(layer + "mlp.experts.linear_fc2.weight0", {8, 6}).Tensor(layer + "mlp.experts.linear_fc2.weight1", {8, 6});
  pickle::Graph graph;
  const pickle::Ref args = graph.NewObject(pickle::Form::kReduce, graph.NewGlobal("argparse", "Namespace"), graph.NewTuple({}));
  graph.SetAttribute(args, "swiglu", graph.NewBool(true));
  View view = model.Build();
  view.format = checkpoint::Format::kFsdpDtensor;
  view.common.reset();
  view.objects = {{.name = "args", .input = 0, .source_name = "", .literal = torchsave::WriteObject(graph, args, "archive", [](const std::string&) { return std::string(); })}};
  return view;
}

TEST(Retarget, ExpertsOfFsdpDtensorMustBeComplete) {
  RetargetStep step = Step(To::kGpt);
  step.format = plan::Format::kTorchDist;
  const std::vector<std::string> complete = {"linear_fc1.weight0_w", "linear_fc1.weight0_v", "linear_fc1.weight1_w", "linear_fc1.weight1_v"};
  EXPECT_EQ(Ids(FsdpMoe(complete), step), "");
  EXPECT_EQ(Ids(FsdpMoe({"linear_fc1.weight0_w", "linear_fc1.weight0_v", "linear_fc1.weight2_w", "linear_fc1.weight2_v"}), step), "retarget.experts");
  EXPECT_EQ(Ids(FsdpMoe({"linear_fc1.weight0_w", "linear_fc1.weight1_v"}), step), "retarget.experts");
  EXPECT_EQ(Ids(FsdpMoe({"linear_fc1.weight0_w", "linear_fc1.weight0_v", "linear_fc1.weight1_w"}), step), "retarget.experts");
  EXPECT_EQ(Ids(FsdpMoe({"linear_fc1.weight0", "linear_fc1.weight1"}), step), "retarget.gated");
  EXPECT_EQ(Ids(FsdpMoe({"linear_fc1.weight_w", "linear_fc1.weight_v"}), step), "retarget.experts");
  EXPECT_EQ(Ids(FsdpMoe({"linear_fc1.weight0_w", "linear_fc1.weight0_v", "local_experts.0.linear_fc1.weight_w", "local_experts.0.linear_fc1.weight_v"}), step), "retarget.duplicate");
}

TEST(Retarget, TheActivationIsNeverGuessed) {
  RetargetStep step = Step(To::kHybrid, "*-*-");
  step.format = plan::Format::kFsdpDtensor;
  const auto with = [](const char* argument, bool value) {
    ModelBuilder model = Stacked();
    model.ArgRef(argument, model.graph().NewBool(value));
    return model;
  };
  EXPECT_EQ(Ids(Stacked().Build(), step), "retarget.gated");
  EXPECT_EQ(Ids(with("swiglu", true).Build(), step), "");
  EXPECT_EQ(Ids(with("swiglu", false).Build(), step), "retarget.gated retarget.gated");  // fc1 has 32 rows, fc2 16 columns; two layers
  EXPECT_EQ(Ids(with("swiglu", true).Arg("moe_mlp_glu_interleave_size", 8).Build(), step), "retarget.gated");
  step.assume_compatible = true;
  EXPECT_EQ(Ids(Stacked().NoArgs().Build(), step), "retarget.no_args");
}

}  // namespace
}  // namespace ck::transform
