#include "libs/plan/plan.h"

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/plan/names.h"

namespace ck::plan {
namespace {

// A plan whose every member differs from its default.
Plan FullPlan() {
  Plan plan;
  plan.producer = Producer{"ck-split", "0.1.0"};
  plan.inputs.push_back({"/runs/a/iter_0001000", 1000, Format::kTorchDist, 0.25, std::string(64, 'a')});
  plan.inputs.push_back({"/runs/b", std::nullopt, Format::kFsdpDtensor, -0.75, std::nullopt});
  plan.coefficients = {"minus-sqrt__scramble", "-123456789012345678901234567890", true};
  plan.steps.push_back(MergeStep{SaveDtype::kFloat32, 1, "/runs/c", true, true, true});
  RetargetStep retarget;
  retarget.to = RetargetStep::To::kGpt;
  retarget.pattern = "*-*-";
  retarget.format = Format::kFsdpDtensor;
  retarget.per_layer = retarget.drop_ssm = retarget.reset_iterations = true;
  retarget.assume_compatible = retarget.allow_reorder = true;
  retarget.seed = "7";
  retarget.optimizer = RetargetStep::Optimizer::kCarry;
  retarget.extra_state = RetargetStep::ExtraState::kDrop;
  retarget.transformer_impl = TransformerImpl::kLocal;
  retarget.mamba = {1, 2, 3, 4, 5, 6};
  plan.steps.push_back(retarget);
  SplitStep split;
  split.to = SplitStep::To::kMegatron;
  split.architecture = "LlamaForCausalLM";
  split.config = "/hf/model";
  split.mapping = "/hf/map.json";
  split.dtype = SaveDtype::kBfloat16;
  split.cast_all = split.value_model = split.per_layer = true;
  split.max_shard_size = 1;
  split.vocab_size = 50257;
  split.config_from = SplitStep::ConfigFrom::kCheckpoint;
  split.tied = SplitStep::Tied::kNo;
  split.vocab_divisible_by = 64;
  split.tensor_parallel = 8;
  split.transformer_impl = TransformerImpl::kLocal;
  split.extra_state = SplitStep::ExtraState::kDrop;
  plan.steps.push_back(split);
  plan.target = int64_t{5000};
  plan.annotations.Set("note", "anything").Set("list", json::Array{1, nullptr});
  return plan;
}

Plan OneInput() {
  Plan plan;
  plan.inputs.push_back({"/a", std::nullopt, Format::kDcp, std::nullopt, std::nullopt});
  return plan;
}

Error ErrorOf(std::string_view text) {
  try {
    Decode(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInput);
    return error;
  }
  return InternalError("none", "accepted");
}

// A plan with this text among the members of the document.
std::string With(std::string_view members) {
  return Cat(R"({"schema":"ck.plan","version":"1.0","inputs":[{"path":"/a","format":"dcp"}])",
             members.empty() ? "" : ",", members, "}");
}

TEST(Plan, ReadsBackEqual) {
  for (const Plan& plan : {FullPlan(), OneInput(), Plan()}) {
    const std::string text = Encode(plan);
    EXPECT_EQ(Decode(text), plan) << text;
    EXPECT_EQ(Encode(Decode(text)), text);
  }
}

TEST(Plan, WritesOnlyWhatDiffersFromTheDefault) {
  Plan plan = OneInput();
  plan.steps = {MergeStep(), RetargetStep(), SplitStep()};
  EXPECT_EQ(Encode(plan), R"({
  "schema": "ck.plan",
  "version": "1.0",
  "inputs": [
    {
      "path": "/a",
      "format": "dcp"
    }
  ],
  "steps": [
    {
      "op": "merge"
    },
    {
      "op": "retarget",
      "to": "hybrid"
    },
    {
      "op": "split",
      "to": "hf"
    }
  ]
}
)");
}

TEST(Plan, WritesEveryMemberInTheOrderOfTheManual) {
  std::string text = Encode(FullPlan());
  size_t at = 0;
  for (const char* member : {"schema",
                             "version",
                             "producer",
                             "tool",
                             "version",
                             "inputs",
                             "path",
                             "iteration",
                             "format",
                             "weight",
                             "metadata_sha256",
                             "coefficients",
                             "style",
                             "seed",
                             "normalized",
                             "steps",
                             "op",
                             "dtype",
                             "extra_state_from",
                             "common_from",
                             "weights_only",
                             "cast_all",
                             "copy_identical",
                             "op",
                             "to",
                             "pattern",
                             "format",
                             "per_layer",
                             "drop_ssm",
                             "seed",
                             "optimizer",
                             "extra_state",
                             "reset_iterations",
                             "assume_compatible",
                             "allow_reorder",
                             "transformer_impl",
                             "mamba",
                             "d_model",
                             "d_state",
                             "n_groups",
                             "head_dim",
                             "d_conv",
                             "expand",
                             "op",
                             "to",
                             "architecture",
                             "config",
                             "mapping",
                             "dtype",
                             "cast_all",
                             "max_shard_size",
                             "vocab_size",
                             "config_from",
                             "tied",
                             "value_model",
                             "per_layer",
                             "vocab_divisible_by",
                             "tensor_parallel",
                             "transformer_impl",
                             "extra_state",
                             "target",
                             "iteration",
                             "annotations",
                             "note"}) {
    const size_t found = text.find(Cat("\"", member, "\":"), at);
    ASSERT_NE(found, std::string::npos) << member << " after byte " << at << "\n" << text;
    at = found + 1;
  }
}

TEST(Plan, Targets) {
  EXPECT_TRUE(std::holds_alternative<std::monostate>(Decode(With(R"("target":{})")).target));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(Decode(With(R"("target":{"iteration":null})")).target));
  EXPECT_TRUE(std::holds_alternative<Release>(Decode(With(R"("target":{"iteration":"release"})")).target));
  EXPECT_EQ(std::get<int64_t>(Decode(With(R"("target":{"iteration":0})")).target), 0);
  Plan plan = OneInput();
  plan.target = Release{};
  EXPECT_EQ(Decode(Encode(plan)), plan);
}

