# Follows the guides' way to the services as the package has them, in namespaces of its own: files, network and processes of
# the machine are not touched. Arguments: the unpacked package, its control files, a folder for everything else.
set -eu
package=$1 control=$2 work=$3
PATH=$package/usr/bin:$PATH

ip link set lo up
rm -rf "$work/etc" && cp -a /etc "$work/etc" && rm -rf "$work/etc/vbg"
mount --bind "$work/etc" /etc
cp -a /usr/lib/sysusers.d "$work/sysusers.d"
mount --bind "$work/sysusers.d" /usr/lib/sysusers.d
mount -t tmpfs -o mode=755 none /var/lib
mount -t tmpfs -o mode=755 none /var/cache

cp -r "$package/etc/vbg" /etc/vbg
cp "$package/usr/lib/sysusers.d/vbg.conf" /usr/lib/sysusers.d/
sh "$control/postinst" configure >/dev/null

export HOME="$work/home"
mkdir -p "$HOME"
echo fail >"$HOME/.curlrc"

fail() { echo "FAILED: $*"; tail -n 5 "$work"/*.log; exit 1; }
# Waits until a command succeeds.
until_ok() {
  for _ in $(seq 300); do
    if "$@" >"$work/last" 2>&1; then return 0; fi
    sleep 0.2
  done
  cat "$work/last"
  fail "waited in vain for: $*"
}
unit() { sed -n "s/^$2=//p" "$package/usr/lib/systemd/system/$1.service"; }
# Starts a unit's program as systemd does: as its user, with its directories, without anything of root's.
start() {
  state=/var/lib/$(unit "$1" StateDirectory) cache=/var/cache/$(unit "$1" CacheDirectory)
  user=$(unit "$1" User) group=$(unit "$1" Group)
  install -d -o "$user" -g "$group" -m "$(unit "$1" StateDirectoryMode)" "$state"
  install -d -o "$user" -g "$group" "$cache"
  (
    umask "$(unit "$1" UMask)"
    # shellcheck disable=SC2046 -- the words of a command
    exec env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/var/lib/vbg STATE_DIRECTORY="$state" DENO_DIR="$cache" \
      setpriv --reuid "$user" --regid "$group" --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs \
      $(unit "$1" ExecStart | sed "s,^/usr/bin,$package/usr/bin,")
  ) >"$work/$1.log" 2>&1 &
  pid=$!
  for _ in $(seq 300); do
    if grep -q '"listening"' "$work/$1.log"; then return 0; fi
    kill -0 "$pid" 2>/dev/null || fail "$1 does not start"
    sleep 0.2
  done
  fail "$1 does not listen"
}
closed_to_others() {
  for path in "$@"; do
    if setpriv --reuid 65534 --regid 65534 --clear-groups test -r "$path"; then fail "anybody can read $path"; fi
    [ "$(stat -c '%a %U %G' "$path")" = "640 root vbg" ] || fail "$(stat -c '%n is %a %U:%G' "$path")"
  done
}

cd /etc/vbg
. "$work/tokens.sh"
# There is no CAN interface here.
sed 's/^interface = can0/loopback = true/' "$work/boat.conf" >vbg-boat.conf
sed -n 's/^# *\(runuser .*-validate-config [^&]*\).*/\1/p' "$package/etc/vbg/vbg-boat.conf" >"$work/validate.sh"
grep -q vbg-boat.conf "$work/validate.sh" || fail "no line checks the settings as the service's user"
sh -eu "$work/validate.sh" >"$work/validate.txt" 2>&1 ||
  fail "the settings are refused: $(grep -i 'err' "$work/validate.txt")"
if grep WARN "$work/validate.txt"; then fail "warnings about what the guides say"; fi
start vbg-boat
boat=$pid
closed_to_others tokens.json key.pem
export TOKEN
asking() { sh -eu "$work/ask.sh"; }
until_ok asking

cd "$HOME"
. "$work/ca.sh"
# What `ca issue` prints is followed: the line that installs the files, and the settings.
install_and_set() {
  sed -n 's/^  \(install .*\)/\1/p' "$1" >"$work/install.sh"
  grep -q . "$work/install.sh" || fail "no line installs the files of $2"
  sh -eu "$work/install.sh"
  sed -n '/^  [a-z]* {$/,/^  }$/p' "$1" >>"/etc/vbg/$2"
}
install_and_set "$work/cloud.txt" vbg-cloud.conf
start vbg-cloud
install_and_set "$work/aurora.txt" vbg-boat.conf
kill "$boat"
wait "$boat" || fail "the boat server does not stop"
start vbg-boat
closed_to_others /etc/vbg/tls/key.pem /etc/vbg/replication/key.pem
connected() { curl -s http://127.0.0.1:8080/instances/aurora/status | grep -q '"connected":true'; }
until_ok connected
open=$(find /var/lib/vbg /var/lib/vbg-cloud -perm /007 -exec ls -ld {} +)
[ -z "$open" ] || fail "others may read what the services keep: $open"
echo followed
