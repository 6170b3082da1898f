"""The published tables, measured again: what `iaenet reproduce` reads, trains, scores and writes.

table.py        what a table is: problem, rows, presets, read from YAML
plan.py         what has to be trained for it, and on which data
step_time.py    how long a training step takes
rate_search.py  the learning rate of a row, chosen on validation samples
row.py          one row: train it, score it on every column
run.py          all rows of all tables, one after the other, from wherever it was stopped
verdict.py      what came out, in sentences
page.py         the same as pages with tables and figures
"""
