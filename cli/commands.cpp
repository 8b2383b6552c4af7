#include "cli/commands.hpp"

#include "base/json.hpp"
#include "base/one_line.hpp"
#include "cli/cluster.hpp"
#include "cli/cluster_settings.hpp"
#include "cli/completion/completion.hpp"
#include "cli/cordon.hpp"
#include "cli/defrag/run.hpp"
#include "cli/doctor/doctor.hpp"
#include "cli/document.hpp"
#include "cli/explain.hpp"
#include "cli/format.hpp"
#include "cli/manifests.hpp"
#include "cli/pages.hpp"
#include "cli/pods.hpp"
#include "cli/reset.hpp"
#include "cli/top.hpp"
#include "cli/whatif.hpp"
#include "drawing/cluster_view.hpp"

#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace tangram::cli {

namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

/// Adds the sentence, if there is one.
std::string with_note(std::string text, const std::string& sentence, const Screen& screen) {
  if (sentence.empty()) return text;
  text += paint(screen.style, kDim, in_lines(screen, one_line("note: " + sentence))) + "\n";
  return text;
}

/// Adds that grants count which the extender may not count, if they do.
std::string with_unchecked(std::string text, const ClusterSettings& settings,
                           const Screen& screen) {
  if (settings.unchecked.empty()) return text;
  return with_note(std::move(text), "signatures of grants were not checked: " + settings.unchecked,
                   screen);
}

/// Adds what is assumed of the extender, for commands that do as it does.
std::string with_assumptions(std::string text, const ClusterSettings& settings,
                             const Screen& screen) {
  return with_unchecked(with_note(std::move(text), settings.assumed, screen), settings, screen);
}

/// @param progress  nothing = it was not waited for
Result<CommandResult> resize_result(Output output, const std::string& pod,
                                    const std::string& requested,
                                    const std::optional<ResizeProgress>& progress) {
  // Infeasible is an answer; a resize that is still under way is none.
  int exit = kDone;
  if (progress && progress->state == cluster::ResizeState::kInfeasible) exit = kNo;
  if (progress && progress->state && exit == kDone) exit = kFailed;
  if (!for_programs(output)) {
    return CommandResult{one_line(progress ? outcome_text(pod, *progress) : requested) + "\n",
                         exit};
  }
  std::string json;
  json::Writer out(json);
  out.begin_object().member("pod", pod).member("done", requested);
  if (progress) out.member("state", state_name(*progress)).member("reason", progress->reason);
  out.end_object();
  return document(output, std::move(json), exit);
}

/// Why pods are taken to get their slots from the webhook; "" if that is known.
std::string assumed_of(const FoundWebhook& found) {
  if (found.webhook != Webhook::kUnknown) return "";
  return "the webhook is assumed to give pods their slots: " + found.problem;
}

}  // namespace

Commands::Commands(Options options, const Screen& screen, Environment environment,
                   const Clock& clock)
    : options_(std::move(options)),
      screen_(screen),
      environment_(std::move(environment)),
      clock_(clock) {}

Commands::~Commands() = default;

Result<CommandResult> Commands::run() {
  static const std::map<std::string_view, Result<CommandResult> (Commands::*)()> kCommands{
      {"top", &Commands::top},
      {"pods", &Commands::pods},
      {"explain", &Commands::explain},
      {"fit", &Commands::fit},
      {"whatif", &Commands::whatif},
      {"defrag", &Commands::defrag},
      {"fill", &Commands::fill},
      {"autoscaler", &Commands::autoscaler},
      {"resize", &Commands::resize},
      {"cordon-card", &Commands::cordon},
      {"drain-card", &Commands::cordon},
      {"uncordon-card", &Commands::cordon},
      {"reset-card", &Commands::reset},
      {"doctor", &Commands::doctor},
      {"completion", &Commands::completion}};
  return (this->*kCommands.at(options_.command))();
}

Result<CommandResult> Commands::completion() {
  return CommandResult{std::string(completion_script(options_.shell))};
}

Result<kube::KubeApi*> Commands::api() {
  if (!connection_) {
    auto connection = connect(options_.target, environment_, clock_);
    if (!connection) return connection.error();
    connection_ = std::move(*connection);
  }
  return connection_->api.get();
}

