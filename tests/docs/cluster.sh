# shellcheck shell=bash
# A control plane for commands of the documentation; sourced by environment.sh. It has the nodes of deploy/demo,
# pods (objects.yaml, waiting_pods.yaml), and a stand-in for kubelet (kubelet.py). Addresses of pods and Services are
# addresses of this machine, so that the API server reaches the webhook, and kube-scheduler the extender.

# Not exported, because those commands may start a cluster of their own.
export -n TANGRAM_E2E_DIR=$scratch/layers/cluster
source scripts/chart.sh
source tests/e2e/certificates.sh
source tests/e2e/cluster.sh

# The address of every pod, and of the extender's Service in deploy/scheduler.
readonly addresses=(10.244.0.1 10.96.0.42)

# A kubectl whose port-forward only pretends, because kubelet.py has no streams: the extender's ports are on
# loopback anyway.
write_kubectl() { # FOLDER
  cat >"$1/kubectl" <<END
#!/usr/bin/env bash
case " \$* " in
  *" port-forward "*)
    "$(program kubectl)" "\${@/port-forward/get}" >/dev/null 2>&1 ||
      "$(program kubectl)" --namespace tangram-system get service tangram-extender >/dev/null || exit 1
    touch "\${FORWARDED:?}"
    exec sleep infinity
    ;;
esac
exec "$(program kubectl)" "\$@"
END
  chmod +x "$1/kubectl"
}

make_demo_nodes() {
  yq -y 'select(.kind == "Node")' deploy/demo/cluster.yaml | kubectl_admin create -f - >/dev/null
  kubectl_admin taint nodes --all node.kubernetes.io/not-ready:NoSchedule- >/dev/null
}

# kube-scheduler with the default configuration.
start_default_scheduler() {
  start kube-scheduler "$(program kube-scheduler)" --kubeconfig "$state/kube-scheduler.kubeconfig" \
    --leader-elect=false --secure-port 0
}

start_cluster() { # FOLDER of programs
  local address folder=$1
  for address in "${addresses[@]}"; do ip address add "$address/32" dev lo; done
  echo "${addresses[1]} tangram-extender.tangram-system.svc" >>/etc/hosts
  find_helm
  ln -s "$helm" "$folder/helm"
  ln -s "$(program kube-scheduler)" "$folder/kube-scheduler"
  write_kubectl "$folder"
  # The API server calls webhooks at the endpoints of their Services, which are addresses of this machine.
  apiserver_flags=(--enable-aggregator-routing)
  start_control_plane "$fake_node_controllers" >/dev/null
  export KUBECONFIG=$state/admin.kubeconfig
  make_demo_nodes
  kubectl_admin create -f tests/docs/objects.yaml -f tests/docs/waiting_pods.yaml >/dev/null
  start_default_scheduler
  mkdir -p "$folder/images"
  ln -s "$repo_root/build/release/bin/tangram-extender" "$(program kube-scheduler)" "$folder/images"
  start kubelet python3 "$repo_root/tests/docs/kubelet.py" "$state" "$folder/images"
}
