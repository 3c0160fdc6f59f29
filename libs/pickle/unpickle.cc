#include "libs/pickle/unpickle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/pickle/cursor.h"
#include "libs/pickle/int_text.h"
#include "libs/pickle/literal.h"
#include "libs/pickle/memo.h"
#include "libs/pickle/opcodes.h"
#include "libs/pickle/stack.h"

namespace ck::pickle {
namespace {

constexpr int kNewestProtocol = 5;
// Bytes of one integer. Random generators have 128 bits, the torch magic number 80; decimal text costs quadratic time.
constexpr size_t kMaxIntBytes = 4096;
// Digits of one decimal integer: those of kMaxIntBytes.
constexpr size_t kMaxIntDigits = kMaxIntBytes * 241 / 100;
// Nodes to reserve room for at most, from the length of the pickle alone: 256 MiB.
constexpr size_t kMaxReserve = size_t{1} << 24;

constexpr int kFirstSharedInt = -1;
constexpr int kLastSharedInt = 255;

class Machine {
 public:
  Machine(std::string_view data, PersistentIds persistent_ids, const Limits& limits)
      : in_(data), persistent_ids_(persistent_ids), limits_(limits), stack_(in_, limits.max_depth) {
    shared_ints_.fill(kNoRef);
  }

  Unpickled Run() {
    graph_.Reserve(std::min<size_t>(in_.remaining() / 4, kMaxReserve));
    none_ = graph_.NewNone();
    true_ = graph_.NewBool(true);
    false_ = graph_.NewBool(false);
    empty_tuple_ = graph_.NewTuple({});
    while (true) {
      const Op op = in_.NextOp();
      if (op == Op::kStop) break;
      Step(op);
      if (graph_.size() > limits_.max_nodes) TooMany("values", limits_.max_nodes);
    }
    const Ref root = Pop();
    if (!stack_.empty()) in_.Fail("pickle.bad_value", "ends with more than one value");
    return {.graph = std::move(graph_), .root = root, .bytes_used = in_.position(), .protocol = protocol_};
  }

 private:
  [[noreturn]] void Bad(std::string_view what) const { in_.Fail("pickle.bad_value", what); }

  [[noreturn]] void TooMany(std::string_view what, uint64_t limit) const { in_.TooMany(what, limit); }

  // Values below the last mark are out of reach. A function that takes the values above it gets the position of the
  // first.

  void Push(Ref ref) { stack_.Push(ref); }
  Ref Pop() { return stack_.Pop(); }
  Ref Top() const { return stack_.Top(); }
  size_t PopMark() { return stack_.PopMark(); }

  // Scalars.

  void PushInt(int64_t value) {
    if (value < kFirstSharedInt || value > kLastSharedInt) return Push(graph_.NewInt(value));
    Ref& shared = shared_ints_[static_cast<size_t>(value - kFirstSharedInt)];
    if (shared == kNoRef) shared = graph_.NewInt(value);
    Push(shared);
  }

  void PushLong(std::string_view little_endian) {
    if (little_endian.size() > kMaxIntBytes) TooMany("bytes in an integer", kMaxIntBytes);
    if (const std::optional<int64_t> value = ToInt64(little_endian)) return PushInt(*value);
    Push(graph_.NewBigInt(little_endian));
  }

  void PushDecimal(std::string_view text) {
    if (text.size() > kMaxIntDigits) TooMany("digits in an integer", kMaxIntDigits);
    const std::optional<std::string> value = TwosComplement(text);
    if (!value) Bad(Cat("has no integer but ", Quote(text)));
    PushLong(*value);
  }

  void PushIntText() {
    const std::string_view text = in_.Line();
    if (text == "01") return Push(true_);
    if (text == "00") return Push(false_);
    PushDecimal(text);
  }

  void PushLongText() {
    std::string_view text = in_.Line();
    if (EndsWith(text, "L")) text.remove_suffix(1);
    PushDecimal(text);
  }

  void PushFloatText() {
    const std::string_view text = in_.Line();
    const std::optional<double> value = ParseDouble(text);
    if (!value) Bad(Cat("has no number but ", Quote(text)));
    Push(graph_.NewFloat(*value));
  }

