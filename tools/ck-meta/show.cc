#include "tools/ck-meta/show.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/common_state.h"
#include "libs/checkpoint/state_json.h"
#include "libs/cli/printable.h"
#include "libs/cli/table.h"
#include "libs/json/value.h"
#include "libs/megatron/keys.h"
#include "libs/pickle/describe.h"

namespace ck::meta {
namespace {

using megatron::KeyClass;

// "1 tensor", "3 tensors".
std::string Count(uint64_t count, std::string_view one) { return Cat(count, " ", one, count == 1 ? "" : "s"); }

std::string CountOf(uint64_t count, uint64_t all, std::string_view one) {
  return count == all ? Count(count, one) : Cat(count, " of ", Count(all, one));
}

// One line for a value of the state; the arguments, which are hundreds, by their number.
std::string Summary(std::string_view name, const pickle::Graph& graph, pickle::Ref ref) {
  const bool object = graph.kind(ref) == pickle::Kind::kObject;
  const pickle::Ref state = object ? graph.state(ref) : pickle::kNoRef;
  if (name == "args" && state != pickle::kNoRef && graph.kind(state) == pickle::Kind::kDict)
    return Cat("Namespace of ", Count(graph.entries(state).size(), "argument"), " (--args shows them)");
  return pickle::Describe(graph, ref, kMaxCellBytes);
}

// Megatron's byte items are lists of one.
pickle::Ref Unlisted(const State& state) {
  const bool one = state.graph.kind(state.root) == pickle::Kind::kList && state.graph.items(state.root).size() == 1;
  return one ? state.graph.items(state.root)[0] : state.root;
}

bool ListsEveryObject(const Options& options) { return options.every_object || !options.filter.include.empty(); }

// What a table only counts, because there is too much of the same: by class, in place of rows.
class Collapsed {
 public:
  explicit Collapsed(std::string_view one) : one_(one) {}

  void Add(KeyClass key_class, uint64_t size_bytes) {
    Sum& sum = sums_[key_class];
    ++sum.count;
    sum.size_bytes += size_bytes;
  }

  std::string Text() const {
    std::string out;
    for (const auto& [key_class, sum] : sums_) {
      const std::string_view what = key_class == KeyClass::kExtraState ? "_extra_state" : megatron::Name(key_class);
      out += Cat("and ", Count(sum.count, Cat(what, " ", one_)), ", ", FormatBytes(sum.size_bytes),
                 " (--objects lists them)\n");
    }
    return out;
  }

