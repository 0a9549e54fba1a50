"""Small mistakes, one at a time, in a module's source: the operators of mutate.py.

A mutant is the module with one of these changes:

    comparison    < becomes <= and >=, == becomes !=, in becomes not in, ...
    arithmetic    + becomes -, * becomes /, // becomes /, & becomes |, -x becomes x, ...
    boolean       and becomes or, not x becomes x, a condition is always or never true
    constants     n becomes n + 1 and n - 1, True becomes False, "text" becomes "XXtext"
    names         min becomes max, any becomes all, ones becomes zeros, ...
    returns       return x becomes return None
    statements    a call, a raise, a break or a second assignment is left out
    arguments     two neighbours are swapped, one given by its name is left out

Not changed: annotations, docstrings, what an error says, and the first assignment to a
name, without which nearly every function fails at once.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Div,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
PAIRS = ("min max", "any all", "argmin argmax", "ones zeros", "maximum minimum")
NAMES = {a: b for p in PAIRS for a, b in (p.split(), p.split()[::-1])}
UNTOUCHED = (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.operator, ast.cmpop)


@dataclass(frozen=True)
class Mutant:
    """One changed module: where, what it said, what it says now, and its code."""

    file: str
    function: str
    before: str
    after: str
    lines: range
    code: CodeType

    @property
    def module(self) -> str:
        """The name by which the original is imported."""
        path = self.file.removesuffix(".py").removesuffix("/__init__")
        return "cofire." + path.replace("/", ".")

    def __str__(self) -> str:
        return f"{self.file} {self.function}: {self.before} -> {self.after}"


def mutants_of(path: Path, file: str) -> list[Mutant]:
    """All mutants of a source file, in the order of their places."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node, parents, put in _walk(tree, (tree,)):
        statement = next(p for p in (*parents, node)[::-1] if isinstance(p, ast.stmt))
        functions = [p for p in (*parents, node) if isinstance(p, ast.FunctionDef)]
        for changed in _changes(node, functions):
            before = _header(statement)
            put(changed)
            code = compile(ast.fix_missing_locations(tree), str(path), "exec")
            after = _header(changed if statement is node else statement)
            put(node)
            names = [
                p.name for p in parents if isinstance(p, ast.ClassDef | ast.FunctionDef)
            ]
            lines = _lines(statement) if functions else range(0)
            where = ".".join(names) or "module"
            found.append(Mutant(file, where, before, after, lines, code))
    return found


def equivalents(text: str) -> dict[str, str]:
    """{mutant: why it behaves as the original}: a line each, the reason indented."""
    known, name = {}, ""
    for line in text.splitlines():
        if line.startswith(" "):
            known[name] = f"{known[name]} {line.strip()}".strip()
        elif line and not line.startswith("#"):
            name = line
            known[name] = ""
    for name, reason in known.items():
        if not reason:
            raise ValueError(f"called equivalent without a reason: {name}")
    return known


def _walk(node: ast.AST, parents: tuple) -> Iterator[tuple]:
    """Each node that may change, those around it, and how another takes its place."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns") or isinstance(node, ast.Raise):
            continue
        several = isinstance(value, list)
        for k, child in enumerate(value if several else [value]):
            if not isinstance(child, ast.AST) or isinstance(child, UNTOUCHED):
                continue
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue  # a docstring
            if isinstance(child, ast.Assign) and "__all__" in ast.unparse(child):
                continue

            def put(new, value=value, k=k, field=field, several=several):
                if several:
                    value[k] = new
                else:
                    setattr(node, field, new)

            yield child, parents, put
            yield from _walk(child, (*parents, child))


def _changes(node: ast.AST, functions: list) -> Iterator[ast.AST]:
    """What may stand where a node stands."""
    match node:
        case ast.Compare(left, ops, comparators):
            for k, op in enumerate(ops):
                for other in COMPARISONS[type(op)]:
                    new = [*ops[:k], other(), *ops[k + 1 :]]
                    yield ast.Compare(left, new, comparators)
        case ast.BinOp(left, op, right):
            yield ast.BinOp(left, ARITHMETIC[type(op)](), right)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() as value):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.Constant(float() as value):
            yield ast.Constant(value + 1)
        case ast.Constant(str() as value):
            yield ast.Constant("XX" + value)
        case ast.Name(name, context) if name in NAMES:
            yield ast.Name(NAMES[name], context)
        case ast.Attribute(value, name, context) if name in NAMES:
            yield ast.Attribute(value, NAMES[name], context)
        case ast.Call(function, args, keywords):
            for k in range(len(args) - 1):
                swapped = [*args[:k], args[k + 1], args[k], *args[k + 2 :]]
                yield ast.Call(function, swapped, keywords)
            for k in range(len(keywords)):
                yield ast.Call(function, args, keywords[:k] + keywords[k + 1 :])
        case ast.If(test, body, orelse) if not _is_constant(test):
            yield ast.If(ast.Constant(True), body, orelse)
            yield ast.If(ast.Constant(False), body, orelse)
        case ast.While(_, body, orelse):
            yield ast.While(ast.Constant(False), body, orelse)
        case ast.IfExp(_, body, orelse):
            yield body
            yield orelse
        case ast.comprehension(target, sequence, conditions) if conditions:
            yield ast.comprehension(target, sequence, [], 0)
            yield ast.comprehension(target, sequence, [ast.Constant(False)], 0)
        case ast.Return(value) if value is not None and not _is_constant(value, None):
            yield ast.Return(ast.Constant(None))
        case ast.Raise() | ast.Break() | ast.AugAssign() | ast.Expr():
            yield ast.Pass()
        case ast.Assign(targets=[target]) if _exists(target, node, functions):
            yield ast.Pass()
        case ast.AnnAssign(value=ast.expr()) if not functions:
            yield ast.Pass()


def _is_constant(node: ast.AST, *values) -> bool:
    known = isinstance(node, ast.Constant)
    return known and (not values or node.value in values)


def _exists(target: ast.AST, assignment: ast.AST, functions: list) -> bool:
    """Whether what is assigned to was there before: an item, or a name used above."""
    if not functions or not isinstance(target, ast.Name):
        return not isinstance(target, ast.Tuple | ast.List)
    arguments = {a.arg for a in ast.walk(functions[-1].args) if isinstance(a, ast.arg)}
    stored = {
        name.id
        for name in ast.walk(functions[-1])
        if isinstance(name, ast.Name)
        and isinstance(name.ctx, ast.Store)
        and name.lineno < assignment.lineno
    }
    return target.id in arguments | stored


def _header(statement: ast.AST) -> str:
    """A statement as one line; of one with a body only what stands before it."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        lines = ast.unparse(statement).splitlines()
        end = next(i for i, line in enumerate(lines) if not line.startswith("@"))
        return " ".join(lines[: end + 1])
    return ast.unparse(statement).splitlines()[0]


def _lines(statement: ast.stmt) -> range:
    """The lines that run when a statement does; of a function, those of its body."""
    if isinstance(statement, ast.FunctionDef):
        return range(statement.body[0].lineno, statement.end_lineno + 1)
    body = getattr(statement, "body", None)
    end = body[0].lineno if body else statement.end_lineno + 1
    return range(statement.lineno, max(end, statement.lineno + 1))
