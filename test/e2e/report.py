#!/usr/bin/env python3
"""`--report` and `--memory-limit`: the report is complete, valid and the same every time, hostile
names cannot break it, and what is refused leaves nothing behind.
"""

import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

import graphs
import harness
from harness import Failure

OUTCOMES = {"fused", "alone", "folded", "eliminated"}
SEED = 20260303
HOSTILE = ['"quoted"', "<script>alert(1)</script>", "a\nb\r\tc", "' onload='x", "&amp;&lt;",
           "</title></svg><h1>", "\u202egnp.exe", "-->", "]]>", "\\u0041\\", "{{7*7}}",
           "x" * 5000]


class Page(HTMLParser):
    """What a browser would see."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.open = set(), [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise Failure(f"</{tag}> closes nothing")

    def handle_data(self, data):
        self.text.append(data)


def check_page(text):
    """A whole page that asks for nothing and does nothing."""
    page = Page(text)
    if page.open:
        raise Failure(f"the page leaves {page.open} open")
    allowed = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "div",
               "table", "tr", "th", "td", "b", "br", "code", "bdi", "span", "svg", "rect",
               "polyline", "text"}
    if page.tags - allowed:
        raise Failure(f"the page has {page.tags - allowed}")
    for name, value in page.attributes:
        if name in ("src", "href", "style") or name.startswith("on"):
            raise Failure(f"the page has {name}={value}")
    return page


def mixed_model():
    """A node of every outcome, and one that two branches read."""
    rng = np.random.default_rng(SEED)
    weights = {"w": rng.standard_normal((8, 4, 3, 3), np.float32),
               "scale": np.ones(8, np.float32), "shift": np.full(8, 0.5, np.float32),
               "mean": np.zeros(8, np.float32), "var": np.ones(8, np.float32),
               "v": rng.standard_normal((4, 8, 1, 1), np.float32),
               "flat": np.array([2, -1], np.int64), "one": np.ones(8, np.float32)}
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "scale", "shift", "mean", "var"], ["n"], name="norm"),
        node("Relu", ["n"], ["r"], name="relu"),
        node("Dropout", ["r"], ["d"], name="dropout"),
        node("Conv", ["d", "v"], ["e"], name="second"),
        node("GlobalAveragePool", ["d"], ["g"], name="pool"),
        node("Reshape", ["e", "flat"], ["f"], name="reshape"),
        node("Add", ["one", "one"], ["two"], name="constants"),
        node("Exp", ["x"], ["unread"], name="dead"),
        node("Identity", ["g"], ["y"], name="identity"),
        node("Softmax", ["f"], ["z"], name="softmax", axis=1)]
    feeds = {"x": rng.standard_normal((2, 4, 8, 8), np.float32)}
    return graphs.node_graph(nodes, feeds, ["y", "z"], weights)


def open_model():
    """The same where batch, height and width are the caller's to choose."""
    model = mixed_model()
    for name, dim in zip("nhw", (0, 2, 3)):
        model.graph.input[0].type.tensor_type.shape.dim[dim].dim_param = name
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return model


def named_model(names):
    """A chain with these names on nodes and values."""
    nodes, value = [], "x"
    for i, name in enumerate(names):
        nodes.append(helper.make_node("Relu" if i % 2 else "Neg", [value], [f"v{i}"], name=name))
        value = f"v{i}"
    return graphs.node_graph(nodes, {"x": np.zeros((2, 3), np.float32)}, [value])


