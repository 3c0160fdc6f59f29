// Numbers of the zip format that reader and writer share. Source: docs/formats/torch_save.md.
#ifndef CK_ZIP_FORMAT_H_
#define CK_ZIP_FORMAT_H_

#include <cstdint>

namespace ck::zip {

inline constexpr uint32_t kLocalHeader = 0x04034B50;
inline constexpr uint32_t kDataDescriptor = 0x08074B50;
inline constexpr uint32_t kCentralHeader = 0x02014B50;
inline constexpr uint32_t kZip64EndRecord = 0x06064B50;
inline constexpr uint32_t kZip64Locator = 0x07064B50;
inline constexpr uint32_t kEndRecord = 0x06054B50;

inline constexpr uint64_t kLocalHeaderBytes = 30;  // without name and extra fields
inline constexpr uint64_t kCentralHeaderBytes = 46;
inline constexpr uint64_t kZip64EndRecordBytes = 56;
inline constexpr uint64_t kZip64LocatorBytes = 20;
inline constexpr uint64_t kEndRecordBytes = 22;

inline constexpr uint16_t kZip64Extra = 0x0001;

// A field that holds this says: see the zip64 extra field.
inline constexpr uint32_t kIn64 = 0xFFFFFFFF;
inline constexpr uint16_t kIn64Count = 0xFFFF;

inline constexpr uint16_t kFlagEncrypted = 0x0001;
inline constexpr uint16_t kFlagDescriptor = 0x0008;  // sizes and CRC follow the data
inline constexpr uint16_t kFlagUtf8 = 0x0800;

}  // namespace ck::zip

#endif  // CK_ZIP_FORMAT_H_
