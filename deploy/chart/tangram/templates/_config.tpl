{{/* The extender's configuration as YAML: the chart's settings, overridden by extender.config. */}}
{{- define "tangram.extender.config" -}}
{{- $signing := include "tangram.signing" . | int -}}
{{- $made := dict
  "kube" (dict "source" "in-cluster")
  "server" (dict "listen" "0.0.0.0:9898")
  "tls" (dict
    "certificate" "/etc/tangram-tls/tls.crt"
    "key" "/etc/tangram-tls/tls.key"
    "client_ca" "/etc/tangram-tls/ca.crt"
    "client_names" "system:kube-scheduler")
  "metrics" (dict "listen" "0.0.0.0:9090")
  "admission" (dict "aggregates" .Values.aggregates)
-}}
{{- if .Values.webhook.enabled -}}
  {{- $_ := set $made "webhook" (dict "listen" "0.0.0.0:9443") -}}
  {{- with .Values.webhook.clientCA -}}
    {{- $_ := set $made.webhook "client_ca" (printf "/etc/tangram-tls/%s" .) -}}
    {{- $_ := set $made.webhook "client_names" $.Values.webhook.clientNames -}}
  {{- end -}}
{{- end -}}
{{- if ne .Release.Namespace "tangram-system" -}}
  {{- $_ := set $made.admission "extender_user" (include "tangram.extender.user" .) -}}
{{- end -}}
{{- $profile := include "tangram.scheduler.profile" . -}}
{{- if and $profile (ne $profile "default-scheduler") -}}
  {{- $_ := set $made.admission "scheduler_name" $profile -}}
{{- end -}}
{{- if $signing -}}
  {{- $_ := set $made "grants" (dict
    "signing_key" "/etc/tangram-grant-key/grant.key"
    "public_keys" "/etc/tangram-grant-keys"
    "required" (eq $signing 3)) -}}
{{- end -}}
{{- toYaml (mergeOverwrite $made (deepCopy .Values.extender.config)) -}}
{{- end -}}

{{/* The extender's lowest port, if root alone may listen there by default; else nothing. */}}
{{- define "tangram.low-port" -}}
{{- $lowest := 1024 -}}
{{- $config := include "tangram.extender.config" . | fromYaml -}}
{{- range $listener := list "server" "webhook" "metrics" -}}
  {{- $listen := dig $listener "listen" "" $config -}}
  {{- if $listen }}{{ $lowest = min $lowest (include "tangram.port" $listen | int) }}{{ end -}}
{{- end -}}
{{- if lt (int $lowest) 1024 }}{{ $lowest }}{{ end -}}
{{- end -}}

{{/* "true" if the extender's metrics need a token, and are served over TLS. */}}
{{- define "tangram.metrics.secured" -}}
{{- eq (dig "metrics" "authentication" "none" .Values.extender.config) "token" | ternary "true" "" -}}
{{- end -}}

{{/* The same of the agents' metrics. */}}
{{- define "tangram.agent.secured" -}}
{{- eq (dig "metrics-authentication" "none" .Values.agent.settings) "token" | and .Values.agent.enabled | ternary "true" "" -}}
{{- end -}}

{{/* "true" if MPS daemons run in the pods of tangram-mps: not with a launcher of the user's own. */}}
{{- define "tangram.mps" -}}
{{- and .Values.agent.enabled .Values.agent.mps (not (hasKey .Values.agent.settings "mps-launcher")) | ternary "true" "" -}}
{{- end -}}

{{/* The ConfigMap with sharing configurations; "" = none. */}}
{{- define "tangram.sharing" -}}
{{- if .Values.agent.sharing.configs -}}
tangram-node-sharing
{{- else -}}
{{- .Values.agent.sharing.configMap -}}
{{- end -}}
{{- end -}}

{{/* The agent's flags as a JSON list. agent.settings overrides the chart's flags. */}}
{{- define "tangram.agent.args" -}}
{{- $signing := include "tangram.signing" . | int -}}
{{- $flags := dict "listen" "0.0.0.0:9899" -}}
{{- if include "tangram.mps" . -}}
  {{- $_ := set $flags "mps-launcher" "tangram-launcher run --" -}}
{{- end -}}
{{- if not .Values.aggregates -}}
  {{- $_ := set $flags "aggregates" false -}}
{{- end -}}
{{- $_ := set $flags "runtime-socket" (default "none" .Values.agent.runtimeSocket) -}}
{{- if ne .Values.agent.stateFolder "/var/lib/tangram" -}}
  {{- $_ := set $flags "state-dir" .Values.agent.stateFolder -}}
{{- end -}}
{{- if .Values.agent.cards -}}
  {{- $_ := set $flags "cards" "file:/etc/tangram-cards/cards.json" -}}
{{- end -}}
{{- if .Values.agent.pools -}}
  {{- $_ := set $flags "pool-settings" "/etc/tangram-pools" -}}
{{- end -}}
{{- if include "tangram.sharing" . -}}
  {{- $_ := set $flags "sharing-configs" "/etc/tangram-sharing" -}}
  {{- with .Values.agent.sharing.default -}}
    {{- $_ := set $flags "sharing-default" . -}}
  {{- end -}}
{{- end -}}
{{- if ge $signing 1 -}}
  {{- $_ := set $flags "grant-keys" "/etc/tangram-grant-keys" -}}
{{- end -}}
{{- if ge $signing 2 -}}
  {{- $_ := set $flags "require-signed-grants" true -}}
{{- end -}}
{{- if include "tangram.agent.secured" . -}}
  {{- $_ := set $flags "metrics-tls-cert" "/etc/tangram-node-tls/tls.crt" -}}
  {{- $_ := set $flags "metrics-tls-key" "/etc/tangram-node-tls/tls.key" -}}
{{- end -}}
{{- $args := list -}}
{{- range $flag, $value := mergeOverwrite $flags (deepCopy .Values.agent.settings) -}}
  {{- if kindIs "bool" $value -}}
    {{- $args = append $args (printf "--%s=%t" $flag $value) -}}
  {{- else if kindIs "float64" $value -}}
    {{- $args = append $args (printf "--%s=%d" $flag (int $value)) -}}
  {{- else -}}
    {{- $args = append $args (printf "--%s=%v" $flag $value) -}}
  {{- end -}}
{{- end -}}
{{- toJson $args -}}
{{- end -}}

