#include "ObjectCacheTest.h"
#include "TranslateTest.h"

#include "runtime/emulator/translate/ObjectCache.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pascaline::emulator {
namespace {

namespace fs = std::filesystem;

class ObjectCacheTest : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "pascaline-objects-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
  }
  void TearDown() override { fs::remove_all(folder); }

  static ObjectCache::Key key(int number) {
    ObjectCache::Key made{};
    made[0] = uint8_t(number);
    return made;
  }
  std::string path(int number) const {
    return folder + "/" + ObjectCache::fileName(key(number));
  }
  std::unique_ptr<ObjectCache> open(uint64_t limit = 1 << 20) const {
    return ObjectCache::open(folder, limit);
  }
  static void store(const ObjectCache &cache, int number,
                    const std::string &object) {
    cache.store(key(number), {object.data(), object.size()});
  }
  static std::string load(const ObjectCache &cache, int number) {
    auto object = cache.load(key(number));
    return object ? object->getBuffer().str() : "absent";
  }
  // Changes a byte, counted from the end when negative.
  void damage(int number, int at) const {
    std::fstream file(path(number), std::ios::in | std::ios::out);
    file.seekg(at, at < 0 ? std::ios::end : std::ios::beg);
    char byte = char(file.get());
    file.seekp(at, at < 0 ? std::ios::end : std::ios::beg);
    file.put(char(byte ^ 1));
  }

  std::string folder;
};

TEST_F(ObjectCacheTest, KeepsObjects) {
  store(*open(), 1, "one");
  store(*open(), 2, std::string(100000, 'x'));
  store(*open(), 3, "");
  EXPECT_EQ(load(*open(), 1), "one");
  EXPECT_EQ(load(*open(), 2), std::string(100000, 'x'));
  EXPECT_EQ(load(*open(), 3), "absent");
  EXPECT_EQ(load(*open(), 4), "absent");
  struct stat state;
  ASSERT_EQ(stat(path(1).c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 0777, 0600u);
}

TEST_F(ObjectCacheTest, DamagedEntriesAreAbsent) {
  auto cache = open();
  for (int at : {0, 7, 8, 20, -1, -3}) {
    store(*cache, 1, "one");
    EXPECT_EQ(load(*cache, 1), "one");
    damage(1, at);
    EXPECT_EQ(load(*cache, 1), "absent") << at;
  }
  for (uintmax_t size : {0, 1, 39, 40, 42}) {
    store(*cache, 1, "one");
    fs::resize_file(path(1), size);
    EXPECT_EQ(load(*cache, 1), "absent") << size;
  }
  store(*cache, 1, "one"); // and can be replaced
  EXPECT_EQ(load(*cache, 1), "one");
  fs::remove(path(2));
  fs::create_directory(path(2));
  EXPECT_EQ(load(*cache, 2), "absent");
  store(*cache, 2, "two");
  EXPECT_EQ(load(*cache, 2), "absent");
}

TEST_F(ObjectCacheTest, TrustsOnlyWhatItsUserAloneCanWrite) {
  store(*open(), 1, "one");
  for (mode_t mode : {0720, 0702, 01777}) {
    chmod(folder.c_str(), mode);
    EXPECT_EQ(open(), nullptr) << mode;
  }
  chmod(folder.c_str(), 0755);
  ASSERT_NE(open(), nullptr);
  EXPECT_EQ(load(*open(), 1), "one");
  chmod(path(1).c_str(), 0620);
  EXPECT_EQ(load(*open(), 1), "absent");
  chmod(path(1).c_str(), 0602);
  EXPECT_EQ(load(*open(), 1), "absent");
  chmod(path(1).c_str(), 0600);
  fs::rename(path(1), folder + "/elsewhere");
  fs::create_symlink(folder + "/elsewhere", path(1));
  EXPECT_EQ(load(*open(), 1), "absent");
  fs::remove(path(1));
  ASSERT_EQ(mkfifo(path(1).c_str(), 0600), 0);
  EXPECT_EQ(load(*open(), 1), "absent"); // and does not wait for a writer
  EXPECT_EQ(ObjectCache::open(folder + "/elsewhere", 100), nullptr);
  EXPECT_EQ(ObjectCache::open("/proc/no/such", 100), nullptr);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(folder.c_str(), 1, 0), 0);
    EXPECT_EQ(open(), nullptr);
  }
}

