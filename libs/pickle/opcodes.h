// The opcodes of pickle protocols 0 to 5. Source: docs/formats/pickle.md.
#ifndef CK_PICKLE_OPCODES_H_
#define CK_PICKLE_OPCODES_H_

#include <cstdint>

namespace ck::pickle {

enum class Op : uint8_t {
  // Protocol 0 and 1.
  kMark = '(', kStop = '.', kPop = '0', kPopMark = '1', kDup = '2',
  kNone = 'N', kInt = 'I', kLong = 'L', kFloat = 'F', kBinInt = 'J', kBinInt1 = 'K', kBinInt2 = 'M', kBinFloat = 'G',
  kString = 'S', kBinString = 'T', kShortBinString = 'U', kUnicode = 'V', kBinUnicode = 'X',
  kEmptyTuple = ')', kTuple = 't', kEmptyList = ']', kList = 'l', kAppend = 'a', kAppends = 'e',
  kEmptyDict = '}', kDict = 'd', kSetItem = 's', kSetItems = 'u',
  kGet = 'g', kBinGet = 'h', kLongBinGet = 'j', kPut = 'p', kBinPut = 'q', kLongBinPut = 'r',
  kGlobal = 'c', kReduce = 'R', kBuild = 'b', kInst = 'i', kObj = 'o', kPersId = 'P', kBinPersId = 'Q',
  // Protocol 2.
  kProto = 0x80, kNewObj = 0x81, kExt1 = 0x82, kExt2 = 0x83, kExt4 = 0x84,
  kTuple1 = 0x85, kTuple2 = 0x86, kTuple3 = 0x87, kNewTrue = 0x88, kNewFalse = 0x89, kLong1 = 0x8a, kLong4 = 0x8b,
  // Protocol 3.
  kBinBytes = 'B', kShortBinBytes = 'C',
  // Protocol 4.
  kShortBinUnicode = 0x8c, kBinUnicode8 = 0x8d, kBinBytes8 = 0x8e, kEmptySet = 0x8f, kAddItems = 0x90,
  kFrozenSet = 0x91, kNewObjEx = 0x92, kStackGlobal = 0x93, kMemoize = 0x94, kFrame = 0x95,
  // Protocol 5.
  kByteArray8 = 0x96, kNextBuffer = 0x97, kReadonlyBuffer = 0x98,
};

}  // namespace ck::pickle

#endif  // CK_PICKLE_OPCODES_H_
