"""The code that a claim's numbers come from, and its digest: a result older than its parts is said to be so.

Definitions are classes, functions and constants of the program, with what each uses, wherever they stand.
"""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

import trainers
from trainers.claims.base import Claim
from trainers.config import RunConfig
from trainers.data.labelled.datasets.drawn import load as drawn
from trainers.data.synthetic.scenes import drawn_scenes, pixels
from trainers.kinds import kind_of
from trainers.kinds.base import SPEED
from trainers.metrics.names import describe
from trainers.parameters import Rule, specs
from trainers.plans.config import SweepConfig

_ROOT = Path(trainers.__file__).parent
_ABOVE = trainers.__name__.removesuffix("trainers")
"""Before the names of modules in an installed wheel; a digest leaves it out."""
_TEXTS = ("help", "label", "sentence", "title", "unit")  # keywords that words for the page are given by
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, *_COMPREHENSIONS)
_LONGEST = 8  # names behind each other that only import a definition


@dataclass(frozen=True, order=True)
class Definition:
    """A name that a module of the trainers defines at its top."""

    module: str
    name: str

    def code(self, within: tuple[str, ...]) -> tuple[str, tuple[Definition, ...]]:
        """Return the code as a tree without its own name and without docstrings, types and texts for the page, and
        the definitions of the packages ``within`` that it uses, in the order of their uses; their names are left out
        of the code.
        """
        return _code(self, within)


def definition_of(made: object) -> Definition | None:
    """Return where a class or function is defined; None: not at the top of a module of the trainers."""
    made = getattr(made, "func", made)  # of functools.partial
    module, name = getattr(made, "__module__", None), getattr(made, "__qualname__", "")
    module = (module or "").removeprefix(_ABOVE)
    return _found(module, name.split(".")[0]) if module.startswith("trainers.") else None


def closure(roots: frozenset[Definition], within: tuple[str, ...], without: Collection[str]) -> tuple[Definition, ...]:
    """List definitions of the packages ``within`` that are reached from ``roots``, with these, sorted; not those that
    are named ``without``.
    """
    known: set[Definition] = set()
    waiting = [root for root in roots if root.module.startswith(within)]
    while waiting:
        one = waiting.pop()
        if one not in known and one.name not in without:
            known.add(one)
            waiting += one.code(within)[1]
    return tuple(sorted(known))


@dataclass(frozen=True)
class _Module:
    """What a module defines and imports at its top."""

    defined: Mapping[str, tuple[ast.stmt, ...]]
    imported: Mapping[str, tuple[str, str | None]]


@cache
def _read(module: str) -> _Module | None:
    """Read a module; None: it is no module of the trainers."""
    base = _ROOT.joinpath(*module.split(".")[1:])
    path = next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)
    if path is None or module.split(".")[0] != "trainers":
        return None
    defined: dict[str, tuple[ast.stmt, ...]] = {}
    text = path.read_text(encoding="utf-8")
    body = ast.parse(text.replace(f"{_ABOVE}trainers", "trainers")).body
    for node in body:
        for name in _names_of(node):
            defined[name] = (*defined.get(name, ()), node)
    return _Module(MappingProxyType(defined), MappingProxyType(_imports(body)))


