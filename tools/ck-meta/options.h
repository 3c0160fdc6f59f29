// The command line of ck-meta, checked.
#ifndef CK_TOOLS_CK_META_OPTIONS_H_
#define CK_TOOLS_CK_META_OPTIONS_H_

#include <optional>
#include <string>

#include "libs/cli/command.h"
#include "libs/cli/common_options.h"
#include "libs/cli/streams.h"
#include "tools/ck-meta/contents.h"

namespace ck::meta {

struct Options {
  enum class Shown { kContents, kArgs, kGlobals };

  std::optional<std::string> checkpoint;  // nullopt: a plan
  std::optional<std::string> plan;        // a file, or "-"; nullopt: stdin
  Shown shown = Shown::kContents;
  NameFilter filter;
  ChunkLists chunk_lists = ChunkLists::kNo;
  bool every_object = false;  // tables list the extra states and the optimizer's objects too
  cli::View view = cli::View::kJson;
};

cli::Command CommandLine();

// Throws usage.conflict.
Options ReadOptions(const cli::Args& args, const cli::Streams& streams);

}  // namespace ck::meta

#endif  // CK_TOOLS_CK_META_OPTIONS_H_
