# wizloop_add_rtl_master(NAME name TOP module SOURCES file.sv... test.c... [CLOCK_HZ 50000000] [PARAMETERS name=value...]
#     [INCLUDES folder...] [WAVE]
#     [BOARD name-or-file] [SEED n] [SETTINGS name=value...] [SERVICES "service options"...] [ANNOUNCE rule=reason...]
#     [TIMEOUT seconds])
#
# A ctest entry for an SPI master in RTL: verilates `TOP` and puts it at the pins of the chip model, with a PC on the wire.
# The module's ports are clk, rst_n, scsn, sclk, mosi, miso and intn; those of SOURCES that end in .v or .sv are its own,
# the others are the test, which defines driver_test() and lets the master run by rtl_master_run() (rtl/rtl_master.h).
# INCLUDES is for both. What the master does to the chip, and its edges, are judged as firmware's are: findings that ANNOUNCE
# does not name fail the test, and so do assertions of the RTL, and a master that moves no SPI byte. Verilator's warnings are
# shown and no more. With WAVE it leaves the pins in NAME.vcd of the binary folder, beside the capture in NAME.pcapng.
#
#   find_package(wizloop REQUIRED)
#   wizloop_add_rtl_master(NAME beacon TOP udp_beacon SOURCES udp_beacon.sv beacon_test.c CLOCK_HZ 50000000)
include(${CMAKE_CURRENT_LIST_DIR}/wizloop_add_driver_test.cmake)
set(wizloop_RTL_SHIM ${CMAKE_CURRENT_LIST_DIR}/rtl)

function(wizloop_add_rtl_master)
  set(one NAME TOP CLOCK_HZ BOARD SEED TIMEOUT)
  set(many SOURCES PARAMETERS INCLUDES SETTINGS SERVICES ANNOUNCE)
  cmake_parse_arguments(PARSE_ARGV 0 arg "WAVE" "${one}" "${many}")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "wizloop_add_rtl_master: unknown argument ${arg_UNPARSED_ARGUMENTS}, expected WAVE;${one};${many}")
  endif()
  foreach(word IN LISTS arg_KEYWORDS_MISSING_VALUES)
    list(FIND one ${word} place)
    if(place GREATER_EQUAL 0) # a list may be empty
      message(FATAL_ERROR "wizloop_add_rtl_master: ${word} has no value")
    endif()
  endforeach()
  foreach(needed NAME TOP SOURCES)
    if(NOT DEFINED arg_${needed})
      message(FATAL_ERROR "wizloop_add_rtl_master: ${needed} is missing")
    endif()
  endforeach()
  if(NOT DEFINED arg_CLOCK_HZ)
    set(arg_CLOCK_HZ 50000000)
  endif()
  if(NOT arg_CLOCK_HZ MATCHES "^[1-9][0-9]*$" OR arg_CLOCK_HZ GREATER 1000000000)
    message(FATAL_ERROR "wizloop_add_rtl_master(NAME ${arg_NAME}): CLOCK_HZ is \"${arg_CLOCK_HZ}\", expected 1 to 1000000000")
  endif()
  set(rtl ${arg_SOURCES})
  list(FILTER rtl INCLUDE REGEX "\\.s?v$")
  set(test ${arg_SOURCES})
  list(FILTER test EXCLUDE REGEX "\\.s?v$")
  if(NOT rtl OR NOT test)
    message(FATAL_ERROR "wizloop_add_rtl_master(NAME ${arg_NAME}): SOURCES want RTL (.sv, .v) and a test (.c, .cpp)")
  endif()

  foreach(parameter IN LISTS arg_PARAMETERS)
    if(NOT parameter MATCHES "^[A-Za-z_][A-Za-z0-9_$]*=.")
      message(FATAL_ERROR "wizloop_add_rtl_master(NAME ${arg_NAME}): PARAMETERS has \"${parameter}\", expected NAME=VALUE")
    endif()
  endforeach()
  foreach(file IN LISTS rtl)
    get_filename_component(whole ${file} ABSOLUTE)
    if(NOT EXISTS ${whole})
      message(FATAL_ERROR "wizloop_add_rtl_master(NAME ${arg_NAME}): there is no ${whole}, which SOURCES has")
    endif()
  endforeach()

  if(NOT COMMAND verilate)
    find_program(VERILATOR_PROGRAM verilator REQUIRED)
    execute_process(COMMAND ${VERILATOR_PROGRAM} --getenv VERILATOR_ROOT OUTPUT_VARIABLE verilator_root
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    find_package(verilator 5.006 REQUIRED HINTS "${verilator_root}" "${verilator_root}/share/verilator")
  endif()

  set(wave "")
  if(arg_WAVE)
    set(wave ${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}.vcd)
  endif()
  set(pins ${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}_pins.cpp)
  configure_file(${wizloop_RTL_SHIM}/rtl_master.cpp.in ${pins} @ONLY)
  set(passed_on)
  foreach(word BOARD SEED TIMEOUT SETTINGS SERVICES ANNOUNCE)
    if(DEFINED arg_${word})
      list(APPEND passed_on ${word} ${arg_${word}})
    endif()
  endforeach()
  wizloop_add_driver_test(NAME ${arg_NAME} SHIM none SOURCES ${test} ${pins} INCLUDES ${wizloop_RTL_SHIM} ${arg_INCLUDES}
                          ARGUMENTS --wants-spi ${passed_on})
  target_compile_features(${arg_NAME} PRIVATE cxx_std_17)
  set(parameters ${arg_PARAMETERS})
  list(TRANSFORM parameters PREPEND "-G")
  verilate(${arg_NAME} SOURCES ${rtl} TOP_MODULE ${arg_TOP} PREFIX V${arg_TOP} OPT_FAST -O3
           INCLUDE_DIRS ${arg_INCLUDES}
           # verilate() runs it unheard at configure; the build is not to skip what is the same then
           VERILATOR_ARGS --no-skip-identical -O3 --assert -Wno-fatal --x-assign fast --x-initial fast ${parameters})
endfunction()