  void PushUtf8(std::string_view text) {
    if (!IsPythonUtf8(text)) Bad(Cat("has text that is not UTF-8: ", Quote(text, 40)));
    Push(graph_.NewString(text));
  }

  // A str of Python 2: text when it can be, else bytes.
  void PushOldString(std::string_view bytes) {
    Push(IsPythonUtf8(bytes) ? graph_.NewString(bytes) : graph_.NewBytes(bytes));
  }

  void PushStringLiteral() {
    const std::string_view line = in_.Line();
    const std::optional<std::string> bytes = UnescapeString(line);
    if (!bytes) Bad(Cat("has no string literal but ", Quote(line)));
    PushOldString(*bytes);
  }

  void PushUnicodeLiteral() {
    const std::string_view line = in_.Line();
    const std::optional<std::string> text = UnescapeUnicode(line);
    if (!text) Bad(Cat("has a broken escape in ", Quote(line)));
    PushUtf8(*text);
  }

  void PushByteArray(std::string_view bytes) {
    const Ref type = graph_.NewGlobal("builtins", "bytearray");
    const Ref content = graph_.NewBytes(bytes);
    Push(graph_.NewObject(Form::kReduce, type, graph_.NewTuple({content})));
  }

  // Containers.

  // Lists, dicts and sets cannot be dict keys or set items in Python.
  void CheckHashable(Ref ref) const {
    const Kind kind = graph_.kind(ref);
    if (kind == Kind::kList || kind == Kind::kDict || kind == Kind::kSet)
      Bad("has a list, dict or set as a dict key or set item");
  }

  // An object takes items and entries only until its state is set: the order in which the writer gives them back.
  void CheckTakes(Ref container, Kind kind) const {
    if (graph_.kind(container) == kind) return;
    if (graph_.kind(container) != Kind::kObject || kind == Kind::kSet) Bad("adds to a value that is no such container");
    if (graph_.state(container) != kNoRef) Bad("adds to an object after its state was set");
  }

  void PushTuple(size_t count) {
    std::array<Ref, 3> items{};
    for (size_t i = count; i-- > 0;) items[i] = Pop();
    Push(graph_.NewTuple(std::span<const Ref>(items).first(count)));
  }

  template <typename Make>
  void PushFromMark(Make make) {
    const size_t first = PopMark();
    const Ref made = make(stack_.From(first));
    stack_.Drop(first);
    Push(made);
  }

  Ref MakeFrozenSet(std::span<const Ref> items) {
    for (const Ref item : items) CheckHashable(item);
    return graph_.NewFrozenSet(items);
  }

  void AddItems(size_t first, Kind kind) {
    const Ref container = stack_.Under(first);
    CheckTakes(container, kind);
    for (const Ref item : stack_.From(first)) {
      if (kind == Kind::kSet) CheckHashable(item);
      graph_.AppendItem(container, item);
    }
    stack_.Drop(first);
  }

  void AddEntries(Ref dict, std::span<const Ref> keys_and_values) {
    CheckTakes(dict, Kind::kDict);
    if (keys_and_values.size() % 2 != 0) Bad("has a dict key without a value");
    for (size_t i = 0; i < keys_and_values.size(); i += 2) {
      CheckHashable(keys_and_values[i]);
      graph_.AppendEntry(dict, keys_and_values[i], keys_and_values[i + 1]);
    }
  }

  void SetItems(size_t first) {
    AddEntries(stack_.Under(first), stack_.From(first));
    stack_.Drop(first);
  }

  // Globals and objects.

  void PushGlobal(std::string_view module, std::string_view name) {
    // A line break would end the name in a GLOBAL opcode.
    const auto bad = [](std::string_view text) { return text.empty() || text.find('\n') != std::string_view::npos; };
    if (bad(module) || bad(name) || !IsPythonUtf8(module) || !IsPythonUtf8(name)) {
      Bad(Cat("names no class: module ", Quote(module), ", name ", Quote(name)));
    }
    Push(graph_.NewGlobal(module, name));
  }

  void GlobalFromLines() {
    const std::string_view module = in_.Line();
    PushGlobal(module, in_.Line());
  }

