#!/bin/sh
# Packs and unpacks with several threads and block sizes.
set -e
seq 1 700000 > input
for options in "-p4 -b1" "-p2 -b9" "-p8 -b1 -m50"; do
    "$1" $options -k -c input > packed.bz2
    "$1" -t packed.bz2
    "$1" $options -d -c packed.bz2 | cmp - input
done
