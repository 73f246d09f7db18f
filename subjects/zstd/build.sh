#!/bin/sh
# The command with threads, by its own makefile.
set -e
make -C libzstd/programs CC="$CC" zstd
