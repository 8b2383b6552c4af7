#include "bench/replay/trace.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tangram::bench {
namespace {

namespace fs = std::filesystem;

/// A temporary folder of trace files.
class TraceFilesTest : public ::testing::Test {
 protected:
  TraceFilesTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(::testing::TempDir()) / (std::string("trace_") + test->name());
    fs::remove_all(root_);
    write("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nn0,4000,1000,2,T4\nn1,8000,2000,0,\n");
    write("arrivals/tiny-1.csv", kHeader + "0,p0,100,10,1,500,T4|A10\n1,p1,200,20,0,0,\n");
    write("arrivals/tiny-1.order.csv", "rank,node\n1,n0\n0,n1\n");
  }
  ~TraceFilesTest() override { fs::remove_all(root_); }
  TraceFilesTest(const TraceFilesTest&) = delete;
  TraceFilesTest& operator=(const TraceFilesTest&) = delete;

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  [[nodiscard]] Result<Trace> read() const {
    return read_trace(TracePaths::in_folder(root_.string(), "tiny-1"));
  }
  void expect_refused(const std::string& part_of_message) const {
    const auto trace = read();
    ASSERT_FALSE(trace);
    EXPECT_NE(trace.error().message.find(part_of_message), std::string::npos)
        << trace.error().message;
  }

  inline static const std::string kHeader =
      "order,pod,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";
  fs::path root_;
};

TEST_F(TraceFilesTest, ReadsNodesByRankAndPodsInOrder) {
  const auto trace = read();
  ASSERT_TRUE(trace) << trace.error().message;
  ASSERT_EQ(trace->nodes.size(), 2U);
  EXPECT_EQ(trace->nodes[0].name, "n1");
  EXPECT_EQ(trace->nodes[1].gpus, 2);
  EXPECT_EQ(trace->capacity_milli(), 2000);
  ASSERT_EQ(trace->arrivals.size(), 2U);
  EXPECT_EQ(trace->arrivals[0].models, (std::vector<std::string>{"T4", "A10"}));
  EXPECT_EQ(trace->arrivals[0].total_milli(), 500);
  EXPECT_EQ(trace->arrivals[1].cpu_milli, 200);
}

TEST_F(TraceFilesTest, ReadsTimesAndPrioritiesWhereThereAreAny) {
  write("arrivals/tiny-1.csv",
        "order,pod,cpu_milli,memory_mib,num_gpu,gpu_milli,arrives_s,lasts_s,priority\n"
        "0,p0,100,10,1,500,7,30,2000\n1,p1,200,20,0,0,8,,\n");
  const auto trace = read();
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->arrivals[0].arrives_s, 7);
  EXPECT_EQ(trace->arrivals[0].lasts_s, 30);
  EXPECT_EQ(trace->arrivals[0].priority, 2000);
  EXPECT_EQ(trace->arrivals[1].arrives_s, 8);
  EXPECT_EQ(trace->arrivals[1].lasts_s, std::nullopt);
  EXPECT_EQ(trace->arrivals[1].priority, 0);
}

TEST_F(TraceFilesTest, ExpectsThePodsFileOfTheTraceWhereThereIsOne) {
  EXPECT_EQ(read()->workload_origin, "the arrivals themselves");
  EXPECT_EQ(read()->workload.size(), 2U);
  // without gpu_spec, as some traces are
  write("pods/tiny.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nq,1,2,8,1000\n");
  const auto trace = read();
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->workload_origin, (root_ / "pods" / "tiny.csv").string());
  ASSERT_EQ(trace->workload.size(), 1U);
  EXPECT_EQ(trace->workload[0].gpus, 8);
}

TEST_F(TraceFilesTest, RefusesAWordWhereANumberBelongs) {
  write("arrivals/tiny-1.csv", kHeader + "0,p0,100,10,1,500,\n1,p1,lots,20,0,0,\n");
  expect_refused("tiny-1.csv:3: cpu_milli is \"lots\"; write a whole number from 0");
}

TEST_F(TraceFilesTest, RefusesMoreThanADeviceHas) {
  write("arrivals/tiny-1.csv", kHeader + "0,p0,100,10,1,1001,\n");
  expect_refused("tiny-1.csv:2: gpu_milli is \"1001\"");
}

TEST_F(TraceFilesTest, RefusesPartsOfSeveralDevices) {
  write("arrivals/tiny-1.csv", kHeader + "0,p0,100,10,2,500,\n");
  expect_refused("write gpu_milli 1000");
}

TEST_F(TraceFilesTest, RefusesARowOfAnotherLengthThanTheHeader) {
  write("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\nn0,4000,1000,2\n");
  expect_refused("nodes.csv:2: 4 fields, the header has 5");
}

TEST_F(TraceFilesTest, RefusesAMissingColumn) {
  write("nodes.csv", "sn,cpu_milli,memory_mib,gpu\nn0,4000,1000,2\n");
  expect_refused("no column \"model\"");
}

TEST_F(TraceFilesTest, RefusesAnOrderThatIsNotOfTheseNodes) {
  write("arrivals/tiny-1.order.csv", "rank,node\n0,n0\n1,other\n");
  expect_refused("tiny-1.order.csv:3: node \"other\"");
  write("arrivals/tiny-1.order.csv", "rank,node\n0,n0\n");
  expect_refused("node n1 has no rank");
  write("arrivals/tiny-1.order.csv", "rank,node\n0,n0\n0,n1\n");
  expect_refused("rank 0 stands twice");
}

TEST_F(TraceFilesTest, SaysWhichFileIsMissing) {
  fs::remove(root_ / "nodes.csv");
  expect_refused((root_ / "nodes.csv").string() + ": cannot be read");
}

}  // namespace
}  // namespace tangram::bench
