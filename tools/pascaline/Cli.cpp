// Cli.cpp - see Cli.h.
#include "tools/pascaline/Cli.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pascaline::cli {

std::string format(const char *text, ...) {
  va_list arguments, again;
  va_start(arguments, text);
  va_copy(again, arguments);
  int length = vsnprintf(nullptr, 0, text, again);
  va_end(again);
  std::string result(length > 0 ? size_t(length) : 0, '\0');
  vsnprintf(result.data(), result.size() + 1, text, arguments);
  va_end(arguments);
  return result;
}

std::string fileName(const std::string &name, const char *kind, size_t index) {
  const char *first = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                      "0123456789_";
  bool isPlain =
      !name.empty() && name.size() <= 151 && strchr(first, name[0]) &&
      name.find_first_not_of(std::string(first) + ".-") == std::string::npos;
  return (isPlain ? name : format("%s_%zu", kind, index)) + ".npy";
}

void check(pascaline_status status) {
  if (status != PASCALINE_OK)
    throw Failure(pascaline_last_error());
}

Options::Options(int argc, char **argv, const std::vector<Spec> &specs,
                 const char *what) {
  bool named = what == nullptr;
  for (int i = 0; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.compare(0, 2, "--") != 0) {
      if (named)
        throw WrongUsage(
            format("\"%s\" is one argument too many", argument.c_str()));
      file = argument;
      named = true;
      continue;
    }
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    auto spec = std::find_if(specs.begin(), specs.end(), [&](const Spec &each) {
      return name == each.name;
    });
    if (spec == specs.end())
      throw WrongUsage(format("there is no option %s here", name.c_str()));
    if (!spec->repeats && has(spec->name))
      throw WrongUsage(format("%s is given twice", name.c_str()));
    std::string value;
    if (!spec->takesValue) {
      if (equals != std::string::npos)
        throw WrongUsage(format("%s takes no value", name.c_str()));
    } else if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (i + 1 < argc) {
      value = argv[++i];
    } else {
      throw WrongUsage(format("%s needs a value", name.c_str()));
    }
    given.emplace_back(name, value);
  }
  if (!named)
    throw WrongUsage(format("no %s is given", what));
}

const std::string *Options::value(const char *name) const {
  for (auto &[option, value] : given)
    if (option == name)
      return &value;
  return nullptr;
}

bool Options::has(const char *name) const { return value(name) != nullptr; }

std::vector<std::string> Options::values(const char *name) const {
  std::vector<std::string> result;
  for (auto &[option, value] : given)
    if (option == name)
      result.push_back(value);
  return result;
}

double Options::number(const char *name, double otherwise, double least,
                       double most) const {
  const std::string *text = value(name);
  if (!text)
    return otherwise;
  char *end = nullptr;
  double result = strtod(text->c_str(), &end);
  if (text->empty() || *end || !(result >= least && result <= most))
    throw WrongUsage(format("%s takes a number from %g to %g, not \"%s\"", name,
                            least, most, text->c_str()));
  return result;
}

ArtifactHandle openArtifact(const std::string &path) {
  pascaline_artifact *handle;
  check(pascaline_artifact_open(path.c_str(), &handle));
  return ArtifactHandle(handle);
}

DeviceHandle openDevice(const Options &options) {
  const std::string *selector = options.value("--device");
  bool sanitizes = options.has("--sanitize");
  if (sanitizes) // which the emulator reads when it is opened
    setenv("PASCALINE_EMULATOR_SANITIZE", "1", 1);
  pascaline_device_options chosen = {};
  chosen.size = sizeof chosen;
  chosen.counting = options.has("--counters");
  pascaline_device *handle;
  check(pascaline_device_open(selector ? selector->c_str() : "auto", &chosen,
                              &handle));
  DeviceHandle device(handle);
  if (sanitizes) {
    pascaline_device_info info;
    check(pascaline_device_get_info(handle, &info));
    if (!info.emulator)
      throw Failure(
          format("--sanitize is the emulator's, the device is %s; add "
                 "--device emulator",
                 info.reason));
  }
  if (!selector || *selector == "auto") {
    pascaline_device_info info;
    check(pascaline_device_get_info(handle, &info));
    fprintf(stderr, "pascaline: running on %s\n", info.reason);
  }
  return device;
}

ModelHandle openModel(const ArtifactHandle &artifact,
                      const DeviceHandle &device) {
  pascaline_model *handle;
  check(pascaline_model_open_artifact(artifact.get(), device.get(), &handle));
  return ModelHandle(handle);
}

