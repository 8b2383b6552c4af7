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
