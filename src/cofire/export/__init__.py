"""Fitted models as programs and files that do not need cofire."""

__all__: list[str] = []
