// Item headers and byte objects.
#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "libs/base/text.h"
#include "libs/pickle/allowlist.h"
#include "libs/torchsave/read.h"
#include "libs/validate/checks.h"
#include "libs/zip/archive.h"

namespace ck::validate {
namespace {

constexpr size_t kBatch = 64;  // items that a thread takes at a time: neighbours in a file
constexpr size_t kGlobalsShown = 10;

struct ItemRef {
  const dcp::Tensor* tensor;
  const dcp::Chunk* chunk;
};

// In the order of the files, so that few of them are open at a time and reads ascend.
std::vector<ItemRef> ItemsToRead(const Checkpoint& checkpoint, uint64_t& compressed) {
  std::vector<ItemRef> out;
  for (const dcp::Tensor& tensor : checkpoint.tensors()) {
    for (const dcp::Chunk& chunk : tensor.chunks) {
      if (HasNoItem(chunk) || !IsThere(checkpoint, chunk.item)) continue;
      if (checkpoint.IsCompressed(chunk.item)) {
        ++compressed;
      } else {
        out.push_back({&tensor, &chunk});
      }
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const ItemRef& a, const ItemRef& b) {
    return std::tie(a.chunk->item.file, a.chunk->item.offset) < std::tie(b.chunk->item.file, b.chunk->item.offset);
  });
  return out;
}

class HeaderReader {
 public:
  HeaderReader(const Checkpoint& checkpoint, const std::vector<ItemRef>& items) : checkpoint_(checkpoint), items_(items) {}

  void Run(unsigned threads) {
    std::vector<std::thread> others;
    try {
      for (unsigned i = 1; i < threads && i * kBatch < items_.size(); ++i) others.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      // No more threads to be had: those that there are do the work.
    }
    Work();
    for (std::thread& thread : others) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    std::sort(faults_.begin(), faults_.end(), [](const Fault& a, const Fault& b) { return a.first < b.first; });
  }

  using Fault = std::pair<size_t, Error>;  // of which item
  const std::vector<Fault>& faults() const { return faults_; }

 private:
  void Work() {
    try {
      for (size_t begin = next_.fetch_add(kBatch); begin < items_.size(); begin = next_.fetch_add(kBatch)) {
        for (size_t i = begin; i < std::min(begin + kBatch, items_.size()); ++i) Look(i);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      next_.store(items_.size());
    }
  }

  void Look(size_t i) {
    try {
      checkpoint_.Locate(*items_[i].tensor, *items_[i].chunk);
    } catch (const Error& error) {
      if (error.code() != Code::kInput) throw;
      const std::lock_guard lock(mutex_);
      faults_.emplace_back(i, error);
    }
  }

  const Checkpoint& checkpoint_;
  const std::vector<ItemRef>& items_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  std::vector<Fault> faults_;
  std::exception_ptr failure_;
};

uint64_t BytesOfFiles(const Checkpoint& checkpoint) {
  uint64_t bytes = 0;
  for (const checkpoint::DataFile& file : checkpoint.files()) bytes += file.size_bytes.value_or(0);
  return bytes;
}

// Throws what is wrong with it.
void CheckObject(const Checkpoint& checkpoint, const dcp::Object& object, Findings& findings) {
  if (object.item.length > kMaxParsedObjectBytes) {
    zip::ReadArchive(*checkpoint.OpenItem(object.item));
    return;
  }
  const std::string bytes = checkpoint.ReadObject(object);
  const torchsave::SavedObject saved = torchsave::ReadObject(bytes::StringSource(bytes));
  CheckGlobals(saved.graph, object.name, findings);
}

}  // namespace

uint64_t CheckItemHeaders(const Checkpoint& checkpoint, unsigned threads, Findings& findings) {
  uint64_t compressed = 0;
  if (checkpoint.format() == checkpoint::Format::kSafetensors) return compressed;  // its items have no headers
  const std::vector<ItemRef> items = ItemsToRead(checkpoint, compressed);
  HeaderReader reader(checkpoint, items);
  reader.Run(threads);
  for (const auto& [i, error] : reader.faults()) findings.AddCaught(error, items[i].tensor->name);
  return compressed;
}

uint64_t CheckObjects(const Checkpoint& checkpoint, Findings& findings) {
  uint64_t compressed = 0;
  uint64_t budget_bytes = BytesOfFiles(checkpoint);
  for (const dcp::Object& object : checkpoint.objects()) {
    if (!IsThere(checkpoint, object.item) || checkpoint::IsCommonStateKey(object.name)) continue;
    if (checkpoint.IsCompressed(object.item)) {
      ++compressed;
      continue;
    }
    // Objects that do not overlap fit. With items.overlap reported, a hundred thousand names of the same bytes need not be read.
    if (object.item.length > budget_bytes) break;
    budget_bytes -= object.item.length;
    try {
      CheckObject(checkpoint, object, findings);
    } catch (const Error& error) {
      findings.AddCaught(error.At(Cat("the object ", Quote(object.name), " of ", Quote(checkpoint.files()[object.item.file].name))), object.name);
    }
  }
  return compressed;
}

void CheckGlobals(const pickle::Graph& graph, const std::string& where, Findings& findings) {
  std::vector<std::string> unknown, shown;
  for (const pickle::GlobalUse& use : pickle::ListGlobals(graph)) {
    if (use.known) continue;
    unknown.push_back(Cat(use.module, ".", use.name));
    if (shown.size() < kGlobalsShown) shown.push_back(Quote(unknown.back()));
  }
  if (unknown.empty()) return;
  if (shown.size() < unknown.size()) shown.push_back("...");
  findings.AddWarning("pickle.unknown_global",
                      Cat(Quote(where), " names ", unknown.size(), unknown.size() == 1 ? " class or function" : " classes or functions",
                          " that ck does not know, kept as data, never imported or called: ", Join(shown, ", ")),
                      {.where = where, .found = Join(unknown, ", ")});
}

}  // namespace ck::validate
