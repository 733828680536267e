/* pascaline.h - run a compiled model (model.pasc) on a GPU or on the emulator.
 *
 * Ownership: pascaline_*_open gives, pascaline_*_close takes back (NULL is ok).
 *            Handles may be closed in any order: a session keeps its model, a
 *            model its device and its artifact, for as long as they need them.
 *            Strings and arrays that are handed out belong to the handle they
 *            were asked of and live as long as it does.
 * Errors:    every call that can fail returns pascaline_status; the sentence
 *            behind it is pascaline_last_error(), valid until this thread's
 *            next call that fails. A failed open leaves NULL, a failed run
 *            leaves its outputs undefined. Nothing here prints, exits, aborts
 *            or throws.
 * Threads:   devices, models and artifacts may be used by any number of threads
 *            at once; a session by one thread at a time.
 * Memory:    pascaline_artifact_memory says what a model and each of its
 *            sessions take on the device, before anything is allocated.
 * Order:     artifact (no device needed) -> device -> model -> session -> run.
 */
#ifndef PASCALINE_PASCALINE_H
#define PASCALINE_PASCALINE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PASCALINE_API __attribute__((visibility("default")))
#else
#define PASCALINE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pascaline_artifact pascaline_artifact;
typedef struct pascaline_device pascaline_device;
typedef struct pascaline_model pascaline_model;
typedef struct pascaline_session pascaline_session;

typedef enum pascaline_status {
  PASCALINE_OK = 0,
  PASCALINE_INVALID_ARGUMENT = 1, /* the caller's: a NULL, a size, a count */
  PASCALINE_FILE_ERROR = 2,       /* a file that cannot be read */
  PASCALINE_INVALID_ARTIFACT = 3, /* a file that is no (sound) model.pasc */
  PASCALINE_UNSUPPORTED = 4,      /* a sound one that this runtime cannot run */
  PASCALINE_NO_DEVICE = 5,
  PASCALINE_OUT_OF_DEVICE_MEMORY = 6,
  PASCALINE_OUT_OF_HOST_MEMORY = 7,
  PASCALINE_DRIVER_ERROR =
      8, /* the driver refused something, or a kernel failed */
  PASCALINE_INTERNAL_ERROR = 9
} pascaline_status;

typedef enum pascaline_element_type {
  PASCALINE_F32 = 1,
  PASCALINE_F16 = 2,
  PASCALINE_BF16 = 3,
  PASCALINE_F64 = 4,
  PASCALINE_I8 = 5,
  PASCALINE_U8 = 6,
  PASCALINE_I16 = 7,
  PASCALINE_U16 = 8,
  PASCALINE_I32 = 9,
  PASCALINE_U32 = 10,
  PASCALINE_I64 = 11,
  PASCALINE_U64 = 12,
  PASCALINE_BOOL = 13 /* one byte, 0 or 1 */
} pascaline_element_type;

/* "0.1.0" */
PASCALINE_API const char *pascaline_version(void);
/* The sentence of this thread's last failure, "" if there was none. */
PASCALINE_API const char *pascaline_last_error(void);
/* "f32"; "?" for what is no type. */
PASCALINE_API const char *pascaline_element_type_name(pascaline_element_type);
/* Bytes of one element; 0 for what is no type. */
PASCALINE_API size_t pascaline_element_type_bytes(pascaline_element_type);

/* ---- Artifact: what is in a model.pasc. Needs no device. ---- */

/* Reads the file and checks all of it. */
PASCALINE_API pascaline_status
pascaline_artifact_open(const char *path, pascaline_artifact **artifact);
/* The same for bytes in memory, which are borrowed until the artifact and the
 * models opened from it are closed. `name` is what errors call it. */
PASCALINE_API pascaline_status
pascaline_artifact_open_bytes(const void *data, size_t bytes, const char *name,
                              pascaline_artifact **artifact);
PASCALINE_API void pascaline_artifact_close(pascaline_artifact *artifact);

typedef struct pascaline_artifact_info {
  const char *model;    /* the model's own name */
  const char *producer; /* what compiled it */
  const char *chip;     /* the card it was tuned for */
  uint32_t format_version;
  uint32_t target_sm; /* 61 */
  size_t input_count;
  size_t output_count;
  size_t kernel_count;
  size_t launch_count;      /* a run */
  size_t init_launch_count; /* when a model is opened */
  const char *ptx;          /* text with a final NUL */
  size_t ptx_bytes;         /* without it */
  size_t cubin_bytes;       /* 0: none */
  size_t shape_set_count;   /* at least 1 */
} pascaline_artifact_info;

typedef struct pascaline_tensor_info {
  const char *name;
  pascaline_element_type type;
  size_t rank;
  const int64_t *shape;
  uint64_t bytes; /* dense, row-major */
} pascaline_tensor_info;

typedef struct pascaline_kernel_info {
  const char *name; /* its .entry in the PTX */
  uint32_t block[3];
  uint32_t static_shared_bytes;
  uint32_t dynamic_shared_bytes;
  uint32_t registers; /* a thread; 0: not known */
} pascaline_kernel_info;

