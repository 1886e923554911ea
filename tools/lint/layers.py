"""Every #include against layers.txt."""

from __future__ import annotations

import dataclasses
import pathlib
import re

import source

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
_TEST_ONLY = ("gtest", "gmock")
# Headers of the language, the C library and the compiler: no extension, or one of these.
_SYSTEM = re.compile(
    r"^(?:[a-z_0-9]+|(?:sys|linux|asm|arm_\w+)/\w+\.h|(?:cpuid|cxxabi|dlfcn|errno|fcntl|fenv|immintrin|x86intrin|"
    r"xmmintrin|pmmintrin|pthread|sched|signal|spawn|stdint|stdlib|string|strings|unistd|arm_neon|wasm_simd128|float|limits|"
    r"math|stddef|stdio|malloc|execinfo|poll|time|glob|link|setjmp)\.h)$"
)


@dataclasses.dataclass(frozen=True)
class Layer:
    name: str
    folders: tuple[str, ...]
    includes: tuple[str, ...]
    third_party: tuple[str, ...]


def read_table(path: pathlib.Path) -> list[Layer]:
    layers = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        fields = [tuple(field.split()) for field in line.split("|")]
        if len(fields) != 4 or len(fields[0]) != 1:
            raise ValueError(
                f"{path.name}:{number}: expected 4 fields: layer | folders | layers | third-party"
            )
        layers.append(Layer(fields[0][0], fields[1], fields[2], fields[3]))
    names = {layer.name for layer in layers} | {"public"}
    for layer in layers:
        unknown = set(layer.includes) - names
        if unknown:
            raise ValueError(f"{path.name}: {layer.name} names unknown layers {sorted(unknown)}")
    return layers


def layer_of(name: str, layers: list[Layer]) -> tuple[Layer, str] | None:
    """The layer of a file and the unit within it (the provider's folder, else the layer's name)."""
    best: tuple[Layer, str] | None = None
    length = -1
    for layer in layers:
        for folder in layer.folders:
            prefix = folder.removesuffix("*").rstrip("/") + "/"
            if not name.startswith(prefix):
                continue
            unit = layer.name
            if folder.endswith("*"):
                head, slash, _ = name[len(prefix) :].partition("/")
                if not slash:
                    continue
                unit, prefix = f"{layer.name}/{head}", f"{prefix}{head}/"
            if len(prefix) > length:
                best, length = (layer, unit), len(prefix)
    return best


def _resolve(root: pathlib.Path, including: str, target: str) -> str | None:
    own = pathlib.PurePosixPath(including).parent
    for base in (str(own), "include", "src", "python", "tools", "tests", "bench", "examples"):
        candidate = f"{base}/{target}"
        if (root / candidate).is_file():
            return str(pathlib.PurePosixPath(candidate))
    # A header that is not there yet still has a layer by its name.
    if target.startswith(("switchyard/", "onnxruntime/")):
        return f"include/{target}"
    if target.startswith("core/framework/"):
        return f"include/onnxruntime/{target}"
    return None


def _check_third_party(layer: Layer, name: str, target: str) -> str | None:
    head = target.split("/")[0]
    if name.startswith("include/"):
        return f"public header includes <{target}>: only standard headers there"
    if head in layer.third_party or target in layer.third_party:
        return None
    if head in _TEST_ONLY and (name.endswith("_test.cc") or layer.name == "tests"):
        return None
    if head == "benchmark" and name.endswith("_bench.cc"):
        return None
    return f"layer {layer.name} may not include <{target}>"


def check(root: pathlib.Path) -> list[str]:
    layers = read_table(root / "tools" / "lint" / "layers.txt")
    problems = []
    for name in source.cpp_files(root):
        found = layer_of(name, layers)
        if found is None:
            problems.append(f"{name}: belongs to no layer of layers.txt")
            continue
        layer, unit = found
        text = source.without_comments(source.read(root / name))
        for match in _INCLUDE.finditer(text):
            target = match.group(2)
            where = f"{name}:{text.count(chr(10), 0, match.start()) + 1}"
            resolved = _resolve(root, name, target)
            if resolved is None:
                if (_SYSTEM.match(target) and "/" not in target) or re.match(
                    r"^(sys|linux|asm)/", target
                ):
                    continue
                problem = _check_third_party(layer, name, target)
                if problem:
                    problems.append(f"{where}: {problem}")
                continue
            other = layer_of(resolved, layers)
            if other is None:
                if resolved.startswith("include/switchyard/") and resolved.count("/") == 2:
                    continue
                problems.append(f"{where}: {target} belongs to no layer of layers.txt")
                continue
            target_layer, target_unit = other
            if target_unit == unit or (target_layer.name in layer.includes):
                continue
            if "public" in layer.includes and resolved.startswith("include/switchyard/"):
                continue
            if name.endswith("_test.cc") and resolved.startswith("tests/support/"):
                continue
            problems.append(f"{where}: layer {unit} may not include {target_unit} ({target})")
    return problems
