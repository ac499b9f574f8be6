"""The site's page on `attn_utils`, made from signatures and docstrings."""

import inspect
import re
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

MODULES = ("attn_utils.kernels", "attn_utils.masks", "attn_utils.layers")
EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> ).+\n?)*)+", re.M)
MARKUP = re.compile(r"([*_\[\]<>\\])")


def reference_page() -> str:
    """The page as Markdown, with a directive for every name, so that each has an address."""
    house = import_module("attn_utils")
    parts = ["# `attn_utils`", _plain_text(house.__doc__ or "")]
    for name in MODULES:
        module = import_module(name)
        parts.append(f"## `{name}`")
        parts.append(_plain_text(module.__doc__ or ""))
        for found in public_names(module):
            parts.append(_entry(module, found))
    return "\n\n".join(parts) + "\n"


def public_names(module: ModuleType) -> list[str]:
    """The functions and classes that a module defines for others, in the order of its text."""
    names = []
    for name, value in vars(module).items():
        is_own = getattr(value, "__module__", "") == module.__name__
        is_documented = inspect.isfunction(value) or inspect.isclass(value)
        if is_own and is_documented and not name.startswith("_"):
            names.append(name)
    return names


def _entry(module: ModuleType, name: str) -> str:
    """The directive of a function, or of a class with its methods inside."""
    value = getattr(module, name)
    place = f"{module.__name__}.{name}"
    if not inspect.isclass(value):
        return _directive("py:function", place, value)

    inside = []
    for method, function in vars(value).items():
        if not method.startswith("_") and function.__doc__:
            inside += _method(method, function)
    return _directive("py:class", place, value, inside)


def _method(name: str, value: Any) -> list[str]:
    """The directive of a method or property, if it is one."""
    if isinstance(value, property):
        return [_directive("py:property", name, value)]
    if inspect.isfunction(value):
        return [_directive("py:method", name, value)]
    return []


def _directive(kind: str, place: str, value: Any, inside: Sequence[str] = ()) -> str:
    """kind: of Sphinx's Python domain; place: the dotted name; inside: directives below the text."""
    docstring = inspect.getdoc(value) or ""
    text = _documentation(docstring)
    parts = [_arguments_listed(text, value), *inside]
    body = "\n\n".join(parts)
    fence = ":::::" if inside else "::::"
    head = f"{{{kind}}} {place}{_signature(value)}"
    return f"{fence}{head}\n{body}\n{fence}"


def _signature(value: Any) -> str:
    """The signature without types, which the docstring tells better: as shapes."""
    if isinstance(value, property):
        return ""
    parameters = inspect.signature(value).parameters
    kept = []
    for name, parameter in parameters.items():
        if name != "self":
            bare = parameter.replace(annotation=inspect.Parameter.empty)
            kept.append(bare)
    return str(inspect.Signature(kept))


def _arguments_listed(text: str, value: Any) -> str:
    """`text` with an item for every line that tells of an argument: "mask: boolean, ..."."""
    if isinstance(value, property):
        return text
    names = "|".join(inspect.signature(value).parameters)
    told = re.compile(rf"^((?:{names})(?:, (?:{names}))*): ", re.M)
    return told.sub(r"- `\1`: ", text)


def _documentation(docstring: str) -> str:
    """A docstring as Markdown: its examples as code, the rest as text."""
    parts = []
    end = 0
    for found in EXAMPLE.finditer(docstring):
        parts.append(_plain_text(docstring[end : found.start()]))
        parts.append(f"```pycon\n{found[0].rstrip()}\n```")
        end = found.end()
    parts.append(_plain_text(docstring[end:]))
    return "\n\n".join(part for part in parts if part.strip())


def _plain_text(text: str) -> str:
    """Text in which nothing but `names` is markup."""
    pieces = text.strip().split("`")
    for place in range(0, len(pieces), 2):  # between the names
        pieces[place] = MARKUP.sub(r"\\\1", pieces[place])
    return "`".join(pieces)
