// Field-by-field conversion, both directions of a message side by side so that a forgotten field is
// seen (and found by the round-trip test).
#include "common/plan/wire.h"

#include <cstdio>
#include <utility>

#include "common/base/check.h"
#include "common/plan/validate.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/stubs/logging.h"
#include "trireme/v1/program.pb.h"

namespace trireme {
namespace {

// Enums arrive as numbers; one outside its range makes the whole program invalid.
class EnumReader {
 public:
  template <typename E>
  E Read(int64_t value, E last) {
    if (value >= 0 && value <= static_cast<int64_t>(last)) return static_cast<E>(value);
    ok_ = false;
    return static_cast<E>(0);
  }
  bool ok() const { return ok_; }

 private:
  bool ok_ = true;
};

// Members of one struct, so that each sees all the others whatever their order.
struct Wire {
  template <typename T, typename Repeated>
  static void Copy(const Repeated& from, std::vector<T>& to) {
    to.assign(from.begin(), from.end());
  }

  template <typename Proto, typename T>
  static void WriteAll(const std::vector<T>& from, google::protobuf::RepeatedPtrField<Proto>* to) {
    for (const T& value : from) Write(value, to->Add());
  }

  template <typename Proto, typename T>
  static void ReadAll(const google::protobuf::RepeatedPtrField<Proto>& from, std::vector<T>& to,
                      EnumReader& enums) {
    to.resize(from.size());
    for (int i = 0; i < from.size(); ++i) Read(from[i], to[i], enums);
  }

  template <typename Repeated, typename T>
  static void WriteInts(const std::vector<T>& from, Repeated* to) {
    for (const T value : from) to->Add(value);
  }

  // ---- tensors and shardings

  static void Write(const Dim& from, v1::Dim* to) {
    to->set_name(from.name);
    to->set_size(from.size);
    to->set_padded_size(from.padded_size);
  }
  static void Read(const v1::Dim& from, Dim& to, EnumReader&) {
    to = {from.name(), from.size(), from.padded_size()};
  }

  static void Write(const Sharding& from, v1::Sharding* to) {
    for (const std::vector<int>& axes : from.dim_axes) {
      WriteInts(axes, to->add_dims()->mutable_axes());
    }
    for (const Partial& partial : from.partial) {
      v1::Partial* p = to->add_partial();
      p->set_axis(partial.axis);
      p->set_kind(static_cast<int>(partial.kind));
    }
  }
  static void Read(const v1::Sharding& from, Sharding& to, EnumReader& enums) {
    for (const auto& dim : from.dims()) {
      to.dim_axes.emplace_back(dim.axes().begin(), dim.axes().end());
    }
    for (const v1::Partial& partial : from.partial()) {
      to.partial.push_back({partial.axis(), enums.Read(partial.kind(), ReduceKind::kMax)});
    }
  }

  // ---- instructions

  static void Write(const std::pair<std::string, AttrValue>& from, v1::Attr* to) {
    to->set_name(from.first);
    if (const auto* i = std::get_if<int64_t>(&from.second)) to->set_int_value(*i);
    if (const auto* d = std::get_if<double>(&from.second)) to->set_double_value(*d);
    if (const auto* s = std::get_if<std::string>(&from.second)) to->set_string_value(*s);
    if (const auto* v = std::get_if<std::vector<int64_t>>(&from.second)) {
      WriteInts(*v, to->mutable_ints_value()->mutable_values());
    }
  }
  static AttrValue ReadAttrValue(const v1::Attr& from) {
    switch (from.value_case()) {
      case v1::Attr::kDoubleValue:
        return from.double_value();
      case v1::Attr::kStringValue:
        return from.string_value();
      case v1::Attr::kIntsValue:
        return std::vector<int64_t>(from.ints_value().values().begin(),
                                    from.ints_value().values().end());
      default:
        return int64_t{from.int_value()};
    }
  }

