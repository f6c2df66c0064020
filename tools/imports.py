"""The import graph of the package: a table, its cycles, a picture, and the modules that one run goes through.

python -m tools.imports                                         the table and the cycles
python -m tools.imports --svg docs/images/imports.svg           the picture of docs/architecture.md
python -m tools.imports --hops "run flexcfl rounds=1"           what a run enters, until it first trains and in all
python -m tools.imports --src OLD/src ...                       the same for another tree
"""

from __future__ import annotations

import argparse
import ast
import re
import tomllib
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from tools.code_lines import code_lines

PACKAGE = "shoal"
Edges = Mapping[str, Set[str]]


@dataclass(frozen=True)
class Graph:
    """Modules with their code lines, and who imports whom.

    `late` are imports inside functions. Imports for the type checker alone are no imports.
    """

    lines: Mapping[str, int]
    early: Edges
    late: Edges

    @property
    def edges(self) -> Edges:
        """All imports, whenever they happen."""
        return {name: self.early[name] | self.late[name] for name in self.lines}


@dataclass(frozen=True)
class Import:
    """One import statement: the module it names, the names it takes, and whether it waits for a call."""

    module: str
    names: tuple[str, ...]
    late: bool


def read(src: Path) -> Graph:
    """The import graph of the package below a folder.

    Args:
        src: The folder that holds `shoal/`.

    Returns:
        Every module with its code lines and what it imports of the package, at its head and inside functions.
    """
    texts = {module_name(src, path): path.read_text() for path in sorted((src / PACKAGE).rglob("*.py"))}
    early: dict[str, set[str]] = {name: set() for name in texts}
    late: dict[str, set[str]] = {name: set() for name in texts}
    for name, text in texts.items():
        package = name if (src / Path(*name.split(".")) / "__init__.py").exists() else name.rpartition(".")[0]
        for found in imports(ast.parse(text), package):
            for target in (f"{found.module}.{one}" for one in found.names or ("",)):
                target = target if target in texts else found.module
                if target in texts and target != name:
                    (late if found.late else early)[name].add(target)
    return Graph({name: code_lines(text) for name, text in texts.items()}, early, late)


