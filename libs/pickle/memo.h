// The memo of an unpickler: node by index. Indexes come from the file, so a far one must not make the table long.
#ifndef CK_PICKLE_MEMO_H_
#define CK_PICKLE_MEMO_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "libs/pickle/graph.h"

namespace ck::pickle {

class Memo {
 public:
  // Distinct indexes that are defined.
  uint64_t size() const { return size_; }

  // kNoRef when the index is not defined.
  Ref Get(uint64_t index) const {
    if (index < dense_.size()) return dense_[index];
    const auto found = sparse_.find(index);
    return found == sparse_.end() ? kNoRef : found->second;
  }

  void Put(uint64_t index, Ref ref) {
    if (index == dense_.size() && sparse_.empty()) {  // nearly always
      dense_.push_back(ref);
      ++size_;
      return;
    }
    const bool grows = index >= dense_.size() && index - dense_.size() < kMaxGap && sparse_.empty();
    if (grows) dense_.resize(index + 1, kNoRef);
    if (index < dense_.size()) {
      size_ += dense_[index] == kNoRef ? 1 : 0;
      dense_[index] = ref;
    } else {
      size_ += sparse_.insert_or_assign(index, ref).second ? 1 : 0;
    }
  }

 private:
  // Picklers count up from 0; a gap this small costs less than a hash table.
  static constexpr uint64_t kMaxGap = 64;

  std::vector<Ref> dense_;
  std::unordered_map<uint64_t, Ref> sparse_;
  uint64_t size_ = 0;
};

}  // namespace ck::pickle

#endif  // CK_PICKLE_MEMO_H_
