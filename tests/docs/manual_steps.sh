# shellcheck shell=bash
# Steps that the documentation describes without commands; sourced by run_blocks.py on a cluster.

source scripts/lib.sh
TANGRAM_E2E_DIR=$(dirname "$KUBECONFIG")
source tests/e2e/programs.sh
source tests/e2e/certificates.sh
source tests/e2e/cluster.sh

# deploy/scheduler/README.md, "Install": files for kube-scheduler, and its arguments.
give_scheduler_its_configuration() {
  mkdir -p /etc/kubernetes/tangram
  cp deploy/scheduler/scheduler-config.yaml /etc/kubernetes/
  cp certificates/{ca.crt,scheduler.crt,scheduler.key} /etc/kubernetes/tangram/
  cp "$state/kube-scheduler.kubeconfig" /etc/kubernetes/scheduler.conf
  stop kube-scheduler
  start kube-scheduler "$(program kube-scheduler)" --secure-port 0 --config=/etc/kubernetes/scheduler-config.yaml
}

# docs/install.md, "On a cluster": once a replica leads, the pods that waited are bound, in any order. Those of
# waiting_pods.yaml must find no room.
await_leader() {
  local tries leader=
  for ((tries = 0; tries < 120; tries++)); do
    leader=$(kubectl --namespace tangram-system get pods -l tangram.dev/role=leader --output name)
    [ -z "$leader" ] || break
    sleep 0.5
  done
  [ -n "$leader" ] || { echo "no replica leads after a minute" >&2 && return 1; }
  kubectl delete -f tests/docs/waiting_pods.yaml
  kubectl --namespace ml rollout status deployment render --timeout 60s
  kubectl create -f tests/docs/waiting_pods.yaml
}
