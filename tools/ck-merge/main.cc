#include "libs/cli/run_main.h"
#include "libs/cli/streams.h"
#include "tools/ck-merge/merge_tool.h"
#include "tools/ck-merge/options.h"

int main(int argc, char** argv) {
  ck::cli::ProcessStreams streams;
  return ck::cli::RunMain(ck::merge::CommandLine(), argc, argv, streams, ck::merge::Run);
}
