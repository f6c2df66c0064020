"""What may stand in the place of an expression, and what is left alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
PAIRS = [
    ("min", "max"), ("argmin", "argmax"), ("minimum", "maximum"), ("nanmin", "nanmax"), ("any", "all"), ("sum", "mean"),
    ("zeros", "ones"), ("zeros_like", "ones_like"), ("floor", "ceil"),
]  # fmt: skip
OTHER = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])}
SILENT = {"warn", "warning", "info", "debug", "error", "log"}  # calls that only say something
UNSEEN = {"copy", "strict"}  # arguments that only save memory, or assert what holds anyway
TINY = 1e-6  # a float below this guards a division: it becomes 0


def others(e: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """What may stand in an expression's place."""
    match e:
        case ast.Compare():
            for i, op in enumerate(e.ops):
                ops = [*e.ops[:i], COMPARE[type(op)](), *e.ops[i + 1 :]]
                yield "compare", ast.Compare(e.left, ops, e.comparators)
        case ast.BoolOp():
            yield "boolean", ast.BoolOp(ast.Or() if isinstance(e.op, ast.And) else ast.And(), e.values)
        case ast.UnaryOp(ast.Not(), operand):
            yield "boolean", operand
        case ast.UnaryOp(ast.Invert() | ast.USub(), operand) if not isinstance(operand, ast.Constant):
            yield "arithmetic", operand
        case ast.BinOp() if type(e.op) in ARITHMETIC and not (is_text(e.left) or is_text(e.right) or type_union(e)):
            yield "arithmetic", ast.BinOp(e.left, ARITHMETIC[type(e.op)](), e.right)
        case ast.Constant(bool(value)):
            yield "constant", ast.Constant(not value)
        case ast.Constant(int(value)):
            yield "constant", ast.Constant(value + 1)
            if value > 0:
                yield "constant", ast.Constant(value - 1)
        case ast.Constant(float(value)):
            yield "constant", ast.Constant(1.0 if value == 0 else 0.0 if abs(value) < TINY else 2 * value)
        case ast.Name(name) if name in OTHER and isinstance(e.ctx, ast.Load):
            yield "function", ast.Name(OTHER[name], ast.Load())
        case ast.Attribute(value, name) if name in OTHER and isinstance(e.ctx, ast.Load):
            yield "function", ast.Attribute(value, OTHER[name], ast.Load())
        case ast.Slice(None, None, ast.UnaryOp(ast.USub(), ast.Constant(1))):
            yield "slice", ast.Slice(None, None, None)


def left_alone(s: ast.stmt) -> bool:
    if isinstance(s, ast.Import | ast.ImportFrom | ast.Assert | ast.Global | ast.Nonlocal | ast.Pass):
        return True
    if isinstance(s, ast.Assign) and any(isinstance(t, ast.Name) and t.id.startswith("__") for t in s.targets):
        return True
    if isinstance(s, ast.If):
        return "TYPE_CHECKING" in ast.unparse(s.test) or "__name__" in ast.unparse(s.test)
    return isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) and called(s.value) in SILENT


def called(e: ast.Call) -> str:
    return e.func.id if isinstance(e.func, ast.Name) else e.func.attr if isinstance(e.func, ast.Attribute) else ""


def is_text(e: ast.expr) -> bool:
    return isinstance(e, ast.JoinedStr) or (isinstance(e, ast.Constant) and isinstance(e.value, str))


def type_union(e: ast.BinOp) -> bool:
    """A union of types: `int | None`."""
    parts = (e.left, e.right)
    none = any(isinstance(p, ast.Constant) and p.value is None for p in parts)
    return isinstance(e.op, ast.BitOr) and (none or any(isinstance(p, ast.Name) and p.id[:1].isupper() for p in parts))


def names_in(target: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
