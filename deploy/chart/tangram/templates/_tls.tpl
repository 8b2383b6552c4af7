{{/* Creates certificates in .Values.tls.made, once for all templates of a rendering. Existing ones are
kept, so an upgrade changes nothing; a missing Secret is created again with the same CA. */}}
{{- define "tangram.tls.generate" -}}
{{- if not (hasKey .Values.tls "made") -}}
  {{- $namespace := .Release.Namespace -}}
  {{- $days := int .Values.tls.generate.days -}}
  {{- $kept := lookup "v1" "Secret" $namespace "tangram-ca" -}}
  {{- $ca := dict -}}
  {{- if $kept -}}
    {{- $ca = buildCustomCert (get $kept.data "tls.crt") (get $kept.data "tls.key") -}}
  {{- else -}}
    {{- $ca = genCA "tangram" $days -}}
  {{- end -}}
  {{- $names := include "tangram.tls.names" . | fromJsonArray -}}
  {{- $server := dict -}}
  {{- $client := dict -}}
  {{- $old := lookup "v1" "Secret" $namespace .Values.tls.secret -}}
  {{- if and $kept $old -}}
    {{- $server = dict "Cert" (get $old.data "tls.crt" | b64dec) "Key" (get $old.data "tls.key" | b64dec) -}}
  {{- else -}}
    {{- $server = genSignedCert "tangram-extender" (list "127.0.0.1") $names $days $ca -}}
  {{- end -}}
  {{- $old = lookup "v1" "Secret" $namespace .Values.tls.schedulerSecret -}}
  {{- if and $kept $old -}}
    {{- $client = dict "Cert" (get $old.data "tls.crt" | b64dec) "Key" (get $old.data "tls.key" | b64dec) -}}
  {{- else -}}
    {{- $client = genSignedCert "system:kube-scheduler" (list) (list) $days $ca -}}
  {{- end -}}
  {{- $agent := dict -}}
  {{- $old = lookup "v1" "Secret" $namespace .Values.tls.agentSecret -}}
  {{- if and $kept $old -}}
    {{- $agent = dict "Cert" (get $old.data "tls.crt" | b64dec) "Key" (get $old.data "tls.key" | b64dec) -}}
  {{- else if include "tangram.agent.secured" . -}}
    {{- $agent = genSignedCert "tangram-node" (list) (list (include "tangram.tls.agent" .)) $days $ca -}}
  {{- end -}}
  {{- $_ := set .Values.tls "made" (dict "ca" $ca.Cert "caKey" $ca.Key "server" $server "client" $client "agent" $agent) -}}
{{- end -}}
{{- end -}}

{{/* The agents' name. They have no Service: Prometheus expects this one whatever their addresses are. */}}
{{- define "tangram.tls.agent" -}}
tangram-node.{{ .Release.Namespace }}.svc
{{- end -}}

{{/* The server's names, from its Services. A JSON list. */}}
{{- define "tangram.tls.names" -}}
{{- $names := list -}}
{{- range $service := list "tangram-extender" "tangram-webhook" -}}
  {{- $name := printf "%s.%s.svc" $service $.Release.Namespace -}}
  {{- $names = concat $names (list $name (printf "%s.cluster.local" $name)) -}}
{{- end -}}
{{- toJson (append $names "localhost") -}}
{{- end -}}

{{/* Arguments of every run of the renewal. */}}
{{- define "tangram.tls.renew" -}}
- certificates
- --renew
- --namespace={{ .Release.Namespace }}
- --secret={{ .Values.tls.secret }}
- --scheduler-secret={{ .Values.tls.schedulerSecret }}
- --days={{ int .Values.tls.rotate.days }}
{{- end -}}

{{/* The pod of the renewal. Called with (dict "root" $ "account" ACCOUNT "args" ARGS). */}}
{{- define "tangram.tls.pod" -}}
{{- $extender := .root.Values.extender -}}
metadata:
  labels: {{ include "tangram.labels" (dict "root" .root "name" "tangram-certificates") }}
spec:
  serviceAccountName: {{ .account }}
  restartPolicy: Never
  {{- include "tangram.placement" (dict "root" .root "workload" (dict "nodeSelector" $extender.nodeSelector)) | trim | nindent 2 }}
  tolerations:
  {{- toYaml $extender.tolerations | nindent 2 }}
  securityContext:
    {{- include "tangram.unprivileged" .root | nindent 4 }}
  containers:
  - name: renew
    image: {{ include "tangram.image" (dict "root" .root "image" $extender.image) }}
    imagePullPolicy: {{ $extender.image.pullPolicy }}
    args:
    {{- .args | nindent 4 }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL]}
    resources:
      requests: {cpu: 10m, memory: 32Mi}
      limits: {memory: 128Mi}
{{- end -}}

{{/* Arguments of the renewal in a running installation. */}}
{{- define "tangram.tls.renew-all" -}}
{{- include "tangram.tls.renew" . }}
- --restart=tangram-scheduler
{{- $registered := include "tangram.webhook.registrations" . | fromJson }}
{{- range $registered.mutating }}
- --registration=mutatingwebhookconfigurations/{{ . }}
{{- end }}
{{- range $registered.validating }}
- --registration=validatingwebhookconfigurations/{{ . }}
{{- end }}
{{- end -}}
