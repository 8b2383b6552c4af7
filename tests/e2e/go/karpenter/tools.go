//go:build tools

// Package tools pins programs that the end-to-end tests run.
package tools

import _ "sigs.k8s.io/karpenter/kwok"
