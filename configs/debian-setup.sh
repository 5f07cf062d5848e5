#!/bin/sh
# Installs the Debian packages of debian-packages.txt that are missing. Says in one message what is in the way.
set -eu
here=$(dirname "$0")

is_there() {
    case $1 in
        /*) [ -e "$1" ] ;;
        python:*) python3 -c "import ${1#python:}" 2>/dev/null ;;
        *) PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1 ;;
    esac
}

checkout=
[ ! -e "$here/../Makefile" ] || checkout=checkout
release=$(. /etc/os-release 2>/dev/null && echo "${VERSION_ID:-}")
missing=
while read -r package sign _; do
    case $package in
        '' | '#'*) continue ;;
        *"[$release]" | *"[$checkout]") package=${package%%"["*} ;;
        *']') continue ;; # another release has it, or only a checkout needs it
    esac
    is_there "$sign" || missing="$missing $package"
done <"$here/debian-packages.txt"
[ -n "$missing" ] || exit 0

refuse() {
    echo "setup: $1" >&2
    echo "setup: missing Debian packages:$missing" >&2
    echo "setup: to install them by hand: apt-get install --no-install-recommends$missing" >&2
    exit 3
}

command -v apt-get >/dev/null || refuse "this is not a Debian system (no apt-get); it is made for Debian 12 and 13"
if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null; then
    as_root="sudo"
    sudo -n true 2>/dev/null || [ -t 0 ] || refuse "sudo asks for a password and there is no terminal to ask on"
else
    refuse "you are not root and there is no sudo"
fi

echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -qq update || refuse "apt-get update failed: is there a network?"
# nginx's package would start its service: nothing of ours needs it, and port 80 may be somebody else's.
guard=/usr/sbin/policy-rc.d
if [ ! -e $guard ]; then
    printf '#!/bin/sh\nexit 101\n' | $as_root tee $guard >/dev/null
    $as_root chmod 755 $guard
    trap '$as_root rm -f $guard' EXIT
fi
# shellcheck disable=SC2086  # the list is meant to be split into words
$as_root apt-get -qq install -y --no-install-recommends $missing >/dev/null || refuse "apt-get could not install them"
case " $missing " in
    *' nginx '*) if command -v systemctl >/dev/null; then $as_root systemctl disable --quiet nginx 2>/dev/null || true; fi ;;
esac
