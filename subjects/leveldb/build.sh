#!/bin/sh
# The library and its own tests, by CMake.
set -e
cmake -S leveldb -B out -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLEVELDB_BUILD_BENCHMARKS=OFF
make -C out -j2
