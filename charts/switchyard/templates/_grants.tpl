{{/*
A role, and its binding to a component's service account. A dict: root ($); component; suffix, the end of its name; namespace, where
it is a Role, absent for a ClusterRole; rules, as text.
*/}}
{{- define "switchyard.grant" }}
{{- $kind := .namespace | empty | ternary "ClusterRole" "Role" }}
{{- $name := print (include "switchyard.component" (list .root .component)) (default "" .suffix) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ $name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "switchyard.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
rules:
{{ .rules | trim }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ $name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "switchyard.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: {{ $kind }}, name: {{ $name }}}
subjects:
- {kind: ServiceAccount, name: {{ include "switchyard.serviceAccount" (list .root .component) }}, namespace: {{ .root.Release.Namespace }}}
{{- end }}
