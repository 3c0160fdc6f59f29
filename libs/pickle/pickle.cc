#include "libs/pickle/pickle.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/bytes/reader.h"
#include "libs/pickle/int_text.h"
#include "libs/pickle/literal.h"
#include "libs/pickle/opcodes.h"
#include "libs/pickle/references.h"

namespace ck::pickle {
namespace {

// Python's pickler writes containers in batches of this size.
constexpr size_t kBatch = 1000;
// Times that one tuple or call may be begun before the first of them is complete. Each nests inside the one before, so
// the output would grow with the square of the number; real cycles need two.
constexpr uint8_t kMaxOpen = 16;
constexpr uint32_t kNoMemo = std::numeric_limits<uint32_t>::max();

[[noreturn]] void Unwritable(std::string_view why) {
  throw InputError("pickle.unwritable", Cat("the object cannot be pickled: ", why));
}

struct Name {
  std::string_view module, name;
};

// Python 3 spells the names of Python 2, which its pickler still writes in protocol 2, differently from protocol 3 on.
// These are the ones that occur in pickles of PyTorch and Megatron.
Name Python3Name(Name old) {
  constexpr Name kRenamed[][2] = {
      {{"__builtin__", "long"}, {"builtins", "int"}},
      {{"__builtin__", "unicode"}, {"builtins", "str"}},
      {{"__builtin__", "xrange"}, {"builtins", "range"}},
  };
  for (const auto& [from, to] : kRenamed) {
    if (old.module == from.module && old.name == from.name) return to;
  }
  if (old.module == "__builtin__") return {"builtins", old.name};
  if (old.module == "copy_reg") return {"copyreg", old.name};
  return old;
}

// One thing to do; those of a node's parts wait on a stack, so that depth costs memory and no calls.
struct Task {
  enum class Kind : uint8_t { kWrite, kOp, kFinish };
  Kind kind;
  Op op;  // kOp: the opcode; kFinish: the opcode that makes the node
  Ref ref;
};

class Writer {
 public:
  Writer(const Graph& graph, Ref root, Protocol protocol)
      : graph_(graph), protocol_(protocol), references_(CountReferences(graph, root)), memo_(graph.size(), kNoMemo) {
    if (references_.immutable_cycle) open_.assign(graph.size(), 0);
    Put8(Op::kProto, static_cast<uint8_t>(protocol));
    Schedule(WriteTask(root));
    Flush();
    while (!tasks_.empty()) {
      const Task task = tasks_.back();
      tasks_.pop_back();
      Carry(task);
      Flush();
    }
    Put(Op::kStop);
  }

  std::string Take() { return std::move(out_); }

 private:
  static Task WriteTask(Ref ref) { return {Task::Kind::kWrite, Op::kStop, ref}; }
  static Task OpTask(Op op) { return {Task::Kind::kOp, op, kNoRef}; }
  static Task FinishTask(Op op, Ref ref) { return {Task::Kind::kFinish, op, ref}; }

  // Tasks are scheduled in the order in which they are to be done, before anything that waits already.
  void Schedule(Task task) { scheduled_.push_back(task); }
  void Flush() {
    tasks_.insert(tasks_.end(), scheduled_.rbegin(), scheduled_.rend());
    scheduled_.clear();
  }

  void Put(Op op) { out_.push_back(static_cast<char>(op)); }
  void Put8(Op op, uint8_t value) {
    Put(op);
    out_.push_back(static_cast<char>(value));
  }
  void Put32(Op op, uint32_t value) {
    Put(op);
    bytes::PutU32(out_, value);
  }

  void Carry(const Task& task) {
    if (task.kind == Task::Kind::kOp) return Put(task.op);
    if (task.kind == Task::Kind::kFinish) return Finish(task.op, task.ref);
    Write(task.ref);
  }

  // The memo.

  void Get(uint32_t index) {
    if (index < 256) return Put8(Op::kBinGet, static_cast<uint8_t>(index));
    Put32(Op::kLongBinGet, index);
  }

  uint32_t Memoize() {
    if (protocol_ == Protocol::k4) {
      Put(Op::kMemoize);
    } else if (memo_size_ < 256) {
      Put8(Op::kBinPut, static_cast<uint8_t>(memo_size_));
    } else {
      Put32(Op::kLongBinPut, memo_size_);
    }
    return memo_size_++;
  }

  void MemoizeIfShared(Ref ref) {
    if (references_.counts[ref] > 1 || references_.immutable_cycle) memo_[ref] = Memoize();
  }

  // Nodes.

