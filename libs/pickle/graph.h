// Python objects as data: what a pickle says, never what it does.
//
// Model.   A Graph owns nodes; a Ref names one. Nodes form a graph with shared parts (pickle's memo), possibly with
// cycles. A
//          class or function is a kGlobal (module and name), a call is a kObject that holds the callable and its
//          arguments: nothing is ever imported or run.
// Identity Two places that refer to one Python object hold the same Ref. Writing keeps that.
// Strings  kString holds the bytes of the pickle: UTF-8, where Python allows lone surrogates (so not always valid
// UTF-8). Keys     Two dict keys are equal when they are the same node; strings, bytes or globals (by name) with equal
// content; numbers of equal
//          value (True is 1 is 1.0; a NaN equals only itself, a float never equals a kBigInt); tuples of equal keys (of
//          up to 64 nodes in all). Any other key, an object above all, equals only itself: whoever knows the class
//          compares.
// Views    Every view and span that a Graph returns is valid until the next change of that graph.
// Memory   16 bytes a node, 4 an item, 8 an entry, plus the text. At most 2^32 - 2 nodes, 2^32 - 1 items and as many
// entries;
//          text of one node below 4 GiB: beyond is Error(kInput, "pickle.limit_exceeded").
// Threads  A Graph is a value; const use is thread-safe. A moved-from Graph may only be assigned or destroyed.
// Source   docs/formats/pickle.md
#ifndef CK_PICKLE_GRAPH_H_
#define CK_PICKLE_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace ck::pickle {

using Ref = uint32_t;
inline constexpr Ref kNoRef = 0xFFFFFFFF;

enum class Kind : uint8_t {
  kNone,
  kBool,
  kInt,     // fits int64
  kBigInt,  // does not: bytes() is the little-endian two's complement form
  kFloat,
  kString,
  kBytes,  // bytes of protocol 3 and later (protocol 2 has a call of _codecs.encode; a bytearray is a call of
           // builtins.bytearray)
  kTuple,
  kList,
  kDict,
  kSet,
  kFrozenSet,
  kGlobal,  // module() and name()
  kObject,  // callable() called with args(): REDUCE, NEWOBJ or NEWOBJ_EX; maybe a BUILD state, list items, dict items
  kPersistent,  // a persistent id: args() is the id (a torch storage)
};

// How an object was made; decides what the writer emits.
enum class Form : uint8_t { kReduce, kNewObj, kNewObjEx };

// Key and value of a dict.
using Entry = std::pair<Ref, Ref>;

class Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Copies the nodes reachable from `root` of another graph into this one (sharing and cycles kept); returns the new
  // root.
  Ref Import(const Graph& other, Ref root);

  // Nodes made so far; refs are 0 to size() - 1.
  size_t size() const;
  // A hint that this many nodes are coming.
  void Reserve(size_t nodes);

  Kind kind(Ref ref) const;

  // Scalars. Precondition: the kind fits.
  bool AsBool(Ref ref) const;
  int64_t AsInt(Ref ref) const;
  double AsFloat(Ref ref) const;
  // Bytes of a kString, kBytes or kBigInt.
  std::string_view bytes(Ref ref) const;
  // Decimal text of a kInt or kBigInt.
  std::string IntText(Ref ref) const;

  // Items of a kTuple, kList, kSet, kFrozenSet (as written: equal ones are not merged); list items (APPEND) of a
  // kObject.
  std::span<const Ref> items(Ref ref) const;
  // Entries of a kDict; dict items (SETITEM) of a kObject, e.g. an OrderedDict. In insertion order; a repeated
  // key replaces the value, as in Python.
  std::span<const Entry> entries(Ref ref) const;

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
  // The attribute of an object whose BUILD state is a dict (argparse.Namespace and most classes) or a pair of two (the
  // second for
  // __slots__); kNoRef when absent.
  Ref Attribute(Ref object, std::string_view name) const;

  // Building. Refs given must exist. Each call makes a new node.
  Ref NewNone();
  Ref NewBool(bool value);
  Ref NewInt(int64_t value);
  // Two's complement; gives a kInt when the value fits.
  Ref NewBigInt(std::string_view little_endian);
  Ref NewFloat(double value);
  Ref NewString(std::string_view utf8);
  Ref NewBytes(std::string_view bytes);
  Ref NewTuple(std::span<const Ref> items);
  Ref NewTuple(std::initializer_list<Ref> items);
  Ref NewList(std::span<const Ref> items);
  Ref NewList(std::initializer_list<Ref> items);
  Ref NewDict();
  Ref NewSet(std::span<const Ref> items);
  Ref NewSet(std::initializer_list<Ref> items);
  Ref NewFrozenSet(std::span<const Ref> items);
  Ref NewFrozenSet(std::initializer_list<Ref> items);
  Ref NewGlobal(std::string_view module, std::string_view name);
  Ref NewObject(Form form, Ref callable, Ref args, Ref kwargs = kNoRef);
  Ref NewPersistent(Ref id);

  // Changing. An entry with an equal key gets the new value (its key and position stay), else the entry is appended.
  void DictSet(Ref dict, std::string_view key, Ref value);
  void AppendItem(Ref list_or_object, Ref item);
  void AppendEntry(Ref dict_or_object, Ref key, Ref value);
  // Removes the entry with this string key; false when there is none. Linear in the size of the dict.
  bool DictErase(Ref dict, std::string_view key);
  void SetState(Ref object, Ref state);
  // Precondition: the state is absent (a new dict is made) or a dict.
  void SetAttribute(Ref object, std::string_view name, Ref value);

 private:
  // Brings the hash table of a dict or object up to date with its entries.
  void IndexEntries(Ref dict_or_object);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ck::pickle

#endif  // CK_PICKLE_GRAPH_H_
