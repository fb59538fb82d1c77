"""One file per claim of a paper; `python -m experiments` lists them."""
