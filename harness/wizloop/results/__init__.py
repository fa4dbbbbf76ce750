"""Stored runs: what was measured, where, on which commit, and what was found.

    with Database(location(None)) as database:          # the user's own SQLite file; a PostgreSQL URL works the same
        recorder = database.begin(here(label="nightly"))
        figure = recorder.figure(Figure(name="SEED008", dut="serial:/dev/ttyACM0", ...))
        recorder.sample(figure, Sample(17.9))           # committed when the call returns
        recorder.end()

A database belongs to one process: a forked worker opens its own, and joins the run with Recorder(database, run).
"""
