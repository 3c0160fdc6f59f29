#include "tools/ck-meta/globals.h"

#include <algorithm>
#include <map>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/common_state.h"
#include "libs/cli/table.h"
#include "libs/json/value.h"
#include "libs/pickle/allowlist.h"

namespace ck::meta {
namespace {

class Collector {
 public:
  void Add(const std::string& name, const pickle::GlobalUse& use, const std::string& where) {
    Global& global = by_name_[name];
    global.name = name;
    global.known = global.places == 0 ? use.known : global.known && use.known;
    global.called = global.called || use.called;
    global.count += use.count;
    if (global.places++ < kMaxPlaces) global.where.push_back(where);
  }

  void AddGraph(const pickle::Graph& graph, const std::string& where) {
    for (const pickle::GlobalUse& use : pickle::ListGlobals(graph)) Add(Cat(use.module, ".", use.name), use, where);
  }

  std::vector<Global> Take() {
    std::vector<Global> out;
    for (auto& [name, global] : by_name_) out.push_back(std::move(global));
    std::stable_sort(out.begin(), out.end(), [](const Global& a, const Global& b) { return a.known < b.known; });
    return out;
  }

 private:
  std::map<std::string, Global> by_name_;
};

}  // namespace

std::vector<Global> FindGlobals(const Contents& contents, cli::Diagnostics& diagnostics) {
  Collector collector;
  pickle::GlobalUse of_metadata;
  of_metadata.count = 1;  // only that it is there is known
  for (const std::string& name : contents.unknown_globals) collector.Add(name, of_metadata, ".metadata");
  if (contents.common) collector.AddGraph(contents.common->graph, "common state");
  uint64_t unread = 0;
  for (const plan::MetaObject& object : contents.meta.objects) {
    const bool is_common =
        contents.meta.common_form == plan::CommonForm::kEmbedded && checkpoint::IsCommonStateKey(object.name);
    if (is_common && contents.common) continue;
    try {
      collector.AddGraph(ReadState(contents, object.name).graph, object.name);
    } catch (const Error& error) {
      if (error.code() == Code::kInternal) throw;
      if (++unread <= kMaxUnreadWarnings) diagnostics.Warn(error.id(), error.At(Quote(object.name)).message());
    }
  }
  if (unread > 0) {
    diagnostics.Warn("meta.unread_objects", Cat(unread, " of ", contents.meta.objects.size(),
                                                " objects could not be read; what they name is not in the list"));
  }
  return collector.Take();
}

std::string GlobalsDocument(const Contents& contents, const std::vector<Global>& globals) {
  json::Array list;
  for (const Global& global : globals) {
    json::Array where;
    for (const std::string& place : global.where) where.emplace_back(json::ToUtf8(place));
    list.emplace_back(json::Object()
                          .Set("name", json::ToUtf8(global.name))
                          .Set("known", global.known)
                          .Set("called", global.called)
                          .Set("count", global.count)
                          .Set("places", global.places)
                          .Set("where", std::move(where)));
  }
  json::Object document;
  document.Set("path", contents.meta.path ? json::Value(json::ToUtf8(*contents.meta.path)) : json::Value());
  document.Set("globals", std::move(list));
  return json::Write(document, {.indent = 2});
}

std::string GlobalsTable(const std::vector<Global>& globals) {
  cli::Table table({{"GLOBAL"}, {"KNOWN"}, {"CALLED"}, {"COUNT", cli::Align::kRight}, {"WHERE"}});
  uint64_t unknown = 0;
  for (const Global& global : globals) {
    unknown += global.known ? 0 : 1;
    std::string where = global.where[0];
    if (global.places > 1) where += Cat(" and ", global.places - 1, " more");
    table.AddRow({global.name, global.known ? "yes" : "no", global.called ? "yes" : "no", Cat(global.count), where});
  }
  return Cat(table.Text(), "\n", globals.size(), globals.size() == 1 ? " name, " : " names, ", unknown,
             " that ck does not know\n");
}

}  // namespace ck::meta
