# wizloop_add_driver_test(NAME name SHIM arduino|iolibrary|none SOURCES file... [INCLUDES folder...]
#     [DEFINITIONS name=value...] [OPTIONS compiler option...] [LIBRARIES target...]
#     [BOARD name-or-file] [SEED n] [SETTINGS name=value...] [SERVICES "service options"...] [ANNOUNCE rule=reason...]
#     [ARGUMENTS option of wizloop-driver-test...] [TIMEOUT seconds]
#     and for arduino: [PINS "scsn=10 rstn=9 intn=2"] [ARDUINO_LIBRARIES folder...] [RUN_MS 10000] [STOP regex]
#     [EXPECT regex...] [INPUT text])
#
# A ctest entry for a driver that is not wizloop's. Driver, shim and test are linked into a shared object of their own, so
# that no symbol of theirs (socket, close, send ...) meets one of anybody else's; wizloop-driver-test loads it, runs
# driver_test() of drivers/shims/common/driver_test.h (the arduino shim brings one that runs setup() and loop()), and
# leaves a capture in NAME.pcapng of the binary folder. Findings that ANNOUNCE does not name fail the test.
#
# With arduino, SOURCES may name .ino files, or a folder with a sketch, and ARDUINO_LIBRARIES the folders of libraries as
# the IDE knows them. The sketch runs for RUN_MS of virtual time, or until Serial prints a line that STOP (a POSIX extended
# regular expression, as EXPECT is) is found in; then each EXPECT must be found in what Serial has printed. INPUT waits at
# Serial. PINS may name other=PIN, SCSn of another device on the bus.
#
#   find_package(wizloop REQUIRED)
#   wizloop_add_driver_test(NAME echo SHIM iolibrary BOARD w55rp20 SERVICES "tcp-echo port=7"
#     SOURCES echo_test.c ioLibrary/Ethernet/socket.c ...  INCLUDES ioLibrary/Ethernet  DEFINITIONS _WIZCHIP_=W5500)
set(wizloop_SHIMS ${CMAKE_CURRENT_LIST_DIR})

function(wizloop_add_driver_test)
  set(one NAME SHIM BOARD SEED TIMEOUT PINS RUN_MS STOP INPUT)
  set(many ARDUINO_LIBRARIES EXPECT SOURCES INCLUDES DEFINITIONS OPTIONS LIBRARIES SETTINGS SERVICES ANNOUNCE ARGUMENTS)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "${one}" "${many}")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "wizloop_add_driver_test: unknown argument ${arg_UNPARSED_ARGUMENTS}, expected ${one};${many}")
  endif()
  foreach(needed NAME SHIM SOURCES)
    if(NOT DEFINED arg_${needed})
      message(FATAL_ERROR "wizloop_add_driver_test: ${needed} is missing")
    endif()
  endforeach()
  if(NOT arg_SHIM STREQUAL "none" AND NOT EXISTS ${wizloop_SHIMS}/${arg_SHIM}/shim.cmake)
    message(FATAL_ERROR "wizloop_add_driver_test(NAME ${arg_NAME}): SHIM is ${arg_SHIM}, expected arduino, iolibrary or none")
  endif()

  if(NOT arg_SHIM STREQUAL "arduino")
    foreach(word PINS ARDUINO_LIBRARIES RUN_MS STOP EXPECT INPUT)
      if(DEFINED arg_${word})
        message(FATAL_ERROR "wizloop_add_driver_test(NAME ${arg_NAME}): ${word} is for SHIM arduino, not ${arg_SHIM}")
      endif()
    endforeach()
  endif()
  # A board file of the user's own, where the user names files.
  if(DEFINED arg_BOARD AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${arg_BOARD})
    set(arg_BOARD ${CMAKE_CURRENT_SOURCE_DIR}/${arg_BOARD})
  endif()

  add_library(${arg_NAME} MODULE)
  if(NOT arg_SHIM STREQUAL "none")
    include(${wizloop_SHIMS}/${arg_SHIM}/shim.cmake) # may change arg_SOURCES, and adds its own to the target
  endif()
  target_sources(${arg_NAME} PRIVATE ${arg_SOURCES})
  target_include_directories(${arg_NAME} PRIVATE ${arg_INCLUDES} ${wizloop_SHIMS}/common)
  target_compile_definitions(${arg_NAME} PRIVATE ${arg_DEFINITIONS})
  target_compile_options(${arg_NAME} PRIVATE ${arg_OPTIONS})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBRARIES} wizloop::shared)
  target_link_options(${arg_NAME} PRIVATE LINKER:-Bsymbolic LINKER:--no-undefined)
  set_target_properties(${arg_NAME} PROPERTIES PREFIX "" POSITION_INDEPENDENT_CODE ON)

  set(options --pcap ${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}.pcapng)
  if(DEFINED arg_BOARD)
    list(APPEND options --board ${arg_BOARD})
  endif()
  if(DEFINED arg_SEED)
    list(APPEND options --seed ${arg_SEED})
  endif()
  foreach(pair SETTINGS:--set SERVICES:--serve ANNOUNCE:--announce)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 list_name)
    list(GET pair 1 option)
    foreach(value IN LISTS arg_${list_name})
      list(APPEND options ${option} "${value}")
    endforeach()
  endforeach()
  if(NOT DEFINED arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_test(NAME ${arg_NAME} COMMAND wizloop::driver_test $<TARGET_FILE:${arg_NAME}> ${options} ${arg_ARGUMENTS})
  set_tests_properties(${arg_NAME} PROPERTIES TIMEOUT ${arg_TIMEOUT})
endfunction()
