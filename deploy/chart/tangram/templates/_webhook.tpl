{{/* Whether the registrations select pods by their requests (matchConditions), or by their namespaces:
"true" or nothing. */}}
{{- define "tangram.webhook.by-requests" -}}
{{- $able := semverCompare ">=1.28.0-0" .Capabilities.KubeVersion.Version -}}
{{- $way := .Values.webhook.selectBy -}}
{{- if and .Values.webhook.enabled (or (eq $way "requests") (and (eq $way "auto") $able)) }}true{{ end -}}
{{- end -}}
{{- define "tangram.webhook.by-namespaces" -}}
{{- if and .Values.webhook.enabled (not (include "tangram.webhook.by-requests" .)) }}true{{ end -}}
{{- end -}}

{{/* Metadata of a registration, without its name. */}}
{{- define "tangram.webhook.metadata" -}}
labels: {{ include "tangram.labels" (dict "root" . "name" "tangram-webhook") }}
{{- if eq .Values.tls.source "cert-manager" }}
annotations: {cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ .Values.tls.secret }}}
{{- end }}
{{- end -}}

{{/* The client configuration of a webhook. Called with (dict "root" $ "path" PATH). */}}
{{- define "tangram.webhook.client" -}}
{{- with include "tangram.webhook.ca" .root -}}
caBundle: {{ . }}
{{ end -}}
service: {namespace: {{ .root.Release.Namespace }}, name: tangram-webhook, path: {{ .path }}}
{{- end -}}

{{/* The CA of the webhook's certificate, in base64; nothing if cert-manager writes it. */}}
{{- define "tangram.webhook.ca" -}}
{{- if .Values.webhook.caBundle -}}
  {{- .Values.webhook.caBundle -}}
{{- else if eq .Values.tls.source "generate" -}}
  {{- include "tangram.tls.generate" . -}}
  {{- .Values.tls.made.ca | b64enc -}}
{{- else if eq .Values.tls.source "secret" -}}
  {{- $secret := lookup "v1" "Secret" .Release.Namespace .Values.tls.secret -}}
  {{- $ca := dig "data" "ca.crt" "" $secret -}}
  {{- required (printf "webhook.caBundle: no Secret %s with ca.crt can be read in namespace %s; create it first, or write the webhook's CA here, in base64" .Values.tls.secret .Release.Namespace) $ca -}}
{{- end -}}
{{- end -}}

{{/* Cluster components must start without Tangram. */}}
{{- define "tangram.webhook.namespaces" -}}
{{- $names := concat (list "kube-system" .Release.Namespace) .Values.webhook.excludedNamespaces | uniq -}}
- {key: kubernetes.io/metadata.name, operator: NotIn, values: [{{ join ", " $names }}]}
{{- end -}}

{{/* Namespaces whose containers must not see cards that they were not given; and all others. */}}
{{- define "tangram.webhook.labelled" -}}
- {key: tangram.dev/admission, operator: In, values: [enabled]}
{{- end -}}
{{- define "tangram.webhook.unlabelled" -}}
- {key: tangram.dev/admission, operator: NotIn, values: [enabled]}
{{- end -}}

{{/* The same for requests of other systems: NVIDIA's operator validates its nodes by pods with nvidia.com/gpu. Its
namespace is exempt only where the operator is installed: elsewhere, anybody might create one of that name. */}}
{{- define "tangram.webhook.namespaces-foreign" -}}
{{- $names := concat (list "kube-system" .Release.Namespace) .Values.webhook.excludedNamespaces -}}
{{- if .Capabilities.APIVersions.Has "nvidia.com/v1/ClusterPolicy" -}}
{{- $names = concat $names (list "gpu-operator" "nvidia-gpu-operator") -}}
{{- end -}}
- {key: kubernetes.io/metadata.name, operator: NotIn, values: [{{ join ", " (uniq $names) }}]}
{{- end -}}

