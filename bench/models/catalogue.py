"""The models of the side-by-side benchmark and inputs for them.

Those of the repository always; the benchmark set of a `shared` folder (graphs without weights, filled while we run) and
the models beside it where there is one. An input is described by element type, dims and how it is filled, in the words
of that set's bench.json: normal, uniform, tokens, ones, zeros, const, arange.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import pathlib
import types
from typing import Any

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    path: pathlib.Path
    inputs: dict[str, dict[str, Any]]
    needs_weights: bool = False


def _input(dtype: str, shape: list[int], kind: str, **rest: float) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "domain": {"kind": kind, **rest}}


def _normal(*shape: int, std: float = 1.0) -> dict[str, Any]:
    return _input("float32", list(shape), "normal", mean=0.0, std=std)


def _ids(limit: int, *shape: int, dtype: str = "int64") -> dict[str, Any]:
    return _input(dtype, list(shape), "tokens", lo=5, hi=limit)


def _own() -> list[Model]:
    models = ROOT / "models"
    ocr, recogniser = models / "ppocr", "ch_PP-OCRv4_rec_infer.onnx"
    past = {f"past_{i}": _normal(2, 1, 4, 16, 8) for i in range(5)}
    return [
        Model("ppocr_detect", ocr / "ch_PP-OCRv4_det_infer.onnx", {"x": _normal(1, 3, 640, 640)}),
        Model("ppocr_recognise", ocr / recogniser, {"x": _normal(1, 3, 48, 320)}),
        Model(
            "ppocr_turn", ocr / "ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": _normal(1, 3, 48, 192)}
        ),
        Model(
            "fastestdet",
            models / "fastestdet" / "FastestDet.onnx",
            {"input.1": _input("float32", [1, 3, 352, 352], "uniform", lo=0.0, hi=1.0)},
        ),
        Model(
            "silero_vad",
            models / "silero_vad" / "silero_vad.onnx",
            {
                "input": _normal(1, 576, std=0.1),
                "state": _normal(2, 1, 128, std=0.1),
                "sr": _input("int64", [], "const", value=16000),
            },
        ),
        Model(
            "bert_mlm",
            models / "bert_mlm" / "dummy_transformer_mlm.onnx",
            {
                "input_ids": _ids(30000, 1, 64),
                "attention_mask": _input("int64", [1, 64], "ones"),
                "token_type_ids": _input("int64", [1, 64], "zeros"),
            },
        ),
        Model(
            "gpt2_tiny",
            models / "gpt2_tiny" / "past.onnx",
            {
                "input_ids": _ids(1000, 1, 1, dtype="int32"),
                "position_ids": _input("int32", [1, 1], "const", value=16),
                "attention_mask": _input("int32", [1, 17], "ones"),
                **past,
            },
        ),
    ]


def _tabular() -> list[Model]:
    """Stored rows of the models in models/ml, one and a thousand at a time."""
    folder = ROOT / "models" / "ml"
    result = []
    for name in (
        "lightgbm_multi",
        "random_forest_classifier",
        "xgboost_regressor",
        "scaler_logistic",
    ):
        stored = folder / f"{name}.npz"
        with np.load(stored) as arrays:
            key = next((key for key in arrays.files if key.startswith("in:")), None)
            if key is None:
                continue
            dtype = str(arrays[key].dtype)
        for rows in (1, 1000):
            domain = {"kind": "stored", "file": str(stored), "key": key, "rows": rows}
            inputs = {key[3:]: {"dtype": dtype, "shape": [], "domain": domain}}
            result.append(Model(f"{name}_{rows}", folder / f"{name}.onnx", inputs))
    return result


def _benchmark_set(shared: pathlib.Path) -> list[Model]:
    listing = shared / "models" / "bench" / "bench.json"
    if not listing.is_file():
        return []
    return [
        Model(
            entry["name"],
            listing.parent / entry["file"],
            {row["name"]: row for row in entry["inputs"]},
            needs_weights=True,
        )
        for entry in json.loads(listing.read_text())["models"]
    ]


def catalogue(shared: pathlib.Path) -> list[Model]:
    return _own() + _tabular() + _benchmark_set(shared)


def of_file(path: pathlib.Path) -> Model:
    """Any model file: dims that it leaves open are 1, values as `switchyard run` makes them."""
    import onnx

    graph = onnx.load(str(path), load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = {}
    for value in graph.input:
        if value.name in constants:
            continue
        tensor = value.type.tensor_type
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        shape = [dim.dim_value or 1 for dim in tensor.shape.dim]
        whole = dtype.kind in "iub"
        inputs[value.name] = (
            _input(dtype.name, shape, "tokens", lo=0, hi=2)
            if whole
            else _input(dtype.name, shape, "uniform", lo=0.0, hi=1.0)
        )
    return Model(path.stem, path, inputs)


def _values(entry: dict[str, Any], random: np.random.Generator) -> np.ndarray:
    shape, domain = entry["shape"], entry["domain"]
    match domain["kind"]:
        case "normal":
            return random.standard_normal(shape) * domain["std"] + domain["mean"]
        case "uniform":
            return random.random(shape) * (domain["hi"] - domain["lo"]) + domain["lo"]
        case "tokens":
            return random.integers(domain["lo"], domain["hi"], shape)
        case "ones":
            return np.ones(shape)
        case "zeros":
            return np.zeros(shape)
        case "const":
            return np.full(shape, domain["value"])
        case "arange":
            return np.broadcast_to(domain["start"] + np.arange(shape[-1]), shape)
        case "stored":
            with np.load(domain["file"]) as arrays:
                rows = arrays[domain["key"]]
            return np.resize(rows, (domain["rows"], *rows.shape[1:]))
    raise ValueError(f"unknown way to fill an input: {domain['kind']}")


def feeds(inputs: dict[str, dict[str, Any]], seed: int = 7) -> dict[str, np.ndarray]:
    random = np.random.Generator(np.random.Philox(seed))
    return {
        name: np.ascontiguousarray(_values(entry, random).astype(entry["dtype"]))
        for name, entry in inputs.items()
    }


def weight_filler(shared: pathlib.Path) -> types.ModuleType:
    """The benchmark set's own tool: the same weights on each machine."""
    path = shared / "tools" / "fill_weights.py"
    spec = importlib.util.spec_from_file_location("fill_weights", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
