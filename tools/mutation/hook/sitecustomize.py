"""On the path of every process that a test of a mutant starts: the mutated module takes the place of the real one."""

from __future__ import annotations

import marshal
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType


class MutantFinder(MetaPathFinder):
    """Loads one module from code that was compiled before."""

    def __init__(self, module: str, file: str, code: CodeType) -> None:
        self.module, self.file, self.code = module, file, code

    def find_spec(self, fullname: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != self.module:
            return None
        inside = [str(Path(self.file).parent)] if self.file.endswith("__init__.py") else None
        loader = MutantLoader(fullname, self.file, self.code)
        return spec_from_file_location(fullname, self.file, loader=loader, submodule_search_locations=inside)


class MutantLoader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, code: CodeType) -> None:
        super().__init__(fullname, path)
        self.code = code

    def get_code(self, fullname: str) -> CodeType:
        return self.code


if "SHOAL_MUTANT" in os.environ:
    _module, _file, _code = os.environ["SHOAL_MUTANT"].split(os.pathsep)
    sys.meta_path.insert(0, MutantFinder(_module, _file, marshal.loads(Path(_code).read_bytes())))
