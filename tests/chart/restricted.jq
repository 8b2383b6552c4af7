# The controls of the Pod Security Standard "restricted", baseline included, that a pod's spec violates, one a line:
# https://kubernetes.io/docs/concepts/security/pod-security-standards/

def all_containers: .containers[]?, .initContainers[]?, .ephemeralContainers[]?;

# The security contexts of a pod and of its containers.
def contexts: .securityContext // {}, (all_containers | .securityContext // {});

# A field that each container has, or else the pod.
def each_has(field; test): (.securityContext // {} | field) as $of_pod
  | [all_containers | .securityContext // {} | (field // $of_pod) | test] | all;

def handlers: .livenessProbe, .readinessProbe, .startupProbe, .lifecycle.postStart, .lifecycle.preStop | values;

def allowed_sysctls: ["kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes"];

def allowed_volumes: ["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected",
  "secret"];

def violated:
  (if any(contexts; .windowsOptions.hostProcess == true) then "HostProcess" else empty end),
  (if .hostNetwork or .hostPID or .hostIPC then "Host Namespaces" else empty end),
  (if any(contexts; .privileged == true) then "Privileged Containers" else empty end),
  (if all(all_containers; (.securityContext.capabilities.drop // []) | index("ALL"))
    and all(all_containers; (.securityContext.capabilities.add // []) - ["NET_BIND_SERVICE"] == [])
    then empty else "Capabilities" end),
  (if any(.volumes[]?; keys - ["name"] - allowed_volumes != []) then "Volume Types" else empty end),
  (if any(all_containers | .ports[]?; (.hostPort // 0) != 0) then "Host Ports" else empty end),
  (if any(all_containers | handlers | .httpGet, .tcpSocket | values; (.host // "") != "")
    then "Host Probes / Lifecycle Hooks" else empty end),
  (if any(contexts; .appArmorProfile.type == "Unconfined") then "AppArmor" else empty end),
  (if any(contexts | .seLinuxOptions // {}; (.user // "") != "" or (.role // "") != "" or ((.type // "")
    | IN("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t") | not))
    then "SELinux" else empty end),
  (if any(contexts; (.procMount // "Default") != "Default") then "/proc Mount Type" else empty end),
  (if each_has(.seccompProfile.type; IN("RuntimeDefault", "Localhost")) then empty else "Seccomp" end),
  (if [.securityContext.sysctls[]?.name] - allowed_sysctls == [] then empty else "Sysctls" end),
  (if all(all_containers; .securityContext.allowPrivilegeEscalation == false) then empty else "Privilege Escalation" end),
  (if each_has(.runAsNonRoot; . == true) then empty else "Running as Non-root" end),
  (if any(contexts; .runAsUser == 0) then "Running as Non-root user" else empty end);

violated