{{/* The setting admission.card_resources as quoted texts with commas between; the default repeats the
extender's own. */}}
{{- define "tangram.card-resources" -}}
{{- $default := "nvidia.com/gpu,nvidia.com/gpu.*,nvidia.com/gpumem*,nvidia.com/gpucores,nvidia.com/mig-*,nvidia.com/pgpu,nvidia.com/vgpu*,aliyun.com/gpu-*,tencent.com/vcuda-*,volcano.sh/gpu-*,volcano.sh/vgpu-*,koordinator.sh/gpu*,elasticgpu.io/*" -}}
{{- range $i, $name := dig "admission" "card_resources" $default .Values.extender.config | splitList "," | compact -}}
{{- if $i }}, {{ end }}{{ quote $name }}
{{- end -}}
{{- end -}}

{{/* Variables of a policy: resources that stand for cards, and of these, what gives none by itself. */}}
{{- define "tangram.webhook.cards" -}}
# The setting admission.card_resources: their device plugin decides what the container sees.
- name: cards
  expression: >-
    [{{ include "tangram.card-resources" . }}]
# Of these, what gives no card by itself: no device plugin answers for the name, or with no device.
- name: amounts
  expression: >-
    ["nvidia.com/gpumem*", "nvidia.com/gpucores", "volcano.sh/vgpu-memory*", "volcano.sh/vgpu-cores", "aliyun.com/gpu-count", "aliyun.com/gpu-core*", "tencent.com/vcuda-memory*", "koordinator.sh/gpu*"]
{{- end -}}

{{/* A condition: by these variables, the resource `name` stands for a card by itself. */}}
{{- define "tangram.webhook.is-card" -}}
(name == "tangram.dev/gpu-slot" || (variables.cards.exists(card, card.endsWith("*")
  ? name.startsWith(card.substring(0, card.size() - 1)) : name == card) &&
  !variables.amounts.exists(amount, amount.endsWith("*")
  ? name.startsWith(amount.substring(0, amount.size() - 1)) : name == amount)))
{{- end -}}

{{/* Conditions and policies compare sizes before each loop: the API server's time for a loop grows with the square
of its length. 84,000 annotations, which fit into a pod, took 17 s, and 1,000 take 5 ms. A condition lets through
what is too large for it, and the webhook decides. The numbers repeat extender/admission/limits.hpp. */}}
{{- define "tangram.most.annotations" }}1000{{ end -}}
{{- define "tangram.most.containers" }}1000{{ end -}}
{{- define "tangram.most.resources" }}5000{{ end -}}

{{/* A condition: the update changes no annotation, as kubelet's of a status. A comparison of maps is linear. */}}
{{- define "tangram.annotations.same" -}}
has(object.metadata.annotations) == has(oldObject.metadata.annotations) &&
(!has(object.metadata.annotations) || object.metadata.annotations == oldObject.metadata.annotations)
{{- end -}}

{{/* A condition: the update changes a request or a grant. */}}
{{- define "tangram.webhook.changes" -}}
!({{ include "tangram.annotations.same" . }}) &&
((has(object.metadata.annotations) &&
  (size(object.metadata.annotations) > {{ include "tangram.most.annotations" . }} || object.metadata.annotations
  .exists(name, name.startsWith("tangram.dev/gpu-") &&
    !(has(oldObject.metadata.annotations) && name in oldObject.metadata.annotations &&
      oldObject.metadata.annotations[name] == object.metadata.annotations[name])))) ||
(has(oldObject.metadata.annotations) &&
  (size(oldObject.metadata.annotations) > {{ include "tangram.most.annotations" . }} || oldObject.metadata.annotations
  .exists(name, name.startsWith("tangram.dev/gpu-") &&
    !(has(object.metadata.annotations) && name in object.metadata.annotations)))))
{{- end -}}

