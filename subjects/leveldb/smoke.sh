#!/bin/sh
# The program is one of leveldb's own tests; it writes below TEST_TMPDIR.
set -e
TEST_TMPDIR=$PWD "$1"
