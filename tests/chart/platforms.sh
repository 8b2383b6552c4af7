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

check_platforms() {
  check_host_network
  check_low_port
}
