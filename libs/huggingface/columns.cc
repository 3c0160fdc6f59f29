#include "libs/huggingface/columns.h"

#include "libs/base/error.h"

namespace ck::huggingface {
namespace {

using transform::Piece;
using transform::SourceAxis;

SourceAxis Along(int32_t result_axis, uint64_t step = 1) { return {.result_axis = result_axis, .step = step}; }

Columns Transposed(const Dims& shape) {
  Check(shape.size() == 3, "an expert's matrix, of all experts, has three dimensions");
  Columns out{.shape = {shape[0], shape[2], shape[1]}, .file_shape = {}, .pieces = {}};
  out.pieces.push_back({.target = Box::Whole(out.shape), .leaf = 0, .source_offset = {0, 0, 0}, .axes = {Along(0), Along(2), Along(1)}});
  return out;
}

void CheckAlternates(Transform transform, const Dims& shape, uint64_t doubled) {
  Check(transform == Transform::kAlternate && (shape.size() == 2 || shape.size() == 3) && doubled % 2 == 0, "two halves of experts' rows");
}

}  // namespace

Columns ToColumns(Transform transform, const Dims& megatron) {
  if (transform == Transform::kTranspose) return Transposed(megatron);
  CheckAlternates(transform, megatron, megatron.at(1));
  const uint64_t experts = megatron[0], width = megatron[1] / 2;
  const bool matrix = megatron.size() == 3;
  Columns out;
  out.shape = matrix ? Dims{experts, megatron[2], width, 2} : Dims{experts, width, 2};
  out.file_shape = matrix ? Dims{experts, megatron[2], 2 * width} : Dims{experts, 2 * width};
  for (uint64_t half = 0; half < 2; ++half) {
    Piece piece{.target = Box::Whole(out.shape), .leaf = 0, .source_offset = {0, half * width}, .axes = {Along(0), Along(matrix ? 2 : 1)}};
    piece.target.offset.back() = half;
    piece.target.shape.back() = 1;
    if (matrix) {
      piece.source_offset.push_back(0);
      piece.axes.push_back(Along(1));
    }
    out.pieces.push_back(std::move(piece));
  }
  return out;
}

Columns FromColumns(Transform transform, const Dims& hf) {
  if (transform == Transform::kTranspose) return Transposed(hf);
  CheckAlternates(transform, hf, hf.at(hf.size() - 1));
  const uint64_t experts = hf[0], width = hf.back() / 2;
  const bool matrix = hf.size() == 3;
  Columns out;
  out.shape = matrix ? Dims{experts, 2 * width, hf[1]} : Dims{experts, 2 * width};
  for (uint64_t half = 0; half < 2; ++half) {
    Piece piece{.target = Box::Whole(out.shape), .leaf = 0, .source_offset = {0}, .axes = {Along(0)}};
    piece.target.offset[1] = half * width;
    piece.target.shape[1] = width;
    if (matrix) {
      piece.source_offset.push_back(0);
      piece.axes.push_back(Along(2));
    }
    piece.source_offset.push_back(half);
    piece.axes.push_back(Along(1, 2));
    out.pieces.push_back(std::move(piece));
  }
  return out;
}

}  // namespace ck::huggingface