def _names_of(node: ast.stmt) -> Iterator[str]:
    """Yield what a statement at the top of a module defines, also behind a condition."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif not isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from _stored(node)


def _stored(node: ast.AST) -> set[str]:
    """Return the names that a node gives values, without those that are known within functions inside it alone."""
    parts = list(_outside_scopes(node))
    return {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def _outside_scopes(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, _SCOPES):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _outside_scopes(child)


def _imports(body: list[ast.stmt]) -> dict[str, tuple[str, str | None]]:
    """Return what statements import, by the name that it has there: the module, and the name in it (None: itself)."""
    found: dict[str, tuple[str, str | None]] = {}
    for node in (part for statement in body for part in _outside_scopes(statement)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.asname: (alias.name, None) for alias in node.names if alias.asname}
    return found


def _found(module: str, name: str) -> Definition | None:
    """Return the definition behind a name that a module defines or imports."""
    for _ in range(_LONGEST):
        read = _read(module)
        if read is None:
            return None
        if name in read.defined:
            return Definition(module, name)
        if name not in read.imported:
            return None
        module, other = read.imported[name]
        if other is None:
            return None
        name = other
    return None


@cache
def _code(one: Definition, within: tuple[str, ...]) -> tuple[str, tuple[Definition, ...]]:
    read = _read(one.module)
    assert read is not None
    nodes = copy.deepcopy(read.defined[one.name])
    plain = _Plain(one, read, within)
    dumped = [ast.dump(plain.visit(node)) for node in nodes]
    return "\n".join(dumped), tuple(plain.used)


class _Plain(ast.NodeTransformer):
    """Leaves out of a definition what changes no number, and puts a mark in place of definitions that it uses."""

    def __init__(self, one: Definition, read: _Module, within: tuple[str, ...]) -> None:
        self.used: list[Definition] = []
        self._one, self._within = one, within
        self._imported = dict(read.imported)
        self._bound: list[set[str]] = []  # by the functions around a node

    def visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, (ast.FunctionDef, ast.Lambda, *_COMPREHENSIONS)):
            return super().visit(node)
        inside = [part for child in ast.iter_child_nodes(node) for part in _outside_scopes(child)]
        self._imported |= _imports([part for part in inside if isinstance(part, ast.stmt)])
        self._bound.append({part.arg for part in inside if isinstance(part, ast.arg)})
        self._bound[-1].update(*(_stored(child) for child in ast.iter_child_nodes(node)))
        try:
            return super().visit(node)
        finally:
            self._bound.pop()

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if any(node.id in bound for bound in self._bound):
            return node
        if isinstance(node.ctx, ast.Store):
            return ast.Name("·", node.ctx) if node.id == self._one.name else node
        if node.id in self._imported:
            module, name = self._imported[node.id]
            if (read := _read(f"{module}.{name}")) is not None:  # a module as a whole
                every = [Definition(f"{module}.{name}", known) for known in read.defined]
                self.used += [known for known in every if known.module.startswith(self._within)]
                return ast.Name("·", ast.Load())
            return self._mark(node, None if name is None else _found(module, name), name or node.id)
        return self._mark(node, _found(self._one.module, node.id), node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self._imported:
            module, name = self._imported[node.value.id]
            inside = module if name is None else f"{module}.{name}"
            if _read(inside) is not None:  # a definition by its module
                return self._mark(node, _found(inside, node.attr), node.attr)
        return self.generic_visit(node)

    def _mark(self, node: ast.expr, known: Definition | None, name: str) -> ast.AST:
        if known is None:
            return node
        if known == self._one:
            return ast.Name("·", ast.Load())
        if not known.module.startswith(self._within):
            return ast.Name(name, ast.Load())
        self.used.append(known)
        return ast.Name("·", ast.Load())

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._without_name(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._without_name(node)

    def _without_name(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        if node.name == self._one.name:
            node.name = "·"
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(node.arg)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.keywords = [given for given in node.keywords if given.arg not in _TEXTS]
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_Import(self, _node: ast.Import) -> None:
        """Leave it out: what it brings is found where it is used."""

    def visit_ImportFrom(self, _node: ast.ImportFrom) -> None:
        """Leave it out, likewise."""


_WITHIN = tuple(
    f"trainers.{name}"
    for name in (
        "data.conditions",
        "data.labelled.datasets",
        "data.picture",
        "data.synthetic",
        "encoders",
        "image_text.models",
        "kinds",
        "losses",
        "metrics",
        "object_removal",
        "optimization",
        "samplers",
        "training.augmentations",
    )
)
"""Packages whose definitions decide numbers; what else they use carries them."""
_DESCRIBING = ("LICENCE", "Preset", "TITLE", "advice", "footprint", "title", "titles")
"""Definitions of these packages that decide none: sentences and estimates."""
_MADE_BY = ("module", "build", "load", "make", "parameters")
"""Fields of an entry of a registry that make what it stands for."""


def parts(claim: Claim) -> tuple[Definition, ...]:
    """List the definitions that a claim's numbers come from: the entries of registries that its runs choose, the loop
    of their kind, the scores of its metrics, and what these use of such packages.
    """
    plans = [made() for made in (claim.plan, claim.begins) if made is not None]
    begun = [made for plan in plans for made in _chosen(plan.run)]
    begun += [describe(key).measure.score for difference in claim.differences for key in difference.metrics]
    roots = {known for made in begun if (known := definition_of(made)) is not None}
    return closure(frozenset(roots), _WITHIN, _DESCRIBING)


def digest(claim: Claim) -> str:
    """Return sha256, 16 hexadecimal digits, of :func:`parts` and of the plan. Where a definition stands and what it is
    called change nothing, nor do comments, docstrings, types and the texts of parameters.
    """
    total = sha256("".join(sorted(_label(part) for part in parts(claim))).encode())
    for made in (claim.plan, claim.begins):
        total.update(b"" if made is None else _numbers(made()).encode())
    return total.hexdigest()[:16]


@cache
def _label(part: Definition) -> str:
    """Return sha256 of a definition's code and of those that it uses, in their order."""
    code, used = part.code(_WITHIN)
    within = [known.code(_WITHIN)[0] for known in used]
    return sha256("\n".join((code, *within)).encode()).hexdigest()


def _numbers(plan: SweepConfig) -> str:
    """Return the settings of a plan as JSON, without those of memory, speed and names that are as usual: they change
    none of its numbers.
    """
    values = json.loads(plan.to_json())
    data = values["run"].get("data", {})
    for name in ("name_encoding", "level_names"):
        if data.get(name) is None:
            data.pop(name, None)
    usual = {spec.name: spec.default for spec in specs(type(plan.run)) if spec.name in SPEED.names}
    if values["run"].get("weights") is None:
        values["run"].pop("weights", None)
    values["run"] = {name: value for name, value in values["run"].items() if name not in usual or value != usual[name]}
    return json.dumps(values, sort_keys=True)


def _chosen(run: RunConfig) -> Iterator[object]:
    """Yield what makes the choices of a run, and its kind's loop."""
    yield kind_of(run).loop()
    for spec in specs(type(run)):
        value = getattr(run, spec.name)
        if spec.rule.registry:
            entries = Rule(help="", registry=spec.rule.registry).entries()
            several = value if isinstance(value, (tuple, list)) else (value,)
            for choice in several:
                entry = entries.get(str(getattr(choice, "name", choice)))
                yield from (getattr(entry, name, None) for name in _MADE_BY)
    source = getattr(getattr(run, "data", None) or getattr(run, "scenes", None), "source", "")
    if source.startswith("drawn_scenes"):
        yield from (drawn_scenes, pixels)
    elif source.startswith("drawn"):
        yield drawn
