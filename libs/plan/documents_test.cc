#include "libs/plan/documents.h"

#include "gtest/gtest.h"
#include "libs/base/text.h"
#include "libs/plan/testing/schema_validator.h"

namespace ck::plan {
namespace {

using testing::SchemaValidator;

// The document as it is written, after it was held against its schema.
template <typename T>
std::string Valid(std::string_view schema, const T& document) {
  const json::Value value = ToJson(document);
  const std::vector<std::string> violations = SchemaValidator::Load(schema).Violations(value);
  EXPECT_TRUE(violations.empty()) << Join(violations, "\n");
  return json::Write(value, {.final_newline = false});
}

TEST(Documents, Listing) {
  EXPECT_EQ(Valid("ck.listing", Listing{"/runs", std::nullopt, {}, {"/runs/iter_1.bak"}}),
            R"({"schema":"ck.listing","version":"1.0","root":"/runs","marker":null,"checkpoints":[],"strays":["/runs/iter_1.bak"]})");
  for (const MarkerState marker :
       {MarkerState::kCurrent, MarkerState::kOlder, MarkerState::kDangling, MarkerState::kMalformed}) {
    for (const CheckpointState state : {CheckpointState::kComplete, CheckpointState::kIncomplete,
                                        CheckpointState::kDamaged, CheckpointState::kStaging}) {
      const std::string text = Valid(
          "ck.listing",
          Listing{"/runs/\xff", Marker{"12\n", marker}, {{"/runs/x", 12, "zarr", state, "no metadata.json", 7}, {}}, {}});
      EXPECT_NE(text.find(Cat("\"", NameOf(state), "\"")), std::string::npos) << text;
      EXPECT_NE(text.find(Cat("\"", NameOf(marker), "\"")), std::string::npos) << text;
      EXPECT_NE(text.find(R"("root":"/runs/\\xff")"), std::string::npos) << text;
    }
  }
}

TEST(Documents, Meta) {
  Meta meta;
  meta.format = "torch_dist";
  Valid("ck.meta", meta);
  meta.path = "/a";
  meta.iteration = 5;
  meta.tensors.push_back({"w", "BF16", {2, 3}, 12, 1, std::nullopt});
  meta.tensors.push_back({"scalar", "F32", {}, 4, 1, {{{{}, {}, "__0_0.distcp"}, {{0}, {1}, std::nullopt}}}});
  meta.objects.push_back({"w._extra_state", 7, "__0_0.distcp"});
  meta.common_form = CommonForm::kEmbedded;
  meta.common_state = json::Object().Set("iteration", 5);
  meta.files.push_back({"__0_0.distcp", uint64_t{1} << 40});
  meta.files.push_back({"__1_0.distcp", std::nullopt});
  meta.totals = {2, 7, 16, 1};
  EXPECT_EQ(
      Valid("ck.meta", meta),
      R"({"schema":"ck.meta","version":"1.0","path":"/a","format":"torch_dist","iteration":5,"tensors":[)"
      R"({"name":"w","dtype":"BF16","shape":[2,3],"bytes":12,"chunks":1},)"
      R"({"name":"scalar","dtype":"F32","shape":[],"bytes":4,"chunks":1,"chunk_list":[)"
      R"({"offset":[],"shape":[],"file":"__0_0.distcp"},{"offset":[0],"shape":[1],"file":null}]}],)"
      R"("objects":[{"name":"w._extra_state","bytes":7,"file":"__0_0.distcp"}],)"
      R"("common":{"form":"embedded","state":{"iteration":5}},"files":[{"name":"__0_0.distcp","bytes":1099511627776},{"name":"__1_0.distcp","bytes":null}],)"
      R"("totals":{"tensors":2,"elements":7,"bytes":16,"objects":1}})");
  for (const CommonForm form : {CommonForm::kCommonPt, CommonForm::kNone}) {
    meta.common_form = form;
    Valid("ck.meta", meta);
  }
}

TEST(Documents, Coefficients) {
  EXPECT_EQ(
      Valid("ck.coefficients", CoefficientsDocument{"minus-sqrt", "0", {0.5, 1, -0.25}}),
      R"({"schema":"ck.coefficients","version":"1.0","style":"minus-sqrt","seed":"0","weights":[0.5,1.0,-0.25]})");
}

TEST(Documents, Report) {
  EXPECT_EQ(Valid("ck.report", Report{}),
            R"({"schema":"ck.report","version":"1.0","clean":true,"checked":[],"findings":[]})");
  Report report;
  report.checked = {{"chunk coverage", true, std::nullopt}, {"tensor data", false, "needs --deep"}};
  report.findings.push_back(
      {"common.mixed", Severity::kWarning, "both forms", std::nullopt, std::nullopt, std::nullopt, std::nullopt});
  EXPECT_TRUE(IsClean(report));
  EXPECT_NE(Valid("ck.report", report).find(R"("clean":true)"), std::string::npos);
  report.findings.push_back({"dcp.hole", Severity::kError, "a hole", "w\xff", "1 row", "2 rows", ".metadata"});
  EXPECT_FALSE(IsClean(report));
  EXPECT_EQ(
      Valid("ck.report", report),
      R"({"schema":"ck.report","version":"1.0","clean":false,"checked":[{"what":"chunk coverage","looked_at":true,"note":null},)"
      R"({"what":"tensor data","looked_at":false,"note":"needs --deep"}],"findings":[)"
      R"({"id":"common.mixed","severity":"warning","message":"both forms","where":null,"found":null,"expected":null,"source":null},)"
      R"({"id":"dcp.hole","severity":"error","message":"a hole","where":"w\\xff","found":"1 row","expected":"2 rows","source":".metadata"}]})");
}

TEST(Documents, Result) {
  Result result;
  result.output = "/out";
  EXPECT_NE(Valid("ck.result", result).find(R"("iteration":null)"), std::string::npos);
  result.iteration = Release{};
  EXPECT_NE(Valid("ck.result", result).find(R"("iteration":"release")"), std::string::npos);
  result = {
      "/out", int64_t{5000}, Format::kSafetensors, 3, 120, 7, {{"optimizer", 4, 4096}}, 100, 50, {0.25, 1, 2, 3, 4.5},
      {1, 2}};
  EXPECT_EQ(
      Valid("ck.result", result),
      R"({"schema":"ck.result","version":"1.0","output":"/out","iteration":5000,"format":"safetensors","files":3,"averaged_tensors":120,)"
      R"("copied_extra_states":7,"left_out":[{"rule":"optimizer","count":4,"bytes":4096}],"bytes_read":100,"bytes_written":50,)"
      R"("seconds":{"discovery":0.25,"load":1.0,"accumulation":2.0,"save":3.0,"total":4.5},"peak_memory_bytes":[1,2]})");
}

// The validator and the schema can fail: a member less, a member more, or another type is seen.
TEST(Documents, SchemasRefuseOtherShapes) {
  const SchemaValidator validator = SchemaValidator::Load("ck.result");
  json::Object good = *ToJson(Result{}).AsObject();
  for (const json::Member& member : json::Object(good).members()) {
    json::Object bad = good;
    bad.Erase(member.first);
    EXPECT_EQ(validator.Violations(bad).size(), 1u) << member.first;
    bad.Set(member.first, false);
    EXPECT_GE(validator.Violations(bad).size(), 1u) << member.first;
  }
  good.Set("extra", 1);
  EXPECT_EQ(validator.Violations(good), std::vector<std::string>{"extra: unknown member"});
}

}  // namespace
}  // namespace ck::plan