 private:
  struct Sum {
    uint64_t count = 0;
    uint64_t size_bytes = 0;
  };
  std::string_view one_;
  std::map<KeyClass, Sum> sums_;
};

std::string Heading(const Contents& contents) {
  const plan::Meta& meta = contents.meta;
  std::string out = meta.path ? Cat(cli::Printable(*meta.path), "\n") : "the result of the plan would hold:\n";
  out += Cat("format ", meta.format);
  if (meta.iteration) out += Cat(", iteration ", *meta.iteration);
  out += "\n";
  const std::string wrapper = DescribeWrapper(meta);
  return wrapper.empty() ? out : Cat(out, wrapper, "\n");
}

std::string TensorTable(const plan::Meta& meta, const Options& options) {
  if (meta.tensors.empty()) return "";
  const bool chunks = options.chunk_lists == ChunkLists::kYes;
  std::vector<cli::Column> columns = {
      {"TENSOR"}, {"DTYPE"}, {"SHAPE"}, {"CHUNKS", cli::Align::kRight}, {"SIZE", cli::Align::kRight}};
  if (chunks) columns.push_back({"FILE"});
  cli::Table table(std::move(columns));
  Collapsed collapsed("tensor");
  for (const plan::MetaTensor& tensor : meta.tensors) {
    const KeyClass key_class = megatron::Classify(tensor.name);
    if (key_class == KeyClass::kExtraState && !ListsEveryObject(options)) {
      collapsed.Add(key_class, tensor.bytes);
      continue;
    }
    std::vector<std::string> row = {tensor.name, tensor.dtype, FormatDims(tensor.shape), Cat(tensor.chunks),
                                    FormatBytes(tensor.bytes)};
    if (chunks) row.emplace_back();
    table.AddRow(std::move(row));
    if (!tensor.chunk_list) continue;
    for (const plan::MetaChunk& chunk : *tensor.chunk_list)
      table.AddRow(
          {Cat("  at ", FormatDims(chunk.offset)), "", FormatDims(chunk.shape), "", "", chunk.file.value_or("-")});
  }
  return Cat("\n", table.Text(), collapsed.Text());
}

// The value of an object for its row, "" when there is no room for it; a text in '<>' when it cannot be read.
std::string ValueCell(const Contents& contents, const plan::MetaObject& object, size_t& values_left) {
  if (checkpoint::IsCommonStateKey(object.name) && contents.common) return "(below)";
  if (values_left == 0 || object.bytes > kMaxShownObjectBytes) return "";
  --values_left;
  try {
    const State state = ReadState(contents, object.name);
    return Summary(object.name, state.graph, Unlisted(state));
  } catch (const Error& error) {
    if (error.code() == Code::kInternal) throw;
    return Cat("<not readable: ", error.id(), ">");
  }
}

std::string ObjectTable(const Contents& contents, const Options& options) {
  if (contents.meta.objects.empty()) return "";
  cli::Table table({{"OBJECT"}, {"SIZE", cli::Align::kRight}, {"FILE"}, {"VALUE"}});
  Collapsed collapsed("object");
  size_t values_left = kMaxShownValues, rows = 0;
  for (const plan::MetaObject& object : contents.meta.objects) {
    const KeyClass key_class = megatron::Classify(object.name);
    const bool many = key_class == KeyClass::kExtraState || key_class == KeyClass::kOptimizer;
    if (many && !ListsEveryObject(options)) {
      collapsed.Add(key_class, object.bytes);
      continue;
    }
    ++rows;
    table.AddRow({object.name, FormatBytes(object.bytes), object.file.value_or("-"),
                  ValueCell(contents, object, values_left)});
  }
  return Cat("\n", rows > 0 ? table.Text() : "", collapsed.Text());
}

std::string CommonTable(const Contents& contents) {
  if (!contents.common) return "";
  cli::Table table({{"COMMON STATE"}, {"VALUE"}});
  const pickle::Graph& graph = contents.common->graph;
  for (const auto& [key, value] : graph.entries(contents.common->root)) {
    const bool is_text = graph.kind(key) == pickle::Kind::kString;
    const std::string name = is_text ? std::string(graph.bytes(key)) : pickle::Describe(graph, key, kMaxCellBytes);
    table.AddRow({name, Summary(name, graph, value)});
  }
  return Cat("\n", table.Text());
}

std::string_view Text(File::Kind kind) {
  switch (kind) {
    case File::Kind::kData: return "data";
    case File::Kind::kMetadata: return "metadata";
    case File::Kind::kCommonState: return "common state";
    case File::Kind::kSidecar: break;
  }
  return "sidecar";
}

std::string FileTable(const Contents& contents) {
  cli::Table table({{"FILE"}, {"SIZE", cli::Align::kRight}, {"HOLDS"}});
  for (const File& file : contents.files) {
    const bool directory = EndsWith(file.name, "/");
    table.AddRow({file.name, !file.size_bytes ? "missing" : directory ? "-" : FormatBytes(*file.size_bytes),
                  std::string(Text(file.kind))});
  }
  return Cat("\n", table.Text());
}

std::string TotalsLine(const Contents& contents) {
  const plan::Totals totals = TotalsOf(contents.meta);
  uint64_t file_bytes = 0, missing = 0;
  for (const File& file : contents.files) {
    file_bytes += file.size_bytes.value_or(0);
    missing += file.size_bytes ? 0 : 1;
  }
  return Cat("\n", CountOf(totals.tensors, contents.all_tensors, "tensor"), " with ", Count(totals.elements, "element"),
             " (", FormatBytes(totals.bytes), "), ", CountOf(totals.objects, contents.all_objects, "object"), ", ",
             Count(contents.files.size() - missing, "file"), " (", FormatBytes(file_bytes), ")",
             missing > 0 ? Cat(", ", missing, " missing") : "", "\n");
}

}  // namespace

std::string ContentsDocument(Contents contents, cli::Diagnostics& diagnostics) {
  plan::Meta& meta = contents.meta;
  if (contents.common) {
    checkpoint::StateJson state = checkpoint::StateToJson(contents.common->graph, contents.common->root);
    if (state.cut)
      diagnostics.Warn("meta.state_cut", "the common state is larger than what is shown; parts read \"...\"");
    meta.common_state = std::move(state.value);
  }
  for (const File& file : contents.files) meta.files.push_back({.name = file.name, .bytes = file.size_bytes});
  meta.totals = TotalsOf(meta);
  return json::Write(plan::ToJson(meta), {.indent = 2});
}

std::string ContentsTable(const Contents& contents, const Options& options) {
  return Cat(Heading(contents), TensorTable(contents.meta, options), ObjectTable(contents, options),
             CommonTable(contents), FileTable(contents), TotalsLine(contents));
}

}  // namespace ck::meta
