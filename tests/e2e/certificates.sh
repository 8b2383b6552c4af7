# shellcheck shell=bash
# Keys, certificates and kubeconfigs of a control plane on loopback; sourced by scripts/e2e.
# openssl writes them to $state/pki; they are valid for a day, longer than any cluster here runs.

readonly certificate_days=1

make_ca() {
  local pki=$state/pki
  mkdir -p "$pki"
  chmod 700 "$pki"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days "$certificate_days" \
    -subj "/CN=tangram-e2e" -keyout "$pki/ca.key" -out "$pki/ca.crt" 2>/dev/null
}

# make_certificate NAME SUBJECT USAGE [SAN]: signed by the CA; USAGE is serverAuth or clientAuth.
make_certificate() {
  local pki=$state/pki name=$1 subject=$2 usage=$3 san=${4:-}
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$subject" \
    -keyout "$pki/$name.key" -out "$pki/$name.csr" 2>/dev/null
  openssl x509 -req -in "$pki/$name.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial \
    -days "$certificate_days" -out "$pki/$name.crt" -extfile <(
      echo "keyUsage=critical,digitalSignature"
      echo "extendedKeyUsage=$usage"
      [ -z "$san" ] || echo "subjectAltName=$san"
    ) 2>/dev/null
}

# Kubernetes binds its built-in roles to these names.
make_certificates() {
  local names="IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc"
  make_ca
  make_certificate kube-apiserver /CN=kube-apiserver serverAuth "$names"
  make_certificate admin /O=system:masters/CN=admin clientAuth
  make_certificate kube-scheduler /CN=system:kube-scheduler clientAuth
  make_certificate kube-controller-manager /CN=system:kube-controller-manager clientAuth
  make_certificate webhook-caller /CN=e2e-apiserver clientAuth
  # ServiceAccount tokens are signed with RSA, as kubeadm does.
  openssl genrsa -out "$state/pki/service-accounts.key" 2048 2>/dev/null
}

# write_kubeconfig NAME CREDENTIALS...: $state/NAME.kubeconfig; CREDENTIALS are lines of its user.
write_kubeconfig() {
  local name=$1
  shift
  cat >"$state/$name.kubeconfig" <<END
apiVersion: v1
kind: Config
current-context: e2e
contexts:
- name: e2e
  context: {cluster: e2e, user: $name}
clusters:
- name: e2e
  cluster:
    server: https://127.0.0.1:$apiserver_port
    certificate-authority: $state/pki/ca.crt
users:
- name: $name
  user:
$(printf '    %s\n' "$@")
END
  chmod 600 "$state/$name.kubeconfig"
}

# As in docs/tls.md: the certificate that the API server shows to webhooks that request one. Those of the
# tests listen on any port of loopback, which are different names of users, so it is for all of them.
write_admission_config() {
  cat >"$state/webhook-callers.kubeconfig" <<END
apiVersion: v1
kind: Config
users:
- name: "*"
  user:
    client-certificate: $state/pki/webhook-caller.crt
    client-key: $state/pki/webhook-caller.key
END
  local plugin
  {
    printf 'apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n'
    for plugin in MutatingAdmissionWebhook ValidatingAdmissionWebhook; do
      cat <<END
- name: $plugin
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    kubeConfigFile: $state/webhook-callers.kubeconfig
END
    done
  } >"$state/admission-control.yaml"
}

write_certificate_kubeconfig() { # NAME
  write_kubeconfig "$1" "client-certificate: $state/pki/$1.crt" "client-key: $state/pki/$1.key"
}
