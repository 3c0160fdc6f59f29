#include <algorithm>

#include "libs/base/text.h"
#include "libs/plan/member_reader.h"
#include "libs/plan/members.h"
#include "libs/plan/plan.h"

namespace ck::plan {
namespace {

using internal::MemberReader;
using internal::PlanError;

constexpr std::string_view kSchema = "ck.plan";

// Before anything else, so that a foreign document is called foreign and not misspelt.
void CheckSchema(MemberReader& reader) {
  std::string schema, version;
  reader.Required("schema", schema);
  if (schema != kSchema) {
    throw PlanError("plan.schema", "schema", Cat("found ", Quote(schema), ", expected ", Quote(kSchema)));
  }
  reader.Required("version", version);
  const std::vector<std::string> parts = Split(version, '.');
  const bool well_formed = parts.size() == 2 && ParseUint64(parts[0]) && ParseUint64(parts[1]);
  if (!well_formed || parts[0] != "1") {
    throw PlanError("plan.version", "version", Cat("found ", Quote(version), ", this program reads '1.x'"));
  }
}

template <typename T>
T ReadObject(const json::Value& value, std::string where) {
  T out;
  MemberReader reader(value, std::move(where));
  Visit(reader, out);
  reader.Finish();
  return out;
}

const json::Array& ReadArray(const json::Value& value, std::string_view where) {
  const json::Array* array = value.AsArray();
  if (array == nullptr) {
    throw PlanError("plan.bad_type", where, Cat("found ", json::TypeName(value.type()), ", expected array"));
  }
  return *array;
}

template <typename T>
Step ReadStepMembers(MemberReader& reader) {
  T step;
  Visit(reader, step);
  reader.Finish();
  return step;
}

Step ReadStep(const json::Value& value, std::string where) {
  MemberReader reader(value, std::move(where));
  std::string op;
  reader.Required("op", op);
  if (op == "merge") return ReadStepMembers<MergeStep>(reader);
  if (op == "retarget") return ReadStepMembers<RetargetStep>(reader);
  if (op == "split") return ReadStepMembers<SplitStep>(reader);
  throw PlanError("plan.bad_value", reader.PathOf("op"),
                  Cat("found ", Quote(op), ", expected one of merge, retarget, split"));
}

TargetIteration ReadTarget(const json::Value& value) {
  MemberReader reader(value, "target");
  TargetIteration target;
  const json::Value* iteration = reader.Find("iteration");
  if (iteration != nullptr && !iteration->is_null()) {
    if (const std::string* text = iteration->AsString()) {
      if (*text != "release") {
        throw PlanError("plan.bad_value", "target.iteration",
                        Cat("found ", Quote(*text), ", expected an integer, 'release' or null"));
      }
      target = Release{};
    } else {
      int64_t number = 0;
      reader.Member("iteration", number, 0);
      target = number;
    }
  }
  reader.Finish();
  return target;
}

json::Object ReadAnnotations(const json::Value& value) {
  const json::Object* object = value.AsObject();
  if (object == nullptr) {
    throw PlanError("plan.bad_type", "annotations", Cat("found ", json::TypeName(value.type()), ", expected object"));
  }
  return *object;
}

// The index in Step is also the order in which steps may stand.
void CheckStepOrder(const std::vector<Step>& steps) {
  for (size_t i = 1; i < steps.size(); ++i) {
    const std::string where = Cat("steps[", i, "]");
    const std::string_view op = OpName(steps[i]), before = OpName(steps[i - 1]);
    if (steps[i].index() == steps[i - 1].index()) {
      throw PlanError("plan.step_order", where, Cat("a second ", Quote(op), " step"));
    }
    if (steps[i].index() < steps[i - 1].index()) {
      throw PlanError(
          "plan.step_order", where,
          Cat(Quote(op), " stands after ", Quote(before), ", expected merge, retarget, split in this order"));
    }
  }
}

Plan FromJson(const json::Value& value) {
  MemberReader reader(value, "");
  CheckSchema(reader);
  Plan plan;
  if (const json::Value* producer = reader.Find("producer")) {
    plan.producer = ReadObject<Producer>(*producer, "producer");
  }
  const json::Array& inputs = ReadArray(reader.Need("inputs"), "inputs");
  for (size_t i = 0; i < inputs.size(); ++i) {
    plan.inputs.push_back(ReadObject<Input>(inputs[i], Cat("inputs[", i, "]")));
  }
  reader.Child("coefficients", plan.coefficients);
  if (const json::Value* steps = reader.Find("steps")) {
    const json::Array& list = ReadArray(*steps, "steps");
    for (size_t i = 0; i < list.size(); ++i) plan.steps.push_back(ReadStep(list[i], Cat("steps[", i, "]")));
  }
  if (const json::Value* target = reader.Find("target")) plan.target = ReadTarget(*target);
  if (const json::Value* annotations = reader.Find("annotations")) plan.annotations = ReadAnnotations(*annotations);
  reader.Finish();
  CheckStepOrder(plan.steps);
  return plan;
}

json::Value ParsePlan(std::string_view text) {
  if (text.size() > kMaxPlanBytes) {
    throw InputError("plan.too_long", Cat("plan: found ", text.size(), " bytes, at most ", kMaxPlanBytes, " are read"));
  }
  if (Trim(text).empty()) {
    throw InputError("plan.empty", "plan: the input is empty; the program before this one has failed");
  }
  try {
    return json::Parse(text);
  } catch (const Error& error) {
    throw error.At("plan");
  }
}

}  // namespace

Plan Decode(std::string_view text) { return FromJson(ParsePlan(text)); }

}  // namespace ck::plan
