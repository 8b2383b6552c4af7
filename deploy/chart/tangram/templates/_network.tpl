{{/* What the network policies need to know of the cluster, as YAML. lookup finds nothing with helm template.
  rendered   whether there are policies
  closed     whether they also restrict the ports that the API server and the cluster's kube-scheduler call
  addresses  the control plane's, as CIDRs
  ports      the API server's behind its Service; none = egress is not restricted
  cilium     whether a policy of Cilium names the nodes: its ipBlocks never match them
  watched    whether Prometheus' namespace exists; true if unknown */}}
{{- define "tangram.network" -}}
{{- $policy := .Values.networkPolicy -}}
{{- $enabled := toString $policy.enabled -}}
{{- $addresses := list -}}
{{- $ports := $policy.apiServerPorts -}}
{{- $watched := true -}}
{{- if ne $enabled "false" -}}
  {{- range (lookup "discovery.k8s.io/v1" "EndpointSlice" "default" "").items -}}
    {{- if eq (dig "metadata" "labels" "kubernetes.io/service-name" "" .) "kubernetes" -}}
      {{- range .endpoints }}{{ range .addresses }}
        {{- $addresses = append $addresses (printf "%s/%s" . (ternary "128" "32" (contains ":" .))) -}}
      {{- end }}{{ end -}}
      {{- range .ports }}{{ with .port }}{{ $ports = append $ports (int .) }}{{ end }}{{ end -}}
    {{- end -}}
  {{- end -}}
  {{- with (lookup "v1" "Namespace" "" "").items -}}
    {{- $watched = false -}}
    {{- range $namespace := . -}}
      {{- $matches := true -}}
      {{- range $label, $value := $policy.monitoringNamespace -}}
        {{- $matches = and $matches (eq (dig "metadata" "labels" $label "" $namespace) $value) -}}
      {{- end -}}
      {{- $watched = or $watched $matches -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $cilium := .Capabilities.APIVersions.Has "cilium.io/v2/CiliumNetworkPolicy" -}}
{{- $addresses = $policy.controlPlane | default $addresses | uniq -}}
{{- $known := or $cilium (not (empty $addresses)) -}}
{{- toYaml (dict
  "rendered" (or (eq $enabled "true") (and (eq $enabled "auto") $known))
  "closed" (eq $enabled "true")
  "addresses" $addresses
  "ports" ($ports | uniq)
  "cilium" $cilium
  "watched" (or $watched (eq $enabled "true"))) -}}
{{- end -}}

{{/* The rule that lets Prometheus read metrics. Called with (dict "root" $ "network" NETWORK). */}}
{{- define "tangram.network.metrics" -}}
{{- if .network.watched -}}
- from:
  - namespaceSelector:
      # the namespace of Prometheus
      matchLabels:
        {{- toYaml .root.Values.networkPolicy.monitoringNamespace | nindent 8 }}
  ports:
  - {port: metrics}
{{- else -}}
# No namespace had the labels of networkPolicy.monitoringNamespace, so every client may read metrics.
- ports:
  - {port: metrics}
{{- end -}}
{{- end -}}

{{/* The rules of outgoing connections. Called with the same. */}}
{{- define "tangram.network.egress" -}}
# The API server, at any address, since those of control planes change. Port 443 is its Service's.
- ports:
  {{- range prepend .network.ports 443 | uniq }}
  - {port: {{ int . }}}
  {{- end }}
# DNS; 5353 is the port of OpenShift's pods.
- ports:
  - {port: 53, protocol: UDP}
  - {port: 53}
  - {port: 5353, protocol: UDP}
  - {port: 5353}
{{- end -}}
