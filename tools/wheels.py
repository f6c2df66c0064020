"""Which kernels are in a wheel: one line for each, and an error if one that its processor could run is missing.

python -m tools.wheels dist/*.whl
"""

from __future__ import annotations

import argparse
import re
import sys
import zipfile
from pathlib import Path

X86, OTHER = ("avx2", "avx512", "base"), ("base",)


def kernels_in(wheel: Path) -> tuple[str, ...]:
    """The variants of the kernel that a wheel holds, by name."""
    with zipfile.ZipFile(wheel) as file:
        found = [re.fullmatch(r"shoal/kernels/_(\w+)\.[^/]*(?:so|pyd)", name) for name in file.namelist()]
    return tuple(sorted(match[1] for match in found if match))


def lacking_in(wheel: Path) -> tuple[str, ...]:
    """The variants that a wheel should hold for its processor and does not."""
    wanted = X86 if wheel.stem.endswith(("x86_64", "amd64")) else OTHER
    return tuple(name for name in wanted if name not in kernels_in(wheel))


def main() -> None:
    """Say what is in each wheel; end with 1 if a kernel is missing in one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("wheels", type=Path, nargs="+")
    wheels: list[Path] = parser.parse_args().wheels
    for wheel in wheels:
        built = ", ".join(kernels_in(wheel)) or "none"
        lacking = ", ".join(lacking_in(wheel))
        print(f"{wheel.name}: C kernel built: {built}" + (f"; NOT built: {lacking}" if lacking else ""))
    sys.exit(any(lacking_in(wheel) for wheel in wheels))


if __name__ == "__main__":
    main()
