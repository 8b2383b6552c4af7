# shellcheck shell=bash
# The chart on a real API server; sourced by scripts/check-chart. The control plane is that of the
# end-to-end tests, with nodes without a machine, so the chart's pods never start. Their programs run here
# instead, with the chart's configurations, certificates and identities.

export TANGRAM_E2E_DIR=${TANGRAM_E2E_DIR:-$repo_root/build/check-chart}
source tests/e2e/certificates.sh
source tests/e2e/cluster.sh

namespace=tangram-system

helm_on_cluster() { "$helm" --kubeconfig "$state/admin.kubeconfig" --namespace "$namespace" "$@"; }
kubectl_here() { kubectl_admin --namespace "$namespace" "$@"; }

# --- every rendering -----------------------------------------------------------------------------

# Objects of the Prometheus operator, cert-manager and OpenShift need CRDs that this cluster does not have.
operator_kinds='monitoring.coreos.com/|cert-manager.io/|security.openshift.io/'

check_dry_run() { # SET
  yq -y --arg kinds "^($operator_kinds)" 'select(. != null and (.apiVersion | test($kinds) | not))' \
    "$work/$1.yaml" | sed 's/CA_BUNDLE/Cg==/' >"$work/dry.yaml"
  kubectl_admin apply --dry-run=server --filename "$work/dry.yaml" >"$work/dry.log" 2>&1 || {
    cat "$work/dry.log" >&2
    die "the API server rejects the objects of $1"
  }
  check_pod_security "$1"
}

# The API server's own Pod Security admission warns about the pods of agents and MPS daemons, and about no others.
check_pod_security() { # SET
  local found
  grep -q 'would violate PodSecurity .*container "agent"' "$work/dry.log" ||
    die "the API server does not compare pods with the Pod Security Standard restricted"
  found=$(grep 'would violate PodSecurity' "$work/dry.log" | sed -e '/container "agent"/d' -e '/container "launcher"/d')
  [ "$1" != host-network ] || found=$(sed '/: host namespaces (hostNetwork=true)$/d' <<<"$found")
  [ -z "$found" ] || die "pods of $1 violate the Pod Security Standard restricted: $found"
}

# check_notes SET WORDS...: the notes that helm prints after an installation contain these words.
check_notes() {
  local values words
  values=$(values_of "$1")
  # shellcheck disable=SC2086 # words
  helm_on_cluster install tangram "$chart" $values --dry-run=server | sed '1,/^NOTES:/d' >"$work/$1.notes"
  for words in "${@:2}"; do
    grep -q -F -e "$words" "$work/$1.notes" || die "the notes of $1 do not contain \"$words\""
  done
}

check_all_notes() {
  check_notes default 'A separate kube-scheduler, tangram-scheduler, places GPU pods' \
    'kubectl label node NODE tangram.dev/agent=true' 'Helm created certificates' 'Grants are not signed'
  check_notes own-scheduler 'get configmap tangram-kube-scheduler' 'urlPrefix: https://10.96.0.42:9898'
  check_notes policies-only 'pods must set schedulerName: tangram themselves' 'tangram.dev/gpu-slot: 1'
  check_notes signed 'half a card'
}

# --- network policies ----------------------------------------------------------------------------

# The objects that helm would install by default, as $work/looked-up.yaml, and its notes.
look_up() {
  helm_on_cluster install tangram "$chart" --dry-run=server >"$work/looked-up.log"
  sed -e '1,/^MANIFEST:/d' -e '/^NOTES:/,$d' "$work/looked-up.log" >"$work/looked-up.yaml"
}

