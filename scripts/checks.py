"""Builds and checks behind the Makefile's targets; counts go to build/results for summary.py.

Uses the standard library only. Every leg is a function; a leg that finds nothing to run yet says
so and counts nothing. Exit status 1 when a build broke or any check failed.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
RESULTS = BUILD / "results"
MODULES = ("openvino",)  # provider modules that run ONNX's backend cases
# The tests of the target thread_tests (src/CMakeLists.txt).
TSAN_TESTS = "^(base|runtime|session|soak)_test\\."


class Failed(Exception):
    """A step that makes the rest of its leg pointless."""


def run(*command: object, env: dict[str, str] | None = None, check: bool = True) -> int:
    words = [str(word) for word in command]
    print("+", shlex.join(words), flush=True)
    code = subprocess.run(
        words, cwd=ROOT, env={**os.environ, **(env or {})}, check=False
    ).returncode
    if check and code:
        raise Failed(f"{shlex.join(words)}: exit {code}")
    return code


def record(name: str, passed: int, failed: int) -> bool:
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name.replace(' ', '-')}.count").write_text(f"{passed} {failed} {name}\n")
    return failed == 0


def record_junit(name: str, path: pathlib.Path, code: int) -> bool:
    passed = failed = 0
    if path.exists():
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
                continue
            if case.find("failure") is not None or case.find("error") is not None:
                failed += 1
            else:
                passed += 1
    if code and not failed:
        failed = 1
    return record(name, passed, failed)


def configure_and_build(preset: str, jobs: int, *targets: str) -> None:
    run("cmake", "--preset", preset, f"-DPython_EXECUTABLE={sys.executable}")
    run(
        "cmake",
        "--build",
        "--preset",
        preset,
        "-j",
        jobs,
        *(["--target", *targets] if targets else []),
    )


def ctest(preset: str, jobs: int, *extra: str) -> bool:
    RESULTS.mkdir(parents=True, exist_ok=True)
    junit = RESULTS / f"ctest-{preset}.xml"
    junit.unlink(missing_ok=True)
    # ctest resolves a relative junit path against the build folder.
    code = run(
        "ctest", "--preset", preset, "-j", jobs, "--output-junit", junit, *extra, check=False
    )
    return record_junit(f"ctest {preset}", junit, code)


def leg_release(jobs: int) -> bool:
    configure_and_build("release", jobs)
    return ctest("release", jobs)


def pytest(name: str, folder: pathlib.Path, *words: str) -> bool:
    RESULTS.mkdir(parents=True, exist_ok=True)
    junit = RESULTS / f"{name}.xml"
    junit.unlink(missing_ok=True)
    code = run(
        sys.executable,
        "-m",
        "pytest",
        "-q",
        folder,
        *words,
        f"--junitxml={junit}",
        env={"PYTHONPATH": str(BUILD / "python")},
        check=False,
    )
    return record_junit(name, junit, code)


def leg_python(jobs: int) -> bool:
    """Tests of the package, then ONNX's backend cases; a listed gap counts as not run."""
    configure_and_build("release", jobs)
    good = pytest("pytest", ROOT / "tests" / "python")
    cases = ROOT / "tests" / "conformance"
    good = pytest("conformance", cases, "-r", "fE") and good
    for provider in MODULES:
        if not (BUILD / "src" / f"libswitchyard_provider_{provider}.so").exists():
            print(f"conformance {provider}: the module is not built here; not run", flush=True)
            continue
        name = f"conformance-{provider}"
        good = pytest(name, cases, "-r", "fE", "--provider", provider) and good
    return good


