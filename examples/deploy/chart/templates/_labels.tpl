{{- define "relayer.selector" -}}
app.kubernetes.io/name: relayer
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "relayer.labels" -}}
{{ include "relayer.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
{{- end -}}