# Helm reads the API server's addresses and Prometheus' namespace from the cluster. The API server here publishes
# none, because it listens on loopback.
check_looked_up_policies() {
  look_up
  ! grep -q '^kind: NetworkPolicy' "$work/looked-up.yaml" || die "there are policies without the API server's addresses"
  grep -q 'There are no network policies' "$work/looked-up.log" || die "the notes do not say that there are no policies"
  kubectl_admin --namespace default create --filename - >/dev/null <<END
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: kubernetes, labels: {kubernetes.io/service-name: kubernetes}}
addressType: IPv4
endpoints: [{addresses: [192.0.2.7]}, {addresses: [192.0.2.8]}]
ports: [{name: https, port: 16443}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: other, labels: {kubernetes.io/service-name: other}}
addressType: IPv4
endpoints: [{addresses: [192.0.2.9]}]
ports: [{name: https, port: 80}]
END
  look_up
  check_allowed looked-up tangram-extender ingress \
    "everyone: webhook, 192.0.2.7/32 192.0.2.8/32 $proxies: metrics, tangram-scheduler: https, everyone: metrics"
  check_allowed looked-up tangram-node ingress "everyone: metrics"
  check_allowed looked-up tangram-extender egress "everyone: 443 16443, everyone: 53 53 5353 5353"
  grep -q 'Every client can read metrics' "$work/looked-up.log" || die "the notes do not say that metrics are open"
  kubectl_admin create namespace monitoring >/dev/null
  look_up
  check_allowed looked-up tangram-extender ingress \
    "everyone: webhook, 192.0.2.7/32 192.0.2.8/32 $proxies: metrics, tangram-scheduler: https, monitoring: metrics"
  check_allowed looked-up tangram-node ingress "monitoring: metrics"
  grep -q 'kubectl run test .*--dry-run=server' "$work/looked-up.log" || die "the notes do not say how to test"
}

# --- an installation -----------------------------------------------------------------------------

# Without the webhook: the API server here reaches no Services. The dry run covers its registration.
install_values=(--values deploy/chart/examples/policies-only.yaml --values deploy/chart/examples/kind.yaml
  --set agent.settings.metrics-authentication=token)

secret_file() { # SECRET KEY FILE
  kubectl_here get secret "$1" --output json | jq -r --arg key "$2" '.data[$key]' | base64 -d >"$3"
}

fetch_certificates() {
  fetch_secret tangram-tls "$work/server"
  fetch_secret tangram-scheduler-tls "$work/scheduler"
}

fetch_secret() { # SECRET FOLDER
  local file
  mkdir -p "$2"
  for file in ca.crt tls.crt tls.key; do secret_file "$1" "$file" "$2/$file"; done
}

check_certificates() {
  local service
  for service in tangram-extender tangram-webhook; do
    openssl verify -CAfile "$work/server/ca.crt" -verify_hostname "$service.$namespace.svc" \
      "$work/server/tls.crt" >/dev/null
  done
  openssl verify -CAfile "$work/server/ca.crt" -purpose sslclient "$work/scheduler/tls.crt" >/dev/null
}

# account ACCOUNT ARGUMENT...: writes $state/ACCOUNT.kubeconfig with a token of that service account.
account() {
  kubectl_here create token "$@" --duration 1h >"$state/$1.token"
  write_kubeconfig "$1" "tokenFile: $state/$1.token"
}

pod_of() { # NAME of a workload of the chart
  kubectl_here get pods --selector "app.kubernetes.io/name=$1" --output jsonpath='{.items[0].metadata.name}'
}

# The leader labels its own pod, so this process uses the name of one of the chart's pods.
run_extender() {
  local pod
  pod=$(pod_of tangram-extender)
  account tangram-extender --bound-object-kind Pod --bound-object-name "$pod"
  kubectl_here get configmap tangram-extender --output json | jq -r '.data["tangram.yaml"]' >"$work/extender.yaml"
  extender_port=$(free_port)
  metrics_port=$(free_port)
  POD_NAME=$pod POD_NAMESPACE=$namespace start tangram-extender "$extender" --config "$work/extender.yaml" \
    --set kube.source=kubeconfig --set "kube.kubeconfig=$state/tangram-extender.kubeconfig" \
    --set "server.listen=127.0.0.1:$extender_port" --set "metrics.listen=127.0.0.1:$metrics_port" \
    --set "tls.certificate=$work/server/tls.crt" --set "tls.key=$work/server/tls.key" \
    --set "tls.client_ca=$work/server/ca.crt"
  wait_for tangram-extender curl --fail --silent "http://127.0.0.1:$metrics_port/readyz"
  wait_for tangram-extender leader_is "$pod"
}

leader_is() { [ "$(kubectl_here get pods --selector tangram.dev/role=leader --output name)" = "pod/$1" ]; }