  void GlobalFromStack() {
    const Ref name = Pop();
    const Ref module = Pop();
    if (graph_.kind(name) != Kind::kString || graph_.kind(module) != Kind::kString)
      Bad("names a class by something else than text");
    // Copies: the views end when the graph grows.
    PushGlobal(std::string(graph_.bytes(module)), std::string(graph_.bytes(name)));
  }

  void MakeObject(Form form) {
    const Ref kwargs = form == Form::kNewObjEx ? Pop() : kNoRef;
    const Ref args = Pop();
    const Ref callable = Pop();
    if (kwargs != kNoRef && graph_.kind(kwargs) != Kind::kDict)
      Bad("makes an object with keyword arguments that are no dict");
    if (graph_.kind(args) != Kind::kTuple) Bad("makes an object with arguments that are no tuple");
    if (graph_.kind(callable) != Kind::kGlobal && graph_.kind(callable) != Kind::kObject)
      Bad("makes an object of no class");
    Push(graph_.NewObject(form, callable, args, kwargs));
  }

  void Build() {
    const Ref state = Pop();
    const Ref object = Top();
    if (graph_.kind(object) != Kind::kObject) Bad("sets the state of a value that is no object");
    if (graph_.state(object) != kNoRef) Bad("sets the state of one object twice");
    graph_.SetState(object, state);
  }

  void PushPersistent(Ref id) {
    if (persistent_ids_ == PersistentIds::kRefuse) {
      in_.Fail("pickle.persistent_id_refused",
               "refers to data outside of the pickle (a persistent id), which has none here");
    }
    Push(graph_.NewPersistent(id));
  }

  // The memo.

  void Put(uint64_t index) {
    memo_.Put(index, Top());
    if (memo_.size() > limits_.max_memo) TooMany("memo entries", limits_.max_memo);
  }

  void Get(uint64_t index) {
    const Ref ref = memo_.Get(index);
    if (ref == kNoRef) in_.Fail("pickle.memo_undefined", Cat("refers to memo entry ", index, ", which is not defined"));
    Push(ref);
  }

  uint64_t IndexFromLine() {
    const std::string_view text = in_.Line();
    const std::optional<uint64_t> index = ParseUint64(text);
    if (!index) Bad(Cat("has no memo index but ", Quote(text)));
    return *index;
  }

  void SetProtocol(int protocol) {
    if (protocol > kNewestProtocol) {
      in_.Fail("pickle.protocol_unsupported",
               Cat("is of protocol ", protocol, "; 0 to ", kNewestProtocol, " can be read"));
    }
    protocol_ = protocol;
  }

  void Step(Op op);

