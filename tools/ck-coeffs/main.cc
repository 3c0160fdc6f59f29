#include "libs/cli/run_main.h"
#include "libs/cli/streams.h"
#include "tools/ck-coeffs/coeffs_tool.h"
#include "tools/ck-coeffs/options.h"

int main(int argc, char** argv) {
  ck::cli::ProcessStreams streams;
  return ck::cli::RunMain(ck::coeffs::CommandLine(), argc, argv, streams, ck::coeffs::Run);
}
