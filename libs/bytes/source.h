// Random access to bytes that may be too large for memory: a file, a slice of one, a decompressed item, a string.
// Format code takes a Source and so does no I/O of its own; tests give it strings.
#ifndef CK_BYTES_SOURCE_H_
#define CK_BYTES_SOURCE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace ck::bytes {

class Source {
 public:
  virtual ~Source() = default;

  virtual uint64_t size() const = 0;
  // Copies bytes [offset, offset + length) to `out`. Precondition: the range lies inside size(); a range outside is
  // Error(kInput, "bytes.out_of_range"). Thread-safe.
  virtual void ReadInto(uint64_t offset, uint64_t length, char* out) const = 0;
  // How messages name this source, e.g. the path.
  virtual std::string name() const = 0;

  // The bytes as a string. `limit` bounds the allocation; a longer request is Error(kInput, "bytes.too_long").
  std::string Read(uint64_t offset, uint64_t length, uint64_t limit) const;

 protected:
  void CheckRange(uint64_t offset, uint64_t length) const;
};

// Bytes in memory; the view must outlive the source.
class StringSource : public Source {
 public:
  explicit StringSource(std::string_view data, std::string name = "memory");
  uint64_t size() const override { return data_.size(); }
  void ReadInto(uint64_t offset, uint64_t length, char* out) const override;
  std::string name() const override { return name_; }

 private:
  std::string_view data_;
  std::string name_;
};

// The range [offset, offset + length) of another source, which must outlive it. Throws when the range does not fit.
class SliceSource : public Source {
 public:
  SliceSource(const Source& whole, uint64_t offset, uint64_t length);
  uint64_t size() const override { return length_; }
  void ReadInto(uint64_t offset, uint64_t length, char* out) const override;
  std::string name() const override { return whole_.name(); }

 private:
  const Source& whole_;
  uint64_t offset_;
  uint64_t length_;
};

}  // namespace ck::bytes

#endif  // CK_BYTES_SOURCE_H_
