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
  target_compile_options(${name} PRIVATE ${TRIREME_WARNINGS} -O1 -fpch-preprocess)
  target_precompile_headers(${name} REUSE_FROM trireme_pch)
  target_link_libraries(${name} PUBLIC common_ir)
endfunction()
