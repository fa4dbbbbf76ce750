# What Verilator says of a master when it is built for the first time, after verilate() has run it unheard at configure:
# cmake -P rtl_warnings.cmake, in a folder to write to.
include(${CMAKE_CURRENT_LIST_DIR}/../../drivers/shims/wizloop_add_rtl_master.cmake)
find_program(verilator verilator REQUIRED)

# A script has no targets.
function(wizloop_add_driver_test)
  list(FIND ARGN --wants-spi place)
  if(place EQUAL -1)
    message(FATAL_ERROR "a master may be silent")
  endif()
endfunction()
function(target_compile_features)
endfunction()
function(verilate)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TOP_MODULE;PREFIX" "SOURCES;OPT_FAST;INCLUDE_DIRS;VERILATOR_ARGS")
  set(run ${verilator} --cc --top ${arg_TOP_MODULE} --prefix ${arg_PREFIX} --Mdir verilated -y ${arg_INCLUDE_DIRS}
          ${arg_VERILATOR_ARGS} ${arg_SOURCES})
  execute_process(COMMAND ${run} OUTPUT_QUIET ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${run} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(rtl ${CMAKE_CURRENT_LIST_DIR}/rtl)
wizloop_add_rtl_master(NAME counting TOP counting_master SOURCES ${rtl}/counting_master.sv ${rtl}/counting_master_test.c
                       INCLUDES ${rtl}/include)
