// The composite against its gradient and splits, and its expansion, run on simulated vocabulary
// shards, against the composite.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/ops/kernel.h"
#include "kernels/testing/op_case.h"

namespace trireme {
namespace {

OpCase HeadCase(int64_t vocab, int64_t vocab_size) {
  return {.op = "linear_cross_entropy",
          .attrs = {{"vocab_size", vocab_size}},
          .inputs = {Normal({{"batch", 2}, {"position", 3}, {"embed", 5}}),
                     Normal({{"vocab", vocab}, {"embed", 5}}),
                     Ids({{"batch", 2}, {"position", 3}}, vocab_size),
                     Positive({{"batch", 2}, {"position", 3}})},
          .grad_inputs = {0, 1},
          .skip_dims = {"vocab"}};
}

// Runs an expansion on ranks that each hold a part of the vocabulary, one value a rank.
class SimulatedShards : public ExpandContext {
 public:
  SimulatedShards(const OpCase& c, int num_ranks) : num_ranks_(num_ranks) {
    node_ = {.op = c.op, .attrs = c.attrs};
    const std::vector<HostTensor> whole = MakeInputs(c);
    for (size_t i = 0; i < whole.size(); ++i) {
      node_.inputs.push_back(
          graph_.AddValue({.name = "in", .dims = c.inputs[i].dims, .dtype = c.inputs[i].dtype}));
      const bool is_head = i == 1;
      const int64_t size = c.inputs[i].dims[0].size / num_ranks;
      for (int rank = 0; rank < num_ranks; ++rank) {
        Parts(node_.inputs[i]).push_back(is_head ? whole[i].Slice(0, rank * size, size) : whole[i]);
      }
    }
  }

  // The outputs, which must be the same on every rank.
  std::vector<HostTensor> Expand() {
    std::vector<HostTensor> outputs;
    for (const int id : FindRule(node_.op).expand(*this, graph_, node_)) {
      for (const HostTensor& part : Parts(id)) EXPECT_EQ(Difference(Parts(id)[0], part, 0), "");
      outputs.push_back(Parts(id)[0]);
    }
    return outputs;
  }

  std::vector<int> AddPartial(const std::string& op, const Attrs& attrs,
                              const std::vector<int>& inputs, const std::string& dim,
                              const std::vector<ReduceKind>& kinds) override {
    EXPECT_EQ(dim, "vocab");
    const std::vector<int> outputs = Add(op, attrs, inputs);
    EXPECT_EQ(outputs.size(), kinds.size());
    for (size_t i = 0; i < outputs.size() && num_ranks_ > 1; ++i) partial_[outputs[i]] = kinds[i];
    return outputs;
  }

  std::vector<int> Add(const std::string& op, const Attrs& attrs,
                       const std::vector<int>& inputs) override {
    Node node{.op = op, .attrs = attrs, .inputs = inputs};
    for (const int id : inputs) EXPECT_EQ(partial_.count(id), 0u) << op << " reads a partial";
    const auto types = FindRule(op).infer(graph_, node);
    CHECK(types.ok()) << types.status().ToString();
    for (const ValueType& type : *types) {
      node.outputs.push_back(graph_.AddValue({.dims = type.dims, .dtype = type.dtype}));
    }
    for (int rank = 0; rank < num_ranks_; ++rank) RunOn(rank, node);
    return node.outputs;
  }

  int Resolve(int value) override {
    if (partial_.count(value) == 0) return value;
    HostTensor all = Parts(value)[0];
    for (int rank = 1; rank < num_ranks_; ++rank) {
      for (int64_t i = 0; i < all.count(); ++i) {
        const double part = Parts(value)[rank].Get(i);
        const bool is_max = partial_[value] == ReduceKind::kMax;
        all.Set(i, is_max ? std::max(all.Get(i), part) : all.Get(i) + part);
      }
    }
    const int id = CopyType(value);
    Parts(id).assign(num_ranks_, all);
    return id;
  }

  int Local(int value) override {
    const int id = CopyType(value);
    Parts(id) = Parts(value);
    return id;
  }

  // This expansion has no ring.
  int64_t RingSize(const std::string&) override { return 1; }
  int Pass(int value, const std::string& dim) override {
    ADD_FAILURE() << "passes value " << value << " around " << dim;
    return value;
  }
  int RingBlock(int value, const std::string& dim, int64_t) override {
    ADD_FAILURE() << "takes a block of value " << value << " along " << dim;
    return value;
  }
  // Nor other regions, sums over parts, or conditions.
  void InRegion(const std::string& region) override { ADD_FAILURE() << "moves to " << region; }
  int Enter(int value, const std::string& region,
            const std::vector<std::pair<std::string, std::string>>&) override {
    ADD_FAILURE() << "takes value " << value << " to " << region;
    return value;
  }
  std::vector<int> AddInto(const std::string& op, const Attrs&, const std::vector<int>&,
                           const std::vector<int>& into) override {
    ADD_FAILURE() << op << " adds into earlier values";
    return into;
  }
  int Largest(int value, const std::string& dim) override {
    ADD_FAILURE() << "takes the largest of value " << value << " over " << dim;
    return value;
  }
  void When(int value, int) override { ADD_FAILURE() << "depends on value " << value; }