def leg_install(jobs: int) -> bool:
    """find_package(Switchyard): a client and the examples build outside the tree and run."""
    configure_and_build("release", jobs)
    prefix, client = BUILD / "prefix", BUILD / "install_test"
    shutil.rmtree(prefix, ignore_errors=True)
    shutil.rmtree(client, ignore_errors=True)
    run("cmake", "--install", BUILD, "--prefix", prefix)
    run(
        "cmake",
        "-G",
        "Ninja",
        "-S",
        ROOT / "tests" / "install",
        "-B",
        client,
        f"-DCMAKE_PREFIX_PATH={prefix}",
    )
    run("cmake", "--build", client, "-j", jobs)
    codes = [run(client / "client", check=False)]
    examples = BUILD / "examples_installed"
    shutil.rmtree(examples, ignore_errors=True)
    places = ["-G", "Ninja", "-S", ROOT / "examples", "-B", examples]
    run("cmake", *places, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", examples, "-j", jobs)
    model = ROOT / "models" / "fastestdet" / "FastestDet.onnx"
    for name in ("quick_start", "io_binding", "custom_provider"):
        codes.append(run(examples / name / name, model, check=False))
    failed = sum(code != 0 for code in codes)
    return record("install tree", len(codes) - failed, failed)


def leg_asan(jobs: int) -> bool:
    configure_and_build("asan", jobs)
    return ctest("asan", jobs, "-LE", "slow")


def leg_tsan(jobs: int) -> bool:
    configure_and_build("tsan", jobs, "thread_tests")
    return ctest("tsan", jobs, "-R", TSAN_TESTS, "-LE", "slow")


def fuzz(jobs: int, target: str, seconds: int) -> bool:
    """Runs the fuzzers of one CMake target for so many seconds each, from the seed corpus."""
    configure_and_build("fuzz", jobs, target)
    seeds = ROOT / "build-fuzz" / "seeds"
    if not seeds.is_dir():
        run(sys.executable, ROOT / "tests" / "fuzz" / "make_seeds.py", seeds)
    passed = failed = 0
    for program in sorted((ROOT / "build-fuzz" / "fuzz").glob("*_fuzz")):
        corpus = ROOT / "build-fuzz" / "corpus" / program.name
        corpus.mkdir(parents=True, exist_ok=True)
        words = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048"]
        words += [f"-dict={ROOT / 'tests' / 'fuzz' / 'load.dict'}", "-print_final_stats=1"]
        words += [f"-artifact_prefix={corpus.parent}/{program.name}-", "-close_fd_mask=1"]
        code = run(program, *words, corpus, seeds, check=False)
        passed, failed = passed + (code == 0), failed + (code != 0)
    return record("fuzz", passed, failed or int(passed == 0))


def leg_fuzz(jobs: int) -> bool:
    return fuzz(jobs, "fuzzers", seconds=60)


def leg_extension(jobs: int) -> bool:
    """Adds one kernel, one pass and one provider to a copy, editing no file, and builds it."""
    copy, prefix = BUILD / "extension", BUILD / "extension" / "prefix"
    shutil.rmtree(copy, ignore_errors=True)
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE
    ).stdout
    for name in filter(None, listing.split("\0")):
        if (ROOT / name).is_file() and not name.startswith("models/"):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    for name, folder in (
        ("scratch_kernel.cc", "src/providers/cpu/kernels"),
        ("scratch_pass.cc", "src/passes/basic"),
        ("provider.cc", "src/providers/scratch"),
    ):
        (copy / folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "tests" / "extension" / name, copy / folder / name)
    off = [f"-DSWITCHYARD_BUILD_{part}=OFF" for part in ("TESTS", "PYTHON", "EXAMPLES", "TOOLS")]
    run("cmake", "-G", "Ninja", "-S", copy, "-B", copy / "build", *off)
    run("cmake", "--build", copy / "build", "-j", jobs)
    run("cmake", "--install", copy / "build", "--prefix", prefix)
    symbols = subprocess.run(
        ["nm", "-C", copy / "build" / "src" / "libswitchyard.so"],
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    ).stdout
    missing = [
        name
        for name in ("kernels::scratch_kernel::Register(", "basic::scratch_pass::Register(")
        if name not in symbols
    ]
    if missing:
        print("not in the library:", missing)
    client = copy / "client"
    places = ["-S", copy / "tests" / "extension", "-B", client, f"-DCMAKE_PREFIX_PATH={prefix}"]
    run("cmake", "-G", "Ninja", *places)
    run("cmake", "--build", client)
    passed = run(client / "client", check=False) == 0 and not missing
    return record("extension by files only", int(passed), int(not passed))


