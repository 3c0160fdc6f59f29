// Are the data files that the metadata names there, and long enough? No file is opened.
#ifndef CK_CHECKPOINT_DATA_FILES_H_
#define CK_CHECKPOINT_DATA_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/checkpoint/checkpoint.h"

namespace ck::checkpoint {

struct FileProblem {
  std::string name;
  std::optional<uint64_t> size_bytes;  // nullopt: missing
  uint64_t needed_bytes = 0;           // where the last item ends
  uint64_t lost_items = 0;             // items that are not wholly there
  uint64_t lost_bytes = 0;             // of these items
  std::vector<std::string> keys;       // that have such an item, sorted
};

struct FileCheck {
  std::vector<FileProblem> problems;  // in the order of checkpoint.files()
  uint64_t item_bytes = 0;            // of all items
};

FileCheck CheckDataFiles(const Checkpoint& checkpoint);

// "'__1_0.distcp' is missing (3154 bytes of 2 keys: 'b', 'c')",
// "'__0_0.distcp' has 0 bytes, needs 1577 (lost: 1577 bytes of 1 key: 'a')".
std::string Describe(const FileProblem& problem);
// "1 missing of 2 data files, 41% of the bytes (on another node's disk?)"; "" when nothing is wrong.
std::string Summary(const FileCheck& check, const Checkpoint& checkpoint);
// The summary and a description of every file; "" when nothing is wrong.
std::string Describe(const FileCheck& check, const Checkpoint& checkpoint);

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_DATA_FILES_H_
