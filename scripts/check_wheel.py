"""Checks the wheel of `make wheel`: one file, needs numpy only, links only what every Linux has.

Usage: check_wheel.py DIST_FOLDER
"""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

SYSTEM = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
# What a provider module links beside: the package that brings it is in the environment of whoever uses that provider,
# and without it naming the provider says what is missing.
SDK = {"libswitchyard_provider_openvino.so": re.compile(r"libopenvino\.so\.\d+")}
# The packages that are around while testing must not be needed.
IMPORT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("onnx", "onnxruntime", "ml_dtypes", "google"):
            raise ImportError(f"the wheel needs {name}")
sys.meta_path.insert(0, Refuse())
import switchyard
print("switchyard", switchyard.__version__, "from the wheel")
"""


def needed(path: pathlib.Path) -> set[str]:
    listing = subprocess.run(
        ["readelf", "-d", path], check=True, text=True, stdout=subprocess.PIPE
    ).stdout
    return set(re.findall(r"\(NEEDED\)\s+Shared library: \[([^\]]+)\]", listing))


def problems(dist: pathlib.Path) -> list[str]:
    wheels = sorted(dist.glob("*.whl"))
    if len(wheels) != 1:
        return [f"{dist}: {len(wheels)} wheels, expected 1"]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        with zipfile.ZipFile(wheels[0]) as archive:
            archive.extractall(root)
        metadata = next(root.glob("*.dist-info/METADATA")).read_text()
        for requirement in re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE):
            if not requirement.startswith("numpy") and "extra ==" not in requirement:
                found.append(f"needs {requirement}")
        objects = [path for path in root.rglob("*") if re.search(r"\.so(\.|$)", path.name)]
        own = {path.name for path in objects}
        for path in objects:
            foreign = needed(path) - SYSTEM - own
            if path.name in SDK:
                foreign = {name for name in foreign if not SDK[path.name].fullmatch(name)}
            if foreign:
                found.append(f"{path.name} links {', '.join(sorted(foreign))}")
        environment = {"PYTHONPATH": folder, "PATH": "/usr/bin:/bin"}
        code = subprocess.run(
            [sys.executable, "-c", IMPORT], env=environment, cwd=folder, check=False
        ).returncode
        if code:
            found.append(f"import switchyard: exit {code}")
    return found


def main() -> int:
    found = problems(pathlib.Path(sys.argv[1]))
    print("\n".join(found) or "wheel: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
