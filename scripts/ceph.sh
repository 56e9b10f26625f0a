#!/usr/bin/env bash
# A real S3 store for tests, on 127.0.0.1: Ceph with one monitor, file-backed OSDs and a RADOS gateway, without systemd
# and without authentication between its parts. Nothing it stores is meant to last.
#   ceph.sh start DIR MONITOR_PORT PORT [OSDS]   prints the endpoint when the gateway answers
#   ceph.sh signal DIR PART KILL|STOP|CONT       PART: osd.N, or client.rgw.a, the gateway
#   ceph.sh start-part DIR PART                  starts again what was killed; also mon.a, the monitor
#   ceph.sh stop DIR
# Keys: TESTACCESSKEY and TESTSECRETKEY; READACCESSKEY and READSECRETKEY may only read.
# Debian: ceph-mon ceph-osd radosgw ceph-common
set -euo pipefail
command=$1 folder=$(realpath -m "$2") host=127.0.0.1
export CEPH_CONF=$folder/ceph.conf

kill_daemon() { kill -9 "$(cat "$folder/run/$1.pid")" 2>/dev/null || true; }

case $command in
  stop)
    for file in "$folder"/run/*.pid; do [ -e "$file" ] && kill_daemon "$(basename "$file" .pid)"; done
    exit 0 ;;
  signal) kill -s "$4" "$(cat "$folder/run/$3.pid")"; exit 0 ;;
  start-part)
    start=(radosgw -n "$3")
    [[ $3 == osd.* ]] && start=(ceph-osd -i "${3#osd.}")
    [[ $3 == mon.* ]] && start=(ceph-mon -i "${3#mon.}")
    # One that was just killed may hold the lock of its pid_file for a moment.
    for ((i = 0; i < 100; i++)); do "${start[@]}" >/dev/null && exit 0; sleep 0.1; done
    exit 1 ;;
  start) ;;
  *) echo "unknown command $command" >&2; exit 2 ;;
esac
monitor=$host:$3 port=$4 osds=${5:-2}
mkdir -p "$folder"/{mon,rgw,log,run}
fsid=$(cat /proc/sys/kernel/random/uuid)
cat >"$CEPH_CONF" <<END
[global]
fsid = $fsid
mon_host = v2:$monitor/0
mon_initial_members = a
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
ms_mon_client_mode = crc
ms_mon_service_mode = crc
ms_mon_cluster_mode = crc
ms_bind_msgr1 = false
public_addr = $host
cluster_addr = $host
run_dir = $folder/run
admin_socket = $folder/run/\$name.asok
log_file = $folder/log/\$name.log
pid_file = $folder/run/\$name.pid
mon_cluster_log_file = /dev/null
setuser_match_path = $folder/nobody
mon_data = $folder/mon
# It must not stop because the disk of the machine is nearly full.
mon_data_avail_warn = 2
mon_data_avail_crit = 1
mon_osd_min_down_reporters = 1
osd_data = $folder/osd\$id
osd_memory_target = 939524096
osd_pool_default_size = 2
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 8
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
osd_heartbeat_interval = 1
osd_heartbeat_grace = 4
bluestore_block_size = 4294967296
rgw_data = $folder/rgw
rgw_frontends = beast endpoint=$host:$port
rgw_thread_pool_size = 32
END
monmaptool --create --clobber --addv a "[v2:$monitor]" --fsid "$fsid" "$folder/monmap" >/dev/null
ceph-mon --mkfs -i a --monmap "$folder/monmap"
ceph-mon -i a
for ((i = 0; i < osds; i++)); do
  mkdir "$folder/osd$i"
  id=$(cat /proc/sys/kernel/random/uuid)
  ceph osd new "$id" "$i" >/dev/null
  ceph osd crush add "osd.$i" 1.0 root=default host=h >/dev/null 2>&1
  ceph-osd -i "$i" --mkfs --osd-uuid "$id" --no-mon-config 2>>"$folder/log/mkfs"
  ceph-osd -i "$i" >/dev/null
done
ceph osd require-osd-release pacific >/dev/null 2>&1 || true
radosgw -n client.rgw.a
for ((i = 0; i < 600; i++)); do
  curl -s -o /dev/null "http://$host:$port/" && break
  sleep 0.2
done
radosgw-admin user create --uid=boats --display-name=boats \
  --access-key=TESTACCESSKEY --secret-key=TESTSECRETKEY >/dev/null
radosgw-admin subuser create --uid=boats --subuser=boats:reader --access=read --key-type=s3 \
  --access-key=READACCESSKEY --secret-key=READSECRETKEY >/dev/null
echo "http://$host:$port"