  static void Write(const IndexMap& from, v1::IndexMap* to) {
    to->set_base(from.base);
    for (const IndexMap::Term& term : from.terms) {
      v1::IndexMap::Term* t = to->add_terms();
      t->set_axis(term.axis);
      t->set_stride(term.stride);
      t->set_shift(term.shift);
      t->set_modulus(term.modulus);
    }
  }
  static void Read(const v1::IndexMap& from, IndexMap& to, EnumReader&) {
    to.base = from.base();
    for (const auto& term : from.terms()) {
      to.terms.push_back({term.axis(), term.stride(), term.shift(), term.modulus()});
    }
  }

  static void Write(const View& from, v1::View* to) {
    to->set_binding(from.binding);
    Write(from.offset, to->mutable_offset());
    WriteInts(from.sizes, to->mutable_sizes());
    WriteInts(from.strides, to->mutable_strides());
    to->set_dtype(static_cast<int>(from.dtype));
  }
  static void Read(const v1::View& from, View& to, EnumReader& enums) {
    to.binding = from.binding();
    Read(from.offset(), to.offset, enums);
    Copy(from.sizes(), to.sizes);
    Copy(from.strides(), to.strides);
    to.dtype = enums.Read(from.dtype(), DType::kInt8);
  }

  static void Write(const Group& from, v1::Group* to) {
    WriteInts(from.axes, to->mutable_axes());
    WriteInts(from.members, to->mutable_members());
    to->set_fabric(static_cast<int>(from.fabric));
  }
  static void Read(const v1::Group& from, Group& to, EnumReader& enums) {
    Copy(from.axes(), to.axes);
    Copy(from.members(), to.members);
    to.fabric = enums.Read(from.fabric(), Fabric::kDcn);
  }

  static void Write(const Instruction& from, v1::Instruction* to) {
    to->set_op(from.op);
    WriteAll(from.attrs.entries(), to->mutable_attrs());
    for (const auto& [name, map] : from.index_attrs) {
      v1::IndexAttr* attr = to->add_index_attrs();
      attr->set_name(name);
      Write(map, attr->mutable_value());
    }
    WriteAll(from.in, to->mutable_in());
    WriteAll(from.out, to->mutable_out());
    to->set_accumulate(from.accumulate);
    to->set_async(from.async);
    to->set_flops(from.flops);
    WriteAll(from.predicate, to->mutable_predicate());
    to->set_above(from.above);
    to->set_group(from.group);
    to->set_workspace(from.workspace);
    to->set_tensor(from.tensor);
    to->set_reason(from.reason);
  }
  static void Read(const v1::Instruction& from, Instruction& to, EnumReader& enums) {
    to.op = from.op();
    for (const v1::Attr& attr : from.attrs()) to.attrs.Set(attr.name(), ReadAttrValue(attr));
    for (const v1::IndexAttr& attr : from.index_attrs()) {
      to.index_attrs.emplace_back(attr.name(), IndexMap());
      Read(attr.value(), to.index_attrs.back().second, enums);
    }
    ReadAll(from.in(), to.in, enums);
    ReadAll(from.out(), to.out, enums);
    to.accumulate = from.accumulate();
    to.async = from.async();
    to.flops = from.flops();
    ReadAll(from.predicate(), to.predicate, enums);
    to.above = from.above();
    to.group = from.group();
    to.workspace = from.workspace();
    to.tensor = from.tensor();
    to.reason = from.reason();
  }

  // ---- programs

  static void Write(const SegmentCode& from, v1::SegmentCode* to) {
    to->set_name(from.name);
    to->set_phase(static_cast<int>(from.phase));
    for (const std::string& binding : from.bindings) to->add_bindings(binding);
    WriteAll(from.instructions, to->mutable_instructions());
  }
  static void Read(const v1::SegmentCode& from, SegmentCode& to, EnumReader& enums) {
    to.name = from.name();
    to.phase = enums.Read(from.phase(), Phase::kUpdate2);
    Copy(from.bindings(), to.bindings);
    ReadAll(from.instructions(), to.instructions, enums);
  }

