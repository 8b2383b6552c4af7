# shellcheck shell=bash
# What the chart renders for clusters with rules of their own; sourced by scripts/check-chart.

# --- the webhook on the host's network -----------------------------------------------------------

extender_pod() { # SET FILTER
  field "$1" Deployment tangram-extender ".spec.template.spec | $2"
}

# The extender's ports become the machine's, an upgrade needs no free machine, and no policy pretends to restrict it.
check_host_network() {
  local config=extender.config ports='[.containers[0].ports[].containerPort] | join(" ")'
  chart_template --set webhook.hostNetwork=true,$config.server.listen=0.0.0.0:19898 \
    --set $config.webhook.listen=0.0.0.0:19443,$config.metrics.listen=0.0.0.0:19090 \
    --set 'networkPolicy.controlPlane={192.0.2.7/32}' >"$work/host-network.yaml"
  check_extender_config host-network
  [ "$(extender_pod host-network '"\(.hostNetwork) \(.dnsPolicy)"')" = "true ClusterFirstWithHostNet" ] ||
    die "webhook.hostNetwork has no effect"
  [ "$(extender_pod host-network "$ports")" = "19898 19443 19090" ] || die "the extender's ports cannot be changed"
  [ "$(field host-network Deployment tangram-extender '.spec.strategy.rollingUpdate | "\(.maxSurge) \(.maxUnavailable)"')" \
    = "0 1" ] || die "on the host's network, an upgrade waits for a machine that may not exist"
  [ "$(yq -r 'select(.kind == "NetworkPolicy").metadata.name' "$work/host-network.yaml" | xargs)" \
    = "tangram-node tangram-mps" ] || die "a policy selects the extender on the host's network"
  grep -q "urlPrefix: https://tangram-extender.tangram-system.svc:19898" "$work/host-network.yaml" ||
    die "the second scheduler calls another port than the extender's"
  [ "$(extender_pod default '"\(.hostNetwork) \(.dnsPolicy) \(.securityContext.sysctls)"')" = "null null null" ] ||
    die "the extender uses the host's network without need"
}

# Port 443, which firewalls of private clusters let through, needs no root in a pod's network.
check_low_port() {
  chart_template --set extender.config.webhook.listen=0.0.0.0:443 >"$work/low-port.yaml"
  check_extender_config low-port
  [ "$(extender_pod low-port '.securityContext.sysctls[] | "\(.name)=\(.value)"')" \
    = net.ipv4.ip_unprivileged_port_start=443 ] || die "the extender may not listen on port 443"
  rejects "cannot use the machine's ports below 1024" --set webhook.hostNetwork=true \
    --set extender.config.webhook.listen=0.0.0.0:443
}

# --- Pod Security --------------------------------------------------------------------------------

