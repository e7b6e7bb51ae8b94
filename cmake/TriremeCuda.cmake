# GPU kernels, one cuda.cu an op, compiled twice: by g++ against kernels/testing/simt for tests (always), and by nvcc
# into the module libtrireme_cuda.so (where a toolkit is found).
#
# trireme_simt_kernels(NAME): the library of the first kind, and the table that finds its kernels by op.

function(trireme_simt_kernels name)
  file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/ops/*/cuda.cu)
  set(sources)
  set(declarations "")
  set(rows "")
  foreach(kernel IN LISTS kernels)
    get_filename_component(folder ${kernel} DIRECTORY)
    get_filename_component(op ${folder} NAME)
    set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/simt/${op}.cc)
    file(CONFIGURE OUTPUT ${wrapper} CONTENT "#include \"kernels/ops/${op}/cuda.cu\"\n")
    list(APPEND sources ${wrapper})
    string(APPEND declarations "void Cuda_${op}(const KernelArgs&);\n")
    string(APPEND rows "  if (op == \"${op}\") return Cuda_${op};\n")
  endforeach()
  set(table ${CMAKE_CURRENT_BINARY_DIR}/simt/table.cc)
  file(CONFIGURE OUTPUT ${table} CONTENT
"#include \"kernels/testing/simt_kernels.h\"
namespace trireme {
${declarations}Kernel FindSimtKernel([[maybe_unused]] std::string_view op) {
${rows}  return nullptr;
}
}  // namespace trireme
")
  file(GLOB runtime CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/testing/simt/*.cc)
  list(FILTER runtime EXCLUDE REGEX "_test\\.cc$")
  add_library(${name} STATIC ${sources} ${table} ${runtime})
  target_compile_options(${name} PRIVATE ${TRIREME_WARNINGS} -Wno-unknown-pragmas -O1 -fpch-preprocess)
  target_precompile_headers(${name} REUSE_FROM trireme_pch)
  target_link_libraries(${name} PUBLIC common_ir)

  # What runs the fibers is not the thread sanitizer's business; what the fibers run is.
  set_source_files_properties(${CMAKE_SOURCE_DIR}/kernels/testing/simt/grid.cc PROPERTIES
    COMPILE_OPTIONS -fno-sanitize=thread SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# trireme_simt_race(NAME): a program with the thread sanitizer in every build that has no other, for a test of what it
# finds.
function(trireme_simt_race name)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  set(folder ${CMAKE_SOURCE_DIR}/kernels/testing/simt)
  add_library(${name}_seen OBJECT ${CMAKE_SOURCE_DIR}/kernels/device/cuda/race_main.cc ${folder}/fiber.cc)
  target_compile_options(${name}_seen PRIVATE ${TRIREME_WARNINGS} -O1 -g1 -fsanitize=thread)
  add_executable(${name} ${folder}/grid.cc)
  target_compile_options(${name} PRIVATE ${TRIREME_WARNINGS} -O2)
  target_link_options(${name} PRIVATE -fsanitize=thread)
  target_link_libraries(${name}_seen PUBLIC common_base)
  target_link_libraries(${name} PRIVATE ${name}_seen common_base)
endfunction()