  static void Write(const Place& from, v1::Place* to) {
    to->set_pool(static_cast<int>(from.pool));
    to->set_offset(from.offset);
  }
  static void Read(const v1::Place& from, Place& to, EnumReader& enums) {
    to = {enums.Read(from.pool(), Pool::kScalars), from.offset()};
  }

  static void Write(const Instance& from, v1::Instance* to) {
    to->set_code(from.code);
    to->set_layer(from.layer);
    WriteAll(from.places, to->mutable_places());
  }
  static void Read(const v1::Instance& from, Instance& to, EnumReader& enums) {
    to.code = from.code();
    to.layer = from.layer();
    ReadAll(from.places(), to.places, enums);
  }

  static void Write(const PoolSize& from, v1::PoolSize* to) {
    to->set_pool(static_cast<int>(from.pool));
    to->set_bytes(from.bytes);
    to->set_slots(from.slots);
  }
  static void Read(const v1::PoolSize& from, PoolSize& to, EnumReader& enums) {
    to = {enums.Read(from.pool(), Pool::kScalars), from.bytes(), from.slots()};
  }

  static void Write(const TensorPlacement& from, v1::TensorPlacement* to) {
    to->set_name(from.name);
    WriteAll(from.dims, to->mutable_dims());
    Write(from.param_sharding, to->mutable_param_sharding());
    Write(from.optimizer_sharding, to->mutable_optimizer_sharding());
    to->set_param_offset(from.param_offset);
    Write(from.reduced_grad, to->mutable_reduced_grad());
    WriteInts(from.state_offsets, to->mutable_state_offsets());
    for (const std::string& name : from.state_names) to->add_state_names(name);
    WriteInts(from.owner_members, to->mutable_owner_members());
    to->set_trained(from.trained);
  }
  static void Read(const v1::TensorPlacement& from, TensorPlacement& to, EnumReader& enums) {
    to.name = from.name();
    ReadAll(from.dims(), to.dims, enums);
    Read(from.param_sharding(), to.param_sharding, enums);
    Read(from.optimizer_sharding(), to.optimizer_sharding, enums);
    to.param_offset = from.param_offset();
    Read(from.reduced_grad(), to.reduced_grad, enums);
    Copy(from.state_offsets(), to.state_offsets);
    Copy(from.state_names(), to.state_names);
    Copy(from.owner_members(), to.owner_members);
    to.trained = from.trained();
  }

  static void Write(const InputPlacement& from, v1::InputPlacement* to) {
    to->set_name(from.name);
    WriteAll(from.dims, to->mutable_dims());
    Write(from.sharding, to->mutable_sharding());
    to->set_dtype(static_cast<int>(from.dtype));
    to->set_offset(from.offset);
  }
  static void Read(const v1::InputPlacement& from, InputPlacement& to, EnumReader& enums) {
    to.name = from.name();
    ReadAll(from.dims(), to.dims, enums);
    Read(from.sharding(), to.sharding, enums);
    to.dtype = enums.Read(from.dtype(), DType::kInt8);
    to.offset = from.offset();
  }

  static void Write(const EdgePlacement& from, v1::EdgePlacement* to) {
    Write(from.place, to->mutable_place());
    to->set_bytes(from.bytes);
  }
  static void Read(const v1::EdgePlacement& from, EdgePlacement& to, EnumReader& enums) {
    Read(from.place(), to.place, enums);
    to.bytes = from.bytes();
  }

  static void Write(const ScalarPlacement& from, v1::ScalarPlacement* to) {
    to->set_control(from.control);
    to->set_reduce(from.reduce);
    to->set_lr_table(from.lr_table);
    to->set_lr_table_entries(from.lr_table_entries);
    to->set_router_stats(from.router_stats);
    WriteInts(from.router_layers, to->mutable_router_layers());
    to->set_router_experts(from.router_experts);
    to->set_router_choices(from.router_choices);
    to->set_router_balance_coef(from.router_balance_coef);
    to->set_router_z_coef(from.router_z_coef);
  }
  static void Read(const v1::ScalarPlacement& from, ScalarPlacement& to, EnumReader&) {
    to = {.control = from.control(),
          .reduce = from.reduce(),
          .lr_table = from.lr_table(),
          .lr_table_entries = from.lr_table_entries(),
          .router_stats = from.router_stats(),
          .router_experts = from.router_experts(),
          .router_choices = from.router_choices(),
          .router_balance_coef = from.router_balance_coef(),
          .router_z_coef = from.router_z_coef()};
    Copy(from.router_layers(), to.router_layers);
  }

