{{- define "version" -}}{{ .Chart.Version }}{{- end -}}
