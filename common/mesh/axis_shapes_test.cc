// The golden cases of MeshConfig.axis_shapes (nine that resolve, six that do not) and the stricter
// checks of ours.
#include "common/mesh/axis_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trireme {
namespace {

using testing::HasSubstr;

std::string Resolved(const AxisSizes& axes, const AxisSizes& dcn_axes, int64_t num_devices,
                     int64_t num_slices) {
  auto shapes = ResolveAxisShapes(axes, dcn_axes, num_devices, num_slices);
  if (!shapes.ok()) {
    EXPECT_EQ(shapes.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(ToStd(shapes.status().message()));
  }
  auto mesh = MakeMesh(*shapes);
  if (!mesh.ok()) return mesh.status().ToString();
  EXPECT_EQ(mesh->num_ranks(), num_devices);
  return mesh->ToText();
}

TEST(ResolveAxisShapes, NineGoldensResolve) {
  EXPECT_EQ(Resolved({}, {}, 8, 1), "{data 8, replica 1, model 1 | replica_dcn 1}");
  EXPECT_EQ(Resolved({{"model", 2}}, {}, 8, 1), "{data 4, replica 1, model 2 | replica_dcn 1}");
  EXPECT_EQ(Resolved({{"model", 4}}, {}, 32, 2), "{data 4, replica 1, model 4 | replica_dcn 2}");
  EXPECT_EQ(Resolved({{"expert", 4}, {"model", 2}}, {}, 64, 4),
            "{data 2, replica 1, model 2, expert 4 | replica_dcn 4}");
  EXPECT_EQ(Resolved({{"data", 2}, {"model", -1}}, {}, 8, 1),
            "{data 2, replica 1, model 4 | replica_dcn 1}");
  EXPECT_EQ(Resolved({{"model", -1}}, {}, 8, 1), "{data 1, replica 1, model 8 | replica_dcn 1}");
  EXPECT_EQ(Resolved({{"replica", 2}, {"model", 2}}, {{"replica_dcn", 2}}, 16, 2),
            "{data 2, replica 2, model 2 | replica_dcn 2}");
  EXPECT_EQ(Resolved({}, {{"pipe", 2}}, 16, 4),
            "{data 4, replica 1, model 1 | replica_dcn 2, pipe 2}");
  EXPECT_EQ(Resolved({{"context", 2}, {"expert", 2}}, {}, 8, 1),
            "{data 2, replica 1, model 1, context 2, expert 2 | replica_dcn 1}");
}

TEST(ResolveAxisShapes, SixGoldensFailWithTheNumbers) {
  EXPECT_EQ(Resolved({{"model", 3}}, {}, 8, 1),
            "mesh.axes {data: -1, replica: 1, model: 3}: the known sizes multiply to 3 and do not "
            "divide 8 devices in a slice; their product must divide 8");
  EXPECT_EQ(Resolved({{"data", 4}}, {}, 8, 1),
            "mesh.axes {data: 4, replica: 1, model: 1} multiplies to 4 but there are 8 devices in "
            "a slice; make the product 8, or set one axis to -1");
  EXPECT_EQ(Resolved({}, {{"replica_dcn", 1}}, 16, 2),
            "mesh.dcn_axes {replica_dcn: 1} multiplies to 1 but there are 2 slices; make the "
            "product 2, or set one axis to -1");
  EXPECT_THAT(Resolved({{"data", -1}, {"model", -1}}, {}, 8, 1),
              HasSubstr("only one axis of mesh.axes may be -1"));
  EXPECT_THAT(Resolved({{"model", 1}}, {{"model", 2}}, 8, 2),
              HasSubstr("'model' is in both mesh.axes and mesh.dcn_axes"));
  EXPECT_EQ(Resolved({}, {}, 6, 4),
            "6 devices do not divide into 4 slices; every slice must hold the same number, for "
            "example use 4 devices");
}

TEST(ResolveAxisShapes, RejectsWhatUpstreamLetsThrough) {
  EXPECT_THAT(Resolved({{"model", 0}}, {}, 8, 1), HasSubstr("mesh.axes.model is 0"));
  EXPECT_THAT(Resolved({{"model", -2}}, {}, 8, 1), HasSubstr("mesh.axes.model is -2"));
  EXPECT_THAT(Resolved({}, {{"pod", -3}}, 8, 1), HasSubstr("mesh.dcn_axes.pod is -3"));
  EXPECT_THAT(Resolved({{"", 2}}, {}, 8, 1), HasSubstr("empty name"));
  EXPECT_THAT(Resolved({{"model", 2}, {"model", 2}}, {}, 8, 1), HasSubstr("'model' twice"));
  EXPECT_THAT(Resolved({}, {}, 8, 0), HasSubstr("num_slices is 0"));
  EXPECT_THAT(Resolved({}, {}, 0, 1), HasSubstr("num_devices is 0"));
}

TEST(ResolveAxisShapes, OtherErrorsOfTheDcnAxes) {
  EXPECT_THAT(Resolved({}, {{"replica_dcn", -1}, {"pod", -1}}, 8, 2),
              HasSubstr("only one axis of mesh.dcn_axes may be -1"));
  EXPECT_THAT(Resolved({}, {{"pod", 2}}, 8, 1), HasSubstr("do not divide 1 slices"));
  // The default absorber is an ICI name even when the user does not write it.
  EXPECT_THAT(Resolved({}, {{"data", 2}}, 8, 2), HasSubstr("'data' is in both"));
}

TEST(ResolveAxisShapes, HugeSizesDoNotOverflow) {
  EXPECT_THAT(Resolved({{"data", int64_t{1} << 62}, {"model", 4}}, {}, 8, 1),
              HasSubstr("multiplies to more than 8 devices"));
}

TEST(ResolveAxisShapes, DefaultDcnAxisGivesWayToTheUsers) {
  EXPECT_EQ(Resolved({}, {{"pod", -1}}, 16, 4),
            "{data 4, replica 1, model 1 | replica_dcn 1, pod 4}");
}

}  // namespace
}  // namespace trireme
