"""The native kernels in C, once for every instruction set. Without a compiler Shoal installs and works without it."""

import platform

from setuptools import Extension, setup

PLAIN = ["-std=gnu11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"]
X86 = {
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma", "-mprefer-vector-width=512"],
}
variants = {"base": [], **(X86 if platform.machine().lower() in ("x86_64", "amd64") else {})}

setup(
    ext_modules=[
        Extension(
            f"shoal.kernels._{name}",
            ["src/shoal/kernels/sgd.c", "src/shoal/kernels/madc.c"],
            depends=[f"src/shoal/kernels/{name}.h" for name in ("dense", "conv", "train")],
            extra_compile_args=[*PLAIN, *flags],
            libraries=["m"],
            optional=True,
        )
        for name, flags in variants.items()
    ]
)
