#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/plan/member_writer.h"
#include "libs/plan/members.h"
#include "libs/plan/plan.h"

namespace ck::plan {
namespace {

using internal::MemberWriter;

// A copy, because the tables of members.h serve the decoder too and take the struct by reference.
template <typename T>
json::Object WriteObject(T value, std::string where) {
  MemberWriter writer(std::move(where));
  Visit(writer, value);
  return writer.Take();
}

json::Object WriteStep(const Step& step, std::string where) {
  json::Object object;
  object.Set("op", OpName(step));
  const json::Object members = std::visit([&](const auto& s) { return WriteObject(s, where); }, step);
  for (const json::Member& member : members.members()) object.Set(member.first, member.second);
  return object;
}

}  // namespace

json::Value ToJson(const Plan& plan) {
  json::Object root;
  root.Set("schema", "ck.plan").Set("version", "1.0");
  if (plan.producer) root.Set("producer", WriteObject(*plan.producer, "producer"));
  json::Array inputs;
  for (size_t i = 0; i < plan.inputs.size(); ++i) inputs.push_back(WriteObject(plan.inputs[i], Cat("inputs[", i, "]")));
  root.Set("inputs", std::move(inputs));
  json::Object coefficients = WriteObject(plan.coefficients, "coefficients");
  if (!coefficients.empty()) root.Set("coefficients", std::move(coefficients));
  json::Array steps;
  for (size_t i = 0; i < plan.steps.size(); ++i) steps.push_back(WriteStep(plan.steps[i], Cat("steps[", i, "]")));
  root.Set("steps", std::move(steps));
  if (const int64_t* iteration = std::get_if<int64_t>(&plan.target)) {
    root.Set("target", json::Object().Set("iteration", *iteration));
  } else if (std::holds_alternative<Release>(plan.target)) {
    root.Set("target", json::Object().Set("iteration", "release"));
  }
  if (!plan.annotations.empty()) root.Set("annotations", plan.annotations);
  return root;
}

std::string Encode(const Plan& plan) {
  std::string text = json::Write(ToJson(plan), {.indent = 2});
  // What we write, the next tool must read, and mean the same: a path that is not absolute or steps in a wrong order
  // stop here.
  Check(Decode(text) == plan, "a plan reads back as it was written");
  return text;
}

}  // namespace ck::plan
