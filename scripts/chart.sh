# shellcheck shell=bash
# The chart and helm; sourced, after lib.sh, by make-manifests and check-chart.

source tests/e2e/programs.sh

chart=deploy/chart/tangram

# A rendering must not depend on the helm that is there: one of a release knows a version of its own.
chart_kube_version=1.36.0

# find_helm: into $helm; compiles it where nobody names one.
find_helm() {
  if [ -z "${HELM:-}" ]; then
    build_programs helm >&2
    HELM=$(program helm)
  fi
  helm=$HELM
}

# chart_template ARGUMENT...: helm template of the chart, as for a new release.
chart_template() {
  "$helm" template tangram "$chart" --namespace tangram-system --kube-version "$chart_kube_version" "$@"
}
