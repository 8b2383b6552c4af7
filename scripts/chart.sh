# shellcheck shell=bash
# The chart and helm; sourced, after lib.sh, by generate/manifests and check-chart.

source tests/e2e/programs.sh

chart=deploy/chart/tangram

# Fixed, because each release of helm has a default of its own and a rendering must not depend on it.
chart_kube_version=1.36.0

# find_helm: sets $helm, from HELM or by compiling it.
find_helm() {
  if [ -z "${HELM:-}" ]; then
    build_programs helm >&2
    HELM=$(program helm)
  fi
  helm=$HELM
}

# chart_template ARGUMENT...: renders the chart as for a new release.
chart_template() {
  "$helm" template tangram "$chart" --namespace tangram-system --kube-version "$chart_kube_version" "$@"
}