{{/* A condition: the pod has more containers or resources than conditions look at. */}}
{{- define "tangram.webhook.many" -}}
size(object.spec.containers) + (has(object.spec.initContainers) ? size(object.spec.initContainers) : 0) >
  {{ include "tangram.most.containers" . }} ||
(object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : []))
.map(container, !has(container.resources) ? 0 :
  (has(container.resources.limits) ? size(container.resources.limits) : 0) +
  (has(container.resources.requests) ? size(container.resources.requests) : 0))
.sum() > {{ include "tangram.most.resources" . }}
{{- end -}}

{{/* A condition: the pod requests a GPU, by annotation or by a resource of Tangram. */}}
{{- define "tangram.webhook.asks" -}}
(has(object.metadata.annotations) &&
  (size(object.metadata.annotations) > {{ include "tangram.most.annotations" . }} || object.metadata.annotations
    .exists(name, name.lowerAscii().startsWith("tangram.dev/")))) ||
{{ include "tangram.webhook.many" . }} ||
(object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : []))
.exists(container, has(container.resources) &&
  ((has(container.resources.limits) && container.resources.limits
    .exists(name, name.startsWith("tangram.dev/gpu-"))) ||
   (has(container.resources.requests) && container.resources.requests
    .exists(name, name.startsWith("tangram.dev/gpu-")))))
{{- end -}}

{{/* Whether requests of other systems are translated: "true" or nothing. */}}
{{- define "tangram.webhook.foreign" -}}
{{- $words := dig "foreign" dict .Values.extender.config -}}
{{- if or $words.nvidia $words.nvidia_sharing $words.hami $words.gpushare $words.kai }}true{{ end -}}
{{- end -}}

{{/* A condition: the pod has a request of another system that is translated. */}}
{{- define "tangram.webhook.asks-otherwise" -}}
{{- $words := dig "foreign" dict .Values.extender.config -}}
{{- $starts := list -}}
{{- if $words.gpushare }}{{ $starts = append $starts "aliyun.com/gpu" }}{{ end -}}
{{- if or $words.nvidia $words.nvidia_sharing $words.hami $words.kai }}{{ $starts = append $starts "nvidia.com/gpu" }}{{ end -}}
{{- if or $words.nvidia $words.nvidia_sharing }}{{ $starts = append $starts "nvidia.com/mig-" }}{{ end -}}
{{- if $words.kai -}}
(has(object.metadata.annotations) &&
  ("gpu-fraction" in object.metadata.annotations || "gpu-memory" in object.metadata.annotations)) ||
{{ end -}}
{{ include "tangram.webhook.many" . }} ||
(object.spec.containers + (has(object.spec.initContainers) ? object.spec.initContainers : []))
.exists(container, has(container.resources) && has(container.resources.limits) &&
  container.resources.limits.exists(name,
{{- range $i, $start := $starts }}{{ if $i }} ||{{ end }}
    name.startsWith({{ quote $start }})
{{- end }}))
{{- end -}}

{{/* The webhook configurations that this chart registers: {mutating, validating: names}, as JSON. */}}
{{- define "tangram.webhook.registrations" -}}
{{- $mutating := list -}}
{{- $validating := list -}}
{{- if .Values.webhook.enabled -}}
  {{- $mutating = list "00-tangram" -}}
  {{- $validating = list "00-tangram" -}}
{{- end -}}
{{- if include "tangram.webhook.by-requests" . -}}
  {{- $mutating = concat $mutating (list "zz-tangram" "zz-tangram-memory-limits") -}}
  {{- if include "tangram.webhook.foreign" . -}}
    {{- $mutating = append $mutating "00-tangram-foreign" -}}
    {{- $validating = append $validating "00-tangram-foreign" -}}
  {{- end -}}
  {{- if .Values.webhook.quota -}}
    {{- $validating = append $validating "00-tangram-quota" -}}
  {{- end -}}
{{- end -}}
{{- dict "mutating" $mutating "validating" $validating | toJson -}}
{{- end -}}
