#!/bin/sh
# make_library_test.sh MAKE_LIBRARY FOLDER: what boards/agent/arduino/make_library.sh lays out and refuses. FOLDER is its own.
set -eu
make_library=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/full"

fail() {
  echo "failed: $1"
  exit 1
}
# refuses WORDS ARGUMENTS...: exit code 2, and a message with these words.
refuses() {
  words=$1
  shift
  code=0
  said=$("$make_library" "$@" 2>&1) || code=$?
  [ "$code" = 2 ] || fail "exit code $code for: $*"
  case $said in *"$words"*) ;; *) fail "\"$said\" does not say \"$words\"" ;; esac
}

refuses "usage: "
refuses "-DBAUD=9600 is no setting" "$folder/new" -DBAUD=9600
[ ! -e "$folder/new" ] || fail "a refusal leaves a folder behind"
echo precious >"$folder/full/thesis.txt"
refuses "holds files already" "$folder/full"
[ "$(cat "$folder/full/thesis.txt")" = precious ] || fail "a file of somebody else's was touched"

"$make_library" "$folder/agent" -DAGENT_NUMBER=21 -DAGENT_BAUD=9600
touch "$folder/agent/src/boards/agent/gone.cpp"
"$make_library" "$folder/agent" -DAGENT_NUMBER=22
[ ! -e "$folder/agent/src/boards/agent/gone.cpp" ] || fail "a file of an earlier layout is still there"
grep -q '^#define AGENT_NUMBER 22$' "$folder/agent/src/wizloop_agent.h" || fail "the setting is missing"
! grep -q AGENT_BAUD "$folder/agent/src/wizloop_agent.h" || fail "a setting of an earlier layout is still there"
grep -q '^version=[0-9]' "$folder/agent/library.properties" || fail "the library has no version"
[ -e "$folder/agent/examples/agent/agent.ino" ] || fail "the sketch is missing"

cd "$folder"
"$make_library" relative
[ -e relative/examples/agent/agent.ino ] || fail "the sketch is missing where the folder is relative"
