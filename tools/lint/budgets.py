"""Figures that may not grow, words that may not appear. Each check gives a list of problems."""

from __future__ import annotations

import pathlib
import re
import subprocess

import source

HEADER_LINES = 200
FILE_LINES = 800
CONDITIONAL_LINES = 10
SEAM_VIRTUALS = 16
SEAM_HEADER = "include/switchyard/ep/execution_provider.h"

_LAYERS_ABOVE = ("base", "tensor", "ir", "onnx", "passes", "ep", "runtime", "session")
_ABOVE_PROVIDERS = ("include/switchyard/", *(f"src/{layer}/" for layer in _LAYERS_ABOVE))
# The seam spells the names that users write; nothing above the providers may use the constants.
_NAME_CONSTANT = re.compile(r"^inline constexpr const char\* k\w+ExecutionProvider\b")
_PROVIDER_NAMES = re.compile(
    r"openvino|opencl|\bcuda|cudnn|tensorrt|\brocm|migraphx|directml|coreml|nnapi|xnnpack|\bqnn|onednn"
    r"|CpuExecutionProvider|\bcpu::|providers/[a-z]",
    re.IGNORECASE,
)


def provider_names(root: pathlib.Path) -> list[str]:
    """No provider is named above src/providers (comments may)."""
    problems = []
    for name in source.cpp_files(root):
        if not name.startswith(_ABOVE_PROVIDERS) or name.endswith("_test.cc"):
            continue
        for number, line in enumerate(
            source.without_comments(source.read(root / name)).splitlines(), 1
        ):
            match = _PROVIDER_NAMES.search(line)
            if match and not _NAME_CONSTANT.search(line):
                problems.append(f"{name}:{number}: names a provider: {match.group(0)}")
    return problems


def file_sizes(root: pathlib.Path) -> list[str]:
    problems = []
    for name in source.tracked_files(root):
        hand_written = name.endswith((*source.CPP_SUFFIXES, ".py", ".cmake", "CMakeLists.txt"))
        if not hand_written or name.startswith(source.DATA_FOLDERS):
            continue
        text = source.read(root / name)
        if source.is_generated(text):
            continue
        lines = text.count("\n")
        limit = FILE_LINES
        exempt = re.match(r"src/providers/[^/]+/math/", name) or name.startswith(
            "include/onnxruntime/"
        )
        if name.endswith(".h") and not exempt:
            limit = HEADER_LINES
        if lines > limit:
            problems.append(f"{name}: {lines} lines, at most {limit}")
    return problems


def conditionals(root: pathlib.Path) -> list[str]:
    found = []
    for name in source.cpp_files(root):
        if not name.startswith(("src/", "include/switchyard/")):
            continue
        if name.startswith(
            ("src/base/", "src/capi/", "src/providers/", "include/switchyard/base/")
        ):
            continue
        for number, line in enumerate(
            source.without_comments(source.read(root / name)).splitlines(), 1
        ):
            if re.match(r"\s*#\s*(if|ifdef|ifndef)\b", line):
                found.append(f"{name}:{number}: {line.strip()}")
    if len(found) <= CONDITIONAL_LINES:
        return []
    return [
        f"{len(found)} #if lines outside base, capi and providers, at most {CONDITIONAL_LINES}",
        *found,
    ]


def seam_virtuals(root: pathlib.Path) -> list[str]:
    path = root / SEAM_HEADER
    if not path.exists():
        return []
    text = source.without_comments(source.read(path))
    match = re.search(r"class\s+(?:\w+\s+)*IExecutionProvider\b[^;{]*\{(.*?)\n\};", text, re.DOTALL)
    if not match:
        return [f"{SEAM_HEADER}: class IExecutionProvider not found"]
    count = len(re.findall(r"\bvirtual\b", match.group(1)))
    if count > SEAM_VIRTUALS:
        return [f"{SEAM_HEADER}: {count} virtual functions, at most {SEAM_VIRTUALS}"]
    return []


# Written in pieces, so that this file does not contain them.
_MACHINE = [
    "/" + "work/",
    "/" + "root/",
    "/" + "tmp/",
    "/" + "home/",
    "pypi" + ".org",
    "files.python" + "hosted",
    "deb.debian" + ".org",
]


def machine_paths(root: pathlib.Path) -> list[str]:
    problems = []
    for name in source.tracked_files(root):
        if name.startswith(source.DATA_FOLDERS):
            continue
        data = (root / name).read_bytes()
        if b"\0" in data[:8192]:
            continue
        for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
            for word in _MACHINE:
                at = line.find(word)
                if at >= 0 and not re.search(r"[\w.}$)]$", line[:at]):
                    problems.append(f"{name}:{number}: names a machine's path or host: {word}")
    return problems


def names_and_comments(root: pathlib.Path) -> list[str]:
    problems = []
    for name in source.cpp_files(root):
        text = source.read(root / name)
        if name.endswith(".h") and not name.endswith("-inl.h") and "#pragma once" not in text:
            problems.append(f"{name}: no #pragma once")
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(r"\b(TODO|FIXME|XXX)\b", line):
                problems.append(f"{name}:{number}: leftover note")
        code = source.without_comments(text, keep_strings=False)
        for match in re.finditer(r"\b(?:class|struct)\s+\w*(Manager|Helper|Utils?)\b", code):
            line = code.count("\n", 0, match.start()) + 1
            problems.append(
                f"{name}:{line}: {match.group(0)}: say what it does instead of {match.group(1)}"
            )
        for match in re.finditer(
            r"(?<![\w:])#include <(format|expected)>|\bstd::(views|ranges::views)\b", code
        ):
            line = code.count("\n", 0, match.start()) + 1
            problems.append(f"{name}:{line}: not in both compilers: {match.group(0)}")
    return problems


def isa_symbols(root: pathlib.Path, build: pathlib.Path) -> list[str]:
    """A weak symbol of a file with ISA flags may replace the baseline's copy at link time."""
    del root
    problems = []
    for obj in sorted(build.rglob("*.o")):
        if not re.search(r"_(avx2|avx512|avx512vnni)\.cc\.o$", obj.name):
            continue
        listing = subprocess.run(
            ["nm", "-C", "--defined-only", obj], check=True, text=True, stdout=subprocess.PIPE
        )
        for line in listing.stdout.splitlines():
            match = re.match(r"^[0-9a-f]*\s+([WwVvu])\s+(.*)$", line)
            if match and not match.group(2).startswith("DW.ref."):
                problems.append(f"{obj.relative_to(build)}: weak symbol {match.group(2)}")
    return problems
