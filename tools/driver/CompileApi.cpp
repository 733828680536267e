// CompileApi.cpp - pascaline/compile.h over compileModel.
#include "tools/driver/include/pascaline/compile.h"

#include "passes/Pipelines.h"
#include "tools/driver/Compile.h"
#include "tools/driver/Guard.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

using namespace pascaline;

namespace {

// All that a compile reads and writes: a compile that is halted keeps it.
struct Request {
  CompileOptions options;
  std::string model;    // bytes, when there is no path
  std::string artifact; // the result
  std::vector<std::string> notes;
  std::string error;
  bool done = false;
};

class Caller {
public:
  explicit Caller(const pascaline_compile_options *options)
      : options(options) {}

  pascaline_compile_status fail(pascaline_compile_status status,
                                const std::string &sentence) const {
    say(PASCALINE_COMPILE_ERROR, sentence);
    return status;
  }
  void say(pascaline_compile_severity severity,
           const std::string &sentence) const {
    if (options && options->size == sizeof *options && options->diagnostic)
      options->diagnostic(options->diagnostic_user, severity, sentence.c_str());
  }

private:
  const pascaline_compile_options *options;
};

// A list of strings of the caller's, called `name` in a sentence about it.
bool readStrings(const std::string &name, const char *const *from, size_t count,
                 std::vector<std::string> &to, std::string &error) {
  if (count && !from) {
    error = "options." + name + " is NULL and has " + std::to_string(count) +
            " entries";
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!from[i]) {
      error = "options." + name + "[" + std::to_string(i) + "] is NULL";
      return false;
    }
    to.emplace_back(from[i]);
  }
  return true;
}

// False with a sentence for what the compiler itself would not notice.
bool readOptions(const pascaline_compile_options *from, CompileOptions &to,
                 std::string &error) {
  if (!from)
    return true;
  if (from->size != sizeof *from) {
    error = "options.size is " + std::to_string(from->size) +
            " and should be " + std::to_string(sizeof *from) +
            "; build against the header of this library";
    return false;
  }
  if (!readStrings("shapes", from->shapes, from->shape_count, to.shapes,
                   error) ||
      !readStrings("expose", from->expose, from->expose_count, to.exposed,
                   error) ||
      !readStrings("skip_passes", from->skip_passes, from->skip_pass_count,
                   to.skippedPasses, error))
    return false;
  if (from->chip)
    to.chip = from->chip;
  std::string precision = from->precision ? from->precision : "fp32";
  if (precision != "fp32" && precision != "fp16") {
    error = "options.precision is \"" + precision +
            "\" and should be \"fp32\" or \"fp16\"";
    return false;
  }
  to.storeHalf = precision == "fp16";
  to.memoryLimit = from->memory_limit;
  if (from->keep_fp32)
    to.keepFloat = from->keep_fp32;
  to.cubin = from->cubin != 0;
  if (from->ptxas)
    to.ptxas = from->ptxas;
  if (!to.ptxas.empty() && !to.cubin) {
    error = "options.ptxas says what options.cubin uses; give both";
    return false;
  }
  if (!to.keepFloat.empty() && !to.storeHalf) {
    error = "options.keep_fp32 makes exceptions from precision fp16; give both";
    return false;
  }
  if (from->calibrate)
    to.calibrate = from->calibrate;
  if (!to.calibrate.empty() && !to.storeHalf) {
    error =
        "options.calibrate finds what precision fp16 cannot hold; give both";
    return false;
  }
  return true;
}

pascaline_compile_status compile(const Caller &caller,
                                 std::shared_ptr<Request> request,
                                 void **artifact, size_t *bytes) {
  request->options.notes = &request->notes;
  request->options.artifact = &request->artifact;
  std::string error;
  bool whole = runGuarded(
      [request](llvm::ThreadPoolInterface &pool) {
        request->options.pool = &pool;
        request->done = compileModel(request->options, request->error);
      },
      error);
  if (!whole)
    return caller.fail(PASCALINE_COMPILE_INTERNAL_ERROR,
                       request->options.model + ": " + error);
  if (!request->done)
    return caller.fail(PASCALINE_COMPILE_REFUSED, request->error);
  for (const std::string &note : request->notes)
    caller.say(PASCALINE_COMPILE_NOTE, note);
  const std::string &result = request->artifact;
  *artifact = std::malloc(result.size());
  if (!*artifact)
    throw std::bad_alloc();
  std::memcpy(*artifact, result.data(), result.size());
  *bytes = result.size();
  return PASCALINE_COMPILE_OK;
}

// What both entries have in common: checks, and the end of all exceptions.
template <typename Fill>
pascaline_compile_status enter(const pascaline_compile_options *options,
                               const void *model, void **artifact,
                               size_t *bytes, Fill fill) {
  Caller caller(options);
  try {
    if (!model || !artifact || !bytes)
      return caller.fail(PASCALINE_COMPILE_INVALID_ARGUMENT,
                         std::string(!model      ? "the model"
                                     : !artifact ? "artifact"
                                                 : "artifact_bytes") +
                             " is NULL");
    *artifact = nullptr;
    *bytes = 0;
    auto request = std::make_shared<Request>();
    std::string error;
    if (!readOptions(options, request->options, error))
      return caller.fail(PASCALINE_COMPILE_INVALID_ARGUMENT, error);
    fill(*request);
    return compile(caller, std::move(request), artifact, bytes);
  } catch (...) {
    return caller.fail(PASCALINE_COMPILE_INTERNAL_ERROR,
                       "the host's memory or threads are used up");
  }
}

} // namespace

extern "C" {

pascaline_compile_status
pascaline_compile_file(const char *path,
                       const pascaline_compile_options *options,
                       void **artifact, size_t *artifact_bytes) {
  return enter(options, path, artifact, artifact_bytes,
               [&](Request &request) { request.options.model = path; });
}

pascaline_compile_status
pascaline_compile_bytes(const void *model, size_t model_bytes, const char *name,
                        const pascaline_compile_options *options,
                        void **artifact, size_t *artifact_bytes) {
  return enter(options, model, artifact, artifact_bytes, [&](Request &request) {
    request.model.assign(static_cast<const char *>(model), model_bytes);
    request.options.modelBytes = &request.model;
    request.options.model = name ? name : "model";
  });
}

void pascaline_compile_free(void *artifact) { std::free(artifact); }

const char *pascaline_compile_optional_pass(const char *precision,
                                            size_t index) try {
  static const std::vector<std::string> floats = optionalPasses(false);
  static const std::vector<std::string> halves = optionalPasses(true);
  std::string wanted = precision ? precision : "fp32";
  if (wanted != "fp32" && wanted != "fp16")
    return nullptr;
  const std::vector<std::string> &names = wanted == "fp16" ? halves : floats;
  return index < names.size() ? names[index].c_str() : nullptr;
} catch (...) {
  return nullptr;
}

} // extern "C"
