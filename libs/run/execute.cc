#include "libs/run/execute.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/run/item_writer.h"
#include "libs/run/sources.h"

namespace ck::run {
namespace {

// Items in file order, split into units of work: a tile, or a whole item where its parts should be read in order by one thread.
class WorkList {
 public:
  struct Unit {
    bool is_object = false;
    size_t item = 0;  // index into Layout::objects or Layout::tensors
    uint64_t first_tile = 0;
    uint64_t tiles = 0;
  };

  WorkList(const transform::View& view, const Layout& layout, uint64_t tile_bytes) : objects_(layout.objects.size()) {
    unit_ends_.reserve(layout.tensors.size());
    uint64_t end = objects_;
    for (const TensorItem& item : layout.tensors) {
      const uint64_t tiles = TensorItemWriter::TileCount(view, item, tile_bytes);
      const bool serial = tiles > 1 && ReadsCompressed(view, view.tensors[item.tensor]);
      tiles_.push_back(tiles);
      end += serial ? 1 : tiles;
      unit_ends_.push_back(end);
    }
    size_ = end;
  }

  uint64_t size() const { return size_; }

  Unit At(uint64_t number) const {
    if (number < objects_) return {.is_object = true, .item = number, .first_tile = 0, .tiles = 0};
    const auto at = std::upper_bound(unit_ends_.begin(), unit_ends_.end(), number);
    const auto item = static_cast<size_t>(at - unit_ends_.begin());
    const uint64_t begin = item == 0 ? objects_ : unit_ends_[item - 1];
    const bool serial = *at - begin == 1;
    return {.is_object = false, .item = item, .first_tile = number - begin, .tiles = serial ? tiles_[item] : 1};
  }

 private:
  static bool ReadsCompressed(const transform::View& view, const transform::Tensor& tensor) {
    for (const transform::Piece& piece : tensor.pieces) {
      for (const transform::Term& term : view.leaves[piece.leaf].terms) {
        if (!view.inputs[term.input]->metadata().transforms.empty()) return true;
      }
    }
    return false;
  }

  uint64_t objects_;
  std::vector<uint64_t> unit_ends_;  // per tensor item: the number after its last unit
  std::vector<uint64_t> tiles_;
  uint64_t size_ = 0;
};

// The writers of the items that some thread has begun and no thread has finished.
class ItemsInFlight {
 public:
  using Make = std::function<std::unique_ptr<TensorItemWriter>()>;

  // The writer of an item, made by the first thread that asks; the others wait for it.
  std::shared_ptr<TensorItemWriter> Get(size_t item, const Make& make) {
    std::shared_ptr<Slot> slot;
    {
      const std::lock_guard lock(mutex_);
      std::shared_ptr<Slot>& held = slots_[item];
      if (!held) held = std::make_shared<Slot>();
      slot = held;
    }
    std::call_once(slot->once, [&] { slot->writer = make(); });
    return std::shared_ptr<TensorItemWriter>(slot, slot->writer.get());
  }

  void Drop(size_t item) {
    const std::lock_guard lock(mutex_);
    slots_.erase(item);
  }

 private:
  struct Slot {
    std::once_flag once;
    std::unique_ptr<TensorItemWriter> writer;
  };
  std::mutex mutex_;
  std::unordered_map<size_t, std::shared_ptr<Slot>> slots_;
};

// The output files: each is created when its first item comes up, and synced and closed by the thread that writes its last one. Work goes in file
// order, so few are open at a time whatever their number.
class OutputFiles {
 public:
  OutputFiles(const Layout& layout, const std::string& directory, fs::Durability durability)
      : layout_(layout), directory_(directory), durability_(durability), slots_(layout.files.size()) {
    for (const ObjectItem& item : layout.objects) ++slots_[item.file].items_left;
    for (const TensorItem& item : layout.tensors) ++slots_[item.file].items_left;
  }

  fs::OutputFile& Get(uint32_t file) {
    Slot& slot = slots_[file];
    std::call_once(slot.once, [&] {
      // A failure is kept: a thread that tried again would find the file there, and hide why there is none to write to.
      try {
        slot.file = fs::OutputFile::Create(fs::JoinPath(directory_, layout_.files[file].name));
        slot.file->Allocate(layout_.files[file].size_bytes);
        if (!layout_.files[file].header.empty()) slot.file->WriteAt(0, layout_.files[file].header);
      } catch (...) {
        slot.failure = std::current_exception();
      }
    });
    if (slot.failure) std::rethrow_exception(slot.failure);
    return *slot.file;
  }

