// Python objects as data: what a pickle says, never what it does.
//
// Model.   A Graph owns nodes; a Ref names one. Nodes form a graph with shared parts (pickle's memo), possibly with cycles. A
//          class or function is a kGlobal (module and name), a call is a kObject that holds the callable and its arguments:
//          nothing is ever imported or run.
// Identity Two places that refer to one Python object hold the same Ref. Writing keeps that.
// Strings  kString holds the bytes of the pickle: UTF-8, where Python allows lone surrogates (so not always valid UTF-8).
// Threads  A Graph is a value; const use is thread-safe.
// Source   docs/formats/pickle.md
#ifndef CK_PICKLE_GRAPH_H_
#define CK_PICKLE_GRAPH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ck::pickle {

using Ref = uint32_t;
inline constexpr Ref kNoRef = 0xFFFFFFFF;

enum class Kind : uint8_t {
  kNone,
  kBool,
  kInt,        // fits int64
  kBigInt,     // does not: bytes() is the little-endian two's complement form
  kFloat,
  kString,
  kBytes,      // bytes or bytearray (protocol 3 and later; protocol 2 writes a call of _codecs.encode)
  kTuple,
  kList,
  kDict,
  kSet,
  kFrozenSet,
  kGlobal,     // module() and name()
  kObject,     // callable() called with args(): REDUCE, NEWOBJ or NEWOBJ_EX; maybe a BUILD state, list items, dict items
  kPersistent, // a persistent id: args() is the id (a torch storage)
};

// How an object was made; decides what the writer emits.
enum class Form : uint8_t { kReduce, kNewObj, kNewObjEx };

class Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Copies nodes reachable from `root` of another graph into this one (sharing kept); returns the new root.
  Ref Import(const Graph& other, Ref root);

  size_t size() const;

  Kind kind(Ref ref) const;

  // Scalars. Precondition: the kind fits.
  bool AsBool(Ref ref) const;
  int64_t AsInt(Ref ref) const;
  double AsFloat(Ref ref) const;
  // Bytes of a kString, kBytes or kBigInt. Valid until the next change of the graph.
  std::string_view bytes(Ref ref) const;
  // Decimal text of a kInt or kBigInt.
  std::string IntText(Ref ref) const;

  // Items of a kTuple, kList, kSet, kFrozenSet; list items (APPEND) of a kObject.
  const std::vector<Ref>& items(Ref ref) const;
  // Entries of a kDict; dict items (SETITEM) of a kObject, e.g. an OrderedDict. In insertion order; a repeated key replaces, as in Python.
  const std::vector<std::pair<Ref, Ref>>& entries(Ref ref) const;

  // kGlobal.
  std::string_view module(Ref ref) const;
  std::string_view name(Ref ref) const;
  // True for a kGlobal with this module and name.
  bool IsGlobal(Ref ref, std::string_view module, std::string_view name) const;

  // kObject.
  Form form(Ref ref) const;
  Ref callable(Ref ref) const;
  Ref args(Ref ref) const;    // a kTuple (kObject) or the id (kPersistent)
  Ref kwargs(Ref ref) const;  // NEWOBJ_EX only, else kNoRef
  Ref state(Ref ref) const;   // the BUILD argument, kNoRef when there was none
  // True for a kObject whose callable is this global.
  bool IsCall(Ref ref, std::string_view module, std::string_view name) const;

  // The value under a string key of a kDict (or of the dict items of a kObject); kNoRef when absent.
  Ref Find(Ref dict, std::string_view key) const;
  // The attribute of an object whose BUILD state is a dict (argparse.Namespace and most classes); kNoRef when absent.
  Ref Attribute(Ref object, std::string_view name) const;

  // Building. Refs given must exist. Each call makes a new node.
  Ref NewNone();
  Ref NewBool(bool value);
  Ref NewInt(int64_t value);
  Ref NewBigInt(std::string_view little_endian);
  Ref NewFloat(double value);
  Ref NewString(std::string_view utf8);
  Ref NewBytes(std::string_view bytes);
  Ref NewTuple(std::vector<Ref> items);
  Ref NewList(std::vector<Ref> items);
  Ref NewDict();
  Ref NewSet(std::vector<Ref> items);
  Ref NewFrozenSet(std::vector<Ref> items);
  Ref NewGlobal(std::string_view module, std::string_view name);
  Ref NewObject(Form form, Ref callable, Ref args, Ref kwargs = kNoRef);
  Ref NewPersistent(Ref id);

  // Changing. A dict entry with an equal string or int key is replaced in place (its position stays), else appended.
  void DictSet(Ref dict, std::string_view key, Ref value);
  void AppendItem(Ref list_or_object, Ref item);
  void AppendEntry(Ref dict_or_object, Ref key, Ref value);
  // Removes the entry with this string key; false when there is none.
  bool DictErase(Ref dict, std::string_view key);
  void SetState(Ref object, Ref state);
  void SetAttribute(Ref object, std::string_view name, Ref value);

 private:
  struct Impl;
  Impl* impl_;
};

}  // namespace ck::pickle

#endif  // CK_PICKLE_GRAPH_H_
