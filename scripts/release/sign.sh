#!/bin/sh
# Signs a release with a GnuPG key: sh sign.sh KEY [DIR]. KEY is the fingerprint of a key in your keyring.
# Only needs gpg, SHA256SUMS and apt/dists, so that it can run on a machine without a network.
set -eu

[ $# -ge 1 ] || { echo "sign: Missing KEY: the fingerprint of the key to sign with" >&2; exit 2; }
key=$1
cd -- "${2:-$(dirname -- "$0")}"
sign() { gpg --batch --yes --quiet --digest-algo SHA256 --local-user "$key!" "$@"; }

# Removes signatures of an earlier key.
rm -f SHA256SUMS.asc apt/dists/stable/InRelease apt/dists/stable/Release.gpg apt/vbg-archive-keyring.gpg
sign --armor --output SHA256SUMS.asc --detach-sign SHA256SUMS
sign --armor --output apt/dists/stable/Release.gpg --detach-sign apt/dists/stable/Release
sign --output apt/dists/stable/InRelease --clear-sign apt/dists/stable/Release
gpg --batch --quiet --output apt/vbg-archive-keyring.gpg --export "$key"
