{{/* The schedulerName of pods for Tangram, if the chart knows it. */}}
{{- define "tangram.scheduler.profile" -}}
{{- $scheduler := .Values.scheduler -}}
{{- if eq $scheduler.mode "second" }}{{ $scheduler.name }}
{{- else if eq $scheduler.mode "own" }}{{ if eq $scheduler.profile "added" }}{{ $scheduler.name }}{{ else }}default-scheduler{{ end }}
{{- end -}}
{{- end -}}

{{/* The configuration of a kube-scheduler that calls Tangram. Called with (dict "root" $ "form" FORM):
second  the scheduler of this chart: pod network, service account
added   the cluster's own, with an additional profile for GPU pods
only    the cluster's own, with Tangram for all pods */}}
{{- define "tangram.scheduler.config" -}}
{{- $second := eq .form "second" -}}
{{- $scheduler := .root.Values.scheduler -}}
{{- $checked := dig "percentageOfNodesToScore" 100 $scheduler | int -}}
{{- $namespace := .root.Release.Namespace -}}
{{- $port := include "tangram.port" (include "tangram.extender.config" .root | fromYaml).server.listen -}}
{{- $folder := ternary "/etc/tangram-scheduler-tls" "/etc/kubernetes/tangram" $second -}}
{{- if $second -}}
# kube-scheduler for GPU pods, in addition to the cluster's own. The webhook sets their schedulerName: {{ $scheduler.name }}.
{{- else if eq .form "added" -}}
# kube-scheduler with a second profile for GPU pods, which have schedulerName: {{ $scheduler.name }}.
# Pass this file to kube-scheduler with --config; on kubeadm, add an argument and a mount in
# /etc/kubernetes/manifests/kube-scheduler.yaml. The first profile schedules other pods as before. They
# do not wait for Tangram, even while it is down.
{{- else -}}
# kube-scheduler whose only profile is Tangram's: pods need no schedulerName. Use it for a cluster of
# GPU nodes; if other pods matter more, use scheduler-config.yaml. Pods without a GPU slot do not wait
# for Tangram here either, even while it is down.
{{- end }}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
{{- if not $second }}
clientConnection:
  kubeconfig: /etc/kubernetes/scheduler.conf
{{- end }}
leaderElection:
  leaderElect: true
{{- if $second }}
  # Its own Lease: the cluster's scheduler uses kube-system/kube-scheduler.
  resourceName: tangram-scheduler
  resourceNamespace: {{ $namespace }}
{{- end }}

# Longest wait of a pod after a failed attempt, even if room appears, in seconds; the default is 10.
{{- if eq .form "added" }}
# One queue serves all profiles, so this applies to other pods too: a pod that does not fit is retried
# at most once a second, and only when something in the cluster changed.
{{- else if eq .form "only" }}
# This applies to pods without a GPU too: a pod that does not fit is retried at most once a second, and
# only when something in the cluster changed.
{{- end }}
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: {{ int $scheduler.podMaxBackoffSeconds }}

profiles:
{{- if eq .form "added" }}
- schedulerName: default-scheduler
- schedulerName: {{ $scheduler.name }}
{{- else }}
- schedulerName: {{ ternary $scheduler.name "default-scheduler" $second }}
{{- end }}
{{- if eq $checked 100 }}
  # kube-scheduler checks every node. By default it stops at some nodes that fit by its own rules, 500
  # of 5,000, before it asks Tangram, and none of them may have a free card.
{{- else }}
  # kube-scheduler stops at some nodes that fit by its own rules, before it asks Tangram, and none of them may
  # have a free card. A pod that gets none is tried again.
{{- end }}
{{- if and (eq .form "only") (eq $checked 100) }}
  # This also costs time for pods without a GPU, on clusters of more than 100 nodes.
{{- end }}
  percentageOfNodesToScore: {{ $checked }}

{{ if eq .form "added" -}}
# Extenders apply to all profiles; managedResources selects the pods.
{{- else -}}
# managedResources selects the pods.
{{- end }}
extenders:
{{- if $second }}
- # The Service, which selects the leader of the extender's replicas.
  urlPrefix: https://tangram-extender.{{ $namespace }}.svc:{{ $port }}
{{- else }}
- # The Service of deploy/scheduler/service.yaml. kube-scheduler runs on the host network and cannot
  # resolve cluster names, so write the address that this command prints:
  #   kubectl --namespace {{ $namespace }} get service tangram-extender -o jsonpath='{.spec.clusterIP}'
  urlPrefix: https://{{ .root.Values.extender.service.clusterIP }}:{{ $port }}
{{- end }}
  # Certificates of Tangram and of this scheduler: Tangram lets no other client bind. The files are from
  # {{ if $second }}the Secret {{ .root.Values.tls.schedulerSecret }}{{ else }}`tangram-extender certificates`, or from your own CA{{ end }}; see docs/tls.md.
  enableHTTPS: true
  tlsConfig:
    caFile: {{ $folder }}/ca.crt
    certFile: {{ $folder }}/{{ ternary "tls" "scheduler" $second }}.crt
    keyFile: {{ $folder }}/{{ ternary "tls" "scheduler" $second }}.key
{{- if not $second }}
    # The certificate names the Service; the address above differs between clusters.
{{- end }}
    serverName: tangram-extender.{{ $namespace }}.svc
  filterVerb: filter
  prioritizeVerb: prioritize
  preemptVerb: preempt
  bindVerb: bind
  # One point of Tangram's score counts weight × 10; all other plugins together count at most 1,200.
  # From 121 on, the packing policy decides among the nodes that it returned (scheduler.short_list, 1).
  # A small weight only advises.
  weight: {{ int $scheduler.weight }}
  # For each call. Keep it above Tangram's bind.timeout_ms, 4 s, so that Tangram answers first.
  httpTimeout: {{ $scheduler.httpTimeout }}
  # Send node names instead of whole nodes: 40 bytes per node instead of 20 KiB.
  nodeCacheCapable: true
  # Never true: after an error, kube-scheduler would bind the pod itself, without a card.
  ignorable: false
  managedResources:
  # kube-scheduler calls Tangram only for pods with a slot. It counts slots too (false), so that nodes
  # without a GPU or a free slot drop out before the call, and preemption sees slots.
  - name: tangram.dev/gpu-slot
    ignoredByScheduler: false
{{- end -}}
