"""What a mutant is: one small change to one file, found by walking its syntax tree.

Left alone, because a change there is not a change of behaviour: docstrings and other strings, annotations, decorators,
imports, `__all__`, assertions, what an error or a warning says, `copy=` and `strict=`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.mutation.replacements import ARITHMETIC, SILENT, UNSEEN, called, is_text, left_alone, names_in, others

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Mutant:
    """One change. `path` leads from the tree's root to the changed node, so that the change can be made again."""

    file: str
    line: int
    scope: str  # name of the outermost function or method around it; a class or "" for what runs on import
    first: int  # lines of that function; of the class or the file for what runs on import
    last: int
    on_import: bool  # the change takes effect when the file is imported, not when a function is called
    kind: str
    text: str  # the source line
    before: str
    after: str
    number: int  # of several mutants of the file with the same scope, text, kind and change
    apply: Callable[[], ast.Module]

    @property
    def name(self) -> str:
        return "|".join((self.file, self.scope, self.text, self.kind, self.before, self.after, str(self.number)))


def mutants(root: Path, file: str) -> list[Mutant]:
    """All mutants of a file of the repository."""
    source = (root / file).read_text()
    tree = ast.parse(source)
    walk = _Walk(source.splitlines(), tree)
    walk.visit_body(tree)
    found: list[Mutant] = []
    seen: dict[tuple[str, ...], int] = {}
    for site, kind, before, after, change in walk.found:
        text = walk.lines[site.line - 1].strip()
        same = (site.scope, text, kind, before, after)
        seen[same] = seen.get(same, 0) + 1
        place = (file, site.line, site.scope, site.first, site.last, site.on_import)
        found.append(Mutant(*place, kind, text, before, after, seen[same], _maker(tree, change)))
    return found


def _maker(tree: ast.Module, change: Callable[[], Callable[[], None]]) -> Callable[[], ast.Module]:
    def apply() -> ast.Module:
        undo = change()
        made = ast.fix_missing_locations(copy.deepcopy(tree))
        undo()
        return made

    return apply


@dataclass(frozen=True)
class _Site:
    line: int
    scope: str
    first: int
    last: int
    on_import: bool


Change = Callable[[], Callable[[], None]]


