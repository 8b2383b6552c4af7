{{/* The schedulerName of pods for Tangram, as far as the chart knows it. */}}
{{- define "tangram.scheduler.profile" -}}
{{- $scheduler := .Values.scheduler -}}
{{- if eq $scheduler.mode "second" }}{{ $scheduler.name }}
{{- else if eq $scheduler.mode "own" }}{{ if eq $scheduler.profile "added" }}{{ $scheduler.name }}{{ else }}default-scheduler{{ end }}
{{- end -}}
{{- end -}}

{{/* The configuration of a kube-scheduler that calls Tangram. Called with (dict "root" $ "form" FORM):
second  the scheduler of this chart: pod network, service account
added   the cluster's own with a profile for GPU pods
only    the cluster's own with Tangram for all pods */}}
{{- define "tangram.scheduler.config" -}}
{{- $second := eq .form "second" -}}
{{- $scheduler := .root.Values.scheduler -}}
{{- $namespace := .root.Release.Namespace -}}
{{- $port := include "tangram.port" (include "tangram.extender.config" .root | fromYaml).server.listen -}}
{{- $folder := ternary "/etc/tangram-scheduler-tls" "/etc/kubernetes/tangram" $second -}}
{{- if $second -}}
# kube-scheduler for GPU pods, beside the cluster's own. They name it: schedulerName: {{ $scheduler.name }}, which the
# webhook writes into them.
{{- else if eq .form "added" -}}
# kube-scheduler with a second profile for GPU pods, which name it: schedulerName: {{ $scheduler.name }}.
# Give it to kube-scheduler with --config; on kubeadm that is an argument and a mount in
# /etc/kubernetes/manifests/kube-scheduler.yaml. Other pods are scheduled as ever, by the first
# profile, and do not wait for Tangram, even while it is down.
{{- else -}}
# kube-scheduler whose only profile is Tangram's: pods need no schedulerName. For a cluster of GPU
# nodes; where other pods matter more, take scheduler-config.yaml. Pods without a GPU slot do not
# wait for Tangram here either, even while it is down.
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
  # Its own Lease: the cluster's scheduler holds kube-system/kube-scheduler.
  resourceName: tangram-scheduler
  resourceNamespace: {{ $namespace }}
{{- end }}

# The longest a pod waits after a vain attempt although room appeared, in seconds; the default is 10.
{{- if eq .form "added" }}
# One queue serves all profiles, so this holds for other pods too: each that does not fit is tried
# again at most once a second, and only when something in the cluster changed.
{{- else if eq .form "only" }}
# Pods without a GPU wait as briefly: each that does not fit is tried again at most once a second,
# and only when something in the cluster changed.
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
  # Every node is looked at. By default kube-scheduler stops at some nodes that fit by its own
  # measure, 500 of 5,000, before it asks Tangram, which may have no card free on any of them.
{{- if eq .form "only" }}
  # It costs the pods without GPU time too, on clusters of more than 100 nodes.
{{- end }}
  percentageOfNodesToScore: 100

{{ if eq .form "added" -}}
# Extenders belong to all profiles; managedResources says which pods come here.
{{- else -}}
# managedResources says which pods come here.
{{- end }}
extenders:
{{- if $second }}
- # The Service, which leads to the replica of the extender that leads.
  urlPrefix: https://tangram-extender.{{ $namespace }}.svc:{{ $port }}
{{- else }}
- # The Service of deploy/scheduler/service.yaml. kube-scheduler runs on the host network and does
  # not resolve cluster names, so write the address that this prints:
  #   kubectl --namespace {{ $namespace }} get service tangram-extender -o jsonpath='{.spec.clusterIP}'
  urlPrefix: https://{{ .root.Values.extender.service.clusterIP }}:{{ $port }}
{{- end }}
  # Who Tangram is, and who this scheduler is: Tangram lets nobody else bind. The files are those of
  # {{ if $second }}the Secret {{ .root.Values.tls.schedulerSecret }}{{ else }}`tangram-extender certificates`, or of whoever issues certificates here{{ end }}; docs/tls.md.
  enableHTTPS: true
  tlsConfig:
    caFile: {{ $folder }}/ca.crt
    certFile: {{ $folder }}/{{ ternary "tls" "scheduler" $second }}.crt
    keyFile: {{ $folder }}/{{ ternary "tls" "scheduler" $second }}.key
{{- if not $second }}
    # The certificate names the Service; the address above changes from cluster to cluster.
{{- end }}
    serverName: tangram-extender.{{ $namespace }}.svc
  filterVerb: filter
  prioritizeVerb: prioritize
  preemptVerb: preempt
  bindVerb: bind
  # One point of Tangram's score counts weight × 10, all other plugins together at most 1,200: from
  # 121 on the packing policy decides among the nodes it returned (scheduler.short_list, 8). A small
  # weight only advises.
  weight: {{ int $scheduler.weight }}
  # For each call. Keep it above bind.timeout_ms of Tangram, 4 s, which must answer first.
  httpTimeout: {{ $scheduler.httpTimeout }}
  # Node names instead of whole nodes: 40 bytes a node instead of 20 KiB.
  nodeCacheCapable: true
  # Never true: on an error kube-scheduler would bind the pod itself, without a card.
  ignorable: false
  managedResources:
  # Only pods that hold a slot come here. kube-scheduler counts slots too (false), so that nodes
  # without GPU or without a free slot drop out before Tangram is asked, and preemption sees them.
  - name: tangram.dev/gpu-slot
    ignoredByScheduler: false
{{- end -}}
