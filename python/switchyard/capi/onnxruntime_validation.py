"""What is asked of the package before it is used: nothing here depends on the distribution."""

from __future__ import annotations

from switchyard.capi import build_and_package_info


def check_distro_info() -> None:
    """Does nothing: the package runs on every Linux that it can be installed on."""


def check_training_module() -> tuple[bool, str, str, str]:
    """Whether there is a training module, then package, version and CUDA version: there is none."""
    return False, *get_package_name_and_version_info()


def get_package_name_and_version_info() -> tuple[str, str, str]:
    """Package, version and CUDA version; the last is empty."""
    info = build_and_package_info
    return info.package_name, info.__version__, info.cuda_version