class _Walk:
    """Goes through a tree and notes the changes that can be made, each with the place it belongs to."""

    def __init__(self, lines: list[str], tree: ast.Module) -> None:
        self.lines, self.tree = lines, tree
        self.found: list[tuple[_Site, str, str, str, Change]] = []
        self.classes: list[ast.ClassDef] = []
        self.functions: list[Function] = []
        self.bound: set[str] = set()  # names that the function has bound so far

    # ------------------------------------------------------------------------------------------------------ places

    def site(self, node: ast.AST) -> _Site:
        line: int = getattr(node, "lineno", 1)
        prefix = [c.name for c in self.classes]
        if self.functions and not isinstance(self.functions[0], ast.Lambda):
            f = self.functions[0]
            return _Site(line, ".".join([*prefix, f.name]), f.lineno, f.end_lineno or f.lineno, False)
        holder: ast.ClassDef | None = self.classes[-1] if self.classes else None
        first, last = (holder.lineno, holder.end_lineno or 0) if holder else (1, len(self.lines))
        return _Site(line, ".".join(prefix), first, last, True)

    def note(self, node: ast.AST, kind: str, after: ast.AST | str, change: Change, before: str | None = None) -> None:
        shown = after if isinstance(after, str) else ast.unparse(after)
        self.found.append((self.site(node), kind, ast.unparse(node) if before is None else before, shown, change))

    def swap(self, holder: ast.AST, field: str, place: int | None, new: ast.AST, kind: str) -> None:
        """The node at a place of its holder may become another."""
        old = getattr(holder, field) if place is None else getattr(holder, field)[place]
        ast.copy_location(new, old)

        def put(node: ast.AST) -> None:
            if place is None:
                setattr(holder, field, node)
            else:
                getattr(holder, field)[place] = node

        def change() -> Callable[[], None]:
            put(new)
            return lambda: put(old)

        self.note(old, kind, new, change)

    # -------------------------------------------------------------------------------------------------- statements

    def visit_body(self, holder: ast.AST, field: str = "body") -> None:
        body: list[ast.stmt] = getattr(holder, field)
        for place, s in enumerate(body):
            documents = isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)
            if not documents and not left_alone(s):
                self.delete(holder, field, place, s)
                self.statement(holder, field, place, s)
                self.bound |= {n.id for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}

    def delete(self, holder: ast.AST, field: str, place: int, s: ast.stmt) -> None:
        """A statement may be missing, unless only a name would then be unknown, which every test sees."""
        if isinstance(s, ast.Assign):
            missed = all(not isinstance(t, ast.Name | ast.Tuple) or names_in(t) <= self.bound for t in s.targets)
            wanted = bool(self.functions) and missed
        else:
            wanted = bool(self.functions) and isinstance(s, ast.Expr | ast.AugAssign | ast.Raise | ast.Delete)
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Yield | ast.YieldFrom):
            wanted = False  # without it the function would be no generator
        if wanted:
            body = getattr(holder, field)
            nothing = ast.copy_location(ast.Pass(), s)

            def change() -> Callable[[], None]:
                body[place] = nothing
                return lambda: body.__setitem__(place, s)

            self.note(s, "statement", "pass", change)

    def statement(self, holder: ast.AST, field: str, place: int, s: ast.stmt) -> None:
        match s:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.defaults(s)
                outer, self.bound = self.bound, {a.arg for a in ast.walk(s.args) if isinstance(a, ast.arg)}
                self.functions.append(s)
                self.visit_body(s)
                self.functions.pop()
                self.bound = outer
            case ast.ClassDef():
                self.classes.append(s)
                self.visit_body(s)
                self.classes.pop()
            case ast.If() | ast.While():
                self.condition(s, "test", s.test)
                self.expression(s, "test", None, s.test)
                self.visit_body(s)
                self.visit_body(s, "orelse")
            case ast.For() | ast.AsyncFor():
                self.expression(s, "iter", None, s.iter)
                self.bound |= names_in(s.target)
                self.visit_body(s)
                self.visit_body(s, "orelse")
            case ast.With() | ast.AsyncWith():
                for item in s.items:
                    self.expression(item, "context_expr", None, item.context_expr)
                self.visit_body(s)
            case ast.Try():
                for part in ("body", "orelse", "finalbody"):
                    self.visit_body(s, part)
                for handler in s.handlers:
                    self.visit_body(handler)
            case ast.Match():
                self.expression(s, "subject", None, s.subject)
                for case in s.cases:
                    self.visit_body(case)
            case ast.Break() | ast.Continue():
                other = ast.Continue() if isinstance(s, ast.Break) else ast.Break()
                self.swap(holder, field, place, other, "loop")
            case ast.Return() if s.value is not None:
                self.returned(s)
                self.expression(s, "value", None, s.value)
            case ast.AugAssign():
                if type(s.op) in ARITHMETIC and not is_text(s.value):
                    new = ast.AugAssign(s.target, ARITHMETIC[type(s.op)](), s.value)
                    self.swap(holder, field, place, new, "arithmetic")
                self.expression(s, "value", None, s.value)
            case ast.Assign() | ast.AnnAssign() | ast.Expr():
                if s.value is not None:
                    self.expression(s, "value", None, s.value)

    def defaults(self, s: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Defaults of arguments take effect on import, but belong to the function."""
        for place, value in enumerate(s.args.defaults):
            self.of_import(s, s.args, "defaults", place, value)
        for place, default in enumerate(s.args.kw_defaults):
            if default is not None:
                self.of_import(s, s.args, "kw_defaults", place, default)

    def of_import(self, s: Function, holder: ast.AST, field: str, place: int, value: ast.expr) -> None:
        if self.functions:  # of an inner function: made anew at each call
            self.expression(holder, field, place, value)
            return
        start = len(self.found)
        self.functions.append(s)
        self.expression(holder, field, place, value)
        self.functions.pop()
        for i in range(start, len(self.found)):
            site, *rest = self.found[i]
            self.found[i] = (_Site(site.line, site.scope, site.first, site.last, True), *rest)  # type: ignore[assignment]

    def condition(self, holder: ast.AST, field: str, test: ast.expr) -> None:
        """A condition that is no comparison may be turned round."""
        if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
            self.swap(holder, field, None, ast.UnaryOp(ast.Not(), test), "condition")

    def returned(self, s: ast.Return) -> None:
        """A function that may say nothing says nothing; one that says yes says no."""
        f = self.functions[-1]
        hint = "" if isinstance(f, ast.Lambda) or f.returns is None else ast.unparse(f.returns)
        assert s.value is not None
        if hint == "bool" and not isinstance(s.value, ast.Constant | ast.Compare | ast.BoolOp | ast.UnaryOp):
            self.swap(s, "value", None, ast.UnaryOp(ast.Not(), s.value), "return")
        if hint.endswith("| None") and not (isinstance(s.value, ast.Constant) and s.value.value is None):
            self.swap(s, "value", None, ast.Constant(None), "return")

    # ------------------------------------------------------------------------------------------------- expressions

    def expression(self, holder: ast.AST, field: str, place: int | None, e: ast.expr) -> None:
        for kind, new in others(e):
            self.swap(holder, field, place, new, kind)
        match e:
            case ast.JoinedStr():
                return
            case ast.Call():
                self.call(e)
            case ast.IfExp():
                self.condition(e, "test", e.test)
                self.inside(e)
            case ast.Lambda():
                self.functions.append(e)
                self.expression(e, "body", None, e.body)
                self.functions.pop()
            case _:
                self.inside(e)

    def inside(self, e: ast.AST) -> None:
        for field, value in ast.iter_fields(e):
            if isinstance(value, ast.expr) and not (isinstance(e, ast.Attribute | ast.Starred) and field == "ctx"):
                self.expression(e, field, None, value)
            elif isinstance(value, list):
                for place, v in enumerate(value):
                    if isinstance(v, ast.expr):
                        self.expression(e, field, place, v)
                    elif isinstance(v, ast.comprehension | ast.keyword):
                        if isinstance(v, ast.comprehension):
                            for number, test in enumerate(v.ifs):
                                if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
                                    self.swap(v, "ifs", number, ast.UnaryOp(ast.Not(), test), "condition")
                        if not (isinstance(v, ast.keyword) and v.arg in UNSEEN):
                            self.inside(v)

    def call(self, e: ast.Call) -> None:
        name = called(e)
        if name in SILENT or name == "cast" or name.startswith("TypeVar"):
            return
        if name == "replace" and not isinstance(e.func, ast.Attribute):
            for place in range(len(e.keywords)):
                if e.keywords[place].arg is not None:
                    fewer = ast.Call(e.func, e.args, e.keywords[:place] + e.keywords[place + 1 :])
                    self.drop(e, fewer, place)
        self.inside(e)

    def drop(self, e: ast.Call, fewer: ast.Call, place: int) -> None:
        full, less = e.keywords, fewer.keywords

        def change() -> Callable[[], None]:
            e.keywords = less
            return lambda: setattr(e, "keywords", full)

        self.note(e, "argument", fewer, change)
