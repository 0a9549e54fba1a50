"""Words of C: names, texts, comments, numbers and tables, safe whatever they say."""

import re
import textwrap
from collections.abc import Iterable
from keyword import iskeyword

import numpy as np

_WIDTH = 88
_KEYWORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for "
    "goto if inline int long register restrict return short signed sizeof static "
    "struct switch typedef union unsigned void volatile while "
    # Of C++ and of later C, where the header is read too.
    "alignas alignof and asm bool catch class compl constexpr delete explicit export "
    "false friend mutable namespace new noexcept not nullptr operator or private "
    "protected public template this throw true try typeid typename using virtual "
    "wchar_t xor".split()
)


def check_name(name: str) -> str:
    """Return a name if it can begin all names of a C file, else a ValueError."""
    if _is_name(name):
        return name
    raise ValueError(
        f"name={name!r} cannot begin the names of a C file: give letters, digits and "
        "_, a letter first, at most 40, and not a word of C."
    )


def as_name(text: str) -> str:
    """Return a name of C, and of Python, that is as much like a text as it can be.

    >>> as_name("net"), as_name("my-net v2"), as_name("2026"), as_name("while")
    ('net', 'my_net_v2', 'model_2026', 'model_while')
    """
    word = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")[:34]
    right = _is_name(word) and not iskeyword(word)
    return word if right else f"model_{word}".rstrip("_")


def _is_name(text: str) -> bool:
    right = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,39}", text, re.ASCII)
    return bool(right) and text.lower() not in _KEYWORDS and text != "main"


def identifiers(prefix: str, names: Iterable[str], taken: set[str]) -> list[str]:
    """Return a constant's name for each text, all different; `taken` are others.

    >>> identifiers("MODEL", ["red", "Red!", "µ"], {"MODEL_"})
    ['MODEL_RED', 'MODEL_RED_2', 'MODEL__2']
    """
    found = []
    for name in names:
        word = re.sub(r"[^A-Za-z0-9]+", "_", name.strip(), flags=re.ASCII)
        base = f"{prefix}_{word.strip('_').upper()[:60]}"
        own, n = base, 1
        while own in taken:
            n += 1
            own = f"{base}_{n}"
        taken.add(own)
        found.append(own)
    return found


def quoted(text: str) -> str:
    r"""Return a text as a literal of UTF-8 bytes.

    >>> print(quoted('a "b"'), quoted("é1"), quoted("??/"))
    "a \"b\"" "\303\2511" "\?\?/"
    """
    safe = {b'"'[0]: '\\"', b"\\"[0]: "\\\\", b"?"[0]: "\\?"}
    data = text.encode("utf-8", "replace")
    body = (safe.get(b, chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in data)
    return '"' + "".join(body) + '"'


def remark(text: str) -> str:
    """Return what can stand within a comment, on one line.

    >>> remark("end */ #error ??/ é" + 70 * "y")[:40]
    'end _/ #error __/ _yyyyyyyyyyyyyyyyyyyyy'
    """
    text = re.sub(r"[^A-Za-z0-9 _.,:;+\-=()<>%#/'|]", "_", text, flags=re.ASCII)
    text = text.replace("//", "/_")  # and no comment within a comment
    return text if len(text) <= 60 else text[:57] + "..."


def comment(text: str, indent: str = "") -> str:
    """Return a comment of as many lines as it needs."""
    lines = textwrap.wrap(text, _WIDTH - len(indent) - 6)
    return f"{indent}/* " + f"\n{indent} * ".join(lines) + " */\n"


def number(value: float, kind: str) -> str:
    """Return a number as a literal that is read back to the bit.

    >>> number(0.1, "float"), number(2, "double"), number(3, "unsigned char")
    ('0.1f', '2.0', '3')
    """
    if kind not in ("float", "double"):
        return str(int(value))
    exact = np.float32(value) if kind == "float" else np.float64(value)
    if not np.isfinite(exact):
        raise ValueError(f"{value!r} does not fit the type {kind} of C.")
    text = str(exact)
    text = text if any(mark in text for mark in ".e") else f"{text}.0"
    return f"{text}f" if kind == "float" else text


def table(kind: str, name: str, values: Iterable[float]) -> str:
    """Return a table of constants."""
    texts = [number(value, kind) for value in values]
    body = textwrap.fill(
        ", ".join(texts), _WIDTH, initial_indent="    ", subsequent_indent="    "
    )
    return f"static const {kind} {name}[{len(texts)}] = {{\n{body}\n}};\n"


def text_table(name: str, size: str, texts: Iterable[str]) -> str:
    """Return a table of texts that other files may read."""
    body = ",\n".join(f"    {quoted(text)}" for text in texts)
    return f"const char *const {name}[{size}] = {{\n{body}\n}};\n"
