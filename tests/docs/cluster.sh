# shellcheck shell=bash
# A control plane for commands of the documentation; sourced by world.sh. It has the nodes of deploy/demo, pods
# that wait (given.yaml), and a kubelet that stands in (kubelet.py); addresses of pods and Services are this
# machine's, so that the API server reaches the webhook, and kube-scheduler the extender.

# Not for those commands: they may start a cluster of their own.
export -n TANGRAM_E2E_DIR=$scratch/layers/cluster
source scripts/chart.sh
source tests/e2e/certificates.sh
source tests/e2e/cluster.sh

# Of a pod, and of the extender's Service in deploy/scheduler.
readonly here=(10.244.0.1 10.96.0.42)

# What needs a kubelet's streams says that all is well: here the extender has its ports on loopback anyway.
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

# kube-scheduler as a cluster has it before anybody changes it.
start_default_scheduler() {
  start kube-scheduler "$(program kube-scheduler)" --kubeconfig "$state/kube-scheduler.kubeconfig" \
    --leader-elect=false --secure-port 0
}

start_cluster() { # FOLDER of programs
  local address folder=$1
  for address in "${here[@]}"; do ip address add "$address/32" dev lo; done
  echo "${here[1]} tangram-extender.tangram-system.svc" >>/etc/hosts
  find_helm
  ln -s "$helm" "$folder/helm"
  ln -s "$(program kube-scheduler)" "$folder/kube-scheduler"
  write_kubectl "$folder"
  # To webhooks it goes by their Services' endpoints, which are addresses of this machine.
  apiserver_flags=(--enable-aggregator-routing)
  start_control_plane "$fake_node_controllers" >/dev/null
  export KUBECONFIG=$state/admin.kubeconfig
  make_demo_nodes
  kubectl_admin create -f tests/docs/given.yaml >/dev/null
  start_default_scheduler
  mkdir -p "$folder/images"
  ln -s "$repo_root/build/release/bin/tangram-extender" "$(program kube-scheduler)" "$folder/images"
  start kubelet python3 "$repo_root/tests/docs/kubelet.py" "$state" "$folder/images"
}
