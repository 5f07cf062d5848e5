#!/bin/sh
# What mmdebstrap does last in a new root: root-hook.sh FOLDER TREE. FOLDER holds what coldload gave for it (harness/lab/rootmaking.py).
set -eu
given=$1 tree=$2
mkdir -p "$tree/coldload"
chroot "$tree" dpkg-query --show >"$tree/coldload/packages"
[ -e "$given/requirements.txt" ] || exit 0
for file in requirements.txt constraints.txt linkem; do
    cp -r "$given/$file" "$tree/coldload/"
done
# The machine's own way to the registry, and whom it trusts there.
[ ! -e "$given/pip.conf" ] || cp "$given/pip.conf" "$tree/etc/pip.conf"
[ ! -e "$given/ca-certificates.crt" ] || cp "$given/ca-certificates.crt" "$tree/etc/ssl/certs/"
export HOME=/coldload/home PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p "$tree$HOME"
echo "I: Python packages"
chroot "$tree" python3 -m venv /coldload/venv
chroot "$tree" /coldload/venv/bin/pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile \
    --requirement /coldload/requirements.txt --constraint /coldload/constraints.txt
echo "I: the link emulator"
chroot "$tree" /coldload/venv/bin/python /coldload/linkem/build.py build
rm -rf "$tree$HOME"
