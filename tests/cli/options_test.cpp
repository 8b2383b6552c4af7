#include "cli/options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tangram::cli {
namespace {

Options parsed(const std::vector<std::string>& arguments) {
  const Parsed parsed = parse_options(arguments);
  EXPECT_EQ(parsed.exit, -1) << parsed.message;
  return parsed.options;
}

std::string refused(const std::vector<std::string>& arguments) {
  const Parsed parsed = parse_options(arguments);
  EXPECT_EQ(parsed.exit, kBadUsage);
  return parsed.message;
}

TEST(OptionsTest, TakesOptionsOfAllCommandsBeforeAndBehind) {
  for (const auto& arguments :
       {std::vector<std::string>{"-n", "ml", "-o", "json", "pods"},
        std::vector<std::string>{"pods", "-n", "ml", "-o", "json"},
        std::vector<std::string>{"pods", "--namespace=ml", "--output=json"}}) {
    const Options options = parsed(arguments);
    EXPECT_EQ(options.command, "pods");
    EXPECT_EQ(options.ns, "ml");
    EXPECT_EQ(options.output, Output::kJson);
  }
}

TEST(OptionsTest, HasDefaults) {
  const Options options = parsed({"top"});
  EXPECT_EQ(options.command, "top");
  EXPECT_EQ(options.output, Output::kText);
  EXPECT_EQ(options.system_namespace, "tangram-system");
  EXPECT_FALSE(options.watch);
  EXPECT_TRUE(options.extender.url.empty());
}

TEST(OptionsTest, TakesWhatEachCommandWants) {
  EXPECT_EQ(parsed({"top", "n1", "n2"}).nodes, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(parsed({"explain", "ml/p"}).pod, "ml/p");
  EXPECT_EQ(parsed({"whatif", "-f", "pods.yaml"}).file, "pods.yaml");
  EXPECT_EQ(parsed({"cordon-card", "GPU-1", "--reason", "a fan"}).reason, "a fan");
  EXPECT_EQ(parsed({"uncordon-card", "GPU-1"}).card, "GPU-1");
  EXPECT_EQ(parsed({"completion", "zsh"}).shell, "zsh");
  EXPECT_EQ(parsed({"doctor", "--system-namespace", "gpu"}).system_namespace, "gpu");
  EXPECT_EQ(parsed({"top", "--watch", "-A"}).all_namespaces, true);
}

TEST(OptionsTest, FitTakesTheAnnotationsWords) {
  const Options options = parsed({"fit", "--gpu-mem", "8Gi", "--gpu-model", "A100*,!T4",
                                  "--gpu-isolation", "none", "--cpu", "500m", "--count", "4"});
  EXPECT_EQ(options.fit.annotations,
            (std::map<std::string, std::string>{
                {"gpu-isolation", "none"}, {"gpu-mem", "8Gi"}, {"gpu-model", "A100*,!T4"}}));
  EXPECT_EQ(options.fit.cpu, "500m");
  EXPECT_EQ(options.fit.count, 4U);
}

TEST(OptionsTest, ReadsAResize) {
  const Options options =
      parse_options({"resize", "ml/p", "--gpu-mem", "12Gi", "--gpu-mem-limit", "none",
                     "--container", "main", "--wait", "--timeout", "5m"})
          .options;
  EXPECT_EQ(options.pod, "ml/p");
  EXPECT_EQ(options.resize.amounts,
            (model::Annotations{{"gpu-mem", "12Gi"}, {"gpu-mem-limit", "none"}}));
  EXPECT_EQ(options.resize.container, "main");
  EXPECT_TRUE(options.wait);
  EXPECT_EQ(options.timeout_s, 300);
}

TEST(OptionsTest, ReadsARunOfMoves) {
  const Options options =
      parse_options({"defrag", "--max-moves", "3", "--run", "--timeout", "1h"}).options;
  EXPECT_EQ(options.most_moves, 3U);
  EXPECT_TRUE(options.run_moves);
  EXPECT_EQ(options.moves_timeout_s, 3'600);
  EXPECT_FALSE(parse_options({"defrag"}).options.run_moves);
}

TEST(OptionsTest, SaysWhatIsWrong) {
  EXPECT_NE(refused({}).find("subcommand"), std::string::npos);
  EXPECT_NE(refused({"explain"}).find("POD"), std::string::npos);
  EXPECT_NE(refused({"top", "-o", "xml"}).find("xml"), std::string::npos);
  EXPECT_NE(refused({"fit", "--gpu-policy", "best"}).find("least-waste"), std::string::npos);
  EXPECT_NE(refused({"fit", "--count", "0"}).find("count"), std::string::npos);
  EXPECT_NE(refused({"completion", "tcsh"}).find("tcsh"), std::string::npos);
  EXPECT_NE(refused({"pods", "-A", "-n", "ml"}).find("contradict"), std::string::npos);
  EXPECT_NE(refused({"whatif", "-f", "-", "-w"}).find("standard input"), std::string::npos);
  EXPECT_NE(refused({"defrag", "--run", "-w"}).find("leave it out"), std::string::npos);
  EXPECT_NE(refused({"defrag", "--timeout", "5m"}).find("--run"), std::string::npos);
  EXPECT_NE(refused({"defrag", "--run", "--timeout", "2h"}).find("timeout"), std::string::npos);
  EXPECT_NE(refused({"cordon-card", "GPU-1", "-w"}).find("leave it out"), std::string::npos);
  EXPECT_NE(refused({"fill", "-f", "a.yaml", "-o", "json"}).find("fill prints YAML"),
            std::string::npos);
  EXPECT_NE(refused({"resize", "p"}).find("needs an amount"), std::string::npos);
  EXPECT_NE(refused({"resize", "p", "--gpu-mem", "8Gi", "-w"}).find("leave it out"),
            std::string::npos);
  EXPECT_NE(refused({"resize", "p", "--gpu-mem", "8Gi", "--timeout", "5m"}).find("--wait"),
            std::string::npos);
  EXPECT_NE(
      refused({"resize", "p", "--gpu-mem", "8Gi", "--wait", "--timeout", "5x"}).find("timeout"),
      std::string::npos);
  EXPECT_NE(refused({"resize", "p", "--gpu-mem", "8Gi", "--wait", "--dry-run"}).find("exclude"),
            std::string::npos);
  EXPECT_NE(refused({"top", "--nonsense"}).find("--nonsense"), std::string::npos);
}

TEST(OptionsTest, HelpFollowsItsOwnAdvice) {
  const std::string autoscaler = parse_options({"autoscaler", "--help"}).message;
  EXPECT_NE(autoscaler.find("--memory 81559Mi"), std::string::npos) << autoscaler;
  EXPECT_EQ(autoscaler.find("81920"), std::string::npos) << "more than such a card has";
  const std::string fill = parse_options({"fill", "--help"}).message;
  for (const char* kind : {"Pod", "ReplicationController", "LeaderWorkerSet"}) {
    EXPECT_NE(fill.find(kind), std::string::npos) << fill;
  }
  EXPECT_FALSE(parse_options({"reset-card", "GPU-1"}).options.with_linked);
  EXPECT_TRUE(parse_options({"reset-card", "GPU-1", "--with-linked"}).options.with_linked);
}

TEST(OptionsTest, HelpTeachesWithExamples) {
  const Parsed help = parse_options({"--help"});
  EXPECT_EQ(help.exit, kDone);
  EXPECT_NE(help.message.find("kubectl tangram explain train-0 -n ml"), std::string::npos);
  for (const char* command :
       {"top", "pods", "explain", "fit", "whatif", "resize", "cordon-card", "uncordon-card",
        "doctor", "completion", "defrag", "fill", "autoscaler", "reset-card"}) {
    EXPECT_NE(help.message.find(command), std::string::npos) << command;
    const Parsed own = parse_options({command, "--help"});
    EXPECT_EQ(own.exit, kDone) << command;
    EXPECT_NE(own.message.find("Examples:\n  "), std::string::npos) << command;
  }
  EXPECT_EQ(parse_options({"--version"}).message.rfind("kubectl-tangram ", 0), 0U);
}

}  // namespace
}  // namespace tangram::cli
