#include "libs/pipeline/source_checks.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/tensor/box.h"

namespace ck::pipeline {
namespace {

using checkpoint::Checkpoint;

[[noreturn]] void ThrowFault(const Checkpoint& input, const dcp::Tensor& tensor, const CoverageFault& fault) {
  const std::string what = Cat(input.path(), ": ", Quote(tensor.name), " ", FormatDims(tensor.shape));
  const std::string where = FormatBox(fault.where);
  switch (fault.kind) {
    case CoverageFault::Kind::kRank:
      throw InputError("coverage.rank", Cat(what, ": chunk ", where, " has not as many dimensions"));
    case CoverageFault::Kind::kOutOfRange:
      throw InputError("coverage.out_of_range", Cat(what, ": chunk ", where, " reaches outside"));
    case CoverageFault::Kind::kOverlap:
      throw InputError("coverage.overlap", Cat(what, ": two chunks hold ", where));
    case CoverageFault::Kind::kHole:
      break;
  }
  throw InputError("coverage.hole", Cat(what, ": no chunk holds ", where));
}

// The part of one data file that is read.
struct Need {
  uint64_t end_bytes = 0;
  uint64_t items = 0;  // that are not wholly there
  std::string key;     // of the first of them
};

class Needs {
 public:
  void Add(const Checkpoint& input, const std::string& key, const dcp::Item& item) {
    if (item.length == 0) return;  // a chunk without elements may have no item
    const uint64_t end = CheckedAdd(item.offset, item.length).value_or(UINT64_MAX);
    Need& need = needs_[{&input, item.file}];
    need.end_bytes = std::max(need.end_bytes, end);
    const auto& size = input.files()[item.file].size_bytes;
    if (size && end <= *size) return;
    if (need.items++ == 0) need.key = key;
  }

  std::vector<plan::Finding> Findings() const {
    std::vector<plan::Finding> out;
    for (const auto& [place, need] : needs_) {
      if (need.items > 0) out.push_back(FindingOf(*place.first, place.first->files()[place.second], need));
    }
    return out;
  }

 private:
  static plan::Finding FindingOf(const Checkpoint& input, const checkpoint::DataFile& file, const Need& need) {
    const std::string found = file.size_bytes ? Cat("has ", *file.size_bytes, " bytes") : "is missing";
    return {.id = file.size_bytes ? "checkpoint.short_file" : "checkpoint.missing_file",
            .severity = plan::Severity::kError,
            .message = Cat(input.path(), ": data file ", Quote(file.name), " ", found, ", the metadata needs ", need.end_bytes, " bytes; lost: ", need.items,
                           need.items == 1 ? " item, " : " items, the first of ", Quote(need.key)),
            .where = Cat(input.path(), "/", file.name),
            .found = found,
            .expected = Cat(need.end_bytes, " bytes"),
            .source = "the metadata"};
  }

  // By path, not by address: findings come in the same order in every run.
  struct Before {
    bool operator()(const std::pair<const Checkpoint*, uint32_t>& a, const std::pair<const Checkpoint*, uint32_t>& b) const {
      return std::pair(std::string_view(a.first->path()), a.second) < std::pair(std::string_view(b.first->path()), b.second);
    }
  };
  std::map<std::pair<const Checkpoint*, uint32_t>, Need, Before> needs_;
};

template <typename Visit>
void ForEachTensorRead(const transform::View& view, Visit visit) {
  for (const transform::Leaf& leaf : view.leaves) {
    for (const transform::Term& term : leaf.terms) {
      const Checkpoint& input = *view.inputs[term.input];
      if (const dcp::Tensor* tensor = input.FindTensor(leaf.name)) visit(input, *tensor);
    }
  }
}

}  // namespace

void CheckSourceCoverage(const transform::View& view) {
  // What was checked last. Equal layouts follow one another in a merge, and are checked once.
  Dims shape;
  std::vector<Box> checked;
  ForEachTensorRead(view, [&](const Checkpoint& input, const dcp::Tensor& tensor) {
    std::vector<Box> boxes;
    for (const dcp::Chunk& chunk : tensor.chunks) boxes.push_back(chunk.box);
    if (tensor.shape == shape && boxes == checked) return;
    const auto faults = CheckCoverage(tensor.shape, boxes, 1);
    if (!faults.empty()) ThrowFault(input, tensor, faults[0]);
    shape = tensor.shape;
    checked = std::move(boxes);
  });
}

std::vector<plan::Finding> CheckSourceFiles(const transform::View& view) {
  Needs needs;
  ForEachTensorRead(view, [&](const Checkpoint& input, const dcp::Tensor& tensor) {
    for (const dcp::Chunk& chunk : tensor.chunks) needs.Add(input, tensor.name, chunk.item);
  });
  for (const transform::Object& object : view.objects) {
    if (object.literal) continue;
    const Checkpoint& input = *view.inputs[object.input];
    if (const dcp::Object* source = input.FindObject(object.source_name)) needs.Add(input, source->name, source->item);
  }
  return needs.Findings();
}

}  // namespace ck::pipeline
