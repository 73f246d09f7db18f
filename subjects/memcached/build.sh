#!/bin/sh
# The server, by its own configure script.
set -e
cd memcached
./configure --quiet --disable-extstore
make memcached