def module_name(src: Path, path: Path) -> str:
    """The dotted name of a file.

    >>> module_name(Path("src"), Path("src/shoal/data/__init__.py")), module_name(Path("src"), Path("src/shoal/net.py"))
    ('shoal.data', 'shoal.net')
    """
    parts = path.relative_to(src).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(node: ast.AST, package: str, late: bool = False) -> Iterator[Import]:
    """The import statements below a node, those of the type checker left out.

    >>> list(imports(ast.parse("import shoal.net"), "shoal"))
    [Import(module='shoal.net', names=(), late=False)]
    >>> list(imports(ast.parse("def f():\\n    from . import net"), "shoal"))
    [Import(module='shoal', names=('net',), late=True)]
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, (), late) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - child.level + 1] if child.level else []
            module = ".".join([*above, *([child.module] if child.module else [])])
            yield Import(module, tuple(alias.name for alias in child.names), late)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from imports(ast.Module(child.orelse, []), package, late)
        else:
            yield from imports(child, package, late or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))


def package_of(module: str) -> str:
    """The part of the house a module belongs to: the folder or file right below the package.

    >>> package_of("shoal.data.drift.swap"), package_of("shoal.net"), package_of("shoal"), package_of("shoal.__main__")
    ('data', 'net', 'shoal', 'shoal')
    """
    front, _, rest = module.partition(".")
    return front if rest in ("", "__main__") else rest.partition(".")[0]


def packages(graph: Graph) -> Edges:
    """Which part of the house imports which."""
    found: dict[str, set[str]] = {package_of(name): set() for name in graph.lines}
    for name, targets in graph.edges.items():
        found[package_of(name)] |= {package_of(t) for t in targets} - {package_of(name)}
    return found


def cycles(edges: Edges) -> list[list[str]]:
    """Sets of nodes that reach each other, each as one shortest way round, from its first name on.

    Args:
        edges: For every node what it points to.

    Returns:
        One closed way per such set: the first name stands at both ends.

    >>> cycles({"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set()})
    [['a', 'b', 'c', 'a']]
    """
    reach = {node: reachable(node, edges) for node in edges}
    around = sorted(node for node in edges if node in reach[node])
    sets = {tuple(other for other in around if other in reach[node] and node in reach[other]) for node in around}
    return [way_round(together[0], edges, set(together)) for together in sorted(sets)]


def reachable(start: str, edges: Edges) -> set[str]:
    """Everything that a node leads to; itself only if there is a way back."""
    found: set[str] = set()
    open_ends = [start]
    while open_ends:
        fresh = edges[open_ends.pop()] - found
        found |= fresh
        open_ends += fresh
    return found


def way_round(start: str, edges: Edges, within: set[str]) -> list[str]:
    """A shortest way from a node back to itself inside a set that holds one."""
    ways, seen = [[start]], {start}
    for way in ways:
        if start in edges[way[-1]]:
            return [*way, start]
        fresh = sorted((edges[way[-1]] & within) - seen)
        seen |= set(fresh)
        ways += [[*way, target] for target in fresh]
    raise ValueError(f"no way leads from {start} back to it")


def layers(edges: Edges) -> dict[str, int]:
    """The height of every node: 0 imports nothing, everybody else stands one above the highest it imports.

    Nodes that import each other share a height.

    >>> layers({"cli": {"run"}, "run": {"types", "report"}, "report": {"run", "types"}, "types": set()})
    {'cli': 2, 'run': 1, 'report': 1, 'types': 0}
    """
    reach = {node: reachable(node, edges) for node in edges}
    below = {node: {t for t in reach[node] if node not in reach[t]} for node in edges}
    height: dict[str, int] = {}
    for node in sorted(edges, key=lambda n: len(below[n])):  # whatever is below a node has fewer below itself
        height[node] = max((height[t] for t in below[node]), default=-1) + 1
    return {node: height[node] for node in edges}


def declared_layers(pyproject: Path, names: Set[str]) -> dict[str, int]:
    """The height of every package as the import contract of a pyproject.toml has it; a layer without packages is none.

    Args:
        pyproject: The file with the contract.
        names: The packages to look for.

    Returns:
        A height for each, 0 at the bottom; empty if there is no contract, or one that does not name them all.
    """
    tools = tomllib.loads(pyproject.read_text())["tool"] if pyproject.exists() else {}
    contracts = tools.get("importlinter", {}).get("contracts", [])
    rows: list[str] = next((contract["layers"] for contract in contracts if contract["type"] == "layers"), [])
    found = [[n for n in re.findall(r"\w+", row) if n in names] for row in reversed(rows)]
    height = {name: h for h, row in enumerate(filter(None, found)) for name in row}
    return height if height.keys() == names else {}


def table(graph: Graph) -> str:
    """The packages from top to bottom: modules, code lines, what each imports and by how many it is imported."""
    edges, height = packages(graph), layers(packages(graph))
    names = sorted(edges, key=lambda n: (-height[n], n))
    rows = [("package", "modules", "code lines", "imported by", "imports")]
    for name in names:
        mine = [n for module, n in graph.lines.items() if package_of(module) == name]
        importers = sum(name in targets for targets in edges.values())
        below = ", ".join(sorted(edges[name], key=names.index)) or "-"
        rows.append((name, f"{len(mine)}", f"{sum(mine):,}", f"{importers}", below))
    imports_of_all = sum(map(len, graph.edges.values()))
    rows.append(("in all", f"{len(graph.lines)}", f"{sum(graph.lines.values()):,}", "", f"{imports_of_all} imports"))
    wide = [max(len(row[i]) for row in rows) for i in range(4)]
    return "\n".join(
        f"{row[0]:<{wide[0]}}  {row[1]:>{wide[1]}}  {row[2]:>{wide[2]}}  {row[3]:>{wide[3]}}  {row[4]}".rstrip()
        for row in rows
    )


def cycle_lines(graph: Graph) -> Iterator[str]:
    """What goes round, among modules and among packages; `import shoal` itself counts as neither."""
    inner = {name: targets - {PACKAGE} for name, targets in graph.edges.items() if name != PACKAGE}
    early = {name: targets - {PACKAGE} for name, targets in graph.early.items() if name != PACKAGE}
    parts = {name: targets - {PACKAGE} for name, targets in packages(graph).items() if name != PACKAGE}
    for what, edges in (
        ("among modules, by imports at their heads", early),
        ("among modules, imports inside functions counted", inner),
        ("among packages", parts),
    ):
        found = cycles(edges)
        yield f"cycles {what}: {len(found) or 'none'}"
        yield from (f"  {' -> '.join(way)}" for way in found)


def main() -> None:
    """Print the table and the cycles, and do what else was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--src", type=Path, default=Path("src"), help="the folder that holds shoal/")
    parser.add_argument("--svg", type=Path, help="draw the packages into this file")
    parser.add_argument("--hops", metavar="WORDS", help="words after `shoal`; runs them and counts the modules entered")
    chosen = parser.parse_args()
    if not (chosen.src / PACKAGE / "__init__.py").exists():
        parser.error(f"there is no {PACKAGE} in {chosen.src}; name the folder that holds it with --src")
    if chosen.hops:
        from tools.hops import trace

        print("\n".join(trace(chosen.src, chosen.hops)))
        return
    graph = read(chosen.src)
    print(table(graph), *cycle_lines(graph), sep="\n")
    if chosen.svg:
        from tools.draw import draw

        chosen.svg.write_text(draw(graph, chosen.src.resolve().parent / "pyproject.toml"))


if __name__ == "__main__":
    main()
