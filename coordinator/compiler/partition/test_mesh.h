// A mesh with its mapping and look-ups, for the tests of the compiler.
#ifndef TRIREME_COORDINATOR_COMPILER_PARTITION_TEST_MESH_H_
#define TRIREME_COORDINATOR_COMPILER_PARTITION_TEST_MESH_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coordinator/compiler/partition/dim_axes.h"

namespace trireme {

struct TestMesh {
  explicit TestMesh(std::vector<MeshAxis> mesh_axes, const MappingConfig& config = {})
      : mesh(*Mesh::Create(std::move(mesh_axes))),
        mapping(*Mapping::Create(mesh, config)),
        axes(mesh, mapping) {}
  TestMesh(const TestMesh&) = delete;

  Mesh mesh;
  Mapping mapping;
  DimAxes axes;
};

// Sequence parallelism: the residual stream splits positions over the tensor-parallel ranks.
inline MappingConfig SequenceParallel() {
  MappingConfig config;
  config.compute["residual/position"] = {"model"};
  return config;
}

inline void ExpectError(const Status& status, absl::StatusCode code, const std::string& part) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_NE(status.ToString().find(part), std::string::npos) << status << "\nshould say: " << part;
}

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_COMPILER_PARTITION_TEST_MESH_H_