SessionHandle openSession(const ModelHandle &model) {
  pascaline_session *handle;
  check(pascaline_session_open(model.get(), &handle));
  return SessionHandle(handle);
}

pascaline_artifact_info infoOf(const ArtifactHandle &artifact) {
  pascaline_artifact_info info;
  check(pascaline_artifact_get_info(artifact.get(), &info));
  return info;
}

std::vector<pascaline_tensor_info> inputsOf(const ArtifactHandle &artifact,
                                            size_t set) {
  std::vector<pascaline_tensor_info> result(infoOf(artifact).input_count);
  for (size_t i = 0; i < result.size(); ++i)
    check(pascaline_shape_set_input(artifact.get(), set, i, &result[i]));
  return result;
}

std::vector<pascaline_tensor_info> outputsOf(const ArtifactHandle &artifact,
                                             size_t set) {
  std::vector<pascaline_tensor_info> result(infoOf(artifact).output_count);
  for (size_t i = 0; i < result.size(); ++i)
    check(pascaline_shape_set_output(artifact.get(), set, i, &result[i]));
  return result;
}

std::vector<pascaline_launch_info> launchesOf(const ArtifactHandle &artifact,
                                              size_t set) {
  std::vector<pascaline_launch_info> result(
      shapeSetOf(artifact, set).launch_count);
  for (size_t i = 0; i < result.size(); ++i)
    check(pascaline_shape_set_launch(artifact.get(), set, i, &result[i]));
  return result;
}

pascaline_shape_set_info shapeSetOf(const ArtifactHandle &artifact,
                                    size_t set) {
  pascaline_shape_set_info info;
  check(pascaline_shape_set_get_info(artifact.get(), set, &info));
  return info;
}

size_t chosenShapeSet(const Options &options, const ArtifactHandle &artifact) {
  double most = double(infoOf(artifact).shape_set_count - 1);
  return size_t(options.number("--shape-set", 0, 0, most));
}

std::string bytesText(uint64_t bytes) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  return format(unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

std::string shapeText(const int64_t *shape, size_t rank) {
  if (rank == 0)
    return "scalar";
  std::string result;
  for (size_t i = 0; i < rank; ++i)
    result += (i ? "x" : "") + std::to_string(shape[i]);
  return result;
}

std::string typeText(const pascaline_tensor_info &tensor) {
  return std::string(pascaline_element_type_name(tensor.type)) + " " +
         shapeText(tensor.shape, tensor.rank);
}

PendingFiles::~PendingFiles() {
  for (auto &[temporary, path] : files)
    unlink(temporary.c_str());
}

void PendingFiles::add(const std::string &path, const void *data, size_t bytes,
                       const std::string &before) {
  struct stat status, model;
  bool isThere = stat(path.c_str(), &status) == 0;
  if (isThere && stat(artifact.c_str(), &model) == 0 &&
      status.st_dev == model.st_dev && status.st_ino == model.st_ino)
    throw Failure(format("%s: is the model itself; give the result another "
                         "name",
                         path.c_str()));
  bool inPlace = isThere && !S_ISREG(status.st_mode);
  std::string temporary = path + "." + std::to_string(getpid()) + ".tmp";
  int file = inPlace ? open(path.c_str(), O_WRONLY | O_CLOEXEC)
                     : open(temporary.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0)
    throw Failure(format("%s: cannot be %s: %s", path.c_str(),
                         inPlace ? "written" : "created", strerror(errno)));
  if (!inPlace)
    files.emplace_back(temporary, path);
  auto writeAll = [&](const char *at, size_t left) {
    while (left > 0) {
      ssize_t written = write(file, at, left);
      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        return false;
      at += written;
      left -= size_t(written);
    }
    return true;
  };
  bool done = writeAll(before.data(), before.size()) &&
              writeAll(static_cast<const char *>(data), bytes);
  int reason = errno;
  if (close(file) != 0 && done) {
    done = false;
    reason = errno;
  }
  if (!done)
    throw Failure(
        format("%s: cannot be written: %s", path.c_str(), strerror(reason)));
}

void PendingFiles::commit() {
  for (auto &[temporary, path] : files)
    if (rename(temporary.c_str(), path.c_str()) != 0)
      throw Failure(
          format("%s: cannot be written: %s", path.c_str(), strerror(errno)));
  files.clear();
}

} // namespace pascaline::cli