def leg_wheel(jobs: int) -> bool:
    """One wheel in dist/, installed into an environment with numpy only, imports and runs."""
    if not any((ROOT / "python").glob("**/*.cc")):
        print("no Python module yet")
        return True
    wheel = build_wheel(jobs, ROOT, ROOT / "dist")
    codes = [run(sys.executable, "scripts/check_wheel.py", ROOT / "dist", check=False)]
    codes.append(
        run(sys.executable, "scripts/fresh_environment.py", wheel, build_alias(jobs), check=False)
    )
    failed = sum(code != 0 for code in codes)
    return record("wheel", len(codes) - failed, failed)


def build_alias(jobs: int) -> pathlib.Path:
    """The distribution that owns the name onnxruntime; beside the main wheel it has no place."""
    return build_wheel(jobs, ROOT / "packaging" / "onnxruntime-alias", BUILD / "alias")


def build_wheel(jobs: int, source: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    shutil.rmtree(target, ignore_errors=True)
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        target,
        source,
        env={"CMAKE_BUILD_PARALLEL_LEVEL": str(jobs)},
    )
    return next(target.glob("*.whl"))


def demo(jobs: int) -> None:
    """examples/ocr in C++, built against the install tree, then the same in Python."""
    configure_and_build("release", jobs)
    prefix, tree, output = BUILD / "prefix", BUILD / "examples_installed", BUILD / "demo"
    run("cmake", "--install", BUILD, "--prefix", prefix)
    places = ["-G", "Ninja", "-S", ROOT / "examples", "-B", tree, f"-DCMAKE_PREFIX_PATH={prefix}"]
    run("cmake", *places, "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", tree, "-j", jobs)
    output.mkdir(exist_ok=True)
    models = ROOT / "models" / "ppocr"
    run(tree / "ocr" / "ocr", "--models", models, "--output", output / "ocr.png")
    python = [sys.executable, ROOT / "examples" / "ocr" / "ocr.py", "--models", models]
    environment = {"PYTHONPATH": str(BUILD / "python")}
    run(*python, "--output", output / "ocr-python.png", env=environment)


def bench(jobs: int, words: list[str]) -> None:
    """Whole models beside onnxruntime and OpenVINO; table and chart go to build/bench-models."""
    configure_and_build("release", jobs, "_core")
    script = ROOT / "bench" / "models" / "bench_models.py"
    output = ("--output", BUILD / "bench-models")
    run(sys.executable, script, *output, *words, env={"PYTHONPATH": str(BUILD / "python")})


def bench_kernels(jobs: int) -> None:
    configure_and_build("bench", jobs)
    for program in sorted((ROOT / "build-bench" / "bench").glob("*_bench")):
        run(program, "--benchmark_min_time=0.1")


def leg_asan_all(jobs: int) -> bool:
    configure_and_build("asan-all", jobs)
    return ctest("asan-all", jobs)


def leg_tsan_all(jobs: int) -> bool:
    configure_and_build("tsan", jobs)
    return ctest("tsan", jobs)


def leg_fuzz_long(jobs: int) -> bool:
    return fuzz(jobs, "fuzzers_all", seconds=900)


LONG_LEGS = {"asan-all": leg_asan_all, "tsan-all": leg_tsan_all, "fuzz-long": leg_fuzz_long}
LEGS = {
    "release": leg_release,
    "python": leg_python,
    "install": leg_install,
    "extension": leg_extension,
    "wheel": leg_wheel,
    "asan": leg_asan,
    "tsan": leg_tsan,
    "fuzz": leg_fuzz,
}


