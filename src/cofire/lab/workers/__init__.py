"""Where runs are executed: processes of this machine, a Dask cluster, or Slurm.

All are an `Executor`. Only the process that starts tasks writes to a run store.
"""