  static void Write(const ChunkProgram& from, v1::ChunkProgram* to) {
    to->set_virtual_stage(from.virtual_stage);
    WriteAll(from.forward, to->mutable_forward());
    WriteAll(from.backward, to->mutable_backward());
    WriteAll(from.weight_grad, to->mutable_weight_grad());
    WriteAll(from.edges_in, to->mutable_edges_in());
    WriteAll(from.edges_out, to->mutable_edges_out());
    WriteAll(from.grad_edges_in, to->mutable_grad_edges_in());
    WriteAll(from.grad_edges_out, to->mutable_grad_edges_out());
  }
  static void Read(const v1::ChunkProgram& from, ChunkProgram& to, EnumReader& enums) {
    to.virtual_stage = from.virtual_stage();
    ReadAll(from.forward(), to.forward, enums);
    ReadAll(from.backward(), to.backward, enums);
    ReadAll(from.weight_grad(), to.weight_grad, enums);
    ReadAll(from.edges_in(), to.edges_in, enums);
    ReadAll(from.edges_out(), to.edges_out, enums);
    ReadAll(from.grad_edges_in(), to.grad_edges_in, enums);
    ReadAll(from.grad_edges_out(), to.grad_edges_out, enums);
  }

  static void Write(const StageProgram& from, v1::StageProgram* to) {
    to->set_stage(from.stage);
    WriteAll(from.pools, to->mutable_pools());
    WriteAll(from.groups, to->mutable_groups());
    WriteAll(from.codes, to->mutable_codes());
    WriteAll(from.init, to->mutable_init());
    WriteAll(from.gather, to->mutable_gather());
    WriteAll(from.update1, to->mutable_update1());
    WriteAll(from.update2, to->mutable_update2());
    WriteAll(from.chunks, to->mutable_chunks());
    WriteAll(from.tensors, to->mutable_tensors());
    WriteAll(from.inputs, to->mutable_inputs());
    Write(from.scalars, to->mutable_scalars());
    WriteAll(from.outputs, to->mutable_outputs());
  }
  static void Read(const v1::StageProgram& from, StageProgram& to, EnumReader& enums) {
    to.stage = from.stage();
    ReadAll(from.pools(), to.pools, enums);
    ReadAll(from.groups(), to.groups, enums);
    ReadAll(from.codes(), to.codes, enums);
    ReadAll(from.init(), to.init, enums);
    ReadAll(from.gather(), to.gather, enums);
    ReadAll(from.update1(), to.update1, enums);
    ReadAll(from.update2(), to.update2, enums);
    to.chunks.clear();
    ReadAll(from.chunks(), to.chunks, enums);
    if (to.chunks.empty()) to.chunks.resize(1);
    ReadAll(from.tensors(), to.tensors, enums);
    ReadAll(from.inputs(), to.inputs, enums);
    Read(from.scalars(), to.scalars, enums);
    ReadAll(from.outputs(), to.outputs, enums);
  }

  // ---- schedules and runs

  static void Write(const Transfer& from, v1::Transfer* to) {
    to->set_peer_stage(from.peer_stage);
    to->set_gradient(from.gradient);
    to->set_microbatch(from.microbatch);
    to->set_slot(from.slot);
    to->set_chunk(from.chunk);
    to->set_edge(from.edge);
  }
  static void Read(const v1::Transfer& from, Transfer& to, EnumReader&) {
    to = {from.peer_stage(), from.gradient(), from.microbatch(),
          from.slot(),       from.chunk(),    from.edge()};
  }

