#!/bin/sh
# Install the course with the extras $2 into the virtual environment $1, in the versions of requirements/lock.txt;
# or, if a third argument names a lock file, what that file lists and no course. Every failure is one sentence.
# GPU=1 installs torch with CUDA, GPU=0 without; unset, a found NVIDIA driver decides.
if [ $# -lt 2 ] || [ $# -gt 3 ] || [ -z "$1" ]; then
    echo "Usage: sh scripts/setup.sh FOLDER EXTRAS [LOCK], as in sh scripts/setup.sh .venv torch,lab; make lab does it for you." >&2
    exit 2
fi
venv=$1
extras=$2
lock=${3:-}
fail() { echo "Set-up stopped: $1" >&2; exit 1; }

# The versions of Python for which every package of the lock has wheels.
good='import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))'
python=""
for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
    command -v "$candidate" >/dev/null 2>&1 || continue
    seen=$candidate
    "$candidate" -c "$good" 2>/dev/null && { python=$candidate; break; }
done
if [ -z "$python" ]; then
    [ -z "${seen:-}" ] && fail "Python is not installed; the course needs Python 3.11, 3.12, 3.13 or 3.14."
    fail "$("$seen" --version 2>&1) does not fit; the course needs Python 3.11, 3.12, 3.13 or 3.14."
fi

if ! "$venv/bin/python" -c "$good" 2>/dev/null; then
    if [ -e "$venv" ] && [ ! -e "$venv/pyvenv.cfg" ]; then
        fail "$venv is there and is no environment of Python; remove it or name another folder."
    fi
    rm -rf "$venv"
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "this Python has no venv module; install it (on Debian and Ubuntu: apt install python3-venv)."
    "$python" -m venv "$venv" >/dev/null 2>&1 ||
        fail "the folder $venv could not be created (is this folder read-only, or the disk full?)."
fi

# On Linux the ordinary wheel of torch brings several GB of CUDA. PyTorch's own index has one without;
# where that index does not answer, pip takes what it finds.
cpu_index=https://download.pytorch.org/whl/cpu
if [ -z "${GPU:-}" ]; then
    if command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi >/dev/null 2>&1; then GPU=1; else GPU=0; fi
fi
answers="import urllib.request; urllib.request.urlopen('$cpu_index/torch/', timeout=5)"
if [ "$GPU" = 0 ] && [ -z "$lock" ] && [ "$(uname -s)" = Linux ] && "$venv/bin/python" -c "$answers" 2>/dev/null; then
    export PIP_EXTRA_INDEX_URL="$cpu_index ${PIP_EXTRA_INDEX_URL:-}"
fi

echo "Installing into $venv (a few minutes the first time) ..."
log=$venv/install.log
if [ -n "$lock" ]; then set -- -r "$lock"; else set -- -c requirements/lock.txt -e ".[$extras]"; fi
if ! "$venv/bin/python" -m pip install --disable-pip-version-check "$@" >"$log" 2>&1; then
    if grep -qiE 'connection|resolve|timed out|no matching distribution|unreachable' "$log"; then
        fail "packages could not be downloaded; check the network and run it again (details in $log)."
    fi
    fail "$(grep -m1 '^ERROR' "$log" || tail -n 1 "$log") (details in $log)"
fi