  Cursor in_;
  PersistentIds persistent_ids_;
  Limits limits_;
  Graph graph_;
  Stack stack_;
  Memo memo_;
  Ref none_ = kNoRef, true_ = kNoRef, false_ = kNoRef, empty_tuple_ = kNoRef;
  std::array<Ref, kLastSharedInt - kFirstSharedInt + 1> shared_ints_;
  int protocol_ = 0;
};

void Machine::Step(Op op) {
  switch (op) {
    case Op::kProto: return SetProtocol(in_.U8());
    case Op::kFrame: return in_.CheckFrame(in_.U64());
    case Op::kStop: return;
    case Op::kMark: return stack_.PushMark();
    case Op::kPop: return stack_.PopAny();
    case Op::kPopMark: return stack_.Drop(PopMark());
    case Op::kDup: return Push(Top());

    case Op::kNone: return Push(none_);
    case Op::kNewTrue: return Push(true_);
    case Op::kNewFalse: return Push(false_);
    case Op::kInt: return PushIntText();
    case Op::kLong: return PushLongText();
    case Op::kBinInt: return PushInt(static_cast<int32_t>(in_.U32()));
    case Op::kBinInt1: return PushInt(in_.U8());
    case Op::kBinInt2: return PushInt(in_.U16());
    case Op::kLong1: return PushLong(in_.Take(in_.U8()));
    case Op::kLong4: return PushLong(in_.Take(in_.U32()));
    case Op::kFloat: return PushFloatText();
    case Op::kBinFloat: return Push(graph_.NewFloat(std::bit_cast<double>(in_.BigEndianU64())));

    case Op::kString: return PushStringLiteral();
    case Op::kBinString: return PushOldString(in_.Take(in_.U32()));
    case Op::kShortBinString: return PushOldString(in_.Take(in_.U8()));
    case Op::kUnicode: return PushUnicodeLiteral();
    case Op::kShortBinUnicode: return PushUtf8(in_.Take(in_.U8()));
    case Op::kBinUnicode: return PushUtf8(in_.Take(in_.U32()));
    case Op::kBinUnicode8: return PushUtf8(in_.Take(in_.U64()));
    case Op::kShortBinBytes: return Push(graph_.NewBytes(in_.Take(in_.U8())));
    case Op::kBinBytes: return Push(graph_.NewBytes(in_.Take(in_.U32())));
    case Op::kBinBytes8: return Push(graph_.NewBytes(in_.Take(in_.U64())));
    case Op::kByteArray8: return PushByteArray(in_.Take(in_.U64()));

    case Op::kEmptyTuple: return Push(empty_tuple_);
    case Op::kTuple1: return PushTuple(1);
    case Op::kTuple2: return PushTuple(2);
    case Op::kTuple3: return PushTuple(3);
    case Op::kTuple:
      return PushFromMark([this](auto items) { return items.empty() ? empty_tuple_ : graph_.NewTuple(items); });
    case Op::kEmptyList: return Push(graph_.NewList({}));
    case Op::kList: return PushFromMark([this](auto items) { return graph_.NewList(items); });
    case Op::kAppend: return AddItems(stack_.Last(1), Kind::kList);
    case Op::kAppends: return AddItems(PopMark(), Kind::kList);
    case Op::kEmptyDict: return Push(graph_.NewDict());
    case Op::kDict:
      return PushFromMark([this](auto items) {
        const Ref dict = graph_.NewDict();
        AddEntries(dict, items);
        return dict;
      });
    case Op::kSetItem: return SetItems(stack_.Last(2));
    case Op::kSetItems: return SetItems(PopMark());
    case Op::kEmptySet: return Push(graph_.NewSet({}));
    case Op::kAddItems: return AddItems(PopMark(), Kind::kSet);
    case Op::kFrozenSet: return PushFromMark([this](auto items) { return MakeFrozenSet(items); });

    case Op::kGlobal: return GlobalFromLines();
    case Op::kStackGlobal: return GlobalFromStack();
    case Op::kReduce: return MakeObject(Form::kReduce);
    case Op::kNewObj: return MakeObject(Form::kNewObj);
    case Op::kNewObjEx: return MakeObject(Form::kNewObjEx);
    case Op::kBuild: return Build();
    case Op::kPersId: return PushPersistent(graph_.NewString(in_.Line()));
    case Op::kBinPersId: return PushPersistent(Pop());

    case Op::kMemoize: return Put(memo_.size());
    case Op::kPut: return Put(IndexFromLine());
    case Op::kBinPut: return Put(in_.U8());
    case Op::kLongBinPut: return Put(in_.U32());
    case Op::kGet: return Get(IndexFromLine());
    case Op::kBinGet: return Get(in_.U8());
    case Op::kLongBinGet: return Get(in_.U32());

    case Op::kInst: return in_.Unsupported("INST");
    case Op::kObj: return in_.Unsupported("OBJ");
    case Op::kExt1: return in_.Unsupported("EXT1");
    case Op::kExt2: return in_.Unsupported("EXT2");
    case Op::kExt4: return in_.Unsupported("EXT4");
    case Op::kNextBuffer: return in_.Unsupported("NEXT_BUFFER");
    case Op::kReadonlyBuffer: return in_.Unsupported("READONLY_BUFFER");
  }
  in_.Fail("pickle.opcode_unknown", "is no opcode of protocols 0 to 5");
}

}  // namespace

Unpickled Unpickle(std::string_view data, PersistentIds persistent_ids, const Limits& limits) {
  if (data.size() > limits.max_bytes) {
    throw InputError("pickle.limit_exceeded",
                     Cat("the pickle has ", data.size(), " bytes; the limit is ", limits.max_bytes));
  }
  return Machine(data, persistent_ids, limits).Run();
}

}  // namespace ck::pickle
