// main.cpp - `pascaline`: run, measure and look into a compiled model, and
// into the machine. A
// program over the C API alone, which it thereby shows to be enough.
#include "tools/pascaline/Cli.h"

#include <cstdio>
#include <cstring>

using namespace pascaline::cli;

static const char *const kHelp =
    "usage: pascaline COMMAND MODEL.pasc [OPTION]...\n"
    "\n"
    "run      run the model once\n"
    "    --input NAME=FILE.npy     one for each input; their shapes choose "
    "among\n"
    "                              the shapes that the model is compiled for\n"
    "    --output-dir DIR          where to write <output>.npy\n"
    "    --device auto|gpu[:N]|emulator\n"
    "                              auto (default): a usable GPU, else the\n"
    "                              emulator; stderr says which and why\n"
    "    --sanitize                on the emulator: check every access, see\n"
    "                              docs/emulator.md\n"
    "    --counters [--json FILE]  on the emulator: count what kernels do, "
    "print\n"
    "                              a table, write all of it to FILE\n"
    "bench    run it again and again on made-up inputs, print times a kernel\n"
    "    --device, --sanitize, --counters (one run)    as above\n"
    "    --shape-set N             the shapes of this one (default 0)\n"
    "    --iterations N            measured runs (default: as many as fit in\n"
    "                              the duration, 100 at most)\n"
    "    --warmup N                runs before them (default 3)\n"
    "    --duration S              seconds of measuring at most (default 10,\n"
    "                              no bound where --iterations is given)\n"
    "    --json FILE               the result for programs\n"
    "    --trace FILE              a timeline for chrome://tracing or "
    "Perfetto\n"
    "inspect  say what is in the file; needs no device\n"
    "    --json                    for programs\n"
    "    --shape-set N             the launches of this one (default 0)\n"
    "    --extract-ptx DIR         write its PTX to DIR/MODEL.ptx\n"
    "doctor   (no MODEL) say which devices can be used, and why not the "
    "others\n"
    "\n"
    "pascaline --version, pascaline --help. Exit codes: 0 done, 1 refused or\n"
    "failed with a sentence on stderr, 2 wrong usage.\n"
    "Environment: PASCALINE_EMULATOR=path of libpascaline-emulator.so\n";

static int dispatch(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (!strcmp(argv[i], "--help")) {
      fputs(kHelp, stdout);
      return 0;
    }
  if (argc == 2 && !strcmp(argv[1], "--version")) {
    printf("pascaline %s\n", pascaline_version());
    return 0;
  }
  if (argc < 2)
    throw WrongUsage("no command is given");
  std::string command = argv[1];
  if (command == "run")
    return runCommand(argc - 2, argv + 2);
  if (command == "bench")
    return benchCommand(argc - 2, argv + 2);
  if (command == "inspect")
    return inspectCommand(argc - 2, argv + 2);
  if (command == "doctor")
    return doctorCommand(argc - 2, argv + 2);
  throw WrongUsage(format("there is no command \"%s\"", command.c_str()));
}

int main(int argc, char **argv) {
  try {
    int code = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout))
      throw Failure("standard output cannot be written");
    return code;
  } catch (const WrongUsage &error) {
    fprintf(stderr, "pascaline: %s; see pascaline --help\n", error.what());
    return 2;
  } catch (const std::bad_alloc &) {
    fputs("pascaline: the host is out of memory\n", stderr);
    return 1;
  } catch (const std::exception &error) {
    fprintf(stderr, "pascaline: %s\n", error.what());
    return 1;
  }
}
