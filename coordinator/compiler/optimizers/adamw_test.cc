// AdamW's row of the table: its op, its states, and that decay is the tensor's choice.
#include <gtest/gtest.h>

#include "coordinator/compiler/optimizers/formula.h"

namespace trireme {

OptimizerFormula AdamwFormula();

namespace {

TEST(Adamw, DecaysOnlyTensorsThatDecay) {
  const OptimizerFormula formula = AdamwFormula();
  EXPECT_EQ(formula.op, "adamw");
  EXPECT_EQ(formula.states, (std::vector<std::string>{"exp_avg", "exp_avg_sq"}));
  OptimizerSpec spec;
  spec.beta1 = 0.8;
  spec.beta2 = 0.99;
  spec.epsilon = 1e-6;
  spec.weight_decay = 0.3;
  const Attrs attrs = formula.attrs(spec, /*decay=*/true);
  EXPECT_EQ(attrs.GetDouble("beta1"), 0.8);
  EXPECT_EQ(attrs.GetDouble("beta2"), 0.99);
  EXPECT_EQ(attrs.GetDouble("epsilon"), 1e-6);
  EXPECT_EQ(attrs.GetDouble("weight_decay"), 0.3);
  EXPECT_EQ(formula.attrs(spec, /*decay=*/false).GetDouble("weight_decay"), 0.0);
}

}  // namespace
}  // namespace trireme
