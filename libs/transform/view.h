// What a checkpoint would hold, described by where its elements come from. The one thing that transforms make and the engine carries out.
//
// Model.   A View is a set of tensors, each cut into chunks and made of pieces. A piece is a box of the result and an affine map into one
//          leaf; a leaf is a tensor of the inputs, either copied from one of them or summed over several with weights. A merge is a view with one
//          whole-tensor piece per tensor; retarget and split will substitute such views into one another (an affine map of an affine map is one).
// Purity.  No I/O, no bytes of tensors. Transforms take views and give views.
#ifndef CK_TRANSFORM_VIEW_H_
#define CK_TRANSFORM_VIEW_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/checkpoint/checkpoint.h"
#include "libs/megatron/common_document.h"
#include "libs/plan/documents.h"
#include "libs/tensor/box.h"
#include "libs/tensor/dtype.h"

namespace ck::transform {

// One input's share of a leaf. `input` indexes View::inputs.
struct Term {
  uint32_t input = 0;
  double weight = 1.0;
};

enum class Arithmetic {
  kCopy,         // one term; the bytes as they are (a cast only when the result's dtype differs)
  kIdentical,    // all terms hold the same bytes, which is checked before the first output byte; then a copy of the first
  kWeightedSum,  // all terms, in order, accumulated and rounded once (docs/arithmetic.md)
  kFill,         // no term: values that no input has, each a function of Leaf::fill, the leaf's name and the element's row-major index alone
};

// The values of a leaf of arithmetic kFill. U is uniform in [0, 1), of the element (libs/kernels/fill.h; the stream is the leaf's name).
struct Fill {
  enum class Kind {
    kConstant,    // low
    kUniform,     // low + (high - low) * U
    kLogUniform,  // log(low + (high - low) * U)
    // The x with softplus(x) = dt, where dt = max(exp(log(low) + (log(high) - log(low)) * U), floor): a Mamba layer's dt_bias.
    kInverseSoftplus,
  };
  Kind kind = Kind::kConstant;
  double low = 0;
  double high = 0;
  double floor = 0;
  uint64_t seed = 0;
};

// A tensor of the inputs, under one name in all of them; or one that no input has (kFill).
struct Leaf {
  std::string name;  // kFill: of the random stream
  DType dtype = DType::kF32;
  Dims shape;
  Arithmetic arithmetic = Arithmetic::kCopy;
  std::vector<Term> terms;  // no term of weight 0: such an input is not read; none for kFill
  Fill fill = {};           // for kFill; the result's dtype is then the leaf's
};

// How one dimension of the leaf is indexed: source_offset + step * (index in the target box along result_axis), or source_offset alone.
struct SourceAxis {
  static constexpr int32_t kFixed = -1;
  int32_t result_axis = kFixed;
  uint64_t step = 1;
};

struct Piece {
  Box target;                    // of the result tensor
  uint32_t leaf = 0;             // index into View::leaves
  Dims source_offset;            // the leaf's index at target.offset; one per leaf dimension
  std::vector<SourceAxis> axes;  // one per leaf dimension

  // The piece that is the leaf itself.
  static Piece Whole(uint32_t leaf, const Dims& shape);
};

struct Tensor {
  std::string name;
  DType dtype = DType::kF32;
  Dims shape;
  std::vector<Box> chunks;    // how the result is stored; tile the shape; sorted by offset
  std::vector<Piece> pieces;  // tile the shape
  // The shape in the file, of as many elements in the same order. Only safetensors has it: a tensor whose columns come from two places in turn has a dimension of
  // two more here.
  std::optional<Dims> file_shape = {};
  // Added to every element once it is of the tensor's dtype; rounded to it again (kernels::AddConstant).
  double added = 0;

  const Dims& FileShape() const { return file_shape ? *file_shape : shape; }
};

// A byte object of the result: the item of an input, byte for byte, or given bytes.
struct Object {
  std::string name;
  uint32_t input = 0;
  std::string source_name;              // the object's name in that input
  std::optional<std::string> literal;   // used instead of an input when set
};

// A file beside the data that is copied as it is, e.g. tokenizer/tokenizer.json. `name` is relative to the result, with '/' between folders.
struct SidecarFile {
  std::string name;
  std::string source_path;
  uint64_t bytes = 0;
};

// A small file of the result that a transform wrote, e.g. config.json.
struct TextFile {
  std::string name;
  std::string content;
};

// Source tensors or objects that the result does not have, by the rule that left them out. Nothing is left out without one.
struct LeftOut {
  std::string rule;  // "optimizer", "rng", ...: shown to people and in ck.result
  uint64_t count = 0;
  uint64_t bytes = 0;
};

struct View {
  std::vector<std::shared_ptr<const checkpoint::Checkpoint>> inputs;
  std::vector<Leaf> leaves;
  std::vector<Tensor> tensors;  // sorted by name, names unique
  std::vector<Object> objects;  // sorted by name, names unique
  std::optional<megatron::CommonDocument> common;  // written as common.pt; torch_dist always has one
  checkpoint::Format format = checkpoint::Format::kTorchDist;
  // Path of each key, for formats that flatten a nested state (fsdp_dtensor, plain DCP); carried from the source.
  std::optional<std::map<std::string, dcp::Path>> planner_data;
  uint32_t common_input = 0;          // index into inputs: the one that common state and sidecars come from
  std::vector<SidecarFile> sidecars;  // sorted by name
  std::vector<TextFile> text_files;
  std::vector<LeftOut> left_out;
  uint64_t averaged_tensors = 0;
  uint64_t copied_extra_states = 0;
  std::vector<plan::Finding> warnings;  // of severity warning
  std::vector<std::string> notes;     // for the summary
};

// Checks a finished view: unique names, pieces that tile each tensor exactly and stay inside their leaves, chunks that tile it, dtypes that the kernels
// can produce. Throws InternalError("transform.bad_view"): a view that fails here is a bug of a transform, found before the first output byte.
void CheckView(const View& view);

// Bytes of the result's tensor data.
uint64_t DataBytes(const View& view);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_VIEW_H_