# The chart's second scheduler, with its own rights.
run_scheduler() {
  account tangram-scheduler
  kubectl_here get configmap tangram-scheduler --output json | jq -r '.data["scheduler-config.yaml"]' |
    sed -e "s#urlPrefix:.*#urlPrefix: https://127.0.0.1:$extender_port#" \
      -e "s#/etc/tangram-scheduler-tls#$work/scheduler#" \
      -e "s#^leaderElection:#clientConnection: {kubeconfig: $state/tangram-scheduler.kubeconfig}\nleaderElection:#" \
      >"$work/scheduler-config.yaml"
  start kube-scheduler "$(program kube-scheduler)" --secure-port 0 --v=2 --config "$work/scheduler-config.yaml" \
    --authentication-kubeconfig "$state/tangram-scheduler.kubeconfig" \
    --authorization-kubeconfig "$state/tangram-scheduler.kubeconfig"
}

bind_a_pod() {
  kubectl_admin --namespace default apply --filename deploy/scheduler/example-pod.yaml >/dev/null
  wait_for kube-scheduler granted
  if grep -E 'is forbidden|Failed to watch|Unauthorized' "$state/logs/kube-scheduler.log" >&2; then
    die "the second scheduler lacks a right"
  fi
}

granted() {
  kubectl_admin --namespace default get pod half --output json |
    jq --exit-status '.spec.nodeName and .metadata.annotations["tangram.dev/gpu-grant"]'
}

# The agent with its flags and rights publishes the trial's cards. There is no kubelet to register with.
run_agent() {
  local flags
  # With amounts, as kubelet writes them. Otherwise the API server sets allocatable itself, and the agent's
  # policy rejects that as a change by the agent.
  kubectl_admin create --filename - >/dev/null <<END
{apiVersion: v1, kind: Node, metadata: {name: trial}, status: {capacity: {cpu: 4}, allocatable: {cpu: 4}}}
END
  account tangram-node --bound-object-kind Node --bound-object-name trial
  kubectl_here get configmap tangram-node-cards --output json | jq -r '.data["cards.json"]' >"$work/cards.json"
  agent_port=$(free_port)
  mapfile -t flags < <(kubectl_here get daemonset tangram-node --output json |
    jq -r --arg cards "--cards=file:$work/cards.json" --arg listen "--listen=127.0.0.1:$agent_port" --arg work "$work" '
      .spec.template.spec.containers[0].args[]
      | if startswith("--listen=") then $listen elif startswith("--cards=") then $cards
        else sub("=/etc/tangram-node-tls/"; "=\($work)/agent-tls/") end')
  mkdir -p "$work"/node/{plugins,kubelet,cdi,state,run}
  start tangram-node "$agent" "${flags[@]}" --node-name trial --kubeconfig "$state/tangram-node.kubeconfig" \
    --plugin-dir "$work/node/plugins" --kubelet-dir "$work/node/kubelet" --cdi-dir "$work/node/cdi" \
    --state-dir "$work/node/state" --run-dir "$work/node/run" --device-ids-by cdi-devices
  wait_for tangram-node trial_cards_published
}

trial_cards_published() {
  kubectl_admin get node trial --output json |
    jq --exit-status '.metadata.annotations["tangram.dev/cards"] | fromjson | .cards | map(.id)
      == ["GPU-trial-0", "GPU-trial-1"]' &&
    [ "$(kubectl_admin get node trial --output jsonpath='{.status.capacity.tangram\.dev/gpu-milli}')" = 2k ]
}

# The status of the agent's metrics for a token.
metrics_with() { # TOKEN
  local name=tangram-node.$namespace.svc
  curl --silent --output "$work/metrics.txt" --write-out '%{http_code}' --cacert "$work/agent-tls/ca.crt" \
    --resolve "$name:$agent_port:127.0.0.1" --header "Authorization: Bearer $1" "https://$name:$agent_port/metrics"
}

metrics_are_readable() { [ "$(metrics_with "$1")" = 200 ] && grep -q '^tangram_node_slots ' "$work/metrics.txt"; }

# The API server reviews tokens for the agent, by the chart's rights.
check_agent_metrics() {
  local token answer
  kubectl_here create serviceaccount scraper >/dev/null
  token=$(kubectl_here create token scraper)
  answer="$(metrics_with "") $(metrics_with unknown) $(metrics_with "$token")"
  [ "$answer" = "401 401 403" ] || die "the agent's metrics answer $answer to no, an unknown and an unprivileged token"
  kubectl_admin create clusterrolebinding scraper --clusterrole tangram-metrics-reader \
    --serviceaccount "$namespace:scraper" >/dev/null
  wait_for tangram-node metrics_are_readable "$token"
  kubectl_admin delete clusterrolebinding scraper >/dev/null
  kubectl_here delete serviceaccount scraper >/dev/null
}

# No kubelet runs the job that makes the signing key, so this does the same with the job's rights.
make_key_as_the_job() {
  chart_template --values deploy/chart/examples/signed.yaml --show-only templates/signing/generate.yaml |
    kubectl_here apply --filename - >/dev/null
  account tangram-grant-key
  "$extender" grant-key --out "$work/key" >/dev/null
  local as_job=("$(program kubectl)" --kubeconfig "$state/tangram-grant-key.kubeconfig" --namespace "$namespace")
  wait_for kube-apiserver refuses_other_secrets
  "${as_job[@]}" create configmap tangram-grant-keys --from-file=first.pub="$work/key/grant.pub" >/dev/null
  "${as_job[@]}" create secret generic tangram-grant-key --from-file=grant.key="$work/key/grant.key" >/dev/null
  if "${as_job[@]}" get secret tangram-tls >/dev/null 2>&1; then die "the job can read Secrets"; fi
  kubectl_here delete job,role,rolebinding,serviceaccount tangram-grant-key >/dev/null
  kubectl_admin delete validatingadmissionpolicy,validatingadmissionpolicybinding tangram-grant-key >/dev/null
}

# A Secret of another name, and one that would be a token of the extender.
refuses_other_secrets() {
  local only="the job may create only the signing key and its public key" refusal
  refusal=$("${as_job[@]}" create secret generic other --dry-run=server 2>&1) && return 1
  [[ $refusal == *"$only"* ]] || return 1
  refusal=$("${as_job[@]}" create --dry-run=server --filename - 2>&1 <<END
{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: tangram-grant-key,
  annotations: {kubernetes.io/service-account.name: tangram-extender}}}
END
  ) && return 1
  [[ $refusal == *"$only"* ]]
}

