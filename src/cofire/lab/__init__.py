"""The laboratory: experiments, reports, the paper, the demo.

It imports the library, never the other way round. Within it, each of demo, paper,
report and experiments imports only those after it, and `names` and `table`.
"""