  void Write(Ref ref) {
    if (memo_[ref] != kNoMemo) return Get(memo_[ref]);
    switch (graph_.kind(ref)) {
      case Kind::kNone: return Put(Op::kNone);
      case Kind::kBool: return Put(graph_.AsBool(ref) ? Op::kNewTrue : Op::kNewFalse);
      case Kind::kInt: return WriteInt(graph_.AsInt(ref));
      case Kind::kBigInt: return WriteLong(graph_.bytes(ref));
      case Kind::kFloat: return WriteFloat(graph_.AsFloat(ref));
      case Kind::kString: WriteText(graph_.bytes(ref)); return MemoizeIfShared(ref);
      case Kind::kBytes: WriteBytes(graph_.bytes(ref)); return MemoizeIfShared(ref);
      case Kind::kGlobal: return WriteGlobal(graph_.module(ref), graph_.name(ref));
      case Kind::kTuple: return WriteTuple(ref);
      case Kind::kList:
        Put(Op::kEmptyList);
        MemoizeIfShared(ref);
        return ScheduleItems(graph_.items(ref), Op::kAppends);
      case Kind::kDict:
        Put(Op::kEmptyDict);
        MemoizeIfShared(ref);
        return ScheduleEntries(graph_.entries(ref));
      case Kind::kSet: return WriteSet(ref);
      case Kind::kFrozenSet: return WriteFrozenSet(ref);
      case Kind::kObject: return WriteObject(ref);
      case Kind::kPersistent:
        Open(ref);
        Schedule(WriteTask(graph_.args(ref)));
        return Schedule(FinishTask(Op::kBinPersId, ref));
    }
  }

  void WriteInt(int64_t value) {
    if (value >= 0 && value < 256) return Put8(Op::kBinInt1, static_cast<uint8_t>(value));
    if (value >= 0 && value < 65536) {
      Put(Op::kBinInt2);
      return bytes::PutU16(out_, static_cast<uint16_t>(value));
    }
    const int32_t narrow = static_cast<int32_t>(value);
    if (narrow == value) return Put32(Op::kBinInt, static_cast<uint32_t>(narrow));
    WriteLong(FromInt64(value));
  }

  void WriteLong(std::string_view little_endian) {
    if (little_endian.size() < 256) {
      Put8(Op::kLong1, static_cast<uint8_t>(little_endian.size()));
    } else {
      Put32(Op::kLong4, static_cast<uint32_t>(little_endian.size()));
    }
    out_.append(little_endian);
  }

  void WriteFloat(double value) {
    Put(Op::kBinFloat);
    const uint64_t bits = std::bit_cast<uint64_t>(value);
    for (int shift = 56; shift >= 0; shift -= 8) out_.push_back(static_cast<char>(bits >> shift & 0xFF));
  }

  void WriteText(std::string_view text) {
    if (protocol_ == Protocol::k4 && text.size() < 256) {
      Put8(Op::kShortBinUnicode, static_cast<uint8_t>(text.size()));
    } else {
      Put32(Op::kBinUnicode, static_cast<uint32_t>(text.size()));
    }
    out_.append(text);
  }

  void WriteBytes(std::string_view bytes) {
    if (protocol_ == Protocol::k2) return WriteEncodedBytes(bytes);
    if (bytes.size() < 256) {
      Put8(Op::kShortBinBytes, static_cast<uint8_t>(bytes.size()));
    } else {
      Put32(Op::kBinBytes, static_cast<uint32_t>(bytes.size()));
    }
    out_.append(bytes);
  }

  void WriteEncodedBytes(std::string_view bytes) {
    if (bytes.size() >= uint64_t{1} << 31) Unwritable("bytes of 2 GiB and more do not fit protocol 2");
    WriteGlobal("_codecs", "encode");
    std::string text;
    for (const char byte : bytes) AppendCodePoint(text, static_cast<uint8_t>(byte));
    WriteText(text);
    if (latin1_memo_ == kNoMemo) {
      WriteText("latin1");
      latin1_memo_ = Memoize();
    } else {
      Get(latin1_memo_);
    }
    Put(Op::kTuple2);
    Put(Op::kReduce);
  }

  void WriteGlobal(std::string_view module, std::string_view name) {
    const auto [place, is_new] = global_memo_.try_emplace({module, name}, kNoMemo);
    if (!is_new) return Get(place->second);
    if (protocol_ == Protocol::k4) {
      const Name spelled = Python3Name({module, name});
      WriteText(spelled.module);
      WriteText(spelled.name);
      Put(Op::kStackGlobal);
    } else {
      Put(Op::kGlobal);
      out_.append(module).append("\n").append(name).append("\n");
    }
    place->second = Memoize();
  }

