#include "libs/cli/run_main.h"
#include "libs/cli/streams.h"
#include "tools/ck-meta/meta_tool.h"
#include "tools/ck-meta/options.h"

int main(int argc, char** argv) {
  ck::cli::ProcessStreams streams;
  return ck::cli::RunMain(ck::meta::CommandLine(), argc, argv, streams, ck::meta::Run);
}