  static void Write(const ScheduleItem& from, v1::ScheduleItem* to) {
    to->set_kind(static_cast<int>(from.kind));
    to->set_phase(static_cast<int>(from.phase));
    to->set_microbatch(from.microbatch);
    to->set_slot(from.slot);
    to->set_chunk(from.chunk);
    WriteAll(from.sends, to->mutable_sends());
    WriteAll(from.receives, to->mutable_receives());
  }
  static void Read(const v1::ScheduleItem& from, ScheduleItem& to, EnumReader& enums) {
    to.kind = enums.Read(from.kind(), ItemKind::kExchange);
    to.phase = enums.Read(from.phase(), Phase::kUpdate2);
    to.microbatch = from.microbatch();
    to.slot = from.slot();
    to.chunk = from.chunk();
    ReadAll(from.sends(), to.sends, enums);
    ReadAll(from.receives(), to.receives, enums);
  }

  static void Write(const StepSchedule& from, v1::StepSchedule* to) {
    to->set_stage(from.stage);
    to->set_num_slots(from.num_slots);
    WriteAll(from.items, to->mutable_items());
  }
  static void Read(const v1::StepSchedule& from, StepSchedule& to, EnumReader& enums) {
    to.stage = from.stage();
    to.num_slots = from.num_slots();
    ReadAll(from.items(), to.items, enums);
  }

  static void Write(const TrainingRun& from, v1::TrainingRun* to) {
    to->set_steps(from.steps);
    to->set_global_batch_size(from.global_batch_size);
    to->set_microbatch_size(from.microbatch_size);
    to->set_num_microbatches(from.num_microbatches);
    to->set_sequence_length(from.sequence_length);
    to->set_seed(from.seed);
    to->set_expected_tokens(from.expected_tokens);
    WriteInts(from.lr_table, to->mutable_lr_table());
    to->set_zigzag_shards(from.zigzag_shards);
  }
  static void Read(const v1::TrainingRun& from, TrainingRun& to, EnumReader&) {
    to.steps = from.steps();
    to.global_batch_size = from.global_batch_size();
    to.microbatch_size = from.microbatch_size();
    to.num_microbatches = from.num_microbatches();
    to.sequence_length = from.sequence_length();
    to.seed = from.seed();
    to.expected_tokens = from.expected_tokens();
    Copy(from.lr_table(), to.lr_table);
    to.zigzag_shards = from.zigzag_shards();
  }

