#!/bin/sh
# build.sh atmega2560|atmega328p|stm32f405 FOLDER [-DAGENT_...]: builds the agent for a board into FOLDER/agent-TARGET.elf
# and the file that its programmer takes, prints what it needs of flash and static RAM, and fails if that is more than
# the board is to give: the rest of the RAM is the stack. settings.hpp and each main.cpp have the settings for -D.
#
# Exit codes: 0 built, 1 too large or not compiled, 2 usage, 77 there is no such compiler (5 where CI is true).
set -eu

usage() {
  echo "usage: build.sh atmega2560|atmega328p|stm32f405 FOLDER [-DAGENT_...]" >&2
  exit 2
}
[ $# -ge 2 ] || usage
target=$1 folder=$2
shift 2

libraries=
root=$(cd "$(dirname "$0")/../../.." && pwd)
case $target in
  atmega2560) # 256 KiB and 8 KiB; the bootloader has 8 KiB
    prefix=avr platform=avr flash_bytes=98304 ram_bytes=4096
    set -- "$@" -mmcu=atmega2560 -mcall-prologues -DF_CPU=16000000 ;;
  atmega328p) # 32 KiB and 2 KiB; the Uno's bootloader has 512 bytes
    prefix=avr platform=avr flash_bytes=32256 ram_bytes=1024
    set -- "$@" -mmcu=atmega328p -mcall-prologues -DF_CPU=16000000 -DWIZLOOP_AGENT_REDUCED ;;
  stm32f405) # 1 MiB and 128 KiB
    prefix=arm-none-eabi platform=stm32f405 flash_bytes=65536 ram_bytes=32768 libraries='-lc_nano -lgcc'
    set -- "$@" -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -nostartfiles -nodefaultlibs \
      -T "$root/boards/agent/mains/stm32f405/stm32f405.ld" ;;
  *) usage ;;
esac

if ! command -v "$prefix-g++" >/dev/null; then
  echo "$prefix-g++ is not installed: nothing was built for $target"
  if [ "${CI:-}" = true ]; then exit 5; fi
  exit 77
fi

mkdir -p "$folder"
elf=$folder/agent-$target.elf
# shellcheck disable=SC2086  # the libraries are several words
"$prefix-g++" "$@" -std=gnu++14 -fno-exceptions -fno-rtti -fno-threadsafe-statics -Os -flto \
  -ffunction-sections -fdata-sections -Wl,--gc-sections -Wall -Wextra -Wpedantic \
  -Wconversion -Wshadow -Werror -I"$root" "$root"/boards/agent/*.cpp "$root/boards/agent/mains/$platform"/*.cpp \
  "$root"/drivers/w5500/*.cpp "$root/drivers/ports/$platform"/*.cpp $libraries -o "$elf"
case $prefix in
  avr) "$prefix-objcopy" -O ihex -R .eeprom "$elf" "$folder/agent-$target.hex" ;;
  *) "$prefix-objcopy" -O binary "$elf" "$folder/agent-$target.bin" ;;
esac

# Static data with a first value stand in flash and in RAM.
"$prefix-size" "$elf" | awk -v target="$target" -v flash="$flash_bytes" -v ram="$ram_bytes" '
  NR == 2 {
    printf "%s: %d of %d bytes of flash, %d of %d bytes of static RAM\n", target, $1 + $2, flash, $2 + $3, ram
    if ($1 + $2 > flash || $2 + $3 > ram) { print target ": over its budget"; exit 1 }
  }'
