#include "libs/compare/compare.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/compare/element.h"
#include "libs/run/sources.h"
#include "libs/run/tile.h"
#include "libs/transform/view.h"

namespace ck::compare {
namespace {

using checkpoint::Checkpoint;

// A tensor that both have, with the same shape. Indices into the two checkpoints' tensors.
struct Pair {
  size_t checked = 0;
  size_t reference = 0;
};

struct Differences {
  uint64_t count = 0;
  uint64_t first = 0;  // element, row-major
  std::string found, expected;
  std::optional<double> largest;  // of |a - b|, where both are numbers
  uint64_t largest_at = 0;
};

std::vector<uint64_t> IndexOf(const Dims& shape, uint64_t element) {
  std::vector<uint64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = element % shape[d];
    element /= shape[d];
  }
  return index;
}

plan::Finding MakeFinding(std::string id, plan::Severity severity, std::string message, const std::string& where, std::string found, std::string expected,
                          const std::string& reference) {
  return {.id = std::move(id), .severity = severity, .message = std::move(message), .where = where, .found = std::move(found), .expected = std::move(expected),
          .source = reference};
}

// Every tensor of one checkpoint as a result of its own, so that the engine's reading side can read any range of it.
transform::View ReadingView(const std::shared_ptr<const Checkpoint>& checkpoint) {
  transform::View view;
  view.inputs = {checkpoint};
  for (const dcp::Tensor& tensor : checkpoint->tensors()) {
    const auto leaf = static_cast<uint32_t>(view.leaves.size());
    view.leaves.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape, .arithmetic = transform::Arithmetic::kCopy, .terms = {{.input = 0, .weight = 1.0}}});
    view.tensors.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape, .chunks = {Box::Whole(tensor.shape)},
                            .pieces = {transform::Piece::Whole(leaf, tensor.shape)}});
  }
  return view;
}

class Side {
 public:
  explicit Side(const std::shared_ptr<const Checkpoint>& checkpoint) : stored_(checkpoint), name_(checkpoint->path()), view_(ReadingView(checkpoint)), finder_(view_) {}
  Side(transform::View view, std::string name) : name_(std::move(name)), view_(std::move(view)), finder_(view_) {}
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<transform::Tensor>& tensors() const { return view_.tensors; }  // sorted by name
  const transform::Tensor& tensor(size_t index) const { return view_.tensors[index]; }
  run::ChunkSources Find(size_t index) const { return finder_.Find(view_.tensors[index], Box::Whole(view_.tensors[index].shape)); }

  // The first part of the tensor that no chunk, or more than one, stores.
  std::optional<Box> NotCovered(size_t index) const {
    if (!stored_) return std::nullopt;
    const dcp::Tensor& tensor = stored_->tensors()[index];
    std::vector<Box> boxes;
    for (const dcp::Chunk& chunk : tensor.chunks) boxes.push_back(chunk.box);
    const auto faults = CheckCoverage(tensor.shape, boxes, 1);
    return faults.empty() ? std::nullopt : std::optional(faults[0].where);
  }

 private:
  std::shared_ptr<const Checkpoint> stored_;  // null for a view, whose sources were checked
  std::string name_;
  transform::View view_;
  run::SourceFinder finder_;
};

class Comparer {
 public:
  Comparer(const Side& checked, const Side& reference, const Options& options)
      : checked_(checked), reference_(reference), options_(options), exact_(options.atol == 0 && options.rtol == 0) {}