 private:
  std::vector<HostTensor>& Parts(int id) {
    if (parts_.size() <= static_cast<size_t>(id)) parts_.resize(id + 1);
    return parts_[id];
  }

  int CopyType(int value) {
    const Value source = graph_.value(value);
    const int id = graph_.AddValue({.dims = source.dims, .dtype = source.dtype});
    Parts(id);
    Parts(value);
    return id;
  }

  void RunOn(int rank, const Node& node) {
    Attrs attrs = node.attrs;
    if (FindRule(node.op).index_attrs != nullptr) {
      attrs.Set("vocab_start", rank * Parts(node.inputs[1])[rank].sizes()[0]);
    }
    std::vector<Tensor> in, out;
    for (const int id : node.outputs) {
      Parts(id).emplace_back(graph_.value(id).dtype, Sizes(graph_.value(id).dims));
    }
    for (const int id : node.outputs) out.push_back(Parts(id)[rank].view());
    for (const int id : node.inputs) in.push_back(Parts(id)[rank].view());
    Stream stream;
    FindKernels(node.op).reference({.stream = stream, .attrs = attrs, .in = in, .out = out});
  }

  int num_ranks_;
  Graph graph_;
  Node node_;
  std::vector<std::vector<HostTensor>> parts_;  // by value id, then rank
  std::map<int, ReduceKind> partial_;
};

TEST(LinearCrossEntropy, GradientIsRight) {
  CheckGradient(HeadCase(7, 7));
  CheckGradient(HeadCase(8, 6));  // two padded rows
}

TEST(LinearCrossEntropy, SplitsOverTokens) { CheckEverySharding(HeadCase(7, 7)); }

TEST(LinearCrossEntropy, ExpansionEqualsCompositeInEveryVocabularySplit) {
  // Vocabulary 6 split evenly; 5 of 6 rows valid; 2 of 6: in three parts the last two hold padding
  // only.
  for (const int64_t vocab_size : {6, 5, 2}) {
    for (const int num_ranks : {1, 2, 3}) {
      const OpCase c = InFloat64(HeadCase(6, vocab_size));
      const std::vector<HostTensor> whole = RunOp(c, MakeInputs(c));
      const std::vector<HostTensor> expanded = SimulatedShards(c, num_ranks).Expand();
      ASSERT_EQ(expanded.size(), 2u);
      for (int i : {0, 1}) {
        EXPECT_EQ(Difference(whole[i], expanded[i], 1e-12), "")
            << "output " << i << " vocab_size " << vocab_size << " ranks " << num_ranks;
      }
    }
  }
}

TEST(LinearCrossEntropy, UniformLogitsLoseLogVocabulary) {
  OpCase c = HeadCase(4, 3);
  c.inputs[0] = Given({{"batch", 1}, {"position", 2}, {"embed", 1}}, DType::kFloat64, {0, 0});
  c.inputs[1] = Given({{"vocab", 4}, {"embed", 1}}, DType::kFloat64, {1, 2, 3, 4});
  c.inputs[2] = Given({{"batch", 1}, {"position", 2}}, DType::kInt32, {0, 2});
  c.inputs[3] = Given({{"batch", 1}, {"position", 2}}, DType::kFloat32, {2, 0});
  const std::vector<HostTensor> outputs = RunOp(c, MakeInputs(c));
  EXPECT_NEAR(outputs[0].Get(0), 2 * std::log(3.0), 1e-12);
  EXPECT_NEAR(outputs[1].Get(1), std::log(3.0), 1e-12);
}

TEST(LinearCrossEntropy, RefusesWrongOperands) {
  OpCase c = HeadCase(7, 7);
  c.inputs[1] = Normal({{"vocab", 7}, {"embed", 4}});
  ExpectInferError(c, "must have [embed 5]");
  c = HeadCase(7, 7);
  c.inputs[2] = Normal({{"batch", 2}, {"position", 3}});
  ExpectInferError(c, "must be int32");
  c = HeadCase(7, 7);
  c.attrs = {};
  ExpectInferError(c, "vocab_size");
}

}  // namespace
}  // namespace trireme
