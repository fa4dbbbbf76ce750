#!/bin/sh
# make_library.sh FOLDER [-DAGENT_NAME=VALUE ...]: lays the agent out as an Arduino library, with its sketch as the example
# "agent", for arduino-cli (--library FOLDER) and for the IDE (FOLDER below "libraries" of the sketchbook). The settings
# are those of boards/agent/mains/settings.hpp. FOLDER is new, or a layout from before, which is replaced.
#
# Exit codes: 0 done, 2 usage.
set -eu

fail() {
  echo "make_library.sh: $1" >&2
  exit 2
}
[ $# -ge 1 ] || fail "usage: make_library.sh FOLDER [-DAGENT_NAME=VALUE ...]"
folder=$1
shift
root=$(cd "$(dirname "$0")/../../.." && pwd)

settings=
for setting; do
  case $setting in
    -DAGENT_[A-Z]*=*) ;;
    *) fail "$setting is no setting, expected -DAGENT_NAME=VALUE" ;;
  esac
  definition=${setting#-D}
  settings="$settings#define ${definition%%=*} ${definition#*=}
"
done

if [ -n "$(find "$folder" ! -type d 2>/dev/null | head -n 1)" ] &&
  ! grep -qs '^name=wizloop_agent$' "$folder/library.properties"; then
  fail "$folder holds files already, and is no layout from before"
fi
rm -rf "$folder/src" "$folder/examples"
mkdir -p "$folder/src/boards/agent/mains" "$folder/src/drivers/w5500" "$folder/examples/agent"

cat >"$folder/library.properties" <<END
name=wizloop_agent
version=$(sed -n 's/^#define AGENT_VERSION "\(.*\)"$/\1/p' "$root/boards/agent/mains/settings.hpp")
author=wizloop
maintainer=wizloop
sentence=Firmware that tests a W5500 over a serial line.
paragraph=Answers requests in lines of text with what it does and measures on its W5500.
category=Communication
architectures=*
includes=wizloop_agent.h
END
cat >"$folder/src/wizloop_agent.h" <<END
// Made by make_library.sh: what the sketch of the agent includes.
#pragma once

$settings#include "boards/agent/agent.hpp"
#include "boards/agent/mains/settings.hpp"
END
cp "$root"/boards/agent/*.cpp "$root"/boards/agent/*.hpp "$folder/src/boards/agent"
cp "$root/boards/agent/mains/settings.hpp" "$folder/src/boards/agent/mains"
cp "$root"/drivers/w5500/*.cpp "$root"/drivers/w5500/*.hpp "$folder/src/drivers/w5500"
sketch=$root/boards/agent/arduino
cp "$sketch"/*.ino "$sketch"/*.cpp "$sketch"/*.hpp "$folder/examples/agent"