TEST_F(ObjectCacheTest, DeletesTheLeastRecentlyUsed) {
  auto cache = open(5000);
  std::string object(1000, 'x');
  std::ofstream(folder + "/a file of somebody") << std::string(9000, 'x');
  std::ofstream(folder + "/.new-1-1") << std::string(9000, 'x');
  timespec old[2] = {{1000000, 0}, {1000000, 0}};
  utimensat(AT_FDCWD, (folder + "/.new-1-1").c_str(), old, 0);
  for (int i = 0; i < 4; ++i) {
    store(*cache, i, object);
    timespec times[2] = {{2000000 + i, 0}, {2000000 + i, 0}};
    utimensat(AT_FDCWD, path(i).c_str(), times, 0);
  }
  cache->trim();
  for (int i = 1; i < 4; ++i)
    EXPECT_TRUE(fs::exists(path(i)));
  EXPECT_FALSE(fs::exists(folder + "/.new-1-1"));
  EXPECT_EQ(load(*cache, 0), object); // used now: number 1 is the oldest
  store(*cache, 4, object);
  cache->trim();
  EXPECT_EQ(load(*cache, 1), "absent");
  for (int i : {0, 2, 3, 4})
    EXPECT_EQ(load(*cache, i), object) << i;
  EXPECT_TRUE(fs::exists(folder + "/a file of somebody"));
  store(*cache, 5, std::string(5000, 'x')); // larger than all may be
  EXPECT_EQ(load(*cache, 5), "absent");
}

TEST_F(ObjectCacheTest, ProcessesShareIt) {
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    pid_t id = fork();
    ASSERT_GE(id, 0);
    if (id == 0) {
      auto cache = open(20000);
      for (int i = 0; i < 300; ++i) {
        std::string object(2000 + i % 7, char('a' + i % 7));
        std::string found = load(*cache, i % 7);
        if (found != "absent" && found != object)
          _exit(1);
        store(*cache, i % 7, object);
        if (i % 3 == 0)
          cache->trim();
      }
      _exit(0);
    }
    children.push_back(id);
  }
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const auto &entry : fs::directory_iterator(folder))
    EXPECT_EQ(entry.path().filename().string().size(), 64u) << entry;
}

std::set<std::string> entriesOfUser() {
  std::set<std::string> entries;
  std::error_code none; // before the first module there is no folder
  for (const auto &entry : fs::directory_iterator(cacheFolder, none))
    entries.insert(entry.path().string());
  return entries;
}

// The entry that loading a module added.
std::string entryOf(const std::string &ptx, uint32_t *result) {
  std::set<std::string> before = entriesOfUser();
  test::Program program(ptx);
  EXPECT_TRUE(program.ok()) << program.log;
  uint64_t pointer = test::Memory::instance().allocate(4);
  program.run(&pointer);
  std::memcpy(result, reinterpret_cast<void *>(pointer), 4);
  std::string added;
  for (const std::string &entry : entriesOfUser())
    if (!before.count(entry))
      added = entry;
  return added;
}

TEST(ObjectCacheOfModules, AModuleLoadsWhatAnEarlierOneStored) {
  ASSERT_FALSE(emulatorBuildId().empty());
  auto ptx = [](const char *value) {
    return test::withHeader(
        std::string(".visible .entry cached(.param .u64 p) {\n.reg .b64 %a;\n"
                    "ld.param.u64 %a, [p];\nst.global.u32 [%a], ") +
        value + ";\nret;\n}\n");
  };
  uint32_t result = 0;
  std::string first = entryOf(ptx("71"), &result);
  EXPECT_EQ(result, 71u);
  std::string second = entryOf(ptx("72"), &result);
  EXPECT_EQ(result, 72u);
  ASSERT_NE(first, "");
  ASSERT_NE(second, "");
  EXPECT_EQ(entryOf(ptx("71"), &result), "");
  EXPECT_EQ(result, 71u);
  // Now an entry that tells on its use.
  fs::copy_file(second, first, fs::copy_options::overwrite_existing);
  EXPECT_EQ(entryOf(ptx("71"), &result), "");
  EXPECT_EQ(result, 72u);
  // A damaged one is made anew.
  std::ofstream(first) << "nonsense";
  EXPECT_EQ(entryOf(ptx("71"), &result), "");
  EXPECT_EQ(result, 71u);
}

} // namespace
} // namespace pascaline::emulator