{{/* Rejects contradictory values, and says what to write. */}}
{{- define "tangram.check" -}}
{{- $config := include "tangram.extender.config" . | fromYaml -}}
{{- if ne (get $config.admission "aggregates") .Values.aggregates -}}
  {{- fail "extender.config.admission.aggregates: the agents need the same value, or no node fits; set the value aggregates instead, which sets both" -}}
{{- end -}}
{{- if ne (dig "aggregates" .Values.aggregates .Values.agent.settings) .Values.aggregates -}}
  {{- fail "agent.settings.aggregates: the extender needs the same value, or no node fits; set the value aggregates instead, which sets both" -}}
{{- end -}}
{{- if and (eq .Values.scheduler.mode "own") (not .Values.extender.service.clusterIP) -}}
  {{- fail "extender.service.clusterIP: kube-scheduler on the host network cannot resolve cluster names, so the Service needs a fixed address; write a free one of the cluster's service range, such as 10.96.0.42 if the range is 10.96.0.0/12" -}}
{{- end -}}
{{- if and .Values.webhook.hostNetwork (include "tangram.low-port" .) -}}
  {{- fail "webhook.hostNetwork: the extender is not root and cannot use the machine's ports below 1024; choose other ports in extender.config.server.listen, webhook.listen and metrics.listen" -}}
{{- end -}}
{{- if and (eq .Values.scheduler.mode "second") (eq .Values.scheduler.name "default-scheduler") -}}
  {{- fail "scheduler.name: default-scheduler is the cluster's own scheduler; choose another name, such as tangram" -}}
{{- end -}}
{{- if and .Values.webhook.clientNames (not .Values.webhook.clientCA) -}}
  {{- fail "webhook.clientNames: without webhook.clientCA, names of clients cannot be verified; write the key of the CA in tls.secret there, such as webhook-ca.crt" -}}
{{- end -}}
{{- if and (or (include "tangram.metrics.secured" .) (include "tangram.agent.secured" .)) .Values.monitoring.podMonitors (not .Values.monitoring.tokenSecret) -}}
  {{- fail "monitoring.tokenSecret: with extender.config.metrics.authentication or agent.settings.metrics-authentication token, Prometheus needs a token; write the name of a Secret with the key token, docs/monitoring.md" -}}
{{- end -}}
{{- if and (eq .Values.tls.source "rotate") (ne .Values.scheduler.mode "second") -}}
  {{- fail "tls.source: rotate replaces the authority, which kube-scheduler reads only at start, and can restart only this chart's own; with scheduler.mode own or none, set tls.source to generate, cert-manager or secret" -}}
{{- end -}}
{{- if and (eq .Values.tls.source "rotate") .Values.webhook.caBundle -}}
  {{- fail "webhook.caBundle: with tls.source rotate, a job writes it; omit it" -}}
{{- end -}}
{{- if and (eq .Values.tls.source "rotate") (eq .Values.webhook.clientCA "ca.crt") -}}
  {{- fail "webhook.clientCA: with tls.source rotate, nobody has the key of the CA in ca.crt, so no API server can get a certificate from it; add the CA of yours to tls.secret as webhook-ca.crt and write that, docs/tls.md" -}}
{{- end -}}
{{- if and .Values.signing.generate (eq .Values.signing.level "none") -}}
  {{- fail "signing.generate: with signing.level none, the key would not be used; set signing.level to sign, agents or all" -}}
{{- end -}}
{{- $network := include "tangram.network" . | fromYaml -}}
{{- if and $network.closed (not .Values.networkPolicy.controlPlane) (not $network.cilium) -}}
  {{- fail "networkPolicy.controlPlane: without the addresses of its machines, the API server cannot reach the webhook; write them as CIDRs; kubectl get nodes -o wide shows the addresses" -}}
{{- end -}}
{{- end -}}
