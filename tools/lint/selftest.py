"""Plants one violation per check in a scratch tree and tells whether the check finds it."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable

import budgets

Check = Callable[[pathlib.Path], list[str]]

_SEAM = "#pragma once\nclass IExecutionProvider {\n" + "  virtual void F();\n" * 17 + "};\n"

# check -> file -> text; each tree breaks its check and no more is asked of it.
PLANTED: dict[str, dict[str, str]] = {
    "layers": {"src/base/a.cc": '#include "ir/graph.h"\n', "src/ir/graph.h": "#pragma once\n"},
    "provider-names": {"src/runtime/a.cc": 'const char* name = "OpenVINOExecutionProvider";\n'},
    "file-sizes": {"src/base/a.h": "#pragma once\n" + "\n" * 200},
    "conditionals": {"src/ir/a.cc": "#if X\n#endif\n" * 11},
    "seam-virtuals": {budgets.SEAM_HEADER: _SEAM},
    "machine-paths": {"docs/a.md": "see " + "/" + "tmp/x\n"},
    "names": {"src/base/a.cc": "class GraphManager {};\n"},
    "format": {"src/base/a.cc": "int  f( ){return 1;}\n"},
    "ruff": {"tools/a.py": "import os,sys\n"},
}

# More kinds of the layer rule, each of which has its own way to be missed.
LAYER_CASES: dict[str, dict[str, str]] = {
    "provider includes another": {
        "src/providers/a/a.cc": '#include "providers/b/b.h"\n',
        "src/providers/b/b.h": "#pragma once\n",
    },
    "fmt in a public header": {
        "include/switchyard/base/a.h": "#pragma once\n#include <fmt/format.h>\n"
    },
    "protobuf above onnx": {"src/session/a.cc": "#include <protozero/pbf_reader.hpp>\n"},
    "session names a provider": {
        "src/session/a.cc": '#include "providers/cpu/provider.h"\n',
        "src/providers/cpu/provider.h": "#pragma once\n",
    },
    "tool includes an internal": {
        "tools/cli/a.cc": '#include "ir/graph.h"\n',
        "src/ir/graph.h": "#pragma once\n",
    },
    "upward header not there": {"src/tensor/a.cc": '#include "switchyard/session/session.h"\n'},
}


def _caught(check: Check, files: dict[str, str]) -> bool:
    table = pathlib.Path(__file__).with_name("layers.txt")
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "tools" / "lint").mkdir(parents=True)
        shutil.copy(table, root / "tools" / "lint" / "layers.txt")
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return bool(check(root))


def _isa_symbols_caught() -> bool:
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder)
        file = build / "a_avx2.cc"
        file.write_text(
            "template <class T> T Twice(T x) { return x + x; }\ntemplate int Twice(int);\n"
        )
        subprocess.run([compiler, "-c", "-o", str(build / "a_avx2.cc.o"), str(file)], check=True)
        return bool(budgets.isa_symbols(build, build))


def run(checks: dict[str, Check]) -> dict[str, bool]:
    results = {
        name: name in PLANTED and _caught(check, PLANTED[name]) for name, check in checks.items()
    }
    for name, files in LAYER_CASES.items():
        results[f"layers: {name}"] = _caught(checks["layers"], files)
    results["isa-symbols"] = _isa_symbols_caught()
    return results
