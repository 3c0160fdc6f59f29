#include "libs/run/identical.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/run/sources.h"
#include "libs/run/tile.h"

namespace ck::run {
namespace {

constexpr uint64_t kCompareBytes = uint64_t{256} << 10;

// The same tensor, taken from one input alone.
transform::View OnlyInput(const transform::View& view, const transform::Leaf& leaf, size_t term) {
  transform::View out;
  out.inputs = view.inputs;
  out.leaves = {{.name = leaf.name, .dtype = leaf.dtype, .shape = leaf.shape, .arithmetic = transform::Arithmetic::kCopy, .terms = {leaf.terms[term]}}};
  out.tensors = {{.name = leaf.name, .dtype = leaf.dtype, .shape = leaf.shape, .chunks = {Box::Whole(leaf.shape)}, .pieces = {transform::Piece::Whole(0, leaf.shape)}}};
  return out;
}

// The first element in which input `term` differs from input 0.
std::optional<uint64_t> FirstDifference(const transform::View& view, const transform::Leaf& leaf, size_t term) {
  const transform::View first = OnlyInput(view, leaf, 0), other = OnlyInput(view, leaf, term);
  const SourceFinder first_finder(first), other_finder(other);
  const Box whole = Box::Whole(leaf.shape);
  const uint64_t elements = Volume(leaf.shape).value_or(0), size = ElementSize(leaf.dtype), step = kCompareBytes / size;
  if (elements == 0) return std::nullopt;
  const ChunkSources first_sources = first_finder.Find(first.tensors[0], whole), other_sources = other_finder.Find(other.tensors[0], whole);
  std::string a(step * size, '\0'), b(step * size, '\0');
  TileScratch scratch;
  for (uint64_t begin = 0; begin < elements; begin += step) {
    const uint64_t end = std::min(elements, begin + step);
    ComputeTile(first.tensors[0], whole, first_sources, begin, end, scratch, a.data());
    ComputeTile(other.tensors[0], whole, other_sources, begin, end, scratch, b.data());
    if (std::memcmp(a.data(), b.data(), (end - begin) * size) == 0) continue;
    const auto at = std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin();
    return begin + static_cast<uint64_t>(at) / size;
  }
  return std::nullopt;
}

}  // namespace

void CheckIdentical(const transform::View& view) {
  std::vector<std::string> different;
  std::string first;
  for (const transform::Leaf& leaf : view.leaves) {
    if (leaf.arithmetic != transform::Arithmetic::kIdentical) continue;
    for (size_t term = 1; term < leaf.terms.size(); ++term) {
      const auto element = FirstDifference(view, leaf, term);
      if (!element) continue;
      different.push_back(Quote(leaf.name));
      if (first.empty()) {
        first = Cat("element ", *element, " of ", Quote(leaf.name), " differs between ", view.inputs[leaf.terms[0].input]->path(), " and ",
                    view.inputs[leaf.terms[term].input]->path());
      }
      break;
    }
  }
  if (different.empty()) return;
  throw InputError("merge.not_identical", Cat(different.size(), different.size() == 1 ? " tensor" : " tensors", " without an average not equal in all inputs: ", Join(different, ", "), "; ", first));
}

}  // namespace ck::run
