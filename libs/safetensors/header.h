// The header of a .safetensors file, and the index of a sharded model. Bytes in, structures out; no I/O.
//
// Trust.   Input is hostile. Strict: everything the Rust library rejects, and duplicate keys too.
// Errors.  safetensors.too_short, .header_too_long, .header_past_end, .bad_json, .duplicate_key, .unknown_dtype, .bad_shape, .bad_offsets, .size_mismatch,
//          .hole, .overlap, .truncated, .trailing_bytes, .bad_metadata; index: safetensors.bad_index, .duplicate_key, .unsafe_path (all kInput,
//          each naming the tensor where there is one). WriteHeader and WriteIndex throw the same ids for what the format cannot hold.
// Source.  docs/formats/safetensors.md
#ifndef CK_SAFETENSORS_HEADER_H_
#define CK_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libs/bytes/source.h"
#include "libs/tensor/box.h"
#include "libs/tensor/dtype.h"

namespace ck::safetensors {

inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the Rust library's own limit

struct Tensor {
  std::string name;
  DType dtype = DType::kF32;
  Dims shape;                // F4: in stored bytes, like torch (the file counts 4-bit values)
  uint64_t begin = 0;        // from the start of the file
  uint64_t end = 0;
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

struct Header {
  std::vector<Tensor> tensors;                    // sorted by name
  std::map<std::string, std::string> metadata;    // __metadata__
  uint64_t data_begin = 0;                        // 8 + N
};

Header ReadHeader(const bytes::Source& file);

// A header for these tensors in the order that the safetensors library writes (dtype descending, then name), offsets assigned in that order.
// `tensors`' begin and end are ignored on input. Returns the bytes up to the data, padded to 8, and sets `placed`: the tensors in file order with their offsets.
std::string WriteHeader(const std::vector<Tensor>& tensors, const std::map<std::string, std::string>& metadata, std::vector<Tensor>& placed);

struct Index {
  std::map<std::string, std::string> weight_map;  // tensor -> file name; every name is a plain one (no path)
  uint64_t total_size = 0;                        // 0 when absent
  uint64_t total_parameters = 0;                  // transformers 5 writes it; 0 when absent, and then not written
  friend bool operator==(const Index&, const Index&) = default;
};

inline constexpr uint64_t kMaxIndexBytes = 256 << 20;  // 23 MB indexes exist (many experts)

Index ReadIndex(std::string_view json);
std::string WriteIndex(const Index& index);  // as transformers does: indent 2, sorted keys, newline

}  // namespace ck::safetensors

#endif  // CK_SAFETENSORS_HEADER_H_
