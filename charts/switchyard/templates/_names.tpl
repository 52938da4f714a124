{{/* Names, labels and images. Where a template needs to know a component, it gets a list: $, and "operator" or "webhook". */}}

{{- define "switchyard.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The first part of all names. 42 characters leave room for what follows. */}}
{{- define "switchyard.fullname" -}}
{{- $name := include "switchyard.name" . -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- default $full .Values.fullnameOverride | trunc 42 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of a component's objects. */}}
{{- define "switchyard.component" -}}
{{- include "switchyard.fullname" (first .) }}-{{ last . -}}
{{- end -}}

{{- define "switchyard.serviceAccount" -}}
{{- $values := (index (first .).Values (last .)).serviceAccount -}}
{{- default (include "switchyard.component" .) $values.name -}}
{{- end -}}

{{- define "switchyard.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: {{ include "switchyard.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* By which a component's pods are found. Deployments cannot change these. */}}
{{- define "switchyard.selector" -}}
app.kubernetes.io/name: {{ include "switchyard.name" (first .) }}
app.kubernetes.io/instance: {{ (first .).Release.Name }}
app.kubernetes.io/component: {{ last . }}
{{- end -}}

{{/* An image's reference. A list: $, and the values of the image. */}}
{{- define "switchyard.image" -}}
{{- $image := last . -}}
{{- with $image.registry }}{{ . }}/{{ end -}}
{{- $image.repository -}}
{{- with $image.digest }}@{{ . }}{{ else }}:{{ default (first .).Chart.AppVersion $image.tag }}{{ end -}}
{{- end -}}

{{/* HOST:PORT for all addresses of the pod. A list: $, and the port. */}}
{{- define "switchyard.listen" -}}
{{- eq (first .).Values.ipFamily "IPv6" | ternary "[::]" "0.0.0.0" }}:{{ last . -}}
{{- end -}}

{{/* The components that this release has. */}}
{{- define "switchyard.components" -}}
operator{{ if .Values.webhook.enabled }} webhook{{ end }}
{{- end -}}

{{/* Not the empty string where the operator keeps the webhook's certificates. */}}
{{- define "switchyard.ownCertificates" -}}
{{- and .Values.webhook.enabled (eq .Values.webhook.certificates.owner "Operator") | ternary "yes" "" -}}
{{- end -}}
