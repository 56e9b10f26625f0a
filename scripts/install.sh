#!/bin/sh
# Installs the portable programs of a release: sh install.sh [-from URL|DIR] [-to DIR] [PROGRAM ...]
# All files are checked against the release's SHA256SUMS before any is installed. Default program: vbg.
set -eu

fail() {
  echo "install: $1" >&2
  exit 1
}

from=${VBG_RELEASE:-}
to=${VBG_PREFIX:-/usr/local/bin}
programs=
while [ $# -gt 0 ]; do
  case $1 in
    -from | --from | -to | --to)
      [ $# -ge 2 ] || fail "Missing value of $1"
      case $1 in *from) from=$2 ;; *) to=$2 ;; esac
      shift
      ;;
    vbg | vbg-boat | vbg-cloud) programs="$programs $1" ;;
    *) fail "Unknown word \"$1\": expected -from URL, -to DIR, or programs out of vbg, vbg-boat, vbg-cloud" ;;
  esac
  shift
done
[ -n "$from" ] || fail "Missing -from: the address or the directory of a release"

case $(uname -s) in
  Linux) system=unknown-linux-gnu ;;
  Darwin) system=apple-darwin ;;
  *) fail "Cannot install on $(uname -s): there are programs for Linux and macOS" ;;
esac
case $(uname -m) in
  x86_64 | amd64) target=x86_64-$system ;;
  aarch64 | arm64) target=aarch64-$system ;;
  *) fail "Cannot install on $(uname -m): there are programs for x86_64 and aarch64" ;;
esac

get() {
  case $from in
    http://* | https://*)
      if command -v curl >/dev/null; then curl -fsSL -o "$2" "$from/$1"; else wget -q -O "$2" "$from/$1"; fi
      ;;
    *) cp -- "$from/$1" "$2" ;;
  esac || fail "Cannot get \"$from/$1\""
}

sum() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

mkdir -p -- "$to" || fail "Cannot write to \"$to\""
# On the same file system as the programs, so that mv is atomic.
new=$(mktemp -d "$to/.vbg-install-XXXXXX") || fail "Cannot write to \"$to\": use -to or run as root"
trap 'rm -rf -- "$new"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

get SHA256SUMS "$new/SHA256SUMS"
for program in ${programs:-vbg}; do
  # Lines are `SUM  FILE`; the version is between the names.
  line=$(grep -E "^[0-9a-f]{64}  $program-[0-9][^ /]*-$target\$" "$new/SHA256SUMS") ||
    fail "The release has no $program for $target"
  [ "$(echo "$line" | wc -l)" -eq 1 ] || fail "The release has several $program for $target"
  get "${line#*  }" "$new/$program"
  [ "$(sum "$new/$program")" = "${line%%  *}" ] || fail "The file of $program is damaged or not the release's: nothing was installed"
  chmod 755 "$new/$program"
done
for program in ${programs:-vbg}; do
  mv -f -- "$new/$program" "$to/$program"
  echo "installed $to/$program"
done
