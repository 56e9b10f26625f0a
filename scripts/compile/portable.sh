#!/bin/sh
# @NAME@ @VERSION@ for @TARGET@. Self-extracting: the first start unpacks the program and its runtime into a
# cache: $VBG_CACHE, else that of systemd's unit, else that of the user, else a folder of temporary files.
set -eu
payload=@PAYLOAD@
start=@START@

fail() {
  echo "@NAME@: $1" >&2
  exit 1
}

self=$0
[ -f "$self" ] || self=$(command -v -- "$0") || fail "Cannot find the file of this program: start it by its path"

# In a folder for temporary files, another user could have prepared files for us to run.
is_own() { [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]; }
is_unpacked() { [ -x "$1/$payload/deno" ] && [ -f "$1/$payload/bundle/cli/@MAIN@" ]; }
# The cache may be read-only if the program was unpacked before.
try() { is_unpacked "$1" || { mkdir -p -- "$1" 2>/dev/null && [ -w "$1" ] && [ -x "$1" ]; }; }

temporary=${TMPDIR:-/tmp}/vbg-$(id -u)
if [ -n "${VBG_CACHE:-}" ]; then
  cache=$VBG_CACHE
  try "$cache" || fail "Cannot write to VBG_CACHE \"$cache\""
elif [ -n "${CACHE_DIRECTORY:-}" ] && try "${CACHE_DIRECTORY%%:*}"; then
  cache=${CACHE_DIRECTORY%%:*}
elif [ -n "${XDG_CACHE_HOME:-}" ] && try "$XDG_CACHE_HOME/vbg"; then
  cache=$XDG_CACHE_HOME/vbg
elif [ -n "${HOME:-}" ] && try "$HOME/.cache/vbg"; then
  cache=$HOME/.cache/vbg
else
  mkdir -m 700 -- "$temporary" 2>/dev/null || is_own "$temporary" || fail "Cannot use \"$temporary\": set VBG_CACHE to a folder"
  cache=$temporary
fi
case $cache in /*) ;; *) cache=$PWD/$cache ;; esac

unpack() {
  # Removes what a killed start left an hour ago.
  find "$cache" -maxdepth 1 -name '.new-*' -mmin +60 -exec rm -rf -- {} + 2>/dev/null || :
  new=$(mktemp -d "$cache/.new-XXXXXX") || fail "Cannot write to \"$cache\": set VBG_CACHE to another folder"
  trap 'rm -rf -- "$new"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  { tail -c "+$start" -- "$self" | gzip -dc || : >"$new/.damaged"; } 2>"$new/.why" | tar -xf - -C "$new" 2>>"$new/.why" ||
    : >"$new/.damaged"
  [ ! -e "$new/.damaged" ] || fail "Cannot unpack into \"$cache\" (set VBG_CACHE to use another folder): $(cat "$new/.why")"
  rm -f "$new/.why"
  # Other users may share the cache.
  chmod 755 "$new"
  # Syncs before the rename: power can fail at any time.
  sync
  # If another start was faster, mv puts this folder inside the other's: it is removed below.
  mv -- "$new" "$cache/$payload" 2>/dev/null || :
  rm -rf -- "$cache/$payload/${new##*/}"
}

if ! is_unpacked "$cache"; then
  # In a subshell: its traps would not run after the exec below.
  (unpack) || exit $?
  is_unpacked "$cache" || fail "Cannot run what was unpacked into \"$cache\" (is it mounted noexec?): set VBG_CACHE to another folder"
fi

# The runtime caches compiled code in the same folder.
export DENO_DIR="${DENO_DIR:-$cache/deno}" DENO_NO_UPDATE_CHECK=1
exec "$cache/$payload/deno" run @PERMISSIONS@ --quiet --no-config --no-lock --no-remote --no-npm --no-check @FLAGS@"$cache/$payload/bundle/cli/@MAIN@" "$@"
# The rest of this file is the payload.
