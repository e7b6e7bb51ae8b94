// Instruction collection and placement of temporaries.
#include "coordinator/compiler/passes/code_builder.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/math.h"

namespace trireme {
namespace {

constexpr char kScratch[] = "scratch";

View Dense(int binding, IndexMap offset, const std::vector<int64_t>& sizes, DType dtype) {
  return {.binding = binding,
          .offset = std::move(offset),
          .sizes = sizes,
          .strides = DenseStrides(sizes),
          .dtype = dtype};
}

}  // namespace

std::vector<int64_t> CodeBuilder::LocalSizesOf(int value) const {
  const Value& v = graph_.value(value);
  return LocalSizes(mesh_, v.dims, v.sharding);
}

bool CodeBuilder::SameMemory(int a, int b) const {
  const Alias& x = layout_.aliases[a];
  const Alias& y = layout_.aliases[b];
  return x.root == y.root && x.offset == y.offset && x.strides == y.strides;
}

int CodeBuilder::Binding(const std::string& name) {
  const auto [it, added] = bindings_.emplace(name, static_cast<int>(code_.bindings.size()));
  if (added) code_.bindings.push_back(name);
  return it->second;
}

int CodeBuilder::TempOf(int root) {
  const auto it = temp_of_root_.find(root);
  if (it != temp_of_root_.end()) return it->second;
  const int64_t bytes = Product(LocalSizesOf(root)) * SizeOf(graph_.value(root).dtype);
  const int now = static_cast<int>(code_.instructions.size());
  temps_.push_back({bytes, now, now});
  const int index = static_cast<int>(temps_.size()) - 1;
  temp_of_root_[root] = index;
  return index;
}

View CodeBuilder::ViewOf(int value, int64_t scalar_offset) {
  const Value& v = graph_.value(value);
  const Alias& alias = layout_.aliases[value];
  IndexMap offset = alias.offset;
  offset.base += scalar_offset;
  const std::vector<int64_t> sizes = LocalSizesOf(value);
  View view = PlaceRoot(alias.root, std::move(offset), sizes, v.dtype);
  if (!alias.strides.empty()) view.strides = alias.strides;
  return view;
}

// The dense view at `offset` elements from where `root` lives.
View CodeBuilder::PlaceRoot(int root, IndexMap offset, const std::vector<int64_t>& sizes,
                            DType dtype) {
  const int64_t element = SizeOf(dtype);
  if (const auto it = layout_.binding.find(root); it != layout_.binding.end()) {
    return Dense(Binding(it->second), offset, sizes, dtype);
  }
  if (const auto it = layout_.saved.find(root); it != layout_.saved.end()) {
    offset.base += it->second / element;
    return Dense(Binding("saved"), offset, sizes, dtype);
  }
  if (const auto it = layout_.gathered.find(root); it != layout_.gathered.end()) {
    offset.base += it->second / element;
    return Dense(Binding("gathered"), offset, sizes, dtype);
  }
  if (const auto it = layout_.prefetched_root.find(root); it != layout_.prefetched_root.end()) {
    offset.base += it->second / element;
    return Dense(Binding("prefetch"), offset, sizes, dtype);
  }
  return Dense(-1 - TempOf(root), offset, sizes, dtype);
}

View CodeBuilder::PrefetchView(const Node& node, const std::vector<int64_t>& sizes, DType dtype) {
  const int64_t base = layout_.prefetched.at(node.id) / SizeOf(dtype);
  return Dense(Binding("prefetch"), {.base = base}, sizes, dtype);
}

View CodeBuilder::NewTemp(const std::vector<int64_t>& sizes, DType dtype) {
  const int now = static_cast<int>(code_.instructions.size());
  temps_.push_back({Product(sizes) * SizeOf(dtype), now, now});
  return Dense(-static_cast<int>(temps_.size()), {}, sizes, dtype);
}

void CodeBuilder::When(int predicate, int above) {
  predicate_.clear();
  if (predicate >= 0) predicate_.push_back(ViewOf(predicate));
  above_ = above;
}

void CodeBuilder::Append(Instruction instruction) {
  const int now = static_cast<int>(code_.instructions.size());
  instruction.predicate = predicate_;
  instruction.above = above_;
  for (const std::vector<View>* views :
       {&instruction.in, &instruction.out, &instruction.predicate}) {
    for (const View& view : *views) {
      if (view.binding < 0) temps_[-1 - view.binding].last = now;
    }
  }
  code_.instructions.push_back(std::move(instruction));
}

int32_t CodeBuilder::GroupIndex(const Group& group) {
  const auto it = std::find(groups_.begin(), groups_.end(), group);
  if (it != groups_.end()) return static_cast<int32_t>(it - groups_.begin());
  groups_.push_back(group);
  return static_cast<int32_t>(groups_.size()) - 1;
}

// Temporaries of a collective that runs beside others stay until something waits for it: reused
// earlier, their memory would make it wait.
void CodeBuilder::KeepWhileInFlight() {
  const std::vector<Instruction>& list = code_.instructions;
  const auto meets = [](const std::vector<View>& a, const std::vector<View>& b) {
    return std::any_of(a.begin(), a.end(), [&](const View& x) {
      return std::any_of(b.begin(), b.end(), [&](const View& y) { return x.binding == y.binding; });
    });
  };
  for (size_t i = 0; i < list.size(); ++i) {
    if (!list[i].async) continue;
    size_t over = i + 1;
    while (over < list.size() && (list[over].async || (!meets(list[over].in, list[i].out) &&
                                                       !meets(list[over].out, list[i].out) &&
                                                       !meets(list[over].out, list[i].in)))) {
      ++over;
    }
    for (const std::vector<View>* views : {&list[i].in, &list[i].out}) {
      for (const View& view : *views) {
        if (view.binding >= 0) continue;
        int& last = temps_[-1 - view.binding].last;
        last = std::max(last, static_cast<int>(over));
      }
    }
  }
}

SegmentCode CodeBuilder::Finish(const std::string& name, Phase phase, int64_t* scratch_bytes) {
  KeepWhileInFlight();
  const ScratchLayout layout = LayOutScratch(temps_);
  *scratch_bytes = std::max(*scratch_bytes, layout.bytes);
  const int scratch = temps_.empty() ? -1 : Binding(kScratch);
  for (Instruction& instruction : code_.instructions) {
    for (std::vector<View>* views : {&instruction.in, &instruction.out, &instruction.predicate}) {
      for (View& view : *views) {
        if (view.binding >= 0) continue;
        view.offset.base += layout.offsets[-1 - view.binding] / SizeOf(view.dtype);
        view.binding = scratch;
      }
    }
  }
  code_.name = name;
  code_.phase = phase;
  return std::move(code_);
}

}  // namespace trireme
