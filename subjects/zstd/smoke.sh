#!/bin/sh
# Packs and unpacks with several threads, levels and a dictionary search.
set -e
seq 1 3000000 > input
for options in "-T4 -1" "-T2 -9" "-T3 -5 --long=27 --rsyncable" "--single-thread -3"; do
    "$1" -q $options -c input > packed.zst
    "$1" -q -t packed.zst
    "$1" -q -d --long=27 -c packed.zst | cmp - input
done
"$1" -q -b1 -e2 -i1 -T2 input > /dev/null
