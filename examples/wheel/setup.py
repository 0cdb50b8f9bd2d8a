"""The step that compiles `kernels.tx` into the package, and a wheel for one kind of processor and any Python 3."""

import platform
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

#: Code for every processor of a kind; the best that the one at run time can do is taken there.
TARGETS = {"x86_64": "x86-64-v2+v3", "aarch64": "aarch64"}
KERNELS = Path(__file__).parent / "src" / "rowwise" / "kernels.tx"


class BuildKernels(build_py):
    def run(self) -> None:
        super().run()
        library = Path(self.build_lib) / "rowwise" / "kernels.so"
        target = ["--target", TARGETS.get(platform.machine(), "native")]
        command = ["tensor-compile", str(KERNELS), "--emit=so", "-o", str(library), "--function", "softmax,centred"]
        subprocess.run([*command, *target], check=True)


class KernelWheel(bdist_wheel):
    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


class KernelDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return True


setup(cmdclass={"build_py": BuildKernels, "bdist_wheel": KernelWheel}, distclass=KernelDistribution)
