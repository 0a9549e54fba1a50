"""Code out of Markdown pages."""

import re


def python_blocks(text):
    """Yield each ```python block behind as many empty lines as stand before it.

    So a traceback names the line of the page.

    >>> list(python_blocks("Look:\\n```python\\n1 + 1\\n```\\n"))
    ['\\n\\n1 + 1\\n']
    """
    for found in re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield "\n" * text.count("\n", 0, found.start(1)) + found[1]