Result<std::string> Commands::namespace_of_pods() {
  if (!options_.ns.empty()) return options_.ns;
  if (auto connected = api(); !connected) return connected.error();
  return connection_->ns;
}

Result<std::optional<ExtenderAt>> Commands::running_extender() {
  if (options_.extender.url.empty()) return std::optional<ExtenderAt>();
  if (options_.extender.url == kByProxy) {
    const auto server = api();
    if (!server) return server.error();
    return std::optional<ExtenderAt>({**server, service_proxy(options_.system_namespace)});
  }
  if (!extender_) {
    auto connected = connect(options_.extender, clock_);
    if (!connected) return connected.error();
    extender_ = std::move(*connected);
  }
  return std::optional<ExtenderAt>({*extender_, ""});
}

Result<std::unique_ptr<Cluster>> Commands::cluster(ClusterSettings& settings) {
  const auto server = api();
  if (!server) return server.error();
  settings = read_cluster_settings(**server, options_.system_namespace);
  return Cluster::read(**server, settings, clock_);
}

Result<CommandResult> Commands::top() {
  const auto extender = running_extender();
  if (!extender) return extender.error();
  ClusterSettings settings;
  Result<std::string> text = "";
  if (*extender) {
    text = cluster_page(**extender);
  } else {
    const auto read = cluster(settings);
    if (!read) return read.error();
    text = cluster_page(**read);
  }
  if (!text) return text.error();
  if (for_programs(options_.output)) return document(options_.output, std::move(*text));
  auto view = drawing::read_cluster_view(std::move(*text));
  if (!view) return view.error();
  if (const auto unknown = keep_nodes(*view, options_.nodes); !unknown.empty()) {
    return fail(Errc::kNotFound,
                "there is no node " + joined(unknown) + "; see `kubectl get nodes`");
  }
  std::string drawn = options_.output == Output::kWide
                          ? draw_top_wide(screen_, *view)
                          : draw_top(screen_, *view, options_.nodes.empty() ? kMostDrawn : kAll);
  return CommandResult{with_unchecked(std::move(drawn), settings, screen_)};
}

Result<CommandResult> Commands::pods() {
  ClusterSettings settings;
  const auto read = cluster(settings);
  if (!read) return read.error();
  const auto ns = options_.all_namespaces ? Result<std::string>("") : namespace_of_pods();
  if (!ns) return ns.error();
  auto lines = pod_lines(**read, *ns);
  const auto extender = running_extender();
  if (!extender) return extender.error();
  if (*extender) {
    const auto asked =
        ask_about_resizes(lines, [&](const std::string& of_ns, const std::string& name) {
          return explain_page(**extender, of_ns, name);
        });
    if (!asked) return asked.error();
  }
  if (for_programs(options_.output)) return document(options_.output, pods_json(lines));
  if (lines.empty()) {
    const std::string where = ns->empty() ? "any namespace" : "namespace " + *ns;
    return CommandResult{"no pod of " + where + " requests a GPU" +
                         (ns->empty() ? "" : "; all: -A") + "\n"};
  }
  std::string drawn =
      draw_pods(screen_, lines,
                {.namespaces = options_.all_namespaces, .wide = options_.output == Output::kWide});
  return CommandResult{with_unchecked(std::move(drawn), settings, screen_)};
}

Result<Commands::PodAt> Commands::named_pod() {
  const std::string& name = options_.pod;
  if (const std::size_t slash = name.find('/'); slash != std::string::npos) {
    return PodAt{name.substr(0, slash), name.substr(slash + 1)};
  }
  auto ns = namespace_of_pods();
  if (!ns) return ns.error();
  return PodAt{std::move(*ns), name};
}

Result<std::string> Commands::explain_text(const PodAt& pod, ClusterSettings& settings) {
  const auto extender = running_extender();
  if (!extender) return extender.error();
  if (*extender) return explain_page(**extender, pod.ns, pod.name);
  const auto read = cluster(settings);
  if (!read) return read.error();
  return explain_page(**read, pod.ns, pod.name);
}

