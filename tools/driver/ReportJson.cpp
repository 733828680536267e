// ReportJson.cpp - a Report as JSON; docs/report.md describes it.
#include "tools/driver/Report.h"

#include "llvm/Support/JSON.h"

namespace pascaline {
namespace {

namespace json = llvm::json;

/// Bytes that are no UTF-8 are replaced: the file is JSON whatever names hold.
std::string text(llvm::StringRef bytes) { return json::fixUTF8(bytes); }

class Writer {
public:
  explicit Writer(llvm::raw_ostream &os) : j(os, /*IndentSize=*/1) {}

  void write(const Report &r) {
    j.object([&] {
      j.attribute("version", Report::kVersion);
      string("model", r.model);
      string("producer", r.producer);
      string("chip", r.chip);
      string("precision", r.precision);
      list("kernels", r.kernels, [&](auto &each) { kernel(each); });
      list("programs", r.programs, [&](auto &each) { program(each); });
    });
  }

private:
  void string(const char *key, llvm::StringRef value) {
    j.attribute(key, text(value));
  }
  void number(const char *key, uint64_t value) {
    j.attribute(key, int64_t(value));
  }
  /// null for what is not known or not there.
  void index(const char *key, size_t value) {
    if (value == Report::kNone)
      j.attribute(key, nullptr);
    else
      number(key, value);
  }
  template <class T, class Each>
  void list(const char *key, const std::vector<T> &values, Each each) {
    j.attributeArray(key, [&] {
      for (const T &value : values)
        each(value);
    });
  }
  void strings(const char *key, const std::vector<std::string> &values) {
    list(key, values, [&](auto &value) { j.value(text(value)); });
  }
  void three(const char *key, const uint32_t (&values)[3]) {
    j.attributeArray(key, [&] {
      for (uint32_t value : values)
        j.value(int64_t(value));
    });
  }
  void choice(const char *key, const Report::Choice &value) {
    if (value.what.empty())
      return j.attribute(key, nullptr);
    j.attributeObject(key, [&] {
      string("choice", value.what);
      string("reason", value.why);
    });
  }

  void program(const Report::Program &p) {
    j.object([&] {
      list("inputs", p.inputs, [&](auto &each) { tensor(each); });
      list("outputs", p.outputs, [&](auto &each) { tensor(each); });
      list("nodes", p.nodes, [&](auto &each) { node(each); });
      list("launches", p.launches, [&](auto &each) { launch(each); });
      j.attributeObject("memory", [&] { memory(p); });
    });
  }

  void tensor(const Report::Tensor &t) {
    j.object([&] {
      string("name", t.name);
      string("type", t.type);
      list("shape", t.shape, [&](int64_t extent) { j.value(extent); });
      number("bytes", t.bytes);
    });
  }

  void node(const Report::Node &n) {
    j.object([&] {
      string("name", n.name);
      string("op", n.op);
      string("outcome", n.outcome.what);
      string("reason", n.outcome.why);
      list("launches", n.launches, [&](size_t i) { j.value(int64_t(i)); });
      choice("precision", n.precision);
      choice("layout", n.layout);
      choice("memory", n.memory);
      list("not_fused", n.notFused, [&](const Report::Refusal &refusal) {
        j.object([&] {
          string("with", refusal.with);
          string("reason", refusal.why);
        });
      });
    });
  }

  void kernel(const Report::Kernel &k) {
    j.object([&] {
      string("name", k.name);
      string("configuration", k.configuration);
      three("block", k.block);
      number("shared_bytes", k.sharedBytes);
      index("registers", k.registers ? k.registers : Report::kNone);
      number("launches", k.launches);
    });
  }

  void launch(const Report::Launch &l) {
    j.object([&] {
      number("kernel", l.kernel);
      j.attribute("at_load", l.isInit);
      three("grid", l.grid);
      strings("nodes", l.nodes);
      list("operands", l.operands, [&](const Report::Operand &operand) {
        j.object([&] {
          number("buffer", operand.buffer);
          string("use", operand.use);
          string("type", operand.type);
          number("start", operand.start);
          number("bytes", operand.bytes);
        });
      });
      number("flops", l.flops);
      number("bytes", l.bytes);
      string("limit", l.limit);
      number("live_bytes", l.liveBytes);
    });
  }

  void memory(const Report::Program &r) {
    const Report::Memory &m = r.memory;
    number("weights", m.weights);
    number("init", m.init);
    number("arena", m.arena);
    number("counters", m.counters);
    number("staging", m.staging);
    number("total", m.total);
    number("lower_bound", m.lowerBound);
    number("onnx_order", m.onnxOrder);
    index("peak_launch", m.peakLaunch);
    list("cards", r.cards, [&](const Report::Card &card) {
      j.object([&] {
        string("name", card.name);
        number("memory", card.memory);
        number("usable", card.usable);
        j.attribute("fits", card.fits);
      });
    });
    list("buffers", r.buffers, [&](const Report::Buffer &buffer) {
      j.object([&] {
        string("kind", buffer.kind);
        number("offset", buffer.offset);
        number("bytes", buffer.bytes);
        index("first_launch", buffer.first);
        index("last_launch", buffer.last);
        strings("nodes", buffer.nodes);
        index("replaces", buffer.replaces);
      });
    });
  }

  json::OStream j;
};

} // namespace

std::string reportAsJson(const Report &report) {
  std::string result;
  llvm::raw_string_ostream os(result);
  Writer(os).write(report);
  os << '\n';
  return result;
}

} // namespace pascaline
