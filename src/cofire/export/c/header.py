"""The header: what the functions of a C file take and give, in words and constants."""

from importlib.metadata import version
from string import Template

from cofire.export.c.source import Source, Types
from cofire.export.c.words import comment, identifiers, remark
from cofire.export.plain import Classes, Column, Labels, PlainModel


def header(model: PlainModel, types: Types, made: Source) -> str:
    """Return the header of a C file."""
    upper = types.name.upper()
    taken: set[str] = set()  # names of constants, which must differ
    parts = [
        _about(model, types, made),
        f"#ifndef {upper}_H\n#define {upper}_H\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        _features(model, types, taken),
        *_levels(model, upper, taken),
        _functions(model, types),
        "#ifdef __cplusplus\n}\n#endif\n",
        "#endif\n",
    ]
    return "\n".join(part for part in parts if part)


def _about(model: PlainModel, types: Types, made: Source) -> str:
    return comment(
        f"{types.stem}.h, {types.stem}.c: a model that cofire {version('cofire')} "
        f"trained. {model.n_connections} connections, {made.table_bytes} bytes of "
        f"constant tables, about {made.stack_bytes} bytes of stack per call. No "
        "allocation, no variables: calls may overlap. It needs math.h alone. Do not "
        "compile it with -ffast-math, under which missing values are not found."
    )


# ---- features ------------------------------------------------------------------------


def _features(model: PlainModel, types: Types, taken: set[str]) -> str:
    upper, columns = types.name.upper(), model.columns
    text = comment(f"A feature as it was measured; {_kind(model, types.feature)}")
    text += f"typedef {types.feature} {types.name}_feature;\n\n"
    text += f"#define {upper}_FEATURES {len(columns)}\n"
    if any(own.name != f"x{j}" for j, own in enumerate(columns)):
        names = identifiers(f"{upper}_FEATURE", [own.name for own in columns], taken)
        rows = zip(names, columns, range(len(columns)), strict=True)
        body = "".join(f"    {n} = {j}, {_described(own)}\n" for n, own, j in rows)
        text += f"\n/* The place of each feature. */\nenum {{\n{_closed(body)}}};\n"
    return text


def _kind(model: PlainModel, feature: str) -> str:
    if model.takes_bytes:
        return "a byte, since the model was trained on bytes."
    exact = "" if feature == "float" else ", in double, which this model needs"
    if not model.takes_missing:
        return f"a finite number{exact}: the model was trained with standardize=False."
    return f"scaling is part of the model{exact}. NAN is a missing value."


def _described(column: Column) -> str:
    kind = ""
    if column.levels is not None:
        kind = ": the number of a level"
        if column.other < 0:
            kind += ", -1 for another"
    return f"/* {remark(column.name)}{kind} */"


def _levels(model: PlainModel, upper: str, taken: set[str]) -> list[str]:
    """Return the numbers of the levels of each column of categories."""
    texts = []
    for own in model.columns:
        if own.levels is None:
            continue
        prefix = identifiers(f"{upper}_LEVEL", [own.name], set())[0]
        rows = zip(identifiers(prefix, own.levels, taken), own.levels, strict=True)
        body = "".join(
            f"    {name} = {i}, /* {remark(level)} */\n"
            for i, (name, level) in enumerate(rows)
        )
        title = f"/* Levels of {remark(own.name)}. */\n"
        texts.append(f"{title}enum {{\n{_closed(body)}}};\n")
    return texts


def _closed(rows: str) -> str:
    """Leave out the comma after the last constant, before its comment."""
    before, comma, after = rows.rpartition(", /* ")
    return f"{before} /* {after}" if comma else rows


# ---- functions -----------------------------------------------------------------------


def _functions(model: PlainModel, types: Types) -> str:
    template = _NUMBER
    if isinstance(model.target, Classes):
        template = _CLASSES
    elif isinstance(model.target, Labels):
        template = _LABELS
    elif model.n_outputs > 1:
        template = _SEVERAL
    return Template(template).substitute(
        name=types.name,
        upper=types.name.upper(),
        n=model.n_outputs,
        result=types.result,
    )


_CLASSES = """\
#define ${upper}_CLASSES $n

/* The classes, in UTF-8. */
extern const char *const ${name}_class_names[${upper}_CLASSES];

/* The number of the most probable class. */
int ${name}_predict(const ${name}_feature *features);

/* The probability of each class. */
void ${name}_predict_proba(const ${name}_feature *features, float *probabilities);
"""
_LABELS = """\
#define ${upper}_LABELS $n

/* 1 for each label that is more probable than not, else 0. */
void ${name}_predict(const ${name}_feature *features, unsigned char *labels);

/* The probability of each label. */
void ${name}_predict_proba(const ${name}_feature *features, float *probabilities);
"""
_NUMBER = """\
typedef $result ${name}_result;

/* The number that the model predicts. */
${name}_result ${name}_predict(const ${name}_feature *features);
"""
_SEVERAL = """\
#define ${upper}_RESULTS $n

typedef $result ${name}_result;

/* The numbers that the model predicts. */
void ${name}_predict(const ${name}_feature *features, ${name}_result *results);
"""
