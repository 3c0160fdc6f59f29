#include "libs/pickle/numpy_objects.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "libs/base/checked.h"
#include "libs/base/text.h"
#include "libs/pickle/torch_objects.h"

namespace ck::pickle {
namespace {

// Module of the functions that make arrays and scalars: numpy 2, numpy 1.
bool IsMultiarrayCall(const Graph& graph, Ref ref, std::string_view name) {
  return graph.IsCall(ref, "numpy._core.multiarray", name) || graph.IsCall(ref, "numpy.core.multiarray", name);
}

bool IsText(const Graph& graph, Ref ref, std::string_view text) {
  return graph.kind(ref) == Kind::kString && graph.bytes(ref) == text;
}

// Items of a tuple; nothing for other nodes.
std::span<const Ref> TupleItems(const Graph& graph, Ref ref) {
  if (ref == kNoRef || graph.kind(ref) != Kind::kTuple) return {};
  return graph.items(ref);
}

bool IsNumber(char kind, uint64_t size) {
  switch (kind) {
    case 'b': return size == 1;
    case 'i':
    case 'u': return size == 1 || size == 2 || size == 4 || size == 8;
    case 'f': return size == 2 || size == 4 || size == 8;
    case 'c': return size == 8 || size == 16;
    default: return false;
  }
}

// The bits of an IEEE number of 16, 32 or 64 bits.
double FloatOfBits(uint64_t bits, uint64_t size) {
  if (size == 8) return std::bit_cast<double>(bits);
  if (size == 4) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  const int exponent = static_cast<int>(bits >> 10 & 0x1F);
  const int fraction = static_cast<int>(bits & 0x3FF);
  double value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31) value = fraction == 0 ? HUGE_VAL : std::nan("");
  return bits >> 15 & 1 ? -value : value;
}

// Shortest text that reads back as the same number of this size.
std::string FloatText(uint64_t bits, uint64_t size) {
  const double value = FloatOfBits(bits, size);
  if (size == 8 || !std::isfinite(value)) return FormatDouble(value);
  char buffer[40];
  const std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value)).ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

// The product of shape and element size; nothing when it overflows.
std::optional<uint64_t> SizeBytes(const std::vector<uint64_t>& shape, uint64_t element_size) {
  std::optional<uint64_t> bytes = element_size;
  for (const uint64_t dim : shape) {
    if (bytes) bytes = CheckedMul(*bytes, dim);
  }
  return bytes;
}

// scalar(dtype, bytes)
std::optional<NumpyValue> AsScalar(const Graph& graph, Ref ref) {
  const auto args = TupleItems(graph, graph.args(ref));
  if (args.size() != 2) return std::nullopt;
  const std::optional<NumpyType> type = AsNumpyType(graph, args[0]);
  std::optional<std::string> data = BytesValue(graph, args[1]);
  if (!type || !data || data->size() != type->size) return std::nullopt;
  return NumpyValue{NumpyForm::kScalar, *type, {}, false, *std::move(data)};
}

// _reconstruct(ndarray, (0,), b'b') with the state (version, shape, dtype, fortran order, bytes)
std::optional<NumpyValue> AsArray(const Graph& graph, Ref ref) {
  const auto state = TupleItems(graph, graph.state(ref));
  if (state.size() != 5 || graph.kind(state[3]) != Kind::kBool) return std::nullopt;
  std::optional<std::vector<uint64_t>> shape = DimsValue(graph, state[1]);
  const std::optional<NumpyType> type = AsNumpyType(graph, state[2]);
  std::optional<std::string> data = BytesValue(graph, state[4]);
  if (!shape || !type || !data || SizeBytes(*shape, type->size) != data->size()) return std::nullopt;
  return NumpyValue{NumpyForm::kArray, *type, *std::move(shape), graph.AsBool(state[3]), *std::move(data)};
}

}  // namespace

std::string NumpyType::name() const {
  switch (kind) {
    case 'b': return "bool";
    case 'i': return Cat("int", size * 8);
    case 'u': return Cat("uint", size * 8);
    case 'f': return Cat("float", size * 8);
    default: return Cat("complex", size * 8);
  }
}

std::optional<NumpyType> AsNumpyType(const Graph& graph, Ref ref) {
  if (!graph.IsCall(ref, "numpy", "dtype")) return std::nullopt;
  const auto args = TupleItems(graph, graph.args(ref));
  const auto state = TupleItems(graph, graph.state(ref));
  if (args.empty() || graph.kind(args[0]) != Kind::kString) return std::nullopt;
  const std::string_view code = graph.bytes(args[0]);
  const std::optional<uint64_t> size = code.size() < 2 ? std::nullopt : ParseUint64(code.substr(1));
  if (!size || !IsNumber(code[0], *size)) return std::nullopt;
  return NumpyType{code[0], *size, state.size() > 1 && IsText(graph, state[1], ">")};
}

std::string NumpyValue::Element(uint64_t index) const {
  const uint64_t part_size = type.kind == 'c' ? type.size / 2 : type.size;
  const auto bits_at = [&](uint64_t offset) {
    uint64_t bits = 0;
    for (uint64_t i = 0; i < part_size; ++i) {
      const uint64_t byte = static_cast<uint8_t>(data[offset + i]);
      bits |= byte << (8 * (type.big_endian ? part_size - 1 - i : i));
    }
    return bits;
  };
  const uint64_t offset = index * type.size;
  const uint64_t bits = bits_at(offset);
  switch (type.kind) {
    case 'b': return bits != 0 ? "True" : "False";
    case 'u': return Cat(bits);
    case 'i': {
      const uint64_t unused = 64 - 8 * part_size;
      return Cat(static_cast<int64_t>(bits << unused) >> unused);
    }
    case 'f': return FloatText(bits, part_size);
    default: {
      const std::string imaginary = FloatText(bits_at(offset + part_size), part_size);
      return Cat("(", FloatText(bits, part_size), imaginary[0] == '-' ? "" : "+", imaginary, "j)");
    }
  }
}

std::optional<NumpyValue> AsNumpyValue(const Graph& graph, Ref ref) {
  if (IsMultiarrayCall(graph, ref, "scalar")) return AsScalar(graph, ref);
  if (IsMultiarrayCall(graph, ref, "_reconstruct")) return AsArray(graph, ref);
  return std::nullopt;
}

}  // namespace ck::pickle