class Reports:
    """The tests."""

    def __init__(self, product):
        self.product = product

    def compile(self, model, folder, *options):
        """Compiles with both reports; the JSON, parsed, and the page's text."""
        folder = Path(folder)
        content = model if isinstance(model, bytes) else model.SerializeToString()
        (folder / "model.onnx").write_bytes(content)
        self.product.compile(folder / "model.onnx", folder / "model.pasc", "--report",
                             folder / "r.json", "--report", folder / "r.html", *options)
        return (json.loads((folder / "r.json").read_bytes().decode("utf-8")),
                (folder / "r.html").read_bytes().decode("utf-8"))

    def complete(self, *options):
        """Every node once, with an outcome and a reason; indices that lead somewhere."""
        model = mixed_model()
        with harness.scratch() as folder:
            report, page = self.compile(model, folder, *options)
        check_report(report, [node.name for node in model.graph.node])
        check_page(page)
        nodes = {node["name"]: node for node in report["programs"][0]["nodes"]}
        expected = {"conv": "fused", "relu": "fused", "second": "alone", "dropout": "eliminated",
                    "identity": "eliminated", "reshape": "eliminated", "constants": "folded",
                    "dead": "eliminated", "pool": "alone", "softmax": "alone"}
        for name, outcome in expected.items():
            if nodes[name]["outcome"] != outcome:
                raise Failure(f"{name} is {nodes[name]['outcome']}, should be {outcome}: "
                              f"{nodes[name]['reason']}")
        refused = {refusal["with"] for refusal in nodes["second"]["not_fused"]}
        if not refused:
            raise Failure("nothing says why the second convolution is a kernel of its own")
        for name in nodes:
            if name not in page:
                raise Failure(f"the page does not mention {name}")
        return report

    def half(self):
        """--precision fp16 says what is stored how, and why."""
        report = self.complete("--precision", "fp16")
        nodes = {node["name"]: node["precision"] for node in report["programs"][0]["nodes"]}
        for name, choice in {"relu": "f16", "softmax": "f32", "pool": "f32"}.items():
            if nodes[name]["choice"] != choice or not nodes[name]["reason"]:
                raise Failure(f"{name} is stored as {nodes[name]}, should be {choice}")
        # Exposed from inside a kernel: --keep-fp32 is the reason where it is given, else that the
        # kernel has the value in its registers.
        for option, reason in [("norm", "--keep-fp32 names its node"), ("pool", "no kernel reads")]:
            with harness.scratch() as folder:
                report, _ = self.compile(mixed_model(), folder, "--precision", "fp16", "--expose",
                                         "n", "--keep-fp32", option)
            said = [node["precision"]["reason"] for node in report["programs"][0]["nodes"]
                    if node["name"] in ("conv", "norm") and node["precision"]]
            if not any(each.startswith(reason) for each in said):
                raise Failure(f"--keep-fp32 {option} --expose n gives the reasons {said}")

    def shape_sets(self):
        """A program for each."""
        with harness.scratch() as folder:
            report, page = self.compile(open_model(), folder, "--shape", "x=2x4x8x8,1x4x4x4")
        if len(report["programs"]) != 2:
            raise Failure(f"there are {len(report['programs'])} programs, should be 2")
        names = [node.name for node in mixed_model().graph.node]
        check_report(report, names)
        check_page(page)

    def same(self):
        """The same bytes twice."""
        texts = []
        for _ in range(2):
            with harness.scratch() as folder:
                self.compile(mixed_model(), folder, "--precision", "fp16")
                texts.append([(Path(folder) / name).read_bytes() for name in ("r.json", "r.html")])
        if texts[0] != texts[1]:
            raise Failure("two compiles of one model give two reports")

    def hostile(self, names):
        """Names are text and nothing else."""
        model = named_model(names)
        with harness.scratch() as folder:
            report, page = self.compile(model, folder)
        check_report(report, names)
        seen = check_page(page)
        shown = "".join(seen.text)
        if "<script>" in "".join(names) and "<script>" not in shown:
            raise Failure("the page does not show the name as it is")
        if any(ord(c) in range(0x202A, 0x202F) for c in page):
            raise Failure("the page holds a mark that turns text around")

    def invalid_utf8(self):
        """Bytes that are no text become replacement characters."""
        content = named_model(["aXXXb", "second"]).SerializeToString()
        content = content.replace(b"aXXXb", b"a\xff\xc0\x80b"[:5])
        with harness.scratch() as folder:
            report, page = self.compile(content, folder)
        check_page(page)
        name = report["programs"][0]["nodes"][0]["name"]
        if "\ufffd" not in name or not name.startswith("a"):
            raise Failure(f"the name became {name!r}")

    def twins(self):
        """Nodes of one name are told apart."""
        with harness.scratch() as folder:
            report, _ = self.compile(named_model(["same", "same", ""]), folder)
        names = [node["name"] for node in report["programs"][0]["nodes"]]
        if len(set(names)) != 3 or names[0] != "same":
            raise Failure(f"the nodes are called {names}")

    def refused(self, folder, mentions, *options, status=1):
        """A refusal: one sentence, and the folder as it was."""
        folder = Path(folder)
        before = sorted(folder.rglob("*"))
        result = harness.call([self.product.compiler, str(folder / "model.onnx"), "-o",
                               str(folder / "model.pasc"), *map(str, options)])
        if result.returncode != status:
            raise Failure(f"{harness.describe_exit(result)}; should be exit {status}")
        if sorted(folder.rglob("*")) != before:
            raise Failure(f"leaves {set(folder.rglob('*')) - set(before)}")
        for word in mentions:
            if word not in result.stderr:
                raise Failure(f'says "{result.stderr.strip()}", which does not mention "{word}"')
        if status == 1 and len(result.stderr.strip().splitlines()) != 1:
            raise Failure(f"says more than a sentence: {result.stderr.strip()}")

    def refusals(self):
        """Where a report cannot go, and names that no artifact takes."""
        with harness.scratch() as folder:
            path = Path(folder)
            onnx.save(mixed_model(), path / "model.onnx")
            self.refused(folder, ["no/r.json", "cannot be created"], "--report", path / "r.html",
                         "--report", path / "no/r.json")
            self.refused(folder, ["r.txt", ".json or .html"], "--report", path / "r.txt", status=2)
            self.refused(folder, ["drop --emit"], "--report", path / "r.json", "--emit", "ptx",
                         status=2)
            # The artifact cannot be written: the report must not stay behind.
            (path / "model.pasc").mkdir()
            self.refused(folder, ["model.pasc"], "--report", path / "r.json")
            (path / "model.pasc").rmdir()
            onnx.save(named_model(["n" * (1 << 20)]), path / "model.onnx")
            self.refused(folder, ["1048576 bytes", "rename the node"], "--report",
                         path / "r.json")

    def limits(self):
        """--memory-limit refuses with the numbers of the plan."""
        with harness.scratch() as folder:
            path = Path(folder)
            report, _ = self.compile(mixed_model(), folder)
            memory = report["programs"][0]["memory"]
            total = memory["total"]
            self.product.compile(path / "model.onnx", path / "fits.pasc", "--memory-limit",
                                 str(total))
            self.product.compile(path / "model.onnx", path / "fits.pasc", "--memory-limit", "8GiB")
            for name in ("model.pasc", "fits.pasc", "r.json", "r.html"):
                (path / name).unlink()
            self.refused(folder, [f"needs {total} bytes", f"--memory-limit of {total - 1}",
                                  f"arena {memory['arena']}", f"staging {memory['staging']}",
                                  f"launch {memory['peak_launch']}", " takes "],
                         "--memory-limit", str(total - 1), "--report", path / "r.json")
            for wrong in ("0", "8GB", "-1", "99999999999GiB", "much"):
                self.refused(folder, [wrong, "a number of bytes above 0"],
                             f"--memory-limit={wrong}", status=2)

    def dumps(self):
        """--dump-ir numbers the passes of all pipelines and leaves out those that did nothing."""
        with harness.scratch() as folder:
            path = Path(folder)
            onnx.save(mixed_model(), path / "model.onnx")
            self.product.compile(path / "model.onnx", path / "model.pasc", "--precision", "fp16",
                                 "--dump-ir", path / "dump")
            files = sorted(file.name for file in (path / "dump").iterdir())
            onnx.save(open_model(), path / "model.onnx")
            self.product.compile(path / "model.onnx", path / "model.pasc", "--dump-ir",
                                 path / "two", "--shape", "x=2x4x8x8,1x4x4x4")
            for file in (path / "two").iterdir():
                if "@main_1" not in file.read_text(encoding="utf-8"):
                    raise Failure(f"{file.name} is not of both shape sets")
        numbers = [int(name.split("-")[0]) for name in files]
        passes = [name.split("-", 1)[1].removesuffix(".mlir") for name in files]
        if numbers != list(range(1, len(files) + 1)):
            raise Failure(f"the files are numbered {numbers}")
        wanted = ["import", "fold-batch-norm", "fuse-epilogue", "store-half", "form-launches",
                  "plan-memory", "lower-kernels"]
        if [name for name in passes if name in wanted] != wanted:
            raise Failure(f"the files are of {passes}, which should have {wanted} in this order")
        if "absorb-pads" in passes or "place-concats" in passes:
            raise Failure(f"a pass that did nothing is among {passes}")

    def tests(self):
        """(name, function) of each."""
        yield "complete", self.complete
        yield "half", self.half
        yield "shape sets", self.shape_sets
        yield "same bytes", self.same
        yield "hostile names", lambda: self.hostile(HOSTILE)
        yield "invalid utf-8", self.invalid_utf8
        yield "one name twice", self.twins
        yield "refusals", self.refusals
        yield "memory limit", self.limits
        yield "dump-ir", self.dumps


