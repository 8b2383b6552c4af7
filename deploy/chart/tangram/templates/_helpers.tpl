{{/* Labels of every object. Called with (dict "root" $ "name" NAME), and "more" for further ones.
Helm adds its own. */}}
{{- define "tangram.labels" -}}
{app.kubernetes.io/name: {{ .name }}, app.kubernetes.io/part-of: tangram
{{- range $label, $value := merge (dict) (.more | default dict) .root.Values.commonLabels }}, {{ $label }}: {{ quote $value }}{{ end -}}
}
{{- end -}}

{{/* An image's name. Called with (dict "root" $ "image" IMAGE): the registry of the image itself, else
the common one; a digest wins over a tag. */}}
{{- define "tangram.image" -}}
{{- $registry := .image.registry | default .root.Values.image.registry -}}
{{- with $registry }}{{ . }}/{{ end -}}
{{- .image.repository -}}
{{- if .image.digest }}@{{ .image.digest }}{{ else }}:{{ .image.tag | default .root.Chart.AppVersion }}{{ end -}}
{{- end -}}

{{/* An image of Kubernetes itself: of the API server's version unless a tag is given. */}}
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

{{/* Some fields of a pod's spec that every workload has. Called with (dict "root" $ "workload" VALUES). */}}
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

{{/* Whether the API server applies policies itself: "true" or nothing. */}}
{{- define "tangram.policies" -}}
{{- $wanted := toString .Values.policies.enabled -}}
{{- $known := semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version -}}
{{- if or (eq $wanted "true") (and (eq $wanted "auto") $known) }}true{{ end -}}
{{- end -}}

{{/* Whom the API server believes to be the extender. */}}
{{- define "tangram.extender.user" -}}
system:serviceaccount:{{ .Release.Namespace }}:tangram-extender
{{- end -}}

{{/* Whether grants are signed, and who insists: a number that grows with signing.level. */}}
{{- define "tangram.signing" -}}
{{- get (dict "none" "0" "sign" "1" "agents" "2" "all" "3") .Values.signing.level -}}
{{- end -}}
