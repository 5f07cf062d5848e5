#!/bin/sh
# Installs the Debian packages of debian-packages.txt that are missing or half-installed: `debian-setup.sh MARK` those of an
# engine that is optional, or of the tests; without a word all others. What is in the way is told in one
# line with its mend; the same command goes on afterwards.
set -eu
here=$(dirname "$0")

refuse() {
    printf 'setup: %s\n' "$1" >&2 # echo would turn "\n" in it into a second line
    exit 3
}

is_there() {
    case $1 in
        # shellcheck disable=SC2086  # the folder of an architecture is meant to be found
        /*) ls -d $1 >/dev/null 2>&1 ;;
        python:*) python3 -c "import ${1#python:}" 2>/dev/null ;;
        *) PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1 ;;
    esac
}

# dpkg began to install it and did not finish: its files may be there.
states=" $(dpkg-query -W -f '${db:Status-Status}:${Package} ' 2>/dev/null || true)"
is_unfinished() {
    case $states in *" half-installed:$1 "* | *" unpacked:$1 "* | *" half-configured:$1 "* | *" triggers-awaited:$1 "*) ;; *) false ;; esac
}

checkout=
[ ! -e "$here/../Makefile" ] || checkout=checkout
release=$(. /etc/os-release 2>/dev/null && echo "${VERSION_ID:-}")
marked=${1:-}
missing=
while read -r package sign _; do
    case $package in
        '' | '#'*) continue ;;
        *"[$marked]") package=${package%%"["*} ;;
        *) [ -z "$marked" ] || continue ;;
    esac
    case $package in
        *"[$release]" | *"[$checkout]") package=${package%%"["*} ;;
        *']') continue ;; # another release has it, or only a checkout needs it
    esac
    if ! is_there "$sign" || is_unfinished "$package"; then missing="$missing $package"; fi
done <"$here/debian-packages.txt"

# Sets as_root to what makes a command root's; fails where nothing does.
find_root() {
    as_root=
    [ "$(id -u)" != 0 ] || return 0
    as_root=sudo
    command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }
}

# nginx's package would start its service: nothing of ours needs it, and port 80 may be somebody else's. So no service
# starts while packages are installed, and none would after a set-up that was killed.
guard=/usr/sbin/policy-rc.d mark='# by coldload, while it installs packages'
if [ -e $guard ] && grep -qxF "$mark" $guard; then
    if find_root; then $as_root rm -f $guard
    else echo "setup: a set-up that was killed left $guard, so no service starts: as root, run \`rm $guard\`" >&2; fi
fi
[ -n "$missing" ] || exit 0

# Tells why apt-get failed, from what it printed.
explain() {
    line=$(printf '%s' "$1" | grep -E '^(E|dpkg: error): ' | head -n 1 | sed -e 's/^E: //' -e 's/^dpkg: error: //' -e 's/\r$//')
    case $1 in
        *'Could not get lock'* | *'Unable to lock'* | *'frontend lock'*)
            refuse "another program installs packages ($line): wait until it has ended" ;;
        *'No space left on device'* | *'enough free space'*)
            refuse "the disk is full (\`df /var /usr\` tells; 2 GB are needed here, 4 GB in all): make room" ;;
        *'Temporary failure resolving'* | *'Could not resolve'* | *'Could not connect'* | *'Unable to fetch'* | *'Failed to fetch'*)
            cause=$(printf '%s' "$1" | grep -oE '(Temporary failure resolving|Could not resolve|Could not connect to) .*' | head -n 1)
            line=${cause:-$line}
            refuse "Debian's packages cannot be fetched ($line): is there a network?" ;;
        *'Unable to locate package'* | *'no installation candidate'*)
            refuse "this system does not offer all packages ($line): it is made for Debian 12 and 13" ;;
        *'unmet dependencies'* | *'remove is disabled'*)
            refuse "packages of this system do not fit: run \`${as_root:+sudo }apt-get --fix-broken install\`" ;;
        *) refuse "apt-get failed (${line:-it printed nothing}): mend that, or run \`${as_root:+sudo }apt-get install$missing\` by hand" ;;
    esac
}

command -v apt-get >/dev/null || refuse "this is not a Debian system (no apt-get), and it is made for Debian 12 and 13; missing:$missing"
find_root || {
    why="you are not root and there is no sudo"
    ! command -v sudo >/dev/null || why="sudo gives no permission here"
    refuse "$why: as root, run \`apt-get install --no-install-recommends$missing\`"
}
quietly() {
    $as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@" 2>&1
}

# shellcheck disable=SC2086  # the list is meant to be split into words
set -- $missing
echo "setup: installing $# Debian package$([ $# = 1 ] || echo s) (a minute or two, up to 2 GB): $*"
updated=$(quietly apt-get -qq update) || explain "$updated"
if [ ! -e $guard ]; then
    trap '$as_root rm -f $guard' EXIT
    trap 'exit 130' INT TERM HUP
    printf '#!/bin/sh\n%s\nexit 101\n' "$mark" | $as_root tee $guard >/dev/null
    $as_root chmod 755 $guard
fi
# An installation that was cut off, as one of ours, is finished first: apt-get refuses to begin another one before.
configured=$(quietly dpkg --force-confold --configure -a) || true # what is left is for apt-get
# A package that dpkg was killed in is none that apt-get misses: only --reinstall makes it whole.
# shellcheck disable=SC2086  # the lists are meant to be split into words
half=$(printf '%s\n' $states | sed -n 's/^half-installed://p')
# shellcheck disable=SC2086
said=$(quietly apt-get -qq install -y --no-remove --no-install-recommends --fix-broken --reinstall $half &&
    quietly apt-get -qq install -y --no-remove --no-install-recommends $missing) || explain "$said
$updated
$configured"
case " $missing " in
    *' nginx '*) if command -v systemctl >/dev/null; then $as_root systemctl disable --quiet nginx 2>/dev/null || true; fi ;;
esac
