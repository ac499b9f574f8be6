#!/bin/sh
# Install the course with the extras $2 into the virtual environment $1, in the versions of requirements/lock.txt;
# or, if a third argument names a lock file, what that file lists and no course. Every failure is one sentence.
venv=$1
extras=$2
if [ -n "${3:-}" ]; then set -- -r "$3"; else set -- -c requirements/lock.txt -e ".[$extras]"; fi
fail() { echo "Set-up stopped: $1" >&2; exit 1; }

good='import sys; sys.exit(sys.version_info < (3, 11))'
python=""
for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python; do
    command -v "$candidate" >/dev/null 2>&1 || continue
    seen=$candidate
    "$candidate" -c "$good" 2>/dev/null && { python=$candidate; break; }
done
if [ -z "$python" ]; then
    [ -z "${seen:-}" ] && fail "Python is not installed; the course needs Python 3.11 or newer."
    fail "$("$seen" --version 2>&1) is too old; the course needs Python 3.11 or newer."
fi

if ! "$venv/bin/python" -c "$good" 2>/dev/null; then
    rm -rf "$venv"
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "this Python has no venv module; install it (on Debian and Ubuntu: apt install python3-venv)."
    "$python" -m venv "$venv" >/dev/null 2>&1 ||
        fail "the folder $venv could not be created (is this folder read-only, or the disk full?)."
fi

echo "Installing into $venv (a few minutes the first time) ..."
log=$venv/install.log
if ! "$venv/bin/python" -m pip install --disable-pip-version-check "$@" >"$log" 2>&1; then
    if grep -qiE 'connection|resolve|timed out|no matching distribution|unreachable' "$log"; then
        fail "packages could not be downloaded; check the network and run it again (details in $log)."
    fi
    fail "$(grep -m1 '^ERROR' "$log" || tail -n 1 "$log") (details in $log)"
fi
