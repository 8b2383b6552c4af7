{{/* Hook annotations: when Helm creates the objects that make the key, in which order, and that it deletes them,
also when one fails. */}}
{{- define "tangram.signing.hook" -}}
{{- dict "helm.sh/hook" "pre-install,pre-upgrade" "helm.sh/hook-weight" .
  "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded,hook-failed" | toJson -}}
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

{{/* Of those that write it. */}}
{{- define "tangram.signing.writer" -}}
{{ include "tangram.signing.container" . }}
- {name: token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
{{- end -}}

{{/* Of the policy. No hook deletes it: it restricts the account wherever that is left behind. */}}
{{- define "tangram.signing.policy-hook" -}}
{{- dict "helm.sh/hook" "pre-install,pre-upgrade" "helm.sh/hook-weight" "-20"
  "helm.sh/hook-delete-policy" "before-hook-creation" | toJson -}}
{{- end -}}