TEST(Plan, CommonFromIsAnIndexOrAPath) {
  const auto common = [](std::string_view value) {
    return std::get<MergeStep>(Decode(With(Cat(R"("steps":[{"op":"merge","common_from":)", value, "}]"))).steps[0])
        .common_from;
  };
  EXPECT_EQ(common("0"), CommonFrom(uint64_t{0}));
  EXPECT_EQ(common("\"/x//y/../z\""), CommonFrom(std::string("/x/z")));
}

TEST(Plan, PathsAreCleaned) {
  const struct {
    const char* path;
    const char* cleaned;
  } kCases[] = {{"/", "/"},           {"/a/b/", "/a/b"}, {"//a/./b", "/a/b"},
                {"/a/../../b", "/b"}, {"/...", "/..."},  {"/a b/\xc3\xa9", "/a b/\xc3\xa9"}};
  for (const auto& c : kCases) {
    const Plan plan =
        Decode(Cat(R"({"schema":"ck.plan","version":"1.0","inputs":[{"path":")", c.path, R"(","format":"dcp"}]})"));
    EXPECT_EQ(plan.inputs[0].path, c.cleaned);
  }
}

TEST(Plan, RefusesAndNamesThePlace) {
  const struct {
    std::string text;
    const char* id;
    const char* message;  // a part of it
  } kCases[] = {
      {"", "plan.empty", "the program before"},
      {" \n", "plan.empty", "the program before"},
      {"{", "json.syntax", "plan: JSON"},
      {With(R"("steps":[],"steps":[])"), "json.duplicate_key", "'steps'"},
      {"[]", "plan.bad_type", "found array, expected object"},
      {"{}", "plan.missing_member", "'schema' is missing"},
      {R"({"schema":"ck.report","version":"1.0","inputs":[],"x":1})", "plan.schema", "'ck.report'"},
      {R"({"schema":7})", "plan.bad_type", "schema: found integer, expected string"},
      {R"({"schema":"ck.plan","inputs":[]})", "plan.missing_member", "'version'"},
      {R"({"schema":"ck.plan","version":"2.0","zzz":1})", "plan.version", "'2.0'"},
      {R"({"schema":"ck.plan","version":"1"})", "plan.version", "'1'"},
      {R"({"schema":"ck.plan","version":"01.0"})", "plan.version", "'01.0'"},
      {R"({"schema":"ck.plan","version":"1.0"})", "plan.missing_member", "'inputs'"},
      {R"({"schema":"ck.plan","version":"1.0","inputs":{}})", "plan.bad_type", "inputs: found object, expected array"},
      {R"({"schema":"ck.plan","version":"1.0","inputs":[{"format":"dcp"}]})", "plan.missing_member",
       "inputs[0]: the member 'path'"},
      {R"({"schema":"ck.plan","version":"1.0","inputs":[{"path":"/a"}]})", "plan.missing_member",
       "inputs[0]: the member 'format'"},
      {R"({"schema":"ck.plan","version":"1.0","inputs":[{"path":"a","format":"dcp"}]})", "plan.bad_path",
       "inputs[0].path: found 'a'"},
      {R"({"schema":"ck.plan","version":"1.0","inputs":[{"path":"","format":"dcp"}]})", "plan.bad_path",
       "inputs[0].path"},
      {R"({"schema":"ck.plan","version":"1.0","inputs":[{"path":"/a\u0000b","format":"dcp"}]})", "plan.bad_path",
       "NUL"},
      {R"({"schema":"ck.plan","version":"1.0","inputs":[{"path":"/a","format":"zarr"}]})", "plan.bad_value",
       "one of torch_dist"},
      {R"({"schema":"ck.plan","version":"1.0","inputs":[{"path":"/a","format":"dcp","wieght":1}]})",
       "plan.unknown_member", "inputs[0]: unknown member 'wieght'; did you mean 'weight'?"},
      {R"({"schema":"ck.plan","version":"1.0","inputs":[{"path":"/a","format":"dcp","weight":"1"}]})", "plan.bad_type",
       "inputs[0].weight: found string, expected number"},
      {R"({"schema":"ck.plan","version":"1.0","inputs":[{"path":"/a","format":"dcp","weight":null}]})", "plan.bad_type",
       "weight"},
      {R"({"schema":"ck.plan","version":"1.0","inputs":[{"path":"/a","format":"dcp","weight":1e999}]})",
       "json.not_finite", "plan"},
      {R"({"schema":"ck.plan","version":"1.0","inputs":[{"path":"/a","format":"dcp","iteration":-1}]})",
       "plan.bad_value", "found -1"},
      {R"({"schema":"ck.plan","version":"1.0","inputs":[{"path":"/a","format":"dcp","iteration":1.0}]})",
       "plan.bad_type", "integer"},
      {R"({"schema":"ck.plan","version":"1.0","inputs":[{"path":"/a","format":"dcp","iteration":9223372036854775808}]})",
       "plan.bad_value", "9223372036854775808"},
      {R"({"schema":"ck.plan","version":"1.0","inputs":[{"path":"/a","format":"dcp","metadata_sha256":"ABC"}]})",
       "plan.bad_value", "64 lower-case"},
      {With(R"("anotations":{})"), "plan.unknown_member", "unknown member 'anotations'; did you mean 'annotations'?"},
      {With(R"("zzzzzzzz":{})"), "plan.unknown_member", "unknown member 'zzzzzzzz'"},
      {With(R"("annotations":[])"), "plan.bad_type", "annotations: found array"},
      {With(R"("producer":{"tool":"x"})"), "plan.missing_member", "producer"},
      {With(R"("coefficients":{"style":"sqrt"})"), "plan.bad_value", "coefficients.style: found 'sqrt'"},
      {With(R"("coefficients":{"seed":0})"), "plan.bad_type", "coefficients.seed: found integer, expected string"},
      {With(R"("coefficients":{"seed":"0x1"})"), "plan.bad_value", "coefficients.seed"},
      {With(R"("coefficients":{"normalised":true})"), "plan.unknown_member", "did you mean 'normalized'"},
      {With(R"("coefficients":null)"), "plan.bad_type", "coefficients: found null"},
      {With(R"("steps":{})"), "plan.bad_type", "steps: found object"},
      {With(R"("steps":[1])"), "plan.bad_type", "steps[0]: found integer"},
      {With(R"("steps":[{}])"), "plan.missing_member", "steps[0]: the member 'op'"},
      {With(R"("steps":[{"op":"mrege"}])"), "plan.bad_value", "steps[0].op"},
      {With(R"("steps":[{"op":"merge","dtype":"bf16"}])"), "plan.bad_value", "steps[0].dtype"},
      {With(R"("steps":[{"op":"merge","common_from":true}])"), "plan.bad_type", "index of an input or a path"},
      {With(R"("steps":[{"op":"merge","common_from":"x"}])"), "plan.bad_path", "steps[0].common_from"},
      {With(R"("steps":[{"op":"merge"},{"op":"retarget","pattern":"*-"}])"), "plan.missing_member",
       "steps[1]: the member 'to'"},
      {With(R"("steps":[{"op":"merge"},{"op":"retarget","to":"gpt","pattern":7}])"), "plan.bad_type",
       "steps[1].pattern"},
      {With(R"("steps":[{"op":"retarget","to":"gpt","format":"dcp"}])"), "plan.bad_value",
       "steps[0].format: found 'dcp'"},
      {With(R"("steps":[{"op":"retarget","to":"gpt","mamba":{"d_state":0}}])"), "plan.bad_value",
       "steps[0].mamba.d_state: found 0"},
      {With(R"("steps":[{"op":"retarget","to":"gpt","mamba":{"dstate":1}}])"), "plan.unknown_member",
       "did you mean 'd_state'"},
      {With(R"("steps":[{"op":"split","to":"hf","max_shard_size":0}])"), "plan.bad_value", "steps[0].max_shard_size"},
      {With(R"("steps":[{"op":"split","to":"hf","max_shard_size":5e9}])"), "plan.bad_type", "steps[0].max_shard_size"},
      {With(R"("steps":[{"op":"split","to":"hf","tied":true}])"), "plan.bad_type", "steps[0].tied"},
      {With(R"("steps":[{"op":"split","to":"hf","config":"hf"}])"), "plan.bad_path", "steps[0].config"},
      {With(R"("steps":[{"op":"merge"},{"op":"merge"}])"), "plan.step_order", "steps[1]: a second 'merge' step"},
      {With(R"("steps":[{"op":"retarget","to":"gpt"},{"op":"merge"}])"), "plan.step_order",
       "'merge' stands after 'retarget'"},
      {With(R"("steps":[{"op":"split","to":"hf"},{"op":"retarget","to":"gpt"}])"), "plan.step_order", "steps[1]"},
      {With(R"("target":{"iteration":"latest"})"), "plan.bad_value", "target.iteration: found 'latest'"},
      {With(R"("target":{"iteration":-5})"), "plan.bad_value", "target.iteration: found -5"},
      {With(R"("target":{"iter":5})"), "plan.unknown_member", "target"},
      {With(R"("target":5)"), "plan.bad_type", "target: found integer"},
  };
  for (const auto& c : kCases) {
    const Error error = ErrorOf(c.text);
    EXPECT_EQ(error.id(), c.id) << c.text << "\n" << error.message();
    EXPECT_NE(error.message().find(c.message), std::string::npos) << error.message();
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
  }
}

