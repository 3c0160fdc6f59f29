#include "libs/torchsave/tensor_pickle.h"

#include <limits>
#include <string_view>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/bytes/reader.h"

namespace ck::torchsave {
namespace {

// The opcodes of pickle protocol 2 that a tensor needs.
constexpr std::string_view kProtocol2 = "\x80\x02";
constexpr char kMark = '(', kStop = '.', kGlobal = 'c', kBinPut = 'q', kBinUnicode = 'X', kReduce = 'R',
               kPersistentId = 'Q';
constexpr char kBinInt = 'J', kBinInt1 = 'K', kBinInt2 = 'M', kEmptyTuple = ')', kTuple = 't';
constexpr char kTuple1 = '\x85', kTuple2 = '\x86', kTuple3 = '\x87', kNewFalse = '\x89', kLong1 = '\x8a';

// Appends opcodes as Python's pickler does: everything but numbers, booleans and the empty tuple goes to the memo.
class Writer {
 public:
  void Op(char op) { out_.push_back(op); }
  void Memoize() {
    Op(kBinPut);
    out_.push_back(static_cast<char>(memo_++));
  }
  void Global(std::string_view module, std::string_view name) {
    out_ += Cat(kGlobal, module, '\n', name, '\n');
    Memoize();
  }
  void String(std::string_view text) {
    Op(kBinUnicode);
    bytes::PutU32(out_, static_cast<uint32_t>(text.size()));
    out_ += text;
    Memoize();
  }
  void Int(uint64_t value) {
    if (value <= 0xFF) {
      Op(kBinInt1);
      out_.push_back(static_cast<char>(value));
    } else if (value <= 0xFFFF) {
      Op(kBinInt2);
      bytes::PutU16(out_, static_cast<uint16_t>(value));
    } else if (value <= 0x7FFFFFFF) {
      Op(kBinInt);
      bytes::PutU32(out_, static_cast<uint32_t>(value));
    } else {
      Long(value);
    }
  }
  void IntTuple(const Dims& values) {
    if (values.size() > 3) Op(kMark);
    for (const uint64_t value : values) Int(value);
    constexpr char kByLength[] = {kEmptyTuple, kTuple1, kTuple2, kTuple3};
    Op(values.size() > 3 ? kTuple : kByLength[values.size()]);
    if (!values.empty()) Memoize();
  }
  std::string Take() { return std::move(out_); }

 private:
  // Little-endian two's complement, as short as its sign bit allows.
  void Long(uint64_t value) {
    std::string digits;
    for (; value != 0; value >>= 8) digits.push_back(static_cast<char>(value & 0xFF));
    if (digits.back() & 0x80) digits.push_back('\0');
    Op(kLong1);
    out_.push_back(static_cast<char>(digits.size()));
    out_ += digits;
  }

  std::string out_{kProtocol2};
  uint8_t memo_ = 0;
};

constexpr uint64_t kMaxTorchInt = std::numeric_limits<int64_t>::max();

[[noreturn]] void Unrepresentable(DType dtype, const Dims& shape) {
  throw InputError("torchsave.bad_tensor",
                   Cat("torch cannot hold a tensor of shape ", FormatDims(shape), " and type ", Name(dtype)));
}

void CheckShape(DType dtype, const Dims& shape) {
  if (shape.size() > kMaxRank) Unrepresentable(dtype, shape);
  uint64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    const auto next = CheckedMul(stride, shape[d] == 0 ? 1 : shape[d]);
    if (shape[d] > kMaxTorchInt || !next || *next > kMaxTorchInt) Unrepresentable(dtype, shape);
    stride = *next;
  }
}

}  // namespace

uint64_t TensorBytes(DType dtype, const Dims& shape) {
  CheckShape(dtype, shape);
  const auto bytes = CheckedMul(Volume(shape).value_or(0), ElementSize(dtype));
  if (!bytes || *bytes > kMaxTorchInt) Unrepresentable(dtype, shape);
  return *bytes;
}

std::string TensorPickle(DType dtype, const Dims& shape) {
  const uint64_t bytes = TensorBytes(dtype, shape);
  // Types younger than torch's typed storages are rebuilt from untyped bytes and the type's name.
  const bool untyped = TorchStorageName(dtype).empty();
  Writer out;
  out.Global("torch._utils", untyped ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
  out.Op(kMark);

  out.Op(kMark);
  out.String("storage");
  if (untyped) {
    out.Global("torch.storage", "UntypedStorage");
  } else {
    out.Global("torch", TorchStorageName(dtype));
  }
  out.String("0");
  out.String("cpu");
  out.Int(untyped ? bytes : bytes / ElementSize(dtype));
  out.Op(kTuple);
  out.Memoize();
  out.Op(kPersistentId);

  out.Int(0);  // storage offset
  out.IntTuple(shape);
  out.IntTuple(RowMajorStrides(shape));
  out.Op(kNewFalse);  // requires_grad
  out.Global("collections", "OrderedDict");
  out.Op(kEmptyTuple);
  out.Op(kReduce);
  out.Memoize();
  if (untyped) out.Global("torch", TorchName(dtype));
  out.Op(kTuple);
  out.Memoize();
  out.Op(kReduce);
  out.Memoize();
  out.Op(kStop);
  return out.Take();
}

}  // namespace ck::torchsave