typedef struct pascaline_launch_info {
  size_t kernel; /* index */
  uint32_t grid[3];
  size_t node_count;
  const char *const *nodes; /* the ONNX nodes that it computes */
  uint64_t flops;
  uint64_t bytes;    /* of global memory, at least */
  int secondary;     /* 1: only helps another launch (a sum after a split) */
  const char *limit; /* "fma", "dram", "shared", "latency" or "unknown" */
} pascaline_launch_info;

/* Bytes on the device. A model takes `weights`; each session takes `arena`,
 * `counters` and `staging` (copies of inputs and outputs, for host pointers):
 * of each the most that any shape set needs.
 */
typedef struct pascaline_memory {
  uint64_t weights;
  uint64_t arena;
  uint64_t counters;
  uint64_t staging;
  uint64_t lower_bound; /* no arena can be smaller in this order of launches */
  uint64_t model_total;
  uint64_t session_total;
  /* What the arena would have to be if launches ran in the model's own order
   * and each result had memory of its own; 0 where the artifact does not say.
   */
  uint64_t onnx_order;
} pascaline_memory;

PASCALINE_API pascaline_status pascaline_artifact_get_info(
    const pascaline_artifact *artifact, pascaline_artifact_info *info);
PASCALINE_API pascaline_status
pascaline_artifact_input(const pascaline_artifact *artifact, size_t index,
                         pascaline_tensor_info *info);
PASCALINE_API pascaline_status
pascaline_artifact_output(const pascaline_artifact *artifact, size_t index,
                          pascaline_tensor_info *info);
PASCALINE_API pascaline_status
pascaline_artifact_kernel(const pascaline_artifact *artifact, size_t index,
                          pascaline_kernel_info *info);
PASCALINE_API pascaline_status
pascaline_artifact_launch(const pascaline_artifact *artifact, size_t index,
                          pascaline_launch_info *info);
PASCALINE_API pascaline_status pascaline_artifact_memory(
    const pascaline_artifact *artifact, pascaline_memory *memory);

/* ---- Shape sets ----
 *
 * A model compiled for several shapes of its inputs has a shape set for each.
 * Names, types and order of inputs and outputs are the same in all. What is
 * said of an artifact's inputs, outputs and launches above is said of set 0,
 * which a session runs until it is told another. Weights and a session's memory
 * are shared by all. */

typedef struct pascaline_shape {
  const int64_t *dims; /* may be NULL when rank is 0 */
  size_t rank;
} pascaline_shape;

typedef struct pascaline_shape_set_info {
  size_t launch_count;      /* a run */
  size_t init_launch_count; /* when a model is opened */
  pascaline_memory memory;  /* of this set alone */
} pascaline_shape_set_info;

PASCALINE_API pascaline_status
pascaline_shape_set_get_info(const pascaline_artifact *artifact, size_t set,
                             pascaline_shape_set_info *info);
PASCALINE_API pascaline_status
pascaline_shape_set_input(const pascaline_artifact *artifact, size_t set,
                          size_t index, pascaline_tensor_info *info);
PASCALINE_API pascaline_status
pascaline_shape_set_output(const pascaline_artifact *artifact, size_t set,
                           size_t index, pascaline_tensor_info *info);
PASCALINE_API pascaline_status
pascaline_shape_set_launch(const pascaline_artifact *artifact, size_t set,
                           size_t index, pascaline_launch_info *info);
/* The set whose inputs have these shapes, in the inputs' order;
 * PASCALINE_INVALID_ARGUMENT, and the shapes that there are in the sentence,
 * where none has. */
PASCALINE_API pascaline_status pascaline_shape_set_find(
    const pascaline_artifact *artifact, const pascaline_shape *shapes,
    size_t shape_count, size_t *set);

/* ---- Device ---- */

/* `message` is one line without its newline: which device was taken and why,
 * what a model and its sessions take, what code was loaded and how long that
 * took, and whatever works in another way than it might (a cubin or a graph
 * that the driver refuses). May be called by any thread that uses the device or
 * what was opened on it, during those calls only, and must not close them. */
typedef void (*pascaline_log_function)(void *user, const char *message);

typedef struct pascaline_device_options {
  size_t size; /* sizeof(pascaline_device_options) */
  pascaline_log_function log;
  void *log_user;
  int counting; /* 1: kernels of models opened on it count what they do, for
                   pascaline_session_run_counted; the emulator only */
} pascaline_device_options;

/* How many cards the driver has, usable or not; fails with the reason where
 * there is no driver or no card. */
PASCALINE_API pascaline_status pascaline_gpu_count(size_t *count);

/* selector: "gpu" (the first usable), "gpu:N", "emulator", or "auto": a usable
 * GPU (compute capability 6.1 or later), else the emulator. The emulator is the
 * library that $PASCALINE_EMULATOR names, else libpascaline-emulator.so beside
 * the runtime's. options may be NULL. */
PASCALINE_API pascaline_status pascaline_device_open(
    const char *selector, const pascaline_device_options *options,
    pascaline_device **device);
PASCALINE_API void pascaline_device_close(pascaline_device *device);