TEST(Plan, EveryPrefixFails) {
  const std::string text = Encode(FullPlan());
  for (size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_NE(ErrorOf(text.substr(0, length)).id(), "none") << length;
  }
  EXPECT_EQ(ErrorOf(text).id(), "none");
}

TEST(Plan, TooLongIsRefusedBeforeItIsRead) {
  EXPECT_EQ(ErrorOf(std::string(kMaxPlanBytes + 1, ' ')).id(), "plan.too_long");
}

TEST(Plan, EncodeRefusesWhatDecodeWouldRefuse) {
  const auto id = [](const Plan& plan) -> std::string {
    try {
      Encode(plan);
      return "none";
    } catch (const Error& error) {
      return error.id();
    }
  };
  Plan plan = OneInput();
  plan.inputs[0].path = "relative";
  EXPECT_EQ(id(plan), "plan.bad_path");
  plan.inputs[0].path = "/not/\xff/utf8";
  EXPECT_EQ(id(plan), "plan.bad_value");
  plan.inputs[0].path = "/not/clean/";
  EXPECT_EQ(id(plan), "internal.check_failed");
  plan = OneInput();
  plan.steps = {SplitStep(), MergeStep()};
  EXPECT_EQ(id(plan), "plan.step_order");
}

TEST(CheckRunnable, SaysWhatIsMissing) {
  const auto id = [](const Plan& plan) -> std::string {
    try {
      CheckRunnable(plan);
      return "none";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInput);
      return error.id();
    }
  };
  Plan plan;
  EXPECT_EQ(id(plan), "plan.no_inputs");
  plan = OneInput();
  EXPECT_EQ(id(plan), "none");
  EXPECT_EQ(Weights(plan), std::vector<double>{1});
  plan.inputs[0].weight = 1;
  EXPECT_EQ(id(plan), "none");
  plan.inputs[0].weight = 0.5;
  EXPECT_EQ(id(plan), "plan.needs_merge");  // the weight would be dropped silently
  plan.steps = {MergeStep()};
  EXPECT_EQ(id(plan), "none");

  plan.inputs.push_back({"/b", std::nullopt, Format::kDcp, std::nullopt, std::nullopt});
  EXPECT_EQ(id(plan), "plan.missing_weight");
  plan.inputs[1].weight = 0;
  EXPECT_EQ(id(plan), "none");
  EXPECT_EQ(Weights(plan), (std::vector<double>{0.5, 0}));
  for (const std::vector<Step>& steps : {std::vector<Step>{}, {RetargetStep()}, {SplitStep()}}) {
    plan.steps = steps;
    EXPECT_EQ(id(plan), "plan.needs_merge");
  }

  MergeStep merge;
  merge.extra_state_from = 2;
  plan.steps = {merge};
  EXPECT_EQ(id(plan), "plan.bad_index");
  merge.extra_state_from = 1;
  merge.common_from = uint64_t{2};
  plan.steps = {merge};
  EXPECT_EQ(id(plan), "plan.bad_index");
  merge.common_from = "/other";
  plan.steps = {merge};
  EXPECT_EQ(id(plan), "none");
}

TEST(Names, AreInverse) {
  for (const std::string& name : AllNames<Format>()) EXPECT_EQ(Name(*FromName<Format>(name)), name);
  EXPECT_FALSE(FromName<SaveDtype>("fp32"));
}

}  // namespace
}  // namespace ck::plan
