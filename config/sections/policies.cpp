#include "config/rules.hpp"
#include "config/sections/sections.hpp"

namespace tangram::config {
namespace {

using Fragmentation = Config::Fragmentation;
constexpr Setting kFragmentationSettings[]{
    {"workload_file",
     "For \"fragmentation\": a CSV of expected pods with the columns name, cpu_milli, memory_mib, "
     "num_gpu, gpu_milli and gpu_spec; \"\" = learn from the pods that come. A relative path "
     "starts at the working directory.",
     free_text<&Fragmentation::workload_file, true>("a path, or \"\" to learn")},
    {"learn_window_pods", "How many of the latest pods are learned from.",
     number<&Fragmentation::learn_window_pods>(
         {100, "fewer say little about the next ones"},
         {1'000'000, "each takes about a hundred bytes and is counted again at every learning"})},
    {"relearn_every_pods", "After how many new pods the expectation is made anew.",
     number<&Fragmentation::relearn_every_pods>(
         {1, "at each pod"}, {1'000'000, "the largest window that can be learned from"})},
    {"coverage_percent",
     "The most frequent kinds of pods that make up this share of all are expected, the rest left "
     "out; 95 in the published policy.",
     number<&Fragmentation::coverage_percent>({1, "something has to be expected"},
                                              {100, "all of them"})}};

using Bestfit = Config::Bestfit;
constexpr Setting kBestfitSettings[]{
    {"cpu_milli", "Thousandths of a core; the default is the published constant.",
     number<&Bestfit::cpu>({1000, "one core"},
                           {10'000'000, "ten thousand cores are no single node"})},
    {"gpu_milli", "Thousandths of a card; the default is the published constant.",
     number<&Bestfit::gpu>({1000, "one card"},
                           {1'000'000, "a thousand cards are no single node"})}};

constexpr Section kAll[]{
    {"fragmentation", "The pods that the policies \"fragmentation\" and \"least-waste\" expect.",
     kFragmentationSettings},
    {"bestfit",
     "The free CPU and GPU at which the policy \"bestfit\" takes a node for empty: the largest "
     "node of the cluster.",
     kBestfitSettings}};

}  // namespace

constexpr std::span<const Section> kPolicySections = kAll;

}  // namespace tangram::config
