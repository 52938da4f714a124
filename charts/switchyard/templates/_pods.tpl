{{/* What the pods of all components have in common. Each gets a list: $, and "operator" or "webhook". */}}

{{- define "switchyard.podMetadata" -}}
{{- $root := first . -}}
{{- $values := index $root.Values (last .) -}}
labels:
  {{- include "switchyard.selector" . | nindent 2 }}
  {{- with merge (dict) $values.podLabels $root.Values.commonLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "switchyard.podSpec" -}}
{{- $root := first . -}}
{{- $values := index $root.Values (last .) -}}
serviceAccountName: {{ include "switchyard.serviceAccount" . }}
automountServiceAccountToken: true
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
securityContext:
  {{- toYaml $values.podSecurityContext | nindent 2 }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.topologySpreadConstraints }}
{{- $selector := dict "labelSelector" (dict "matchLabels" (include "switchyard.selector" $ | fromYaml)) }}
topologySpreadConstraints:
{{- range . }}
- {{ toYaml (merge (dict) . $selector) | nindent 2 | trim }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What sidecars are like whose gateway does not say. Gets $. */}}
{{- define "switchyard.sidecarArguments" -}}
{{- $sidecar := .Values.sidecar -}}
- --sidecar-image={{ include "switchyard.image" (list . $sidecar.image) }}
{{- with $sidecar.image.pullPolicy }}
- --sidecar-pull-policy={{ . }}
{{- end }}
{{- range $sidecar.imagePullSecrets }}
- --sidecar-pull-secret={{ . }}
{{- end }}
- --sidecar-resources={{ toJson $sidecar.resources }}
{{- end -}}

{{- define "switchyard.container" -}}
{{- $values := index (first .).Values (last .) -}}
name: {{ last . }}
image: {{ include "switchyard.image" (list (first .) (first .).Values.operator.image) }}
{{- with (first .).Values.operator.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
securityContext:
  {{- toYaml $values.securityContext | nindent 2 }}
resources:
  {{- toYaml $values.resources | nindent 2 }}
{{- with $values.extraEnv }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