  Comparison Run() {
    PairTensors();
    differences_.resize(pairs_.size());
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < options_.threads; ++i) threads.emplace_back([this] { WorkGuarded(); });
    WorkGuarded();
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    for (size_t i = 0; i < pairs_.size(); ++i) Report(pairs_[i], differences_[i]);
    std::stable_sort(out_.findings.begin(), out_.findings.end(), [](const plan::Finding& a, const plan::Finding& b) { return a.where < b.where; });
    return std::move(out_);
  }

 private:
  void Add(const char* id, plan::Severity severity, std::string message, const std::string& where, std::string found, std::string expected) {
    out_.findings.push_back(MakeFinding(id, severity, std::move(message), where, std::move(found), std::move(expected), reference_.name()));
  }

  void PairTensors() {
    const auto &ours = checked_.tensors(), &theirs = reference_.tensors();
    size_t i = 0, j = 0;
    while (i < ours.size() || j < theirs.size()) {
      if (j == theirs.size() || (i < ours.size() && ours[i].name < theirs[j].name)) {
        Add("compare.extra_tensor", plan::Severity::kError, Cat("tensor ", Quote(ours[i].name), " is in ", checked_.name(), ", not in ", reference_.name()), ours[i].name,
            FormatDims(ours[i].FileShape()), "no such tensor");
        ++i;
      } else if (i == ours.size() || theirs[j].name < ours[i].name) {
        Add("compare.missing_tensor", plan::Severity::kError, Cat("tensor ", Quote(theirs[j].name), " is in ", reference_.name(), ", not in ", checked_.name()),
            theirs[j].name, "no such tensor", FormatDims(theirs[j].FileShape()));
        ++j;
      } else {
        ComparePair({.checked = i++, .reference = j++});
      }
    }
  }

  // Metadata of a tensor that both have; queues it when its values can be compared.
  void ComparePair(const Pair& pair) {
    const transform::Tensor &ours = checked_.tensors()[pair.checked], &theirs = reference_.tensors()[pair.reference];
    if (ours.FileShape() != theirs.FileShape()) {
      Add("compare.shape_differs", plan::Severity::kError,
          Cat("shape of ", Quote(ours.name), " differs: ", FormatDims(ours.FileShape()), " in ", checked_.name(), ", ", FormatDims(theirs.FileShape()), " in ", reference_.name()),
          ours.name, FormatDims(ours.FileShape()), FormatDims(theirs.FileShape()));
      return;
    }
    if (ours.dtype != theirs.dtype) {
      const bool both_numbers = IsNumber(ours.dtype) && IsNumber(theirs.dtype);
      const bool comparable = !exact_ && both_numbers;
      Add("compare.dtype_differs", comparable ? plan::Severity::kWarning : plan::Severity::kError,
          Cat("dtype of ", Quote(ours.name), " differs: ", Name(ours.dtype), " in ", checked_.name(), ", ", Name(theirs.dtype), " in ", reference_.name()), ours.name,
          std::string(Name(ours.dtype)), std::string(Name(theirs.dtype)));
      if (!comparable) return;
    }
    const bool ours_covered = CheckCovered(checked_, pair.checked), theirs_covered = CheckCovered(reference_, pair.reference);
    if (ours_covered && theirs_covered) pairs_.push_back(pair);
  }

  static bool IsNumber(DType dtype) {
    static constexpr char kZeros[16] = {};
    return ElementValue(dtype, kZeros).has_value();
  }

  bool CheckCovered(const Side& side, size_t index) {
    const auto fault = side.NotCovered(index);
    if (!fault) return true;
    const transform::Tensor& tensor = side.tensor(index);
    Add("compare.not_covered", plan::Severity::kError, Cat("the chunks of ", Quote(tensor.name), " in ", side.name(), " do not tile ", FormatDims(tensor.shape), " near ",
                                                           FormatBox(*fault)),
        tensor.name, FormatBox(*fault), FormatDims(tensor.shape));
    return false;
  }

  void WorkGuarded() {
    try {
      Work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      failed_.store(true, std::memory_order_relaxed);
    }
  }

  void Work() {
    run::TileScratch scratch;
    std::string ours, theirs;
    while (!failed_.load(std::memory_order_relaxed)) {
      const size_t number = next_.fetch_add(1, std::memory_order_relaxed);
      if (number >= pairs_.size()) return;
      CompareValues(pairs_[number], scratch, ours, theirs, differences_[number]);
    }
  }

  void CompareValues(const Pair& pair, run::TileScratch& scratch, std::string& ours, std::string& theirs, Differences& out) const {
    const transform::Tensor &a = checked_.tensor(pair.checked), &b = reference_.tensor(pair.reference);
    const uint64_t elements = Volume(a.shape).value_or(0), a_size = ElementSize(a.dtype), b_size = ElementSize(b.dtype);
    if (elements == 0) return;
    const run::ChunkSources a_sources = checked_.Find(pair.checked), b_sources = reference_.Find(pair.reference);
    const Box a_whole = Box::Whole(a.shape), b_whole = Box::Whole(b.shape);
    const uint64_t step = std::max<uint64_t>(1, options_.tile_bytes / std::max(a_size, b_size));
    for (uint64_t begin = 0; begin < elements && !failed_.load(std::memory_order_relaxed); begin += step) {
      if (options_.stop_requested && options_.stop_requested()) throw EnvironmentError("run.interrupted", "stopped by a signal");
      const uint64_t count = std::min(elements - begin, step);
      if (ours.size() < count * a_size) ours.resize(count * a_size);
      if (theirs.size() < count * b_size) theirs.resize(count * b_size);
      run::ComputeTile(a, a_whole, a_sources, begin, begin + count, scratch, ours.data());
      run::ComputeTile(b, b_whole, b_sources, begin, begin + count, scratch, theirs.data());
      if (options_.progress) options_.progress(count * (a_size + b_size));
      if (a.dtype == b.dtype && std::memcmp(ours.data(), theirs.data(), count * a_size) == 0) continue;
      for (uint64_t i = 0; i < count; ++i) CompareElement(a.dtype, ours.data() + i * a_size, b.dtype, theirs.data() + i * b_size, begin + i, out);
    }
  }

  void CompareElement(DType a_dtype, const char* a, DType b_dtype, const char* b, uint64_t element, Differences& out) const {
    if (a_dtype == b_dtype && std::memcmp(a, b, ElementSize(a_dtype)) == 0) return;
    const auto a_value = ElementValue(a_dtype, a), b_value = ElementValue(b_dtype, b);
    if (a_value && b_value && Near(*a_value, *b_value)) return;
    if (out.count++ == 0) {
      out.first = element;
      out.found = ElementText(a_dtype, a);
      out.expected = ElementText(b_dtype, b);
    }
    if (!a_value || !b_value) return;
    const double difference = std::fabs(*a_value - *b_value);
    if (std::isnan(difference) || (out.largest && difference <= *out.largest)) return;
    out.largest = difference;
    out.largest_at = element;
  }

  // For elements whose bits differ.
  bool Near(double a, double b) const {
    if (std::isnan(a) && std::isnan(b)) return options_.nan == NanPolicy::kAnyEqual;
    if (exact_) return false;
    if (a == b) return true;
    if (std::isinf(a) || std::isinf(b)) return false;
    return std::fabs(a - b) <= options_.atol + options_.rtol * std::fabs(b);
  }

  void Report(const Pair& pair, const Differences& differences) {
    const transform::Tensor& tensor = checked_.tensor(pair.checked);
    const uint64_t elements = Volume(tensor.shape).value_or(0);
    ++out_.tensors;
    out_.elements += elements;
    if (differences.count == 0) return;
    ++out_.different_tensors;
    out_.different_elements += differences.count;
    std::string message = Cat("values of ", Quote(tensor.name), " differ: ", differences.count, " of ", elements, " elements, first at ",
                              FormatDims(IndexOf(tensor.FileShape(), differences.first)), ": ", differences.found, " in ", checked_.name(), ", ", differences.expected, " in ",
                              reference_.name());
    if (differences.largest) {
      message += Cat("; largest difference ", FormatDouble(*differences.largest), " at ", FormatDims(IndexOf(tensor.FileShape(), differences.largest_at)));
    }
    Add("compare.values_differ", plan::Severity::kError, std::move(message), tensor.name, differences.found, differences.expected);
  }

  const Side& checked_;
  const Side& reference_;
  const Options& options_;
  bool exact_;
  std::vector<Pair> pairs_;
  std::vector<Differences> differences_;  // by pair
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
  Comparison out_;
};