def run_legs(names: list[str], jobs: int) -> bool:
    ok = True
    for name in names:
        start = time.monotonic()
        try:
            good = {**LEGS, **LONG_LEGS}[name](jobs)
        except Failed as error:
            print(f"leg {name}: {error}", flush=True)
            good = record(f"leg {name}", 0, 1)
        print(
            f"leg {name}: {'ok' if good else 'FAILED'} in {time.monotonic() - start:.0f} s",
            flush=True,
        )
        ok = ok and good
    return ok


def lint() -> bool:
    result = subprocess.run(
        [sys.executable, "tools/lint/lint.py"],
        cwd=ROOT,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
    )
    print(result.stdout, end="", flush=True)
    words = result.stdout.strip().splitlines()[-1].split() if result.stdout.strip() else []
    if len(words) == 4 and words[1] == "passed,":
        return record("lint", int(words[0]), int(words[2]))
    return record("lint", 0, 1)


def accept(run_all: bool, jobs: int) -> bool:
    shared = pathlib.Path(os.environ.get("SWITCHYARD_SHARED", ROOT.parent / "shared")).resolve()
    if not (shared / "accept").is_dir():
        print("accept: ../shared is absent, so no acceptance script was run")
        return True
    lines = []
    for line in (ROOT / "tests" / "accept.txt").read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            lines.append([field.strip() for field in line.split("|")])
    if run_all:
        lines = [
            ["accept/" + name, "", "0"]
            for name in (
                "models.py",
                "ml.py",
                "onnx_backend.py",
                "seed_samples.py",
                "ort_class_a.py",
                "perf.py",
            )
        ]
        lines.append(["cases/pains/run_cases.py", "{shared}/cases/pains", ""])
    if not lines:
        print("accept: no lines in tests/accept.txt yet")
        return True
    configure_and_build("release", jobs)
    passed = 0
    for script, arguments, minimum in lines:
        words = [word.replace("{shared}", str(shared)) for word in shlex.split(arguments)]
        if minimum:
            words += ["--min", minimum]
        start = time.monotonic()
        code = run(
            sys.executable,
            shared / script,
            *words,
            check=False,
            env={"PYTHONPATH": str(BUILD / "python"), "ACCEPT_MODULE": "switchyard"},
        )
        print(
            f"accept: {script} {arguments}: {'ok' if code == 0 else 'FAILED'} "
            f"in {time.monotonic() - start:.0f} s",
            flush=True,
        )
        passed += code == 0
    return record("accept", passed, len(lines) - passed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build")
    commands.add_parser("test").add_argument(
        "legs", nargs="*", choices=[[], *LEGS], default=list(LEGS)
    )
    for name in ("test-long", "lint", "demo", "bench", "bench-kernels", "wheel", "alias"):
        commands.add_parser(name)
    commands.add_parser("accept").add_argument("--all", action="store_true")
    args, rest = parser.parse_known_args()
    if rest and args.command != "bench":  # those of bench go on to bench_models.py
        parser.error(f"unknown arguments: {shlex.join(rest)}")
    try:
        if args.command == "build":
            configure_and_build("release", args.jobs)
            return 0
        if args.command == "test":
            return 0 if run_legs(args.legs, args.jobs) else 1
        if args.command == "test-long":
            names = [name for name in LEGS if name not in ("asan", "tsan", "fuzz")]
            good = run_legs([*names, "asan-all", "tsan-all", "fuzz-long"], args.jobs)
            return 0 if good else 1
        if args.command == "accept":
            return 0 if accept(args.all, args.jobs) else 1
        if args.command == "lint":
            return 0 if lint() else 1
        if args.command == "wheel":
            return 0 if leg_wheel(args.jobs) else 1
        if args.command == "bench":
            bench(args.jobs, rest)
            return 0
        if args.command == "alias":
            print(build_alias(args.jobs))
            return 0
        {"demo": demo, "bench-kernels": bench_kernels}[args.command](args.jobs)
        return 0
    except Failed as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