Result<CommandResult> Commands::explain() {
  const auto pod = named_pod();
  if (!pod) return pod.error();
  ClusterSettings settings;
  auto text = explain_text(*pod, settings);
  if (!text && text.error().code == Errc::kNotFound) {
    return fail(Errc::kNotFound,
                text.error().message + "; `kubectl tangram pods -A` lists pods with GPUs");
  }
  if (!text) return text.error();
  if (for_programs(options_.output)) return document(options_.output, std::move(*text));
  const auto view = read_explain_view(std::move(*text));
  if (!view) return view.error();
  std::string drawn = draw_explain(screen_, *view, options_.output == Output::kWide);
  if (view->bound()) return CommandResult{with_unchecked(std::move(drawn), settings, screen_)};
  return CommandResult{with_assumptions(std::move(drawn), settings, screen_)};
}

Result<CommandResult> Commands::fit() {
  ClusterSettings settings;
  const auto read = cluster(settings);
  if (!read) return read.error();
  const auto answer = compute_fit(**read, options_.fit);
  if (!answer) return answer.error();
  const int exit = answer->fits() ? kDone : kNo;
  if (for_programs(options_.output)) return document(options_.output, fit_json(*answer), exit);
  std::string text = draw_fit(screen_, *answer, options_.output == Output::kWide);
  return CommandResult{with_assumptions(std::move(text), settings, screen_), exit};
}

Result<CommandResult> Commands::whatif() {
  const auto text = read_manifest_file(options_.file);
  if (!text) return text.error();
  const auto ns = namespace_of_pods();
  if (!ns) return ns.error();
  const auto manifests = read_manifests(*text, *ns);
  if (!manifests)
    return fail(manifests.error().code, options_.file + ": " + manifests.error().message);
  ClusterSettings settings;
  const auto read = cluster(settings);
  if (!read) return read.error();
  const auto server = api();
  if (!server) return server.error();
  const FoundWebhook found = find_webhook(**server, options_.system_namespace);
  const bool preempts = !settings.config || settings.config->card_preemption.enabled;
  const PreemptionFacts facts = preempts ? read_preemption_facts(**server) : PreemptionFacts();
  const bool facts_known = preempts && facts.problem.empty();
  const auto pods = what_if(**read, *manifests, found.webhook, facts_known ? &facts : nullptr);
  const int exit = all_placed(pods) ? kDone : kNo;
  if (for_programs(options_.output)) return document(options_.output, whatif_json(pods), exit);
  std::string drawn = draw_whatif(screen_, pods, options_.output == Output::kWide);
  if (!manifests->skipped.empty()) {
    drawn += "skipped, because they create no pods: " + one_line(joined(manifests->skipped)) + "\n";
  }
  drawn = with_note(std::move(drawn), assumed_of(found), screen_);
  if (!facts.problem.empty()) {
    drawn = with_note(std::move(drawn), "preemption is not shown: " + facts.problem, screen_);
  }
  return CommandResult{with_assumptions(std::move(drawn), settings, screen_), exit};
}

Result<CommandResult> Commands::defrag() {
  const auto server = api();
  if (!server) return server.error();
  const ClusterSettings settings = read_cluster_settings(**server, options_.system_namespace);
  const auto read = read_defrag_cluster(**server, settings, clock_);
  if (!read) return read.error();
  const Defrag plan = plan_defrag(*read, options_.most_moves);
  if (options_.run_moves && !plan.moves.empty()) return run_moves(**server, plan);
  const int exit = plan.helpless() ? kNo : kDone;
  if (for_programs(options_.output)) return document(options_.output, defrag_json(plan), exit);
  std::string drawn = draw_defrag(screen_, plan, options_.output == Output::kWide);
  drawn += "; nothing was changed\n";
  return CommandResult{with_assumptions(std::move(drawn), settings, screen_), exit};
}

Result<CommandResult> Commands::run_moves(kube::KubeApi& api, const Defrag& plan) {
  const MovesPlace place{.api = api, .ns = options_.system_namespace};
  const auto request =
      move_request_of(plan, clock_.wall(), std::chrono::seconds(options_.moves_timeout_s));
  if (auto done = request_moves(place, request, clock_.wall()); !done) return done.error();
  // What happens is shown while it does; the output is what came of it.
  const bool wide = options_.output == Output::kWide;
  std::cerr << without_controls(draw_defrag(screen_, plan, wide), screen_.style.colour) << "\n\n"
            << "requested; the extender moves one pod after the other\n"
            << std::flush;
  const auto outcome = await_moves(place, request,
                                   {.clock = clock_,
                                    .sleep = sleep_until_stopped,
                                    .report = [&](const cluster::MoveProgress& progress) {
                                      std::cerr << progress_text(request, progress) << std::endl;
                                    }});
  if (!outcome) return outcome.error();
  const int exit = outcome->state == cluster::MoveState::kDone ? kDone : kNo;
  if (for_programs(options_.output)) {
    return document(options_.output, defrag_json(plan, *outcome), exit);
  }
  return CommandResult{draw_outcome(screen_, request, *outcome), exit};
}