typedef struct pascaline_device_info {
  const char *name;   /* as the driver says it */
  const char *reason; /* which device this is and why it was taken */
  int emulator;       /* 1: no GPU; times are the host's */
  uint32_t compute_major;
  uint32_t compute_minor;
  uint32_t driver_version; /* 12040: CUDA 12.4 */
  uint64_t memory_total;
  uint64_t memory_free; /* at this moment */
} pascaline_device_info;

PASCALINE_API pascaline_status pascaline_device_get_info(
    pascaline_device *device, pascaline_device_info *info);

/* ---- Model: code and weights on one device ---- */

PASCALINE_API pascaline_status pascaline_model_open(const char *path,
                                                    pascaline_device *device,
                                                    pascaline_model **model);
/* The bytes are borrowed until the model is closed. */
PASCALINE_API pascaline_status
pascaline_model_open_bytes(const void *data, size_t bytes, const char *name,
                           pascaline_device *device, pascaline_model **model);
PASCALINE_API pascaline_status pascaline_model_open_artifact(
    pascaline_artifact *artifact, pascaline_device *device,
    pascaline_model **model);
PASCALINE_API void pascaline_model_close(pascaline_model *model);
/* What the model was opened from; belongs to the model, do not close it. */
PASCALINE_API const pascaline_artifact *
pascaline_model_artifact(const pascaline_model *model);

/* ---- Session: what one run at a time needs ---- */

typedef struct pascaline_session_options {
  size_t size;   /* sizeof(pascaline_session_options) */
  int no_graphs; /* 1: every launch is a call of the driver, see below */
} pascaline_session_options;

PASCALINE_API pascaline_status
pascaline_session_open(pascaline_model *model, pascaline_session **session);
/* options may be NULL. */
PASCALINE_API pascaline_status pascaline_session_open_with(
    pascaline_model *model, const pascaline_session_options *options,
    pascaline_session **session);
/* Waits for runs that are still under way. */
PASCALINE_API void pascaline_session_close(pascaline_session *session);

/* Runs from now on are of this shape set. Waits for nothing; runs that are
 * under way stay what they are. */
PASCALINE_API pascaline_status
pascaline_session_use_shape_set(pascaline_session *session, size_t set);

typedef enum pascaline_place {
  PASCALINE_HOST = 0,
  PASCALINE_ON_DEVICE = 1 /* `data` is a CUdeviceptr of the model's device */
} pascaline_place;

/* One input or output. `bytes` must be the tensor's. Device memory that is
 * 256-byte aligned is used as it is, other memory is copied. Inputs are never
 * written. Outputs must overlap neither inputs nor one another. */
typedef struct pascaline_buffer {
  void *data;
  uint64_t bytes;
  pascaline_place place;
} pascaline_buffer;

/* Runs and waits. inputs and outputs are in the artifact's order.
 *
 * Graphs: from the second run on whose inputs and outputs are at the same
 * device addresses (all host memory counts as one address), the launches are
 * one CUDA graph, which the driver starts at once; a session keeps up to four.
 * Where the driver has no graphs, the log says so and launches go one by one.
 * The results are the same bits. */
PASCALINE_API pascaline_status pascaline_session_run(
    pascaline_session *session, const pascaline_buffer *inputs,
    size_t input_count, const pascaline_buffer *outputs, size_t output_count);

/* Puts a run on `stream` (a CUstream of the device's primary context; NULL is
 * that context's default stream) and returns. Everything that was handed in
 * must stay as it is until the stream has got there. Runs of one session follow
 * one another, on whatever streams.
 *
 * If `stream` is being captured into a graph of the caller's, the run becomes
 * part of it: this waits for the session's earlier runs, and whoever launches
 * the graph sees to it that it does not overlap another run of the session, and
 * that the session is open. */
PASCALINE_API pascaline_status pascaline_session_run_async(
    pascaline_session *session, const pascaline_buffer *inputs,
    size_t input_count, const pascaline_buffer *outputs, size_t output_count,
    void *stream);

/* Runs, waits, and says how long the device took, by its events:
 * *total_us from the first launch to the end of the last, without copies to
 * and from the host. With launch_us != NULL, launch_us[i] is launch i's time
 * (launch_count of them), and the events between launches slow the total. */
PASCALINE_API pascaline_status pascaline_session_run_timed(
    pascaline_session *session, const pascaline_buffer *inputs,
    size_t input_count, const pascaline_buffer *outputs, size_t output_count,
    double *total_us, double *launch_us, size_t launch_count);

/* What the launches of a run did: a row of `count` values a launch. The names
 * and their meaning are in docs/emulator.md; all are sums, so rows may be
 * added. Strings and values belong to the session; its next counted run
 * overwrites the values. */
typedef struct pascaline_counters {
  size_t count;
  const char *const *names;
  size_t launch_count;
  const uint64_t *values;
} pascaline_counters;

/* Runs, waits, and counts; on a device that was opened with `counting`. */
PASCALINE_API pascaline_status pascaline_session_run_counted(
    pascaline_session *session, const pascaline_buffer *inputs,
    size_t input_count, const pascaline_buffer *outputs, size_t output_count,
    pascaline_counters *counters);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PASCALINE_PASCALINE_H */
