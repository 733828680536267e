// ReportHtml.cpp - a Report as one page that needs nothing else: no script, no
// font, no picture from elsewhere. Tables scroll by themselves on a phone.
//
// Everything that comes from a model goes through escape(): no byte of a name
// can open a tag, end an attribute, or turn the text around it.
#include "tools/driver/Report.h"

#include "tools/driver/Html.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace pascaline {
namespace {

using html::escape;
using html::name;
using llvm::StringRef;

constexpr const char *kStyle = R"(
:root { color-scheme: light dark; --line: #8886; --soft: #8882; --mark: #06c; }
@media (prefers-color-scheme: dark) { :root { --mark: #6af; } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; padding: 1rem;
  max-width: 75rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { margin-top: 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; min-width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.6rem;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; min-width: 4em; }
th { overflow-wrap: normal; white-space: nowrap; }
td:first-child { min-width: 8em; }
td.n, th.n { text-align: right; white-space: nowrap; }
td.why { min-width: 14em; }
code, bdi { font-family: ui-monospace, monospace; font-size: 0.95em; }
svg { width: 100%; height: auto; border: 1px solid var(--line); }
svg rect { fill: var(--mark); fill-opacity: 0.35; stroke: var(--mark); }
svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
svg .live { fill: none; stroke: currentColor; stroke-width: 1.5; }
.no { font-weight: bold; }
@media print { body { max-width: none; font-size: 10pt; } .scroll { overflow: visible; }
  tr { break-inside: avoid; } }
)";

class Page {
public:
  explicit Page(const Report &report) : r(report), os(result) {}

  std::string write() {
    os << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
          "charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, "
          "initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" "
          "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>"
       << escape(r.model) << ": Pascaline report</title>\n<style>" << kStyle
       << "</style>\n</head>\n<body>\n";
    summary();
    for (const Report::Program &program : r.programs)
      write(program);
    kernels();
    os << "</body>\n</html>\n";
    return std::move(result);
  }

private:
  struct Column {
    const char *title;
    bool isNumber = false;
  };

  void table(llvm::ArrayRef<Column> columns, llvm::function_ref<void()> rows) {
    os << "<div class=\"scroll\"><table>\n<tr>";
    for (const Column &column : columns)
      os << (column.isNumber ? "<th class=\"n\">" : "<th>") << column.title
         << "</th>";
    os << "</tr>\n";
    rows();
    os << "</table></div>\n";
  }
  void row(llvm::function_ref<void()> cells) {
    os << "<tr>";
    cells();
    os << "</tr>\n";
  }
  /// `markup` is safe already.
  void cell(const llvm::Twine &markup) { os << "<td>" << markup << "</td>"; }
  void why(const llvm::Twine &markup) {
    os << "<td class=\"why\">" << markup << "</td>";
  }
  void number(const llvm::Twine &text) {
    os << "<td class=\"n\">" << text << "</td>";
  }

  void summary() {
    os << "<h1>" << escape(r.model) << "</h1>\n<p>Compiled by "
       << escape(r.producer) << ", tuned for " << escape(r.chip)
       << ", <code>--precision " << r.precision << "</code>, "
       << r.programs.size()
       << (r.programs.size() == 1 ? " shape set" : " shape sets") << ".</p>\n";
  }

  static std::string typeOf(const Report::Tensor &tensor) {
    std::string type;
    for (int64_t extent : tensor.shape)
      type += std::to_string(extent) + "x";
    return type + tensor.type;
  }

  void write(const Report::Program &p) {
    if (r.programs.size() > 1) {
      os << "<h2>For";
      for (const Report::Tensor &input : p.inputs)
        os << ' ' << name(input.name) << '=' << typeOf(input);
      os << "</h2>\n";
    }
    os << "<p>" << p.nodes.size() << " ONNX nodes became "
       << llvm::count_if(p.launches,
                         [](auto &launch) { return !launch.isInit; })
       << " launches a run";
    const char *before = ": ";
    for (StringRef outcome : {"fused", "alone", "folded", "eliminated"}) {
      os << before
         << llvm::count_if(
                p.nodes,
                [&](auto &node) { return node.outcome.what == outcome; })
         << ' ' << outcome;
      before = ", ";
    }
    os << ".</p>\n";
    table({{"tensor"}, {"type"}, {"bytes", true}}, [&] {
      for (auto [what, tensors] :
           {std::pair("input ", &p.inputs), std::pair("output ", &p.outputs)})
        for (const Report::Tensor &tensor : *tensors)
          row([&] {
            cell(what + name(tensor.name));
            cell(typeOf(tensor));
            number(std::to_string(tensor.bytes));
          });
    });
    memory(p);
    nodes(p);
    launches(p);
    buffers(p);
  }

  void memory(const Report::Program &p) {
    const Report::Memory &m = p.memory;
    os << "<h2>Memory</h2>\n";
    table({{"what"}, {"bytes", true}, {"", true}, {"remark"}}, [&] {
      auto line = [&](const char *what, uint64_t bytes, const char *remark) {
        row([&] {
          cell(what);
          number(std::to_string(bytes));
          number(sizeText(bytes));
          why(remark);
        });
      };
      line("weights", m.weights, "uploaded once, shared by all sessions");
      line("computed at load", m.init, "what follows from constants alone");
      line("arena", m.arena, "a session's intermediate tensors");
      line("counters", m.counters, "a session's, for sums over blocks");
      line("staging", m.staging,
           "a session's copies of inputs and outputs that the host holds");
      line("total", m.total, "one session");
      line("arena, lower bound", m.lowerBound,
           "the largest sum of what lives at once in this order of launches");
      line("arena, ONNX's order", m.onnxOrder,
           "the same if launches ran in the model's own order and each result "
           "had memory of its own");
    });
    table({{"card"}, {"memory", true}, {"usable", true}, {"fits"}}, [&] {
      for (const Report::Card &card : p.cards)
        row([&] {
          cell(escape(card.name));
          number(sizeText(card.memory));
          number(sizeText(card.usable));
          cell(card.fits ? "yes" : "<span class=\"no\">no</span>");
        });
    });
    os << "<p>Usable is what the smallest of these cards lists less 300 MiB "
          "for "
          "the driver's context.</p>\n";
    os << "<h3>The arena over a run</h3>\n" << arenaPicture(p);
    os << "<p>A box is a buffer: from the launch that writes it to the last "
          "that "
          "reads it, and from its first byte to its last. The line is the sum "
          "of what lives.</p>\n";
  }

  std::string choice(const Report::Choice &c) {
    if (c.what.empty())
      return "";
    return "<b>" + escape(c.what) + "</b>: " + escape(c.why);
  }

  void nodes(const Report::Program &p) {
    os << "<h2>Nodes</h2>\n";
    table({{"node"},
           {"operator"},
           {"became"},
           {"launches"},
           {"precision"},
           {"layout"},
           {"memory"},
           {"not fused with"}},
          [&] {
            for (const Report::Node &node : p.nodes)
              row([&] {
                cell(name(node.name));
                cell(name(node.op));
                why(choice(node.outcome));
                std::string numbers;
                for (size_t launch : node.launches)
                  numbers +=
                      (numbers.empty() ? "" : ", ") + std::to_string(launch);
                cell(numbers);
                why(choice(node.precision));
                why(choice(node.layout));
                cell(choice(node.memory));
                std::string refusals;
                for (const Report::Refusal &refusal : node.notFused)
                  refusals += (refusals.empty() ? "" : "<br>") +
                              name(refusal.with) + ": " + escape(refusal.why);
                why(refusals);
              });
          });
  }

  void launches(const Report::Program &p) {
    os << "<h2>Launches</h2>\n";
    table({{"launch", true},
           {"kernel"},
           {"nodes"},
           {"operands"},
           {"grid"},
           {"Mflop", true},
           {"MB", true},
           {"limit"},
           {"arena alive", true}},
          [&] {
            for (auto [i, launch] : llvm::enumerate(p.launches))
              row([&] {
                number(std::to_string(i) + (launch.isInit ? " (load)" : ""));
                cell(name(r.kernels[launch.kernel].name));
                std::string nodes, operands;
                for (const std::string &node : launch.nodes)
                  nodes += (nodes.empty() ? "" : ", ") + name(node);
                why(nodes);
                for (const Report::Operand &operand : launch.operands)
                  operands +=
                      (operands.empty() ? "" : "<br>") + operand.use + " " +
                      escape(operand.type) + " in " +
                      std::to_string(operand.buffer) +
                      (operand.start ? " at " + std::to_string(operand.start)
                                     : "");
                why(operands);
                cell(html::join(launch.grid));
                number(html::thousandths(launch.flops, 1000));
                number(html::thousandths(launch.bytes, 1000));
                cell(launch.limit);
                number(sizeText(launch.liveBytes));
              });
          });
  }

  void kernels() {
    os << "<h2>Kernels</h2>\n";
    table({{"kernel"},
           {"configuration"},
           {"block"},
           {"shared bytes", true},
           {"registers", true},
           {"launches", true}},
          [&] {
            for (const Report::Kernel &kernel : r.kernels)
              row([&] {
                cell(name(kernel.name));
                cell(escape(kernel.configuration));
                cell(html::join(kernel.block));
                number(std::to_string(kernel.sharedBytes));
                number(kernel.registers ? std::to_string(kernel.registers)
                                        : "not known");
                number(std::to_string(kernel.launches));
              });
          });
  }

  void buffers(const Report::Program &p) {
    os << "<h2>Buffers</h2>\n";
    table({{"buffer", true},
           {"kind"},
           {"offset", true},
           {"bytes", true},
           {"launches"},
           {"made by"}},
          [&] {
            for (auto [i, buffer] : llvm::enumerate(p.buffers))
              row([&] {
                number(std::to_string(i));
                cell(buffer.kind);
                number(std::to_string(buffer.offset));
                number(std::to_string(buffer.bytes));
                cell(buffer.first == Report::kNone
                         ? "none"
                         : std::to_string(buffer.first) + " to " +
                               std::to_string(buffer.last));
                std::string made;
                for (const std::string &node : buffer.nodes)
                  made += (made.empty() ? "" : ", ") + name(node);
                if (buffer.replaces != Report::kNone)
                  made += " in the place of " + std::to_string(buffer.replaces);
                why(made);
              });
          });
  }

  const Report &r;
  std::string result;
  llvm::raw_string_ostream os;
};

} // namespace

std::string reportAsHtml(const Report &report) { return Page(report).write(); }

} // namespace pascaline
