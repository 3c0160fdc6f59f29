// Writes the file of --report: replaced as a whole, never half.
#ifndef CK_RUN_REPORT_FILE_H_
#define CK_RUN_REPORT_FILE_H_

#include <string>
#include <string_view>

namespace ck::run {

// Throws Error(kEnvironment, "report.not_writable") when the file cannot be made where it should go. For use before hours of work.
void CheckReport(const std::string& path);

// Temporary file beside it, then a rename. An existing file is replaced. Errors: those of libs/fs/write.h.
void WriteReport(const std::string& path, std::string_view document);

}  // namespace ck::run

#endif  // CK_RUN_REPORT_FILE_H_
