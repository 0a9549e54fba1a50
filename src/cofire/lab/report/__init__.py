"""Figures and pages made from finished runs; nothing here trains."""
