#!/bin/sh
# Sets up this checkout: on Debian 12 and 13 by the system's packages, elsewhere in a root (a Debian tree of its own).
set -eu
here=$(dirname "$0")
release=$(. /etc/os-release 2>/dev/null && echo "${ID:-}-${VERSION_ID:-}")
case $release in
    debian-12 | debian-13)
        sh "$here/debian-setup.sh"
        exec sh "$here/python-setup.sh" ;;
    debian-*) echo "setup: Debian ${release#*-} is not known here, only 12 and 13: taking a root" >&2 ;;
esac
command -v python3 >/dev/null || { echo "setup: python3 is not installed: 3.11 or newer is needed" >&2 && exit 3; }
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "setup: Python 3.11 or newer is needed" >&2 && exit 3; }
python3 -m harness.cli root make lab --if-missing
mkdir -p .venv/bin
cat >.venv/bin/coldload <<'END'
#!/bin/sh
here=$(dirname "$(dirname "$(dirname "$(readlink -f "$0")")")") # also where it is called through a link
PYTHONPATH=$here exec python3 -m harness.cli "$@"
END
chmod 755 .venv/bin/coldload
