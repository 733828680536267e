// Tool.cpp - see Tool.h.
#include "test/runtime/Tool.h"

#include "pascaline/pascaline.h"

#include "tools/pascaline/Npy.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/wait.h>

namespace pascaline::testing {

using cli::npyHeader;

static std::string floats(size_t count, float value) {
  std::vector<float> data(count, value);
  return {reinterpret_cast<const char *>(data.data()), count * sizeof(float)};
}

ToolTest::ToolTest() {
  char name[] = "/tmp/pascaline-tool-XXXXXX";
  folder = mkdtemp(name);
  int64_t shape[] = {1, 300};
  write("add.pasc", sample.bytes());
  write("a.npy", npyHeader(PASCALINE_F32, shape + 1, 1) + floats(300, 2));
  write("b.npy", npyHeader(PASCALINE_F32, shape, 2) + floats(300, 3));
  write("long.npy",
        npyHeader(PASCALINE_I64, shape, 2) + std::string(2400, '\0'));
}

ToolTest::~ToolTest() {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

ToolResult ToolTest::run(const std::string &arguments) const {
  std::string command = "cd " + folder.string() + " && ";
  command += emulator.empty() ? "unset PASCALINE_EMULATOR; "
                              : "PASCALINE_EMULATOR=" + emulator + " ";
  command += PASCALINE_TOOL " " + arguments + " >.stdout 2>.stderr";
  int status = std::system(command.c_str());
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, read(".stdout"), read(".stderr")};
}

void ToolTest::write(const std::string &name,
                     const std::string &content) const {
  std::ofstream(folder / name, std::ios::binary) << content;
}

std::string ToolTest::read(const std::string &name) const {
  std::ostringstream content;
  content << std::ifstream(folder / name, std::ios::binary).rdbuf();
  return content.str();
}

void runMany(pascaline_session *session, float a) {
  std::vector<float> values(300, a), y(300), constant(300);
  pascaline_buffer in[] = {{values.data(), 1200, PASCALINE_HOST},
                           {values.data(), 1200, PASCALINE_HOST}};
  pascaline_buffer out[] = {{y.data(), 1200, PASCALINE_HOST},
                            {constant.data(), 1200, PASCALINE_HOST}};
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(pascaline_session_run(session, in, 2, out, 2), PASCALINE_OK)
        << pascaline_last_error();
    for (int i = 0; i < 300; ++i)
      ASSERT_EQ(y[i], 2 * a + float(i));
  }
}

} // namespace pascaline::testing
