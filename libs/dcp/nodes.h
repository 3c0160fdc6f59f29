// What the decoder asks of a pickle's graph: instances of DCP's classes in all their spellings, attributes, dimensions.
//
// Errors.  dcp.bad_metadata, which says what was found and what was expected; the caller adds where (Error::At).
// Source.  docs/formats/dcp_metadata.md
#ifndef CK_DCP_NODES_H_
#define CK_DCP_NODES_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <span>
#include <utility>
#include <vector>

#include "libs/pickle/graph.h"
#include "libs/tensor/box.h"

namespace ck::dcp {

// A class of a `.metadata`, whichever module spells it.
enum class Class : uint8_t { kMetadata, kTensor, kObject, kChunk, kProperties, kIndex, kStorageInfo };
inline constexpr size_t kClasses = 7;

class Nodes {
 public:
  using Ref = pickle::Ref;
  using Entries = std::span<const pickle::Entry>;

  // `graph` must outlive this.
  explicit Nodes(const pickle::Graph& graph) : graph_(graph) { last_.fill(pickle::kNoRef); }

  const pickle::Graph& graph() const { return graph_; }

  // True for an object made by NEWOBJ of this class without arguments.
  bool IsInstance(Ref ref, Class which);
  void ExpectInstance(Ref ref, Class which);

  // The values of the attributes `names`, kNoRef where one is absent or None. Other attributes are noted.
  template <size_t kCount>
  std::array<Ref, kCount> Attributes(Ref object, Class which, const std::array<std::string_view, kCount>& names) {
    std::array<Ref, kCount> values;
    values.fill(pickle::kNoRef);
    ReadAttributes(object, which, names.data(), values.data(), kCount);
    return values;
  }

  // Entries of a dict or an OrderedDict. `what` names it in the message.
  Entries DictEntries(Ref ref, std::string_view what) const;
  // Items of a tuple or list.
  std::span<const Ref> SequenceItems(Ref ref, std::string_view what) const;
  std::string_view String(Ref ref, std::string_view what) const;
  // An integer from 0 to 2^63-1.
  uint64_t Count(Ref ref, std::string_view what) const;
  // A torch.Size, a tuple or a list of counts; at most kMaxRank of them. Replaces `dims`.
  void ReadDims(Ref ref, std::string_view what, Dims& dims);

  // "None", "a dict", "an object of 'torch.Size'": for messages. kNoRef is "nothing".
  std::string Describe(Ref ref) const;
  [[noreturn]] void Unexpected(Ref ref, std::string_view what, std::string_view expected) const;

  // Oddities worth a warning, each once, in the order found.
  void Note(std::string note);
  std::vector<std::string> TakeNotes() { return std::move(notes_); }

 private:
  void ReadAttributes(Ref object, Class which, const std::string_view* names, Ref* values, size_t count);
  void NoteAttribute(Class which, std::string_view name, Ref value);

  const pickle::Graph& graph_;
  std::array<Ref, kClasses> last_;  // the node that was last seen as each class: pickles share it through the memo
  Ref size_class_ = pickle::kNoRef;
  std::vector<std::string> notes_;
};

}  // namespace ck::dcp

#endif  // CK_DCP_NODES_H_
