#!/bin/sh
# Gradescope runs this once, when it builds the image: an Ubuntu whose Python is 3.11 or newer.
set -e
cd "${AUTOGRADER:-/autograder}/source"
python3 -c 'import ensurepip' 2>/dev/null || { apt-get update && apt-get install -y python3-venv; }
sh scripts/setup.sh .venv {{ extras }}
