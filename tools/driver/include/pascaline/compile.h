/* compile.h - ONNX to model.pasc inside the caller's process.
 *
 * Library:   libpascaline-compiler.so. It needs no GPU. The runtime's
 *            library lies beside it; calibration runs models on it.
 * Ownership: a successful call gives an artifact; pascaline_compile_free takes
 *            it back. Whatever is handed in is copied or read before the call
 *            returns.
 * Errors:    one sentence, an error to the diagnostic function; *artifact is
 *            NULL then. Nothing here prints, exits, aborts or throws.
 * Fatal:     an error that LLVM calls fatal ends the compile and not the
 *            process: the threads that worked on it are halted for good, with
 *            their memory, and the call returns
 *            PASCALINE_COMPILE_INTERNAL_ERROR. LLVM has one handler of such
 *            errors a process, which the first compile installs; errors on
 *            threads of other users of LLVM keep LLVM's own behaviour.
 * Threads:   any number of threads may compile at once. Each compile works on
 *            threads of its own; the diagnostic function is called on the
 *            caller's, before the call returns.
 */
#ifndef PASCALINE_COMPILE_H
#define PASCALINE_COMPILE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PASCALINE_COMPILE_API __attribute__((visibility("default")))
#else
#define PASCALINE_COMPILE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pascaline_compile_status {
  PASCALINE_COMPILE_OK = 0,
  PASCALINE_COMPILE_INVALID_ARGUMENT = 1, /* a NULL, an unknown option */
  PASCALINE_COMPILE_REFUSED = 2,          /* the model or an option's value */
  PASCALINE_COMPILE_INTERNAL_ERROR = 3    /* memory, or a fatal error */
} pascaline_compile_status;

typedef enum pascaline_compile_severity {
  PASCALINE_COMPILE_NOTE = 0, /* a decision that a user may want to know */
  PASCALINE_COMPILE_ERROR = 1
} pascaline_compile_severity;

typedef void (*pascaline_compile_diagnostic)(void *user,
                                             pascaline_compile_severity,
                                             const char *message);

/* NULL or zero is the default everywhere. */
typedef struct pascaline_compile_options {
  size_t size;               /* sizeof(pascaline_compile_options) */
  const char *const *shapes; /* "NAME=1x3x224x224", or several shapes with
                                commas between, as on the command line */
  size_t shape_count;
  const char *chip;      /* "gtx1080ti" (default), "titanx", ... */
  const char *precision; /* "fp32" (default) or "fp16" */
  const char *keep_fp32; /* with fp16: a regular expression of node names */
  const char *calibrate; /* with fp16: a folder of samples, FOLDER/NAME.npy or
                            FOLDER/<any>/NAME.npy; what comes near half's
                            largest number on them stays float */
  const char *const *expose; /* tensors that become outputs too, behind the
                                model's own, in the type that they are stored
                                in; what is an output already is left */
  size_t expose_count;
  const char *const *skip_passes; /* optional passes to leave out */
  size_t skip_pass_count;
  int cubin; /* 1: machine code for sm_61 too, by a ptxas of CUDA 12.9 or
                earlier, which is run as a process of its own */
  const char *ptxas; /* with cubin; NULL: $PASCALINE_PTXAS, one in $PATH, or
                        one of the Python package nvidia-cuda-nvcc-cu12 */
  /* Bytes of device memory, of the weights and a session together: a model that
   * needs more is refused with the numbers. */
  uint64_t memory_limit;
  pascaline_compile_diagnostic diagnostic;
  void *diagnostic_user;
} pascaline_compile_options;

/* External data is looked for in the model's folder. */
PASCALINE_COMPILE_API pascaline_compile_status pascaline_compile_file(
    const char *path, const pascaline_compile_options *options, void **artifact,
    size_t *artifact_bytes);
/* The same from memory; `name` is what messages call the model (NULL: "model").
 * External data is refused. */
PASCALINE_COMPILE_API pascaline_compile_status
pascaline_compile_bytes(const void *model, size_t model_bytes, const char *name,
                        const pascaline_compile_options *options,
                        void **artifact, size_t *artifact_bytes);
PASCALINE_COMPILE_API void pascaline_compile_free(void *artifact);

/* The passes that a compile may leave out, in the order in which they run, as
 * skip_passes takes them; NULL behind the last, and for an unknown precision.
 * The names live as long as the library. */
PASCALINE_COMPILE_API const char *
pascaline_compile_optional_pass(const char *precision, size_t index);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PASCALINE_COMPILE_H */
