{{/* When the objects that make the key are made, in which order, and that they go afterwards. */}}
{{- define "tangram.signing.hook" -}}
{{- dict "helm.sh/hook" "pre-install,pre-upgrade" "helm.sh/hook-weight" .
  "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" | toJson -}}
{{- end -}}

{{/* What the containers that make the key have in common. */}}
{{- define "tangram.signing.container" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
resources:
  requests: {cpu: 10m, memory: 32Mi}
  limits: {memory: 128Mi}
volumeMounts:
- {name: key, mountPath: /key}
{{- end -}}
