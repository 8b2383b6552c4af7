{{/* Labels of every object. Called with (dict "root" $ "name" NAME), and "more" for additional labels.
Helm adds its own. */}}
{{- define "tangram.labels" -}}
{app.kubernetes.io/name: {{ .name }}, app.kubernetes.io/part-of: tangram
{{- range $label, $value := merge (dict) (.more | default dict) .root.Values.commonLabels }}, {{ $label }}: {{ quote $value }}{{ end -}}
}
{{- end -}}

{{/* An image's name. Called with (dict "root" $ "image" IMAGE). Uses the image's own registry, or else the
common one; a digest overrides a tag. */}}
{{- define "tangram.image" -}}
{{- $registry := .image.registry | default .root.Values.image.registry -}}
{{- with $registry }}{{ . }}/{{ end -}}
{{- .image.repository -}}
{{- if .image.digest }}@{{ .image.digest }}{{ else }}:{{ .image.tag | default .root.Chart.AppVersion }}{{ end -}}
{{- end -}}

{{/* An image of Kubernetes itself, by default with the API server's version. */}}
{{- define "tangram.image.kubernetes" -}}
{{- $image := deepCopy .image -}}
{{- if not $image.tag -}}
  {{- $_ := set $image "tag" (regexFind "^v[0-9]+\\.[0-9]+\\.[0-9]+" .root.Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- include "tangram.image" (dict "root" .root "image" $image) -}}
{{- end -}}

{{/* The port of an ADDRESS:PORT. */}}
{{- define "tangram.port" -}}
{{- regexFind "[0-9]+$" . -}}
{{- end -}}

{{/* Common fields of every workload's pod spec. Called with (dict "root" $ "workload" VALUES). */}}
{{- define "tangram.placement" -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
{{ toYaml . }}
{{- end }}
{{- with .workload.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .workload.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Whether the cluster has SecurityContextConstraints: "true" or nothing. */}}
{{- define "tangram.openshift" -}}
{{- $wanted := toString .Values.openshift.enabled -}}
{{- $known := .Capabilities.APIVersions.Has "security.openshift.io/v1/SecurityContextConstraints" -}}
{{- if or (eq $wanted "true") (and (eq $wanted "auto") $known) }}true{{ end -}}
{{- end -}}

{{/* The securityContext of pods without privileges. OpenShift chooses users and groups from the namespace's range. */}}
{{- define "tangram.unprivileged" -}}
runAsNonRoot: true
{{- if not (include "tangram.openshift" .) }}
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532  # may read the Secrets
{{- end }}
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* Whether to create policies that the API server evaluates: "true" or nothing. */}}
{{- define "tangram.policies" -}}
{{- $wanted := toString .Values.policies.enabled -}}
{{- $known := semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version -}}
{{- if or (eq $wanted "true") (and (eq $wanted "auto") $known) }}true{{ end -}}
{{- end -}}

{{/* The extender's user name. */}}
{{- define "tangram.extender.user" -}}
system:serviceaccount:{{ .Release.Namespace }}:tangram-extender
{{- end -}}

{{/* signing.level as a number that grows with the level. */}}
{{- define "tangram.signing" -}}
{{- get (dict "none" "0" "sign" "1" "agents" "2" "all" "3") .Values.signing.level -}}
{{- end -}}
