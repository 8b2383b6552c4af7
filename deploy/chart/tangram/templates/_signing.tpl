{{/* Hook annotations: when Helm creates the objects that make the key, in which order, and that it deletes them. */}}
{{- define "tangram.signing.hook" -}}
{{- dict "helm.sh/hook" "pre-install,pre-upgrade" "helm.sh/hook-weight" .
  "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" | toJson -}}
{{- end -}}

{{/* Common fields of the containers that make the key. */}}
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
