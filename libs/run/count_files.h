// How many files a finished output has, for ck.result.
#ifndef CK_RUN_COUNT_FILES_H_
#define CK_RUN_COUNT_FILES_H_

#include <cstdint>
#include <string>

namespace ck::run {

// Files below `directory`, in folders too; links are not followed.
uint64_t CountFiles(const std::string& directory);

}  // namespace ck::run

#endif  // CK_RUN_COUNT_FILES_H_