def check_report(report, names):
    """What docs/report.md promises of any report."""
    if report["version"] != 1:
        raise Failure(f"version is {report['version']}")
    for program in report["programs"]:
        got = [node["name"] for node in program["nodes"]]
        if sorted(got) != sorted(names) or len(set(got)) != len(got):
            raise Failure(f"the nodes are {got}, should be {names}, each once")
        check_nodes(program, report["kernels"])
        check_edges(program)
        memory = program["memory"]
        parts = sum(memory[key] for key in ("weights", "init", "arena", "counters", "staging"))
        if memory["total"] != parts:
            raise Failure(f"the total is {memory['total']}, its parts are {parts}")
        live = [launch["live_bytes"] for launch in program["launches"]]
        if max(live) > memory["lower_bound"] or live[memory["peak_launch"]] != max(live):
            raise Failure(f"most that lives is {max(live)}, the bound {memory['lower_bound']}")
        for buffer in memory["buffers"]:
            if buffer["kind"] == "arena" and buffer["offset"] + buffer["bytes"] > memory["arena"]:
                raise Failure(f"a buffer lies outside the arena: {buffer}")


def check_edges(program):
    """Where a kernel reads what another made, something says why they are two."""
    refused = {(node["name"], refusal["with"]) for node in program["nodes"]
               for refusal in node["not_fused"]}
    writers = {}
    for launch in program["launches"]:
        for operand in launch["operands"]:
            place = (operand["buffer"], operand["start"], operand["bytes"])
            if operand["use"] == "write":
                writers[place] = launch["nodes"]
            elif operand["use"] == "read" and place in writers:
                pairs = {(a, b) for a in launch["nodes"] for b in writers[place]}
                if not launch["at_load"] and not pairs & refused and not any(
                        a == b for a, b in pairs):
                    raise Failure(f"nothing says why {launch['nodes']} are not computed with "
                                  f"{writers[place]}")