# --- renewals ------------------------------------------------------------------------------------

# run_job KIND NAME ACCOUNT ARGUMENT...: no kubelet runs the jobs of tls.source rotate, so this runs the command with
# the job's rights.
run_job() {
  local flags
  mapfile -t flags < <(job_flags "$1" "$2")
  "$extender" "${flags[@]}" "${@:4}" --kubeconfig "$state/$3.kubeconfig" 2>&1
}

as_certificates() { # ACCOUNT ARGUMENT...
  "$(program kubectl)" --kubeconfig "$state/$1.kubeconfig" --namespace "$namespace" "${@:2}" 2>&1
}

# A Secret of another name, and one that would be a token of the extender.
refuses_other_certificates() {
  local only="the job may create only the Secrets of Tangram's certificates" refusal
  refusal=$(as_certificates tangram-certificates-first create secret generic other --dry-run=server) && return 1
  [[ $refusal == *"$only"* ]] || return 1
  refusal=$(as_certificates tangram-certificates-first create --dry-run=server --filename - <<END
{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: tangram-tls,
  annotations: {kubernetes.io/service-account.name: tangram-extender}}}
END
  ) && return 1
  [[ $refusal == *"$only"* ]]
}

# refuses_change PATCH WORDS: the renewal's account may not change the second scheduler in that way.
refuses_change() {
  local refusal
  refusal=$(as_certificates tangram-certificates patch deployment tangram-scheduler --type merge --patch "$1" \
    --dry-run=server) && return 1
  [[ $refusal == *"$2"* ]]
}

refuses_other_changes() {
  refuses_change '{"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "registry.example/other"}]}}}}' \
    "may change only annotations of the pods" &&
    refuses_change '{"spec": {"template": {"metadata": {"labels": {"example.com/a": "b"}}}}}' \
      "may change only annotations of the pods" &&
    refuses_change '{"spec": {"template": {"metadata": {"annotations": {"example.com/a": "b"}}}}}' \
      "may change only the annotation tangram.dev/authority" &&
    refuses_change '{"spec": {"replicas": 3}}' "may change only the pods of the Deployment" &&
    refuses_change '{"metadata": {"labels": {"example.com/a": "b"}}}' "may change only the pods of the Deployment"
}