  void WriteTuple(Ref ref) {
    constexpr Op kOps[] = {Op::kEmptyTuple, Op::kTuple1, Op::kTuple2, Op::kTuple3};
    const auto items = graph_.items(ref);
    if (items.empty()) return Put(Op::kEmptyTuple);
    Open(ref);
    if (items.size() > 3) Put(Op::kMark);
    for (const Ref item : items) Schedule(WriteTask(item));
    Schedule(FinishTask(items.size() > 3 ? Op::kTuple : kOps[items.size()], ref));
  }

  void WriteSet(Ref ref) {
    if (protocol_ == Protocol::k2) return WriteSetCall(ref, "set");
    Put(Op::kEmptySet);
    MemoizeIfShared(ref);
    ScheduleItems(graph_.items(ref), Op::kAddItems);
  }

  void WriteFrozenSet(Ref ref) {
    if (protocol_ == Protocol::k2) return WriteSetCall(ref, "frozenset");
    Open(ref);
    Put(Op::kMark);
    for (const Ref item : graph_.items(ref)) Schedule(WriteTask(item));
    Schedule(FinishTask(Op::kFrozenSet, ref));
  }

  void WriteSetCall(Ref ref, std::string_view type) {
    Open(ref);
    WriteGlobal("__builtin__", type);
    Put(Op::kEmptyList);
    ScheduleItems(graph_.items(ref), Op::kAppends);
    Schedule(OpTask(Op::kTuple1));
    Schedule(FinishTask(Op::kReduce, ref));
  }

  void WriteObject(Ref ref) {
    Op op = Op::kReduce;
    if (graph_.form(ref) == Form::kNewObj) op = Op::kNewObj;
    if (graph_.form(ref) == Form::kNewObjEx) op = Op::kNewObjEx;
    if (op == Op::kNewObjEx && protocol_ == Protocol::k2) Unwritable("protocol 2 has no keyword arguments (NEWOBJ_EX)");
    Open(ref);
    Schedule(WriteTask(graph_.callable(ref)));
    Schedule(WriteTask(graph_.args(ref)));
    if (graph_.kwargs(ref) != kNoRef) Schedule(WriteTask(graph_.kwargs(ref)));
    Schedule(FinishTask(op, ref));
  }

  // Nodes that are made after their parts.

  void Open(Ref ref) {
    if (references_.immutable_cycle && ++open_[ref] > kMaxOpen)
      Unwritable("a tuple or call contains itself too many times");
  }

  // All parts are on the stack: makes the node. When a part has led back to the node, that inner one is complete and is
  // the one to keep.
  void Finish(Op op, Ref ref) {
    Put(op);
    if (references_.immutable_cycle) --open_[ref];
    if (memo_[ref] != kNoMemo) {
      Put(Op::kPop);
      return Get(memo_[ref]);
    }
    MemoizeIfShared(ref);
    if (graph_.kind(ref) != Kind::kObject) return;
    ScheduleItems(graph_.items(ref), Op::kAppends);
    ScheduleEntries(graph_.entries(ref));
    if (graph_.state(ref) == kNoRef) return;
    Schedule(WriteTask(graph_.state(ref)));
    Schedule(OpTask(Op::kBuild));
  }

  void ScheduleItems(std::span<const Ref> items, Op op) {
    while (!items.empty()) {
      const auto batch = items.first(std::min(items.size(), kBatch));
      items = items.subspan(batch.size());
      const bool single = batch.size() == 1 && op == Op::kAppends;
      if (!single) Schedule(OpTask(Op::kMark));
      for (const Ref item : batch) Schedule(WriteTask(item));
      Schedule(OpTask(single ? Op::kAppend : op));
    }
  }

  void ScheduleEntries(std::span<const Entry> entries) {
    while (!entries.empty()) {
      const auto batch = entries.first(std::min(entries.size(), kBatch));
      entries = entries.subspan(batch.size());
      if (batch.size() > 1) Schedule(OpTask(Op::kMark));
      for (const auto& [key, value] : batch) {
        Schedule(WriteTask(key));
        Schedule(WriteTask(value));
      }
      Schedule(OpTask(batch.size() > 1 ? Op::kSetItems : Op::kSetItem));
    }
  }

  const Graph& graph_;
  Protocol protocol_;
  References references_;
  std::string out_;
  std::vector<Task> tasks_;
  std::vector<Task> scheduled_;
  std::vector<uint32_t> memo_;  // by ref
  uint32_t memo_size_ = 0;
  std::map<std::pair<std::string_view, std::string_view>, uint32_t> global_memo_;
  uint32_t latin1_memo_ = kNoMemo;
  std::vector<uint8_t> open_;  // by ref: how often begun and not finished
};

}  // namespace

std::string Pickle(const Graph& graph, Ref root, Protocol protocol) {
  return Writer(graph, root, protocol).Take();
}

}  // namespace ck::pickle
