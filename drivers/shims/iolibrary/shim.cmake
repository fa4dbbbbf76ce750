# For wizloop_add_driver_test(SHIM iolibrary): its header, and its source compiled against the driver's wizchip_conf.h.
target_sources(${arg_NAME} PRIVATE ${wizloop_SHIMS}/iolibrary/wizloop_iolibrary.c)
target_include_directories(${arg_NAME} PRIVATE ${wizloop_SHIMS}/iolibrary)