Result<CommandResult> Commands::cordon() {
  const auto server = api();
  if (!server) return server.error();
  const std::string flags = flags_of(options_.target);
  const auto write = [&] {
    if (options_.command == "uncordon-card") return uncordon_card(**server, options_.card, flags);
    const auto place = options_.command == "drain-card" ? drain_card : cordon_card;
    return place(**server, options_.card, options_.reason, flags);
  };
  auto done = write();
  if (!done) return done.error();
  if (!for_programs(options_.output)) return CommandResult{one_line(*done) + "\n"};
  std::string json;
  json::Writer(json)
      .begin_object()
      .member("card", options_.card)
      .member("done", *done)
      .end_object();
  return document(options_.output, std::move(json));
}

std::optional<ResizeProgress> Commands::explained_resize(const PodAt& pod) {
  ClusterSettings settings;
  auto text = explain_text(pod, settings);
  if (!text) return std::nullopt;
  const auto view = read_explain_view(std::move(*text));
  if (!view) return std::nullopt;
  for (const cluster::ResizeState state : cluster::kAllResizeStates) {
    if (view->resize_state == to_string(state)) return ResizeProgress{state, view->resize_reason};
  }
  return std::nullopt;
}

Result<CommandResult> Commands::resize() {
  const auto pod = named_pod();
  if (!pod) return pod.error();
  const auto server = api();
  if (!server) return server.error();
  const ClusterSettings settings = read_cluster_settings(**server, options_.system_namespace);
  const model::RequestRules& rules = settings.policy.requests;
  ResizeOrder order = options_.resize;
  order.ns = pod->ns;
  order.pod = pod->name;
  const auto requested = request_resize(**server, order, rules);
  if (!requested) return requested.error();
  if (!options_.wait)
    return resize_result(options_.output, pod->ns + "/" + pod->name, *requested, std::nullopt);
  std::cerr << one_line(*requested) << std::endl;
  const auto progress =
      await_resize([&] { return read_resize_progress(**server, pod->ns, pod->name, rules); },
                   [&] { return explained_resize(*pod); },
                   {std::chrono::seconds(options_.timeout_s), clock_, sleep_until_stopped});
  if (!progress) return progress.error();
  return resize_result(options_.output, pod->ns + "/" + pod->name, *requested, *progress);
}

Result<CommandResult> Commands::reset() {
  const auto server = api();
  if (!server) return server.error();
  const auto order = prepare_reset(
      **server, options_.card, options_.with_linked ? LinkedCards::kAreReset : LinkedCards::kStay);
  if (!order) return order.error();
  ClusterSettings settings;
  const auto progress = await_reset(
      [&]() -> Result<ResetProgress> {
        const auto read = cluster(settings);
        if (!read) return read.error();
        return read_reset_progress(**read, *order);
      },
      {std::chrono::seconds(options_.wait ? options_.timeout_s : 0), clock_, sleep_until_stopped});
  if (!progress) return progress.error();
  const int exit = progress->ready() ? kDone : kNo;
  const ResetPlace place{options_.target, options_.system_namespace};
  if (for_programs(options_.output)) {
    return document(options_.output, reset_json(*order, *progress, place), exit);
  }
  return CommandResult{draw_reset(screen_, *order, *progress, place), exit};
}

Result<CommandResult> Commands::doctor() {
  const auto server = api();
  if (!server) return server.error();
  const Report report = examine({**server, connection_->server, options_.system_namespace, clock_});
  const int exit = passed(report) ? kDone : kNo;
  if (for_programs(options_.output)) return document(options_.output, report_json(report), exit);
  return CommandResult{draw_report(screen_, report), exit};
}

}  // namespace tangram::cli
