"""The laboratory: experiments, reports, the paper, the demo.

It stands on the library, which never imports it.
"""
