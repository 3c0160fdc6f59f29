// The stack of the pickle machine. A mark is a floor: values below the last one are out of reach.
#ifndef CK_PICKLE_STACK_H_
#define CK_PICKLE_STACK_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libs/pickle/cursor.h"
#include "libs/pickle/graph.h"

namespace ck::pickle {

class Stack {
 public:
  // `in` names the place of an error; it must outlive the stack. `max_depth` bounds values and marks together.
  Stack(const Cursor& in, uint64_t max_depth) : in_(in), max_depth_(max_depth) {}

  bool empty() const { return values_.empty() && marks_.empty(); }

  void Push(Ref ref) {
    CheckDepth();
    values_.push_back(ref);
  }

  Ref Top() const { return values_[Last(1)]; }

  Ref Pop() {
    const Ref ref = Top();
    values_.pop_back();
    return ref;
  }

  // The position of the last `count` values.
  size_t Last(size_t count) const {
    if (values_.size() - Floor() < count) [[unlikely]]
      in_.Fail("pickle.stack_underflow", "takes a value from an empty stack");
    return values_.size() - count;
  }

  void PushMark() {
    CheckDepth();
    marks_.push_back(values_.size());
  }

  // Takes the last mark away. Its values stay, from the position that is returned, until they are dropped.
  size_t PopMark() {
    if (marks_.empty()) [[unlikely]]
      in_.Fail("pickle.stack_underflow", "has no mark to go back to");
    const size_t first = marks_.back();
    marks_.pop_back();
    return first;
  }

  // A mark when one is on top, else a value.
  void PopAny() {
    if (!marks_.empty() && values_.size() == marks_.back()) {
      marks_.pop_back();
    } else {
      Pop();
    }
  }

  std::span<const Ref> From(size_t first) const { return std::span<const Ref>(values_).subspan(first); }
  void Drop(size_t first) { values_.resize(first); }

  // The value under position `first`: the container that the values above it go to.
  Ref Under(size_t first) const {
    if (first <= Floor()) [[unlikely]]
      in_.Fail("pickle.stack_underflow", "has no container under its values");
    return values_[first - 1];
  }

 private:
  size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }

  void CheckDepth() const {
    if (values_.size() + marks_.size() >= max_depth_) [[unlikely]]
      in_.TooMany("values on the stack", max_depth_);
  }

  const Cursor& in_;
  uint64_t max_depth_;
  std::vector<Ref> values_;
  std::vector<size_t> marks_;
};

}  // namespace ck::pickle

#endif  // CK_PICKLE_STACK_H_