def check_nodes(program, kernels):
    """Outcomes, and indices both ways."""
    launches = program["launches"]
    for node in program["nodes"]:
        if node["outcome"] not in OUTCOMES or not node["reason"]:
            raise Failure(f"{node['name']}: {node['outcome']}, {node['reason']}")
        for key in ("precision", "layout"):
            if not node[key]["choice"] or not node[key]["reason"]:
                raise Failure(f"{node['name']} says nothing of its {key}")
        if (node["outcome"] in ("fused", "alone")) != bool(
                [i for i in node["launches"] if not launches[i]["at_load"]]):
            raise Failure(f"{node['name']} is {node['outcome']} and in {node['launches']}")
        for i in node["launches"]:
            if node["name"] not in launches[i]["nodes"]:
                raise Failure(f"{node['name']} is not in launch {i}")
    for launch in launches:
        if launch["kernel"] >= len(kernels) or not launch["limit"]:
            raise Failure(f"a launch is wrong: {launch}")
        for operand in launch["operands"]:
            if operand["buffer"] >= len(program["memory"]["buffers"]):
                raise Failure(f"an operand is in no buffer: {operand}")


def main():
    """All of them."""
    args = harness.arguments(__doc__).parse_args()
    report = harness.Report(args)
    report.run_all(list(Reports(harness.product(args)).tests()), args.jobs)
    report.finish()


if __name__ == "__main__":
    main()
