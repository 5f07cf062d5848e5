#!/bin/sh
# Makes .venv, in the folder it is called from: pinned Python packages and the link emulator. What was cut off or has
# become useless (a folder that was moved, another Python) is made anew.
set -eu
venv=.venv
stamp=$venv/.ready # the last thing made, and the first that goes
sources="pyproject.toml constraints.txt hatch_build.py harness/linkem/build.py harness/linkem/Cargo.toml harness/linkem/Cargo.lock harness/linkem/src"

refuse() {
    printf 'setup: %s\n' "$1" >&2
    exit 3
}

full() { refuse "the disk is full (\`df . ~ /tmp\` tells; 2 GB are needed): make room"; }

# Whether a place has less than 10 MB: who finds no room does not always say so.
has_no_room() { [ "$(df -Pk "$1" | awk 'NR == 2 { print $4 }')" -lt 10240 ]; }

# Tells why $1 failed, from what it printed, $2.
explain() {
    line=$(printf '%s\n' "$2" | grep -E '^ *(ERROR|Error|error)|rror: ' | tail -n 1)
    case $2 in
        *'No space left on device'*) full ;;
        *'No module named ensurepip'* | *'No module named venv'*) refuse "Python's venv is missing: on Debian, run \`apt-get install python3-venv\`" ;;
        *'establish a new connection'* | *'name resolution'* | *'from versions: none'* | *'ConnectionError'* | *'Read timed out'*)
            refuse "Python packages cannot be fetched: is there a network?" ;;
        *) if has_no_room $venv || has_no_room "${TMPDIR:-/tmp}"; then full; fi
            printf '%s\n' "$2" >&2 && refuse "$1 failed (${line:-see above})" ;;
    esac
}

exec 9<pyproject.toml
flock -n 9 || { echo "setup: another set-up runs in this folder; waiting for it" && flock 9; }

is_whole() { [ -e $stamp ] && $venv/bin/pip --version >/dev/null 2>&1; }
# shellcheck disable=SC2086  # the list is meant to be split into words
if is_whole && [ -s harness/linkem/bin/linkem ] && [ -z "$(find $sources -newer $stamp)" ]; then exit 0; fi

python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || refuse "Python 3.11 or newer is needed; Debian 12 has it"
echo "setup: Python packages and the link emulator (a minute or two, 1.5 GB)"
if ! is_whole; then # ensurepip on its own, as venv keeps to itself what it says
    said=$(python3 -m venv --clear --without-pip $venv 2>&1 && $venv/bin/python -m ensurepip --default-pip 2>&1) ||
        explain "python3 -m venv" "$said"
fi
rm -f $stamp
said=$($venv/bin/pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt --editable '.[dev,cluster]' 2>&1) ||
    explain "pip install" "$said"
touch $stamp
