//go:build tools

// Package tools pins programs that the end-to-end tests run.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