  static void Write(const Mesh& from, v1::Mesh* to) {
    for (const MeshAxis& axis : from.axes()) {
      v1::MeshAxis* a = to->add_axes();
      a->set_name(axis.name);
      a->set_size(axis.size);
      a->set_fabric(static_cast<int>(axis.fabric));
    }
  }
  static StatusOr<Mesh> ReadMesh(const v1::Mesh& from, EnumReader& enums) {
    std::vector<MeshAxis> axes;
    for (const v1::MeshAxis& axis : from.axes()) {
      axes.push_back({axis.name(), axis.size(), enums.Read(axis.fabric(), Fabric::kDcn)});
    }
    return Mesh::Create(std::move(axes));
  }
};

// One writer for both overloads: borrows all parts.
std::string Serialize(uint64_t op_table_hash, const Mesh& mesh, const StageProgram& program,
                      const StepSchedule& schedule, const TrainingRun& run,
                      const std::vector<int>& data_axes, int stage_axis) {
  v1::RankProgram message;
  message.set_format_version(kProgramFormat);
  message.set_op_table_hash(op_table_hash);
  Wire::Write(mesh, message.mutable_mesh());
  Wire::Write(program, message.mutable_program());
  Wire::Write(schedule, message.mutable_schedule());
  Wire::Write(run, message.mutable_run());
  Wire::WriteInts(data_axes, message.mutable_data_axes());
  message.set_stage_axis(stage_axis);
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  CHECK(message.SerializeToCodedStream(&coded)) << "program beyond 2 GiB";
  coded.Trim();
  return bytes;
}

Status CheckVersions(const v1::RankProgram& message, uint64_t op_table_hash) {
  if (message.format_version() != kProgramFormat) {
    return FailedPrecondition("the program has format " + std::to_string(message.format_version()) +
                              ", this binary reads format " + std::to_string(kProgramFormat) +
                              "; run coordinator and workers of one build");
  }
  if (message.op_table_hash() != op_table_hash) {
    char text[160];
    std::snprintf(
        text, sizeof(text),
        "the program was compiled for op table %016llx, this binary has op table %016llx; "
        "run coordinator and workers of one build",
        static_cast<unsigned long long>(message.op_table_hash()),
        static_cast<unsigned long long>(op_table_hash));
    return FailedPrecondition(text);
  }
  return absl::OkStatus();
}

Status CheckRun(const RankProgram& program) {
  const TrainingRun& run = program.run;
  constexpr int64_t kMax = int64_t{1} << 40;
  for (const int64_t value : {run.steps, run.global_batch_size, run.microbatch_size,
                              run.num_microbatches, run.sequence_length}) {
    if (value < 0 || value > kMax) {
      return InvalidArgument("training run: value " + std::to_string(value) +
                             " is outside [0, 2^40]");
    }
  }
  for (const int axis : program.data_axes) {
    if (axis < 0 || axis >= program.mesh.num_axes()) {
      return InvalidArgument("data axis " + std::to_string(axis) + " is not of mesh " +
                             program.mesh.ToText());
    }
  }
  if (program.stage_axis < -1 || program.stage_axis >= program.mesh.num_axes()) {
    return InvalidArgument("stage axis " + std::to_string(program.stage_axis) + " is not of mesh " +
                           program.mesh.ToText());
  }
  const int32_t stage = program.program.stage;
  if (stage < 0 || stage >= program.num_stages() || program.schedule.stage != stage) {
    return InvalidArgument("stage " + std::to_string(stage) + " with a schedule of stage " +
                           std::to_string(program.schedule.stage) + " of " +
                           std::to_string(program.num_stages()));
  }
  return absl::OkStatus();
}

}  // namespace

std::string SerializeRankProgram(const RankProgram& program) {
  return Serialize(program.op_table_hash, program.mesh, program.program, program.schedule,
                   program.run, program.data_axes, program.stage_axis);
}

std::string SerializeRankProgram(const Plan& plan, int stage) {
  CHECK(0 <= stage && stage < plan.num_stages()) << "stage " << stage;
  return Serialize(plan.op_table_hash, plan.mesh, plan.programs[stage], plan.schedules[stage],
                   plan.run, plan.data_axes, plan.stage_axis);
}

StatusOr<RankProgram> ParseRankProgram(std::string_view bytes, uint64_t op_table_hash) {
  constexpr size_t kMaxBytes = size_t{1} << 30;
  v1::RankProgram message;
  google::protobuf::LogSilencer silence;  // our Status says it
  if (bytes.size() > kMaxBytes ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("a program of " + std::to_string(bytes.size()) +
                           " bytes cannot be read; it is truncated, corrupt or beyond 1 GiB");
  }
  RETURN_IF_ERROR(CheckVersions(message, op_table_hash));
  EnumReader enums;
  RankProgram program;
  program.op_table_hash = message.op_table_hash();
  ASSIGN_OR_RETURN(program.mesh, Wire::ReadMesh(message.mesh(), enums));
  Wire::Read(message.program(), program.program, enums);
  Wire::Read(message.schedule(), program.schedule, enums);
  Wire::Read(message.run(), program.run, enums);
  Wire::Copy(message.data_axes(), program.data_axes);
  program.stage_axis = message.stage_axis();
  if (!enums.ok()) {
    return InvalidArgument(
        "the program holds an unknown pool, phase, fabric or element type; it is corrupt");
  }
  RETURN_IF_ERROR(CheckRun(program));
  RETURN_IF_ERROR(ValidateProgram(program.program, program.mesh));
  RETURN_IF_ERROR(ValidateSchedule(program.program, program.schedule, program.num_stages(),
                                   program.run.num_microbatches));
  return program;
}

}  // namespace trireme
