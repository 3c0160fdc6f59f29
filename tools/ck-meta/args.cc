#include "tools/ck-meta/args.h"

#include <algorithm>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/state_json.h"
#include "libs/cli/table.h"
#include "libs/json/value.h"
#include "libs/pickle/describe.h"

namespace ck::meta {
namespace {

constexpr std::string_view kArgs = "args";
constexpr size_t kMaxValueBytes = 1000;  // of one argument in the table

// The dict of the fields of a Namespace, or the dict that args themselves are; kNoRef when they are neither.
pickle::Ref FieldsOf(const State& args) {
  const auto kind = args.graph.kind(args.root);
  if (kind == pickle::Kind::kDict) return args.root;
  if (kind != pickle::Kind::kObject) return pickle::kNoRef;
  const pickle::Ref state = args.graph.state(args.root);
  return state != pickle::kNoRef && args.graph.kind(state) == pickle::Kind::kDict ? state : pickle::kNoRef;
}

}  // namespace

State TakeArgs(Contents& contents) {
  if (contents.common) {
    const pickle::Ref args = contents.common->graph.Find(contents.common->root, kArgs);
    if (args != pickle::kNoRef) return {.graph = std::move(contents.common->graph), .root = args};
  }
  const auto& objects = contents.meta.objects;
  if (std::any_of(objects.begin(), objects.end(), [](const plan::MetaObject& object) { return object.name == kArgs; }))
    return ReadState(contents, std::string(kArgs));
  throw InputError("meta.no_args",
                   "there are no training arguments: neither args in the common state nor an object 'args'");
}

std::string ArgsDocument(const State& args, const NameFilter& filter, cli::Diagnostics& diagnostics) {
  const pickle::Ref fields = FieldsOf(args);
  checkpoint::StateJson out = checkpoint::StateToJson(args.graph, fields == pickle::kNoRef ? args.root : fields);
  if (out.cut) diagnostics.Warn("meta.state_cut", "the arguments are larger than what is shown; parts read \"...\"");
  const json::Object* all = out.value.AsObject();
  if (!all || filter.empty()) return json::Write(out.value, {.indent = 2});
  json::Object matching;
  for (const auto& [name, value] : all->members()) {
    if (filter.Matches(name)) matching.Set(name, value);
  }
  return json::Write(matching, {.indent = 2});
}

std::string ArgsTable(const State& args, const NameFilter& filter) {
  cli::Table table({{"NAME"}, {"VALUE"}});
  const pickle::Ref fields = FieldsOf(args);
  if (fields == pickle::kNoRef) {
    table.AddRow({std::string(kArgs), pickle::Describe(args.graph, args.root, kMaxValueBytes)});
    return table.Text();
  }
  for (const auto& [key, value] : args.graph.entries(fields)) {
    const bool is_text = args.graph.kind(key) == pickle::Kind::kString;
    const std::string name =
        is_text ? std::string(args.graph.bytes(key)) : pickle::Describe(args.graph, key, kMaxValueBytes);
    if (filter.Matches(name)) table.AddRow({name, pickle::Describe(args.graph, value, kMaxValueBytes)});
  }
  return table.Text();
}

}  // namespace ck::meta
