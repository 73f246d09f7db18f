#!/bin/sh
# pbzip2 with the bzip2 library from source, linked from its archive.
# Its sources predate C++11, where a literal followed by a macro is an error.
set -e
make -C bzip2 CC="$CC" libbz2.a
make -C pbzip2 CXX="$CXX -std=gnu++98 -I../bzip2 -L../bzip2" pbzip2