  // Says that one item of the file is written.
  void ItemDone(uint32_t file) {
    Slot& slot = slots_[file];
    if (slot.items_left.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    if (durability_ == fs::Durability::kSync) slot.file->Sync();
    slot.file->Close();
    slot.file.reset();
  }

 private:
  struct Slot {
    std::once_flag once;
    std::unique_ptr<fs::OutputFile> file;
    std::exception_ptr failure;  // of making it
    std::atomic<uint64_t> items_left{0};
  };
  const Layout& layout_;
  const std::string& directory_;
  fs::Durability durability_;
  std::vector<Slot> slots_;
};

class Engine {
 public:
  Engine(const transform::View& view, const Layout& layout, const std::string& directory, const ExecuteOptions& options)
      : view_(view), layout_(layout), options_(options), finder_(view), work_(view, layout, options.tile_bytes), files_(layout, directory, options.durability) {}

  // Runs the threads to the end, adds up their times, and rethrows the first error. Where the system gives fewer threads than asked for (a limit on
  // processes or memory), those that started do the work: the output is the same.
  ExecuteStatistics Run() {
    std::vector<std::thread> threads;
    threads.reserve(options_.threads);
    try {
      for (unsigned i = 1; i < options_.threads; ++i) threads.emplace_back([this] { WorkGuarded(); });
    } catch (const std::system_error&) {
    }
    WorkGuarded();
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    return statistics_;
  }

 private:
  void WorkGuarded() {
    WorkerScratch scratch;
    scratch.durability = options_.durability;
    try {
      Work(scratch);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      failed_.store(true, std::memory_order_relaxed);
    }
    const std::lock_guard lock(mutex_);
    statistics_.load_seconds += scratch.tile.load_seconds;
    statistics_.load_seconds_of_input.resize(view_.inputs.size());
    for (size_t i = 0; i < scratch.tile.load_seconds_of_input.size(); ++i) statistics_.load_seconds_of_input[i] += scratch.tile.load_seconds_of_input[i];
    statistics_.accumulation_seconds += scratch.tile.accumulation_seconds;
    statistics_.save_seconds += scratch.save_seconds;
    statistics_.inexact_additions += scratch.tile.inexact_additions;
  }

  void Work(WorkerScratch& scratch) {
    while (!failed_.load(std::memory_order_relaxed)) {
      if (options_.stop_requested && options_.stop_requested()) throw EnvironmentError("run.interrupted", "stopped by a signal; nothing was published");
      const uint64_t number = next_unit_.fetch_add(1, std::memory_order_relaxed);
      if (number >= work_.size()) return;
      const WorkList::Unit unit = work_.At(number);
      if (unit.is_object) {
        WorkOnObject(layout_.objects[unit.item], scratch);
      } else {
        WorkOnTensor(unit, scratch);
      }
    }
  }

  void WorkOnObject(const ObjectItem& item, WorkerScratch& scratch) {
    WriteObjectItem(view_, item, files_.Get(item.file), scratch);
    FinishItem(item.file, scratch);
  }

  void WorkOnTensor(const WorkList::Unit& unit, WorkerScratch& scratch) {
    const TensorItem& item = layout_.tensors[unit.item];
    const auto writer = in_flight_.Get(unit.item, [&] { return std::make_unique<TensorItemWriter>(view_, finder_, item, options_.tile_bytes); });
    for (uint64_t tile = unit.first_tile; tile < unit.first_tile + unit.tiles; ++tile) {
      const bool last = writer->WriteTile(tile, files_.Get(item.file), scratch);
      Count(writer->TileBytes(tile));
      if (!last) continue;
      in_flight_.Drop(unit.item);
      FinishItem(item.file, scratch);
    }
  }

  void FinishItem(uint32_t file, WorkerScratch& scratch) {
    const auto start = std::chrono::steady_clock::now();
    files_.ItemDone(file);
    scratch.save_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  void Count(uint64_t bytes) {
    if (options_.progress) options_.progress(bytes);
  }

  const transform::View& view_;
  const Layout& layout_;
  const ExecuteOptions& options_;
  SourceFinder finder_;
  WorkList work_;
  ItemsInFlight in_flight_;
  OutputFiles files_;
  std::atomic<uint64_t> next_unit_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
  ExecuteStatistics statistics_;
};

}  // namespace

ExecuteStatistics Execute(const transform::View& view, const Layout& layout, const std::string& directory, const ExecuteOptions& options) {
  return Engine(view, layout, directory, options).Run();
}

}  // namespace ck::run
