#include "tests/e2e/pod_states.hpp"

#include "tests/e2e/raw_json.hpp"

#include <algorithm>

namespace tangram::e2e {

namespace {

using rapidjson::Value;

ContainerState container_state(const Value& status) {
  ContainerState state;
  state.restarts = status["restartCount"].GetInt();
  const Value& now = status["state"];
  state.running = now.HasMember("running");
  state.started_once = state.running || now.HasMember("terminated") || state.restarts > 0;
  if (now.HasMember("waiting")) {
    state.waiting = text_of(now["waiting"], "reason");
    state.message = text_of(now["waiting"], "message");
  }
  return state;
}

PodState pod_state(const Value& pod) {
  PodState state;
  state.uid = text_of(pod["metadata"], "uid");
  state.deleting = pod["metadata"].HasMember("deletionTimestamp");
  state.node = text_of(pod["spec"], "nodeName");
  const Value& status = pod["status"];
  state.phase = text_of(status, "phase");
  state.reason = text_of(status, "reason");
  state.message = text_of(status, "message");
  for (const char* kind : {"initContainerStatuses", "containerStatuses"}) {
    const auto all = status.FindMember(kind);
    if (all == status.MemberEnd()) continue;
    for (const Value& container : all->value.GetArray()) {
      state.containers[text_of(container, "name")] = container_state(container);
    }
  }
  return state;
}

}  // namespace

bool PodState::all_running() const {
  return phase == "Running" &&
         std::ranges::all_of(containers, [](const auto& entry) { return entry.second.running; });
}

PodStates pod_states(kube::KubeApi& api) {
  PodStates states;
  const auto list = parse_json(list_all(api, "/api/v1/namespaces/default/pods"));
  for (const Value& pod : list["items"].GetArray()) {
    states[text_of(pod["metadata"], "name")] = pod_state(pod);
  }
  return states;
}

std::string describe(const PodState& pod) {
  std::string text = pod.phase + " " + pod.reason + " " + pod.message;
  for (const auto& [name, container] : pod.containers) {
    if (!container.running)
      text += "\n  " + name + ": " + container.waiting + " " + container.message;
  }
  return text;
}

std::string events_text(kube::KubeApi& api) {
  std::string text;
  const auto list = parse_json(list_all(api, "/api/v1/events"));
  for (const Value& event : list["items"].GetArray()) {
    text += text_of(event["involvedObject"], "name") + " " + text_of(event, "reason") + ": " +
            text_of(event, "message") + "\n";
  }
  return text;
}

}  // namespace tangram::e2e
