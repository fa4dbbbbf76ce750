#!/bin/sh
# cross_compile.sh PREFIX FOLDER "TARGET FLAGS" SOURCE...: compiles each source with PREFIX-g++ into FOLDER and prints the
# sizes. 77, which ctest takes as a skip, if there is no such compiler; in CI that is a failure.
set -eu
prefix=$1 folder=$2 target_flags=$3
root=$(cd "$(dirname "$0")/../../.." && pwd)
shift 3

if ! command -v "$prefix-g++" >/dev/null; then
  echo "$prefix-g++ is not installed: nothing was compiled for it"
  if [ "${CI:-}" = true ]; then exit 1; fi
  exit 77
fi

mkdir -p "$folder"
objects=
for source in "$@"; do
  object=$(basename "$source" .cpp).o
  # shellcheck disable=SC2086  # the flags are several words
  "$prefix-g++" $target_flags -std=gnu++14 -fno-exceptions -fno-rtti -Os -Wall -Wextra -Wpedantic -Wconversion -Wshadow \
    -Werror -I"$root" -c "$source" -o "$folder/$object"
  objects="$objects $object"
done
cd "$folder"  # whose path may hold spaces; the names below do not
# shellcheck disable=SC2086
"$prefix-size" -t $objects
