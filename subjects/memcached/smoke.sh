#!/bin/bash
# Four clients at once store, count and read back; each must get its own answers.
set -e
export MEMCACHED_PORT_FILENAME=$PWD/port
"$1" -u "$(id -un)" -l 127.0.0.1 -p -1 -U 0 -t 4 &
server=$!
trap 'kill $server 2>/dev/null; wait $server' EXIT
until [ -s port ]; do
    kill -0 $server
    sleep 0.05
done
port=$(sed -n 's/^TCP INET: //p' port | head -1)

client() {
    exec 3<> "/dev/tcp/127.0.0.1/$port"
    for number in $(seq 1 50); do
        printf 'set key%s:%s 0 0 %s\r\n%s\r\n' "$1" "$number" "${#number}" "$number" >&3
        read -r answer <&3
        [ "$answer" = $'STORED\r' ] || return 1
        printf 'incr shared 1\r\nget key%s:%s\r\n' "$1" "$number" >&3
        read -r count <&3
        read -r header <&3
        read -r value <&3
        read -r end <&3
        [ "$value" = "$number"$'\r' ] && [ "$end" = $'END\r' ] || return 1
    done
}

exec 3<> "/dev/tcp/127.0.0.1/$port"
printf 'set shared 0 0 1\r\n0\r\n' >&3
read -r answer <&3
for name in 1 2 3 4; do
    client $name &
    clients="$clients $!"
done
for process in $clients; do wait $process; done
printf 'get shared\r\n' >&3
read -r header <&3
read -r total <&3
[ "$total" = $'200\r' ]
