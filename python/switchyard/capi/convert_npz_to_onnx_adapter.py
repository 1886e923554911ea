"""Writes a LoRA adapter from a NumPy archive.

python -m switchyard.capi.convert_npz_to_onnx_adapter --npz_file_path A.npz
    --output_file_path A.onnx_adapter [--adapter_version 1] [--model_version 1]
"""

from __future__ import annotations

import argparse

import numpy as np

from switchyard._adapters import AdapterFormat
from switchyard._core import OrtValue


def convert(npz_path: str, output_path: str, adapter_version: int, model_version: int) -> None:
    """Each array of the archive becomes a parameter of its name."""
    with np.load(npz_path) as archive:
        parameters = {name: OrtValue.ortvalue_from_numpy(archive[name]) for name in archive.files}
        adapter = AdapterFormat()
        adapter.set_adapter_version(adapter_version)
        adapter.set_model_version(model_version)
        adapter.set_parameters(parameters)
        adapter.export_adapter(output_path)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--npz_file_path", required=True)
    parser.add_argument("--output_file_path", required=True)
    parser.add_argument("--adapter_version", type=int, default=0)
    parser.add_argument("--model_version", type=int, default=0)
    args = parser.parse_args()
    convert(args.npz_file_path, args.output_file_path, args.adapter_version, args.model_version)


if __name__ == "__main__":
    main()