void CheckTolerances(const Options& options) {
  for (const double tolerance : {options.atol, options.rtol}) {
    if (!(tolerance >= 0) || std::isinf(tolerance)) {
      throw UsageError("compare.bad_tolerance", Cat("a tolerance is a finite number from 0 up, not ", FormatDouble(tolerance)));
    }
  }
}

std::string Counted(uint64_t count, std::string_view noun) { return Cat(count, " ", noun, count == 1 ? "" : "s"); }

const Dims& FileShapeOf(const dcp::Tensor& tensor) { return tensor.shape; }
const Dims& FileShapeOf(const transform::Tensor& tensor) { return tensor.FileShape(); }

template <typename Tensors>
uint64_t BytesOfPairs(const Tensors& tensors, const Checkpoint& reference) {
  uint64_t total = 0;
  for (const auto& ours : tensors) {
    const dcp::Tensor* theirs = reference.FindTensor(ours.name);
    if (theirs == nullptr || theirs->shape != FileShapeOf(ours)) continue;
    total += Volume(ours.shape).value_or(0) * (ElementSize(ours.dtype) + ElementSize(theirs->dtype));
  }
  return total;
}

}  // namespace

Comparison Compare(const std::shared_ptr<const Checkpoint>& checked, const std::shared_ptr<const Checkpoint>& reference, const Options& options) {
  CheckTolerances(options);
  return Comparer(Side(checked), Side(reference), options).Run();
}

Comparison Compare(transform::View checked, std::string name, const std::shared_ptr<const Checkpoint>& reference, const Options& options) {
  CheckTolerances(options);
  return Comparer(Side(std::move(checked), std::move(name)), Side(reference), options).Run();
}

uint64_t BytesToCompare(const Checkpoint& checked, const Checkpoint& reference) { return BytesOfPairs(checked.tensors(), reference); }
uint64_t BytesToCompare(const transform::View& checked, const Checkpoint& reference) { return BytesOfPairs(checked.tensors, reference); }

plan::Report ReportOf(Comparison comparison, const Options& options) {
  const bool exact = options.atol == 0 && options.rtol == 0;
  const std::string how = exact ? "equal bits" : Cat("atol ", FormatDouble(options.atol), ", rtol ", FormatDouble(options.rtol));
  plan::Report out;
  out.checked = {{.what = "names, shapes and dtypes of tensors", .looked_at = true, .note = {}},
                 {.what = Cat("values: ", Counted(comparison.tensors, "tensor"), ", ", Counted(comparison.elements, "element"), ", ", how), .looked_at = true, .note = {}},
                 {.what = "byte objects and common state", .looked_at = false, .note = "a comparison is of tensors"}};
  out.findings = std::move(comparison.findings);
  return out;
}

}  // namespace ck::compare