# pods SET KINDS: "NAME<tab>SPEC" of each workload of these kinds, such as Deployment|Job.
pods() {
  yq -c --arg kinds "^($2)$" 'select(. != null and (.kind | test($kinds))) | [.metadata.name,
    ((.spec.jobTemplate.spec // .spec).template.spec)]' "$work/$1.yaml" | jq -r '"\(.[0])\t\(.[1] | tojson)"'
}

violations() { jq -r -f tests/chart/restricted.jq; }

# check_violations SPEC CHANGE WANTED: after a change of the pod it violates exactly this control.
check_violations() {
  local found
  found=$(jq -c "$2" <<<"$1" | violations | paste -sd ',')
  [ "$found" = "$3" ] || die "a pod with $2 violates \"$found\", wanted \"$3\": tests/chart/restricted.jq is wrong"
}

# The list of controls finds a violation of each, one at a time.
check_restricted_list() {
  local spec first=.containers[0] context
  context=$first.securityContext
  spec=$(pods default Deployment | sed -n 1p | cut -f 2)
  while IFS='|' read -r change control; do
    check_violations "$spec" "$change" "$control"
  done <<END
.|
.securityContext.windowsOptions.hostProcess = true|HostProcess
.hostPID = true|Host Namespaces
.hostNetwork = true|Host Namespaces
.hostIPC = true|Host Namespaces
$context.privileged = true|Privileged Containers
$context.capabilities = {}|Capabilities
$context.capabilities.add = ["CHOWN"]|Capabilities
$context.capabilities.add = ["NET_BIND_SERVICE"]|
.volumes += [{name: "run", hostPath: {path: "/run"}}]|Volume Types
$first.ports[0].hostPort = 80|Host Ports
$first.livenessProbe.httpGet.host = "192.0.2.1"|Host Probes / Lifecycle Hooks
.securityContext.appArmorProfile.type = "Unconfined"|AppArmor
.securityContext.seLinuxOptions.type = "spc_t"|SELinux
$context.procMount = "Unmasked"|/proc Mount Type
$context.seccompProfile.type = "Unconfined"|Seccomp
del(.securityContext.seccompProfile)|Seccomp
.securityContext.sysctls = [{name: "net.core.somaxconn", value: "1"}]|Sysctls
del($context.allowPrivilegeEscalation)|Privilege Escalation
del(.securityContext.runAsNonRoot)|Running as Non-root
.initContainers = [{name: "more"}]|Capabilities,Privilege Escalation
.securityContext.runAsUser = 0|Running as Non-root user
END
}

# All pods but those of agents and MPS daemons meet "restricted", in each set, with jobs of every kind.
check_restricted_pods() {
  local set name spec found count=0
  chart_template --set tls.source=rotate,signing.generate=true,signing.level=all >"$work/all-jobs.yaml"
  chart_template --set openshift.enabled=true,tls.source=rotate,signing.generate=true,signing.level=all >"$work/openshift.yaml"
  for set in "${sets[@]}" all-jobs openshift low-port; do
    while IFS=$'\t' read -r name spec; do
      found=$(violations <<<"$spec" | paste -sd ',')
      [ "$set" != host-network ] || [ "$name" != tangram-extender ] || found=${found#Host Namespaces}
      [ "$found" = "" ] || die "the pods of $name in $set violate the Pod Security Standard restricted: $found"
      count=$((count + 1))
    done < <(pods "$set" 'Deployment|Job|CronJob')
  done
  [ "$(pods all-jobs 'Deployment|Job|CronJob' | wc -l)" = 6 ] || die "all-jobs has not all kinds of pods"
  [ "$count" -ge 20 ] || die "only $count pods were checked: this check is broken"
}

# --- OpenShift -----------------------------------------------------------------------------------

# The constraints admit what the agents' pods need, and only their accounts may use them.
check_constraints() {
  local constraints='select(.kind == "SecurityContextConstraints" and .metadata.name == "tangram-node")' name spec unmet
  yq -c "$constraints" "$work/openshift.yaml" >"$work/constraints.json"
  while IFS=$'\t' read -r name spec; do
    unmet=$(jq -r --slurpfile scc "$work/constraints.json" '$scc[0] as $scc |
      ([.volumes[] | keys[] | select(. != "name")] + ["projected"] - $scc.volumes)[],
      (if .hostPID and ($scc.allowHostPID | not) then "hostPID" else empty end),
      (if .hostNetwork or .hostIPC then "another namespace of the host" else empty end),
      (.containers[] | .securityContext
        | (if .privileged and ($scc.allowPrivilegedContainer | not) then "privileged" else empty end),
          (if $scc.readOnlyRootFilesystem and (.readOnlyRootFilesystem | not) then "a writable root" else empty end),
          (.capabilities.add[]?))' <<<"$spec")
    [ "$unmet" = "" ] || die "the constraints of $name do not admit $unmet"
    [ "$(jq -r .serviceAccountName <<<"$spec")" = "$name" ] || die "the pods of $name have no account of their own"
  done < <(pods openshift DaemonSet)
  [ "$(field openshift RoleBinding tangram-node-constraints '[.subjects[].name] | join(" ")')" \
    = "tangram-node tangram-mps" ] || die "others than agents and MPS daemons may use their constraints"
  [ "$(field openshift Role tangram-node-constraints '.rules[0] | "\(.resourceNames[]) \(.verbs[])"')" \
    = "tangram-node use" ] || die "the agents may not use their constraints, or other ones"
}

# OpenShift chooses users and groups: restricted-v2 rejects fixed ones.
check_openshift() {
  local name spec fixed
  check_constraints
  while IFS=$'\t' read -r name spec; do
    fixed=$(jq -r '.securityContext, (.containers[], .initContainers[]? | .securityContext) | values
      | keys[] | select(IN("runAsUser", "runAsGroup", "fsGroup", "supplementalGroups"))' <<<"$spec")
    [ "$fixed" = "" ] || die "on OpenShift, the pods of $name have a fixed $fixed"
  done < <(pods openshift 'Deployment|Job|CronJob')
  chart_template --api-versions security.openshift.io/v1/SecurityContextConstraints >"$work/openshift-auto.yaml"
  grep -q '^kind: SecurityContextConstraints' "$work/openshift-auto.yaml" || die "openshift.enabled auto finds no OpenShift"
  ! grep -q -e SecurityContextConstraints -e securitycontextconstraints "$work/default.yaml" ||
    die "there are objects of OpenShift without OpenShift"
  chart_template --set openshift.enabled=true,webhook.hostNetwork=true >"$work/openshift-host.yaml"
  [ "$(field openshift-host Role tangram-extender-constraints '.rules[0].resourceNames[]')" = hostnetwork-v2 ] ||
    die "on OpenShift, the extender may not use the machine's network"
}

# --- distributions -------------------------------------------------------------------------------

# Where the agent's container sees a folder of the host: "HOST:CONTAINER" of each volume.
host_folders() { # SET
  field "$1" DaemonSet tangram-node '.spec.template.spec | .containers[0].volumeMounts as $mounts | .volumes[]
    | select(.hostPath) | .name as $name | .hostPath.path + ":" + ($mounts[] | select(.name == $name).mountPath)'
}

# Each set of values for a distribution reaches the agent: its folders are those of the host, at the places that its
# flags name.
check_distributions() {
  local set folders wanted socket
  while IFS='|' read -r set wanted; do
    folders=$(host_folders "$set" | paste -sd ' ')
    for folder in $wanted; do
      [[ " $folders " == *" $folder "* ]] || die "with $set the agent does not see $folder, but: $folders"
    done
  done <<END
default|/var/run/cdi:/var/run/cdi /etc/cdi:/etc/cdi /var/lib/tangram:/var/lib/tangram /run/tangram:/run/tangram
eks|/run/containerd:/run/containerd /var/lib/kubelet/pod-resources:/var/lib/kubelet/pod-resources
eks-bottlerocket|/run/containerd:/run/containerd
gke|/run/containerd:/run/containerd /var/lib/toolbox/tangram:/var/lib/toolbox/tangram
aks|/run/containerd:/run/containerd
openshift|/run/crio:/run/crio /var/lib/kubelet/device-plugins:/var/lib/kubelet/device-plugins
k3s|/run/k3s/containerd:/run/k3s/containerd /var/lib/kubelet/pod-resources:/var/lib/kubelet/pod-resources
k0s|/run/k0s:/run/k0s /var/lib/k0s/kubelet/pod-resources:/var/lib/kubelet/pod-resources
k0s|/var/lib/kubelet/device-plugins:/var/lib/kubelet/device-plugins
microk8s|/var/snap/microk8s/common/run:/var/snap/microk8s/common/run
microk8s|/var/snap/microk8s/common/var/lib/kubelet/pod-resources:/var/lib/kubelet/pod-resources
talos|/var/cdi/dynamic:/var/run/cdi /var/cdi/static:/etc/cdi
END
  for set in "${sets[@]}"; do
    socket=$(field "$set" DaemonSet tangram-node '.spec.template.spec.containers[0].args[]' |
      sed -n 's/^--runtime-socket=//p')
    folders=$(host_folders "$set")
    grep -q -x "$(dirname "$socket"):$(dirname "$socket")" <<<"$folders" ||
      die "with $set the agent does not see the folder of $socket"
  done
  field gke DaemonSet tangram-node '.spec.template.spec.containers[0].args[]' |
    grep -q -x -e --state-dir=/var/lib/toolbox/tangram || die "the agent does not know its folder agent.stateFolder"
  chart_template --set agent.nvidiaCdiFolder= >"$work/no-nvidia-cdi.yaml"
  ! host_folders no-nvidia-cdi | grep -q /etc/cdi || die "agent.nvidiaCdiFolder \"\" has no effect"
  rejects cdiFolder --set agent.cdiFolder=
  rejects stateFolder --set agent.stateFolder=
}

# --- the second scheduler's metrics --------------------------------------------------------------

# Its monitor finds its pods, sends a token, and exists only where it does.
check_scheduler_monitor() {
  local endpoint='.spec.endpoints[0] | "\(.port) \(.scheme) \(.bearerTokenFile // .authorization.credentials.name)"'
  [ "$(field monitoring ServiceMonitor tangram-scheduler "$endpoint")" \
    = "https https /var/run/secrets/kubernetes.io/serviceaccount/token" ] || die "the second scheduler is not scraped"
  [ "$(field monitoring Service tangram-scheduler '.spec | "\(.selector[]) \(.ports[0].targetPort)"')" \
    = "tangram-scheduler https" ] || die "the Service tangram-scheduler selects no pods of the second scheduler"
  [ "$(field monitoring ClusterRole tangram-metrics-reader '.rules[0].nonResourceURLs[0]')" = /metrics ] ||
    die "no role reads the second scheduler's metrics"
  chart_template --set monitoring.podMonitors=true,monitoring.tokenSecret=scraper >"$work/scheduler-token.yaml"
  [ "$(field scheduler-token ServiceMonitor tangram-scheduler "$endpoint")" = "https https scraper" ] ||
    die "the second scheduler's monitor does not send the token of monitoring.tokenSecret"
  chart_template --set monitoring.podMonitors=true,scheduler.mode=none >"$work/no-second.yaml"
  [ "$(field no-second ServiceMonitor tangram-scheduler .spec)" = "" ] || die "there is a monitor without a second scheduler"
}

check_platforms() {
  check_scheduler_monitor
  check_distributions
  check_host_network
  check_low_port
  check_restricted_list
  check_restricted_pods
  check_openshift
}
