#include "libs/cli/run_main.h"
#include "libs/cli/streams.h"
#include "tools/ck-split/split_tool.h"
#include "tools/ck-split/options.h"

int main(int argc, char** argv) {
  ck::cli::ProcessStreams streams;
  return ck::cli::RunMain(ck::split::CommandLine(), argc, argv, streams, ck::split::Run);
}
