"""A plugin of pytest, loaded before all others: leaves out what costs time and no test needs."""

import os
import sys

# A grammar of addresses that jsonschema compiles when nbformat is imported: two seconds of each process.
sys.modules.setdefault("rfc3987_syntax", None)
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # a worker has one core
