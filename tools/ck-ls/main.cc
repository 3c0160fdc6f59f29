#include "libs/cli/run_main.h"
#include "libs/cli/streams.h"
#include "tools/ck-ls/ls_tool.h"
#include "tools/ck-ls/options.h"

int main(int argc, char** argv) {
  ck::cli::ProcessStreams streams;
  return ck::cli::RunMain(ck::ls::CommandLine(), argc, argv, streams, ck::ls::Run);
}
