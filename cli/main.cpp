// convtgen: the command line.
#include "cli/program.h"

int main(int argc, char** argv) {
  return convtgen::cli::run_program(argc, argv);
}
