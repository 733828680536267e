// Replay.cpp - runs a fuzz target without a fuzzer: on packs of ready inputs,
// and on seeded mutations of files. Each case has a number, which is printed
// when the process dies on it, and `--first N --cases 1` runs it again.
//
//   fuzz-model --pack cases.pack            4 bytes of length, then the input
//   fuzz-artifact --cases 10000 a.pasc b.pasc
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
// How many inputs so far were good all through: a replay that is refused at the
// door each time tests nothing.
extern "C" uint64_t fuzzAccepted();
#if defined(__SANITIZE_ADDRESS__)
extern "C" void __sanitizer_set_death_callback(void (*callback)());
#endif

namespace {

volatile uint64_t current = 0;
constexpr unsigned kLongestCase = 60; // seconds; a case takes milliseconds

void onDeath() {
  char text[64];
  int length = snprintf(text, sizeof text, "replay: died in case %llu\n",
                        (unsigned long long)current);
  if (write(STDERR_FILENO, text, size_t(length)) < 0)
    _exit(3);
}

void onSignal(int number) {
  onDeath();
  signal(number, SIG_DFL);
  raise(number);
}

[[noreturn]] void usage() {
  fprintf(stderr, "usage: replay [--first N] [--cases N] (--pack FILE | "
                  "FILE...)\n");
  exit(2);
}

std::string readFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    fprintf(stderr, "replay: %s: cannot be read\n", path);
    exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> readPack(const char *path) {
  std::string content = readFile(path);
  std::vector<std::string> cases;
  for (size_t at = 0; at < content.size();) {
    uint32_t size = 0;
    if (content.size() - at >= sizeof size)
      memcpy(&size, &content[at], sizeof size);
    at += sizeof size;
    if (at > content.size() || size > content.size() - at) {
      fprintf(stderr, "replay: %s: ends in the middle of a case\n", path);
      exit(2);
    }
    cases.push_back(content.substr(at, size));
    at += size;
  }
  return cases;
}

// A flip, an edge value, a cut, a copy, or a word of noise, one to four times.
std::string mutate(std::string bytes, uint64_t number) {
  std::mt19937_64 random(number);
  for (int left = 1 + int(random() % 4); left && !bytes.empty(); --left) {
    size_t at = random() % bytes.size();
    static const unsigned char edges[] = {0, 1, 0x7f, 0x80, 0xff};
    switch (random() % 6) {
    case 0:
      bytes[at] = char(bytes[at] ^ 1 << random() % 8);
      break;
    case 1:
      bytes[at] = char(edges[random() % sizeof edges]);
      break;
    case 2:
      bytes.erase(at, 1 + random() % 16);
      break;
    case 3:
      bytes.insert(at, bytes.substr(at, 1 + random() % 64));
      break;
    case 4:
      for (size_t i = at; i < bytes.size() && i < at + 8; ++i)
        bytes[i] = char(random());
      break;
    default:
      bytes.resize(at + 1);
    }
  }
  return bytes;
}

void run(uint64_t number, const std::string &input) {
  current = number;
  alarm(kLongestCase);
  // A heap block of the very size, so that reading past it is seen.
  std::vector<uint8_t> exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

} // namespace

int main(int argc, char **argv) {
  uint64_t first = 0, count = UINT64_MAX;
  const char *pack = nullptr;
  std::vector<std::string> seeds;
  for (int i = 1; i < argc; ++i) {
    bool hasValue = i + 1 < argc;
    if (!strcmp(argv[i], "--first") && hasValue)
      first = strtoull(argv[++i], nullptr, 10);
    else if (!strcmp(argv[i], "--cases") && hasValue)
      count = strtoull(argv[++i], nullptr, 10);
    else if (!strcmp(argv[i], "--pack") && hasValue)
      pack = argv[++i];
    else if (argv[i][0] == '-')
      usage();
    else
      seeds.push_back(readFile(argv[i]));
  }
  if (!pack == seeds.empty() || (!pack && count == UINT64_MAX))
    usage();
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(onDeath);
#endif
  for (int number : {SIGABRT, SIGALRM})
    signal(number, onSignal);

  uint64_t done = 0;
  if (pack) {
    std::vector<std::string> cases = readPack(pack);
    for (uint64_t i = first; i < cases.size() && done < count; ++i, ++done)
      run(i, cases[i]);
  } else {
    for (; done < count; ++done)
      run(first + done,
          mutate(seeds[(first + done) % seeds.size()], first + done));
  }
  printf("%llu cases, %llu accepted\n", (unsigned long long)done,
         (unsigned long long)fuzzAccepted());
  return 0;
}
