#include "libs/plan/documents.h"

#include <algorithm>

#include "libs/plan/names.h"

namespace ck::plan {
namespace {

json::Object Document(std::string_view schema) { return json::Object().Set("schema", schema).Set("version", "1.0"); }

json::Value Text(const std::string& text) { return json::ToUtf8(text); }

json::Value Text(const std::optional<std::string>& text) { return text ? Text(*text) : json::Value(); }

json::Value Number(const std::optional<int64_t>& number) { return number ? json::Value(*number) : json::Value(); }

json::Value Dims(const std::vector<uint64_t>& dims) { return json::Array(dims.begin(), dims.end()); }

template <typename T, typename F>
json::Value List(const std::vector<T>& items, F to_value) {
  json::Array list;
  list.reserve(items.size());
  for (const T& item : items) list.emplace_back(to_value(item));
  return list;
}

json::Object ToObject(const ListedCheckpoint& c) {
  return json::Object()
      .Set("path", Text(c.path))
      .Set("iteration", Number(c.iteration))
      .Set("format", Text(c.format))
      .Set("state", NameOf(c.state))
      .Set("reason", Text(c.reason))
      .Set("bytes", c.bytes);
}

json::Object ToObject(const MetaChunk& c) {
  return json::Object().Set("offset", Dims(c.offset)).Set("shape", Dims(c.shape)).Set("file", Text(c.file));
}

json::Object ToObject(const MetaTensor& t) {
  json::Object object;
  object.Set("name", Text(t.name)).Set("dtype", Text(t.dtype)).Set("shape", Dims(t.shape)).Set("bytes", t.bytes);
  object.Set("chunks", t.chunks);
  if (t.chunk_list) object.Set("chunk_list", List(*t.chunk_list, [](const MetaChunk& c) { return ToObject(c); }));
  return object;
}

json::Object ToObject(const MetaObject& o) {
  return json::Object().Set("name", Text(o.name)).Set("bytes", o.bytes).Set("file", Text(o.file));
}

json::Object ToObject(const Totals& t) {
  return json::Object()
      .Set("tensors", t.tensors)
      .Set("elements", t.elements)
      .Set("bytes", t.bytes)
      .Set("objects", t.objects);
}

json::Object ToObject(const Finding& f) {
  return json::Object()
      .Set("id", Text(f.id))
      .Set("severity", NameOf(f.severity))
      .Set("message", Text(f.message))
      .Set("where", Text(f.where))
      .Set("found", Text(f.found))
      .Set("expected", Text(f.expected))
      .Set("source", Text(f.source));
}

json::Object ToObject(const Seconds& s) {
  return json::Object()
      .Set("discovery", s.discovery)
      .Set("load", s.load)
      .Set("accumulation", s.accumulation)
      .Set("save", s.save)
      .Set("total", s.total);
}

json::Value Iteration(const TargetIteration& target) {
  if (const int64_t* iteration = std::get_if<int64_t>(&target)) return *iteration;
  return std::holds_alternative<Release>(target) ? json::Value("release") : json::Value();
}

}  // namespace

std::string_view NameOf(MarkerState state) {
  switch (state) {
    case MarkerState::kCurrent: return "current";
    case MarkerState::kOlder: return "older";
    case MarkerState::kDangling: return "dangling";
    case MarkerState::kMalformed: return "malformed";
  }
  return "";
}

std::string_view NameOf(CheckpointState state) {
  switch (state) {
    case CheckpointState::kComplete: return "complete";
    case CheckpointState::kIncomplete: return "incomplete";
    case CheckpointState::kDamaged: return "damaged";
    case CheckpointState::kStaging: return "staging";
  }
  return "";
}

std::string_view NameOf(CommonForm form) {
  switch (form) {
    case CommonForm::kCommonPt: return "common.pt";
    case CommonForm::kEmbedded: return "embedded";
    case CommonForm::kNone: return "none";
  }
  return "";
}

std::string_view NameOf(Severity severity) { return severity == Severity::kError ? "error" : "warning"; }

json::Value ToJson(const Listing& listing) {
  json::Object root = Document("ck.listing");
  root.Set("root", Text(listing.root)).Set("marker", nullptr);
  if (listing.marker) {
    root.Set("marker",
             json::Object().Set("value", Text(listing.marker->value)).Set("state", NameOf(listing.marker->state)));
  }
  root.Set("checkpoints", List(listing.checkpoints, [](const ListedCheckpoint& c) { return ToObject(c); }));
  root.Set("strays", List(listing.strays, [](const std::string& path) { return Text(path); }));
  return root;
}

json::Value ToJson(const Meta& meta) {
  json::Object root = Document("ck.meta");
  root.Set("path", Text(meta.path)).Set("format", Text(meta.format)).Set("iteration", Number(meta.iteration));
  root.Set("tensors", List(meta.tensors, [](const MetaTensor& t) { return ToObject(t); }));
  root.Set("objects", List(meta.objects, [](const MetaObject& o) { return ToObject(o); }));
  root.Set("common", json::Object().Set("form", NameOf(meta.common_form)).Set("state", meta.common_state));
  root.Set("files", List(meta.files, [](const MetaFile& f) {
             return json::Object().Set("name", Text(f.name)).Set("bytes", f.bytes ? json::Value(*f.bytes) : json::Value());
           }));
  root.Set("totals", ToObject(meta.totals));
  return root;
}

json::Value ToJson(const CoefficientsDocument& document) {
  json::Object root = Document("ck.coefficients");
  root.Set("style", Text(document.style)).Set("seed", Text(document.seed));
  root.Set("weights", json::Array(document.weights.begin(), document.weights.end()));
  return root;
}

bool IsClean(const Report& report) {
  return std::none_of(report.findings.begin(), report.findings.end(),
                      [](const Finding& f) { return f.severity == Severity::kError; });
}

json::Value ToJson(const Report& report) {
  json::Object root = Document("ck.report");
  root.Set("clean", IsClean(report));
  root.Set("checked", List(report.checked, [](const Checked& c) {
             return json::Object().Set("what", Text(c.what)).Set("looked_at", c.looked_at).Set("note", Text(c.note));
           }));
  root.Set("findings", List(report.findings, [](const Finding& f) { return ToObject(f); }));
  return root;
}

json::Value ToJson(const Result& result) {
  json::Object root = Document("ck.result");
  root.Set("output", Text(result.output))
      .Set("iteration", Iteration(result.iteration))
      .Set("format", Name(result.format));
  root.Set("files", result.files).Set("averaged_tensors", result.averaged_tensors);
  root.Set("copied_extra_states", result.copied_extra_states);
  root.Set("left_out", List(result.left_out, [](const LeftOut& l) {
             return json::Object().Set("rule", Text(l.rule)).Set("count", l.count).Set("bytes", l.bytes);
           }));
  root.Set("bytes_read", result.bytes_read).Set("bytes_written", result.bytes_written);
  root.Set("seconds", ToObject(result.seconds));
  root.Set("peak_memory_bytes", Dims(result.peak_memory_bytes));
  return root;
}

}  // namespace ck::plan
