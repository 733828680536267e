// Objects.h - the driver's contexts, modules, streams and events.
//
// Everything is executed by the call that asks for it: a launch or a copy has
// happened when its call returns, whatever its stream. That keeps every
// promise of stream and event order (an application cannot tell it from a
// device that is very fast), and a failed launch is reported by the launch
// itself, as CUDA does under CUDA_LAUNCH_BLOCKING=1. So streams hold nothing
// but where they are in a capture (Capture.h), and events the host's clock.
//
// Handles are looked up in a table of the live ones, so a stale or wild handle
// is an error and no crash. Tables hold shared_ptrs: an object that another
// thread destroys lives until the call that uses it returns.
//
// Locks, in this order: Driver::device (shared by copies and launches, held
// alone by whatever takes memory away from them), then Driver::objects.
// The driver is never destroyed: other threads may be in it at exit.
#pragma once

#include "runtime/emulator/driver/Api.h"
#include "runtime/emulator/scheduler/DeviceMemory.h"
#include "runtime/emulator/scheduler/Textures.h"
#include "runtime/emulator/translate/Translator.h"

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace pascaline::emulator {
struct Capture;

// After which nodes of a capture the next work comes. Under Driver::objects.
struct CapturePosition {
  std::shared_ptr<Capture> capture; // null: none
  std::vector<uint32_t> after;
};

using ContextRef = std::shared_ptr<CUctx_st>;
using GraphWork = std::function<CUresult(const ContextRef &)>;

struct GraphNode {
  GraphWork work;
  std::vector<uint32_t> after; // earlier nodes
};
} // namespace pascaline::emulator

struct CUctx_st {
  CUdevice device = 0;
  unsigned flags = 0;
  // CUDA's sticky error: once a kernel has failed, every call in the context
  // fails like it. Set once, under Driver::objects.
  std::atomic<CUresult> failed{CUDA_SUCCESS};
  std::string failure;
};

struct CUfunc_st {
  CUmod_st *module; // which owns this
  CUctx_st *context;
  const pascaline::emulator::KernelInfo *kernel;
};

// A module's .texref variable; the texture's handle is in its 8 bytes.
struct CUtexref_st {
  CUmod_st *module; // which owns this
  std::string name;
  uint64_t variable; // address
  uint64_t handle;
  pascaline::emulator::Texture texture;
};

struct CUmod_st {
  CUctx_st *context = nullptr;
  std::unique_ptr<pascaline::emulator::TranslatedModule> translated;
  std::vector<uint64_t> addresses; // of translated->variables()
  std::vector<std::unique_ptr<CUfunc_st>> functions;
  std::vector<std::unique_ptr<CUtexref_st>> textures;
  int ptxTarget = 0; // 61 for sm_61
  ~CUmod_st();       // frees the variables and textures
};

struct CUstream_st {
  CUctx_st *context;
  unsigned flags;
  pascaline::emulator::CapturePosition position;
};

struct CUgraph_st {
  CUctx_st *context;
  std::shared_ptr<const std::vector<pascaline::emulator::GraphNode>> nodes;
};

struct CUgraphExec_st {
  CUctx_st *context;
  std::shared_ptr<const std::vector<pascaline::emulator::GraphNode>> nodes;
};

struct CUevent_st {
  CUctx_st *context;
  unsigned flags;
  // Nanoseconds of the steady clock; 0: not recorded yet.
  std::atomic<int64_t> time{0};
  pascaline::emulator::CapturePosition position; // when last recorded in one
};

namespace pascaline::emulator {

// The emulator is one device unless PASCALINE_EMULATOR_DEVICES says otherwise.
// Devices have contexts of their own and share memory and workers.
constexpr int kMaxDevices = 16;
// 0: the variable is wrong, which cuInit says.
int deviceCount();

template <class T> using Table = std::unordered_map<T *, std::shared_ptr<T>>;

struct Driver {
  static Driver &get();

  std::atomic<bool> initialized{false};
  std::shared_mutex device;
  std::atomic<unsigned> captures{0}; // that go on; written under `objects`

  std::mutex objects; // guards all that follows
  Table<CUctx_st> contexts;
  Table<CUmod_st> modules;
  Table<CUstream_st> streams;
  Table<CUevent_st> events;
  Table<CUgraph_st> graphs;
  Table<CUgraphExec_st> executables;
  // The function belongs to the module; the module must outlive its use.
  std::unordered_map<CUfunc_st *, std::shared_ptr<CUmod_st>> functions;
  std::unordered_map<CUtexref_st *, std::shared_ptr<CUmod_st>>
      textureReferences;
  std::unordered_map<CUtexObject, CUctx_st *> textureObjects; // their contexts
  std::unordered_set<void *> hostMemory;
  struct Primary {
    ContextRef context;
    unsigned count = 0; // of retains
    unsigned flags = 0;
  };
  std::array<Primary, kMaxDevices> primaries; // one a device

  template <class T> std::shared_ptr<T> find(Table<T> &table, T *handle) {
    std::lock_guard<std::mutex> lock(objects);
    auto found = table.find(handle);
    return found == table.end() ? nullptr : found->second;
  }
};

// Remembers the sentence for pascalineEmulatorLastError; returns `result`.
CUresult fail(CUresult result, std::string sentence);
CUresult invalidValue(std::string sentence);
CUresult invalidHandle(const char *what);

// What nearly every call begins with: the driver is initialised, a context is
// current, alive and has not failed, and the call is not to fail on request.
// Helpers that enter for a call hand on its name.
CUresult enter(ContextRef *context, const char *call = __builtin_FUNCTION());
// The same, and the module that a caller's handle names.
CUresult enterModule(CUmodule module, std::shared_ptr<CUmod_st> *found,
                     const char *call = __builtin_FUNCTION());
CUresult checkDevice(CUdevice device, const char *call = __builtin_FUNCTION());

// Forgets a module's functions and texture references. Under Driver::objects.
void forgetParts(const CUmod_st &module);

// A .texref of a module that is loaded gets a texture that is bound to nothing.
// False: the table of textures is full.
bool addTextureReference(CUmod_st &module, const std::string &name,
                         uint64_t variable);
void removeTextures(const CUmod_st &module);
// Under the device lock, held alone, and Driver::objects.
void destroyTexturesOf(const CUctx_st *context);

// A kernel that failed has left its memory in no known state: the context
// answers everything with this error from now on.
void setFailed(CUctx_st &context, CUresult result, const std::string &sentence);

// Null, legacy and per-thread stand for default streams of any context.
CUresult checkStream(CUstream stream, const ContextRef &context);

// Takes the context and all that is in it out of the tables and frees its
// memory. Driver::device must be held alone.
void destroyContext(const ContextRef &context);

// The calling thread's stack of current contexts.
std::vector<CUcontext> &contextStack();

} // namespace pascaline::emulator
