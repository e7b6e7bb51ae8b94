# Compiler settings and external packages, in one place.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(TRIREME_CCACHE ccache)
if(TRIREME_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TRIREME_CCACHE})
endif()
find_program(TRIREME_MOLD mold)
if(TRIREME_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(GTest CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(yaml-cpp CONFIG REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(OpenSSL REQUIRED)
if(TRIREME_GRPC)
  find_package(gRPC CONFIG REQUIRED)
endif()

# glibc has threads in libc; the flag would only make every precompiled header unusable where it appears.
set_property(TARGET Threads::Threads PROPERTY INTERFACE_COMPILE_OPTIONS "")

# oneDNN: Debian's CMake config demands OpenCL, so look for the two files themselves.
find_path(TRIREME_DNNL_INCLUDE dnnl.h REQUIRED)
find_library(TRIREME_DNNL_LIBRARY dnnl REQUIRED)
add_library(trireme_dnnl INTERFACE)
target_include_directories(trireme_dnnl SYSTEM INTERFACE ${TRIREME_DNNL_INCLUDE})
target_link_libraries(trireme_dnnl INTERFACE ${TRIREME_DNNL_LIBRARY})
