"""The native kernels in C, once for every instruction set. Without a compiler Shoal installs and works without them.

SHOAL_REQUIRE_KERNEL=1 makes a kernel that cannot be built an error, as for the wheels that are published.
"""

import os
import sys
from glob import glob
from sysconfig import get_platform

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PLAIN = ["-std=gnu11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"]
X86 = {
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma", "-mprefer-vector-width=512"],
}
WITHOUT = """\
Shoal is being installed WITHOUT its C kernel: {names} could not be built (the reason stands above).
Everything works, but perceptrons and small convolutional networks train more slowly, in PyTorch. To get the kernel,
install a C compiler (gcc or clang), then: pip install --force-reinstall --no-deps --no-cache-dir shoal
`shoal doctor` names the kernel in use."""
SOME = """\
Shoal's C kernel was built, but not for every instruction set: {names} could not be built (the reason stands above).
`shoal doctor` names the kernel in use."""


class BuildKernels(build_ext):
    """Builds what can be built, and says at the end what could not."""

    def build_extensions(self) -> None:
        self.lacking: list[str] = []
        super().build_extensions()
        if self.lacking:
            names = ", ".join(self.lacking)
            text = (WITHOUT if "shoal.kernels._base" in self.lacking else SOME).format(names=names)
            print("*" * 120, text, "*" * 120, sep="\n", file=sys.stderr)

    def build_extension(self, ext: Extension) -> None:
        try:
            super().build_extension(ext)
        except Exception:
            self.lacking.append(ext.name)
            raise  # setuptools goes on if the extension is optional


EXTRA = os.environ.get("SHOAL_CFLAGS", "").split()  # for a build that is watched by sanitizers: tools/sanitize.py
variants = {"base": [], **(X86 if get_platform().endswith(("x86_64", "amd64")) else {})}

setup(
    cmdclass={"build_ext": BuildKernels},
    ext_modules=[
        Extension(
            f"shoal.kernels._{name}",
            ["src/shoal/kernels/sgd.c", "src/shoal/kernels/madc.c"],
            depends=sorted(glob("src/shoal/kernels/*.h")),
            extra_compile_args=[*PLAIN, *flags, *EXTRA],
            extra_link_args=EXTRA,
            libraries=["m", "pthread"],
            optional=not os.environ.get("SHOAL_REQUIRE_KERNEL"),
        )
        for name, flags in variants.items()
    ],
)