# Every caBundle in the cluster, one a line, each once; an empty line for a webhook without one.
bundles() {
  kubectl_admin get mutatingwebhookconfigurations,validatingwebhookconfigurations --output json |
    jq -r '.items[].webhooks[].clientConfig.caBundle // ""' | sort -u
}

# The API server trusts the server's certificate in every webhook configuration.
check_bundles() {
  fetch_certificates
  check_certificates
  [ "$(bundles | wc -l)" = 1 ] || die "webhook configurations have different authorities: $(bundles)"
  bundles | base64 -d >"$work/bundle.crt"
  openssl verify -CAfile "$work/bundle.crt" "$work/server/tls.crt" >/dev/null
}

written_by_renewals() {
  bundles
  kubectl_here get deployment tangram-scheduler --output json |
    jq --exit-status -r '.spec.template.metadata.annotations["tangram.dev/authority"]' ||
    die "the renewal did not restart the second scheduler"
  kubectl_here get secrets tangram-tls tangram-scheduler-tls --output json | jq -r '.items[].metadata.resourceVersion'
}

# demand_job WORDS KIND NAME ACCOUNT ARGUMENT...: the job succeeds and says these words.
demand_job() {
  local said
  said=$(run_job "${@:2}") && [[ $said == *"$1"* ]] || die "$3 does not say \"$1\": $said"
}

# tls.source rotate: both accounts have the rights that their runs need, and an upgrade keeps what a run wrote.
check_rotation_on_cluster() {
  local values=(--set tls.source=rotate --set extender.config.foreign.nvidia=true --values deploy/chart/examples/kind.yaml)
  chart_template "${values[@]}" >"$work/rotation.yaml"
  chart_template "${values[@]}" --show-only templates/tls/rotate-first.yaml | kubectl_here apply --filename - >/dev/null
  account tangram-certificates-first
  wait_for kube-apiserver refuses_other_certificates
  demand_job "created tangram-tls" Job tangram-certificates-first tangram-certificates-first
  kubectl_here delete job,role,rolebinding,serviceaccount tangram-certificates-first >/dev/null
  kubectl_admin delete validatingadmissionpolicy,validatingadmissionpolicybinding tangram-certificates-first >/dev/null

  helm_on_cluster install tangram "$chart" "${values[@]}" --no-hooks >/dev/null
  check_restart_without_webhook
  # Its pods would never be available here, and the job waits for them.
  kubectl_here scale deployment tangram-scheduler --replicas 0 >/dev/null
  account tangram-certificates
  wait_for kube-apiserver refuses_other_changes
  demand_job "the certificate is valid until" Job tangram-certificates-upgraded tangram-certificates
  check_bundles
  local before upgraded
  before=$(cat "$work/server/tls.crt")
  # Shorter than what is there, so it is due.
  sed -i 's/--days=30/--days=20/' "$work/rotation.yaml"
  demand_job "renewed, valid until" CronJob tangram-certificates tangram-certificates --settle 0
  check_bundles
  [ "$(cat "$work/server/tls.crt")" != "$before" ] || die "the renewal kept the certificate"
  before=$(written_by_renewals)
  helm_on_cluster upgrade tangram "$chart" "${values[@]}" --set extender.config.log.level=debug --no-hooks >/dev/null
  upgraded=$(written_by_renewals)
  [ "$upgraded" = "$before" ] || die "an upgrade changed what the renewal wrote, $before, to $upgraded"
  helm_on_cluster uninstall tangram --no-hooks --wait >/dev/null
  kubectl_here delete secret tangram-tls tangram-scheduler-tls >/dev/null
  local left
  left=$(release_objects)
  [ -z "$left" ] || die "the uninstallation with tls.source rotate left: $left"
  echo "check-chart: the jobs of tls.source rotate renewed the certificates, each with its own rights"
}

# --- without the webhook -------------------------------------------------------------------------

refuses_plain_pods() {
  local refusal
  refusal=$(kubectl_admin --namespace default run plain --image registry.example/i --dry-run=server 2>&1) && return 1
  [[ $refusal == *"failed calling webhook"* ]]
}

