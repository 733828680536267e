// Cli.h - what the commands of `pascaline` share: failing, options, handles.
#pragma once

#include "pascaline/pascaline.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace pascaline::cli {

// Exit code 1 with this sentence.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Exit code 2 with this sentence.
struct WrongUsage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string format(const char *text, ...) __attribute__((format(printf, 1, 2)));

// Throws the runtime's own sentence.
void check(pascaline_status status);

// The arguments behind the command's name.
class Options {
public:
  struct Spec {
    const char *name; // "--input"
    bool takesValue;
    bool repeats = false;
  };
  // One positional argument is required, whose name in an error is `what`;
  // none is taken where `what` is null.
  Options(int argc, char **argv, const std::vector<Spec> &specs,
          const char *what);

  const std::string &positional() const { return file; }
  bool has(const char *name) const;
  // Null if absent.
  const std::string *value(const char *name) const;
  std::vector<std::string> values(const char *name) const;
  // A number from `least` to `most`, or `otherwise` if absent.
  double number(const char *name, double otherwise, double least,
                double most) const;

private:
  std::string file;
  std::vector<std::pair<std::string, std::string>> given;
};

template <class T, void (*close)(T *)> struct Closer {
  void operator()(T *handle) const { close(handle); }
};
template <class T, void (*close)(T *)>
using Handle = std::unique_ptr<T, Closer<T, close>>;
using ArtifactHandle = Handle<pascaline_artifact, pascaline_artifact_close>;
using DeviceHandle = Handle<pascaline_device, pascaline_device_close>;
using ModelHandle = Handle<pascaline_model, pascaline_model_close>;
using SessionHandle = Handle<pascaline_session, pascaline_session_close>;

ArtifactHandle openArtifact(const std::string &path);
// --device, or auto, which says on stderr what it took and why.
DeviceHandle openDevice(const Options &options);
ModelHandle openModel(const ArtifactHandle &artifact,
                      const DeviceHandle &device);
SessionHandle openSession(const ModelHandle &model);

pascaline_artifact_info infoOf(const ArtifactHandle &artifact);
// Of a shape set.
std::vector<pascaline_tensor_info> inputsOf(const ArtifactHandle &artifact,
                                            size_t set);
std::vector<pascaline_tensor_info> outputsOf(const ArtifactHandle &artifact,
                                             size_t set);
std::vector<pascaline_launch_info> launchesOf(const ArtifactHandle &artifact,
                                              size_t set);
pascaline_shape_set_info shapeSetOf(const ArtifactHandle &artifact, size_t set);
// --shape-set, or 0.
size_t chosenShapeSet(const Options &options, const ArtifactHandle &artifact);

// "1.5 MiB"
std::string bytesText(uint64_t bytes);
// "f32 1x3x224x224", "f32 scalar"
std::string typeText(const pascaline_tensor_info &tensor);
std::string shapeText(const int64_t *shape, size_t rank);

// The .npy file of an input or output: its name, or `kind`_`index` where that
// is no plain file name ([A-Za-z0-9_][A-Za-z0-9_.-]{0,150}).
std::string fileName(const std::string &name, const char *kind, size_t index);

// Files that appear all or not at all: written beside their place under another
// name, and renamed by commit(). What is not committed is removed. Devices and
// pipes are written at once: a rename would put a file in their place. The
// artifact that is read is never written over.
class PendingFiles {
public:
  explicit PendingFiles(std::string artifact) : artifact(std::move(artifact)) {}
  PendingFiles(const PendingFiles &) = delete;
  PendingFiles &operator=(const PendingFiles &) = delete;
  ~PendingFiles();
  void add(const std::string &path, const void *data, size_t bytes,
           const std::string &before = {});
  void add(const std::string &path, const std::string &text) {
    add(path, text.data(), text.size());
  }
  void commit();

private:
  std::string artifact;                                   // its path
  std::vector<std::pair<std::string, std::string>> files; // temporary, path
};

int runCommand(int argc, char **argv);
int benchCommand(int argc, char **argv);
int inspectCommand(int argc, char **argv);
int doctorCommand(int argc, char **argv);

} // namespace pascaline::cli
