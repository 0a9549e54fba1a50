"""Options that take a list: `--methods set rigl`, or the option before each value."""

from collections.abc import Iterable

NUMBERS = frozenset({"--hidden", "--epsilon"})
SETTINGS = frozenset({"--option"})
WORDS = frozenset({"--datasets", "--methods", "--drop", "--categorical"})


def spread_lists(arguments: Iterable[str]) -> list[str]:
    """Repeat a list option before each of its values, as the parser expects.

    >>> spread_lists(["compare", "a.csv", "--methods", "set", "rigl", "--seeds", "3"])
    ['compare', 'a.csv', '--methods', 'set', '--methods', 'rigl', '--seeds', '3']

    A list of numbers, or of settings, ends at the first value of another kind.

    >>> spread_lists(["train", "--hidden", "9", "8", "a.csv"])
    ['train', '--hidden', '9', '--hidden', '8', 'a.csv']
    """
    spread: list[str] = []
    option, n_values = "", 0
    for argument in arguments:
        if argument.startswith("-") and not _is_number(argument):
            option, given, _ = argument.partition("=")
            n_values = int(bool(given))
        else:
            if n_values and _continues(option, argument):
                spread.append(option)
            elif n_values:
                option = ""
            n_values += 1
        spread.append(argument)
    return spread


def _continues(option: str, value: str) -> bool:
    """Return whether this may be one more value of a list."""
    if option in NUMBERS:
        return _is_number(value)
    return option in WORDS or (option in SETTINGS and "=" in value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