# The API server here reaches no Services, so the webhook is down. Namespaces with the label admit no pods then, but
# Tangram's own is exempt: its pods are made anew.
check_restart_without_webhook() {
  kubectl_admin label namespace "$namespace" default tangram.dev/admission=enabled >/dev/null
  wait_for kube-apiserver refuses_plain_pods
  local before
  before=$(pod_of tangram-extender)
  kubectl_here delete pods --all --force --grace-period 0 >/dev/null 2>&1
  wait_for kube-controller-manager pod_of tangram-extender
  [ "$(pod_of tangram-extender)" != "$before" ] || die "the pods of the extender were not deleted"
  kubectl_admin label namespace "$namespace" default tangram.dev/admission- >/dev/null
  echo "check-chart: without the webhook, Tangram's own pods are made anew"
}

# -------------------------------------------------------------------------------------------------

release_objects() {
  local kinds
  kinds=$(kubectl_admin api-resources --verbs=list --output name |
    grep -v -x -e 'events.*' -e componentstatuses -e endpoints | paste -sd ,)
  kubectl_admin get "$kinds" --all-namespaces --ignore-not-found --output name \
    --selector app.kubernetes.io/part-of=tangram
}

check_on_cluster() {
  build_programs "${control_plane[@]}"
  clear_state
  trap 'stop_cluster; rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM
  start_control_plane "$fake_node_controllers"
  make_nodes 2
  kubectl_admin create namespace "$namespace" >/dev/null
  kubectl_admin label namespace "$namespace" pod-security.kubernetes.io/warn=restricted >/dev/null
  local set
  for set in "${sets[@]}"; do check_dry_run "$set"; done
  kubectl_admin label namespace "$namespace" pod-security.kubernetes.io/warn- >/dev/null
  check_all_notes
  check_looked_up_policies
  echo "check-chart: the API server accepts every object of ${#sets[@]} sets of values"

  helm_on_cluster install tangram "$chart" "${install_values[@]}" >"$work/notes.txt"
  kubectl_here get networkpolicies tangram-extender tangram-node >/dev/null || die "there are no network policies"
  fetch_certificates
  fetch_secret tangram-node-tls "$work/agent-tls"
  check_certificates
  run_extender
  run_scheduler
  bind_a_pod
  run_agent
  check_agent_metrics
  echo "check-chart: installed; the second scheduler bound a pod, and the agent published its cards and its metrics"

  make_key_as_the_job
  # A missing certificate is made again, under the same authority.
  kubectl_here delete secret tangram-tls >/dev/null
  cp "$work/server/ca.crt" "$work/authority.crt"
  cp "$work/server/tls.crt" "$work/former.crt"
  helm_on_cluster upgrade tangram "$chart" "${install_values[@]}" >/dev/null
  fetch_certificates
  check_certificates
  cmp --silent "$work/authority.crt" "$work/server/ca.crt" || die "a missing certificate changed the authority"
  if cmp --silent "$work/former.crt" "$work/server/tls.crt"; then die "the upgrade restored the deleted certificate"; fi
  # With a signing key, no job is needed, and certificates stay the same.
  local before
  before=$(cat "$work"/{server,scheduler,agent-tls}/* | sha256sum)
  helm_on_cluster upgrade tangram "$chart" "${install_values[@]}" --values deploy/chart/examples/signed.yaml >/dev/null
  fetch_certificates
  fetch_secret tangram-node-tls "$work/agent-tls"
  [ "$(cat "$work"/{server,scheduler,agent-tls}/* | sha256sum)" = "$before" ] || die "an upgrade changed certificates"
  kubectl_here get configmap tangram-extender --output json |
    jq --exit-status '.data["tangram.yaml"] | contains("required: true")' >/dev/null ||
    die "the upgrade did not change the configuration"
  helm_on_cluster uninstall tangram --wait >/dev/null
  local left
  left=$(release_objects)
  [ -z "$left" ] || die "the uninstallation left: $left"
  kubectl_here get secret tangram-grant-key >/dev/null || die "the uninstallation removed the signing key"
  echo "check-chart: upgraded with the same certificates, and uninstalled without leftovers"
  check_rotation_on_cluster
}
