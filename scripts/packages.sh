# shellcheck shell=bash
# Fetches packages of others for a check, without installing them; sourced, after lib.sh. The caller has a folder
# $work. The system's apt gets no new source: indexes and packages come from where the machine's own main component
# comes from, with apt's state in $work. Wheels come from where the machine's pip takes them.
#
#   not_run REASON                                    ends the script as not run, with exit 77
#   debian_package FOLDER SUITE COMPONENT PACKAGE     unpacks it into the folder; SUITE "" = the machine's own
#   debian_archives FOLDER ARCHITECTURE PACKAGE...    downloads them and all that they depend on, as .deb files
#   wheel FOLDER REQUIREMENT                          unpacks it into the folder
#
# If one cannot be had, the function fails, and $fetch_failure says why.

fetch_failure=

not_run() {
  echo "$script_name: not run ($*)"
  exit 77
}

fetch_failed() {
  fetch_failure=$*
  return 1
}

# A component of each of the machine's sources that has Debian's main; of another suite, where they have one.
debian_sources() { # SUITE COMPONENT
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg signed='' release='.*' suite='\3'
  [ ! -e "$keyring" ] || signed="[signed-by=$keyring] "
  # Updates and security fixes are suites of their own, with a hyphen.
  [ -z "$1" ] || { release='[a-z]+' suite=$1; }
  # The origin is empty as long as the index of the source was not fetched.
  apt-get indextargets --format '$(CREATED_BY)|$(ORIGIN)|$(COMPONENT)|$(REPO_URI) $(RELEASE)' |
    sed --quiet --regexp-extended "s#^Packages\|(Debian)?\|main\|(.*) ($release)\$#deb $signed\2 $suite $2#p" |
    sort --unique
}

# apt-get with its state and sources in a folder, where nothing is installed: an installed package would hide an older one.
private_apt() { # FOLDER ARGUMENT...
  local folder=$1
  shift
  apt-get --quiet --option Dir::Etc::sourcelist="$folder/sources.list" --option Dir::Etc::sourceparts=/dev/null \
    --option Dir::State="$folder" --option Dir::State::status="$folder/status" \
    --option Dir::Cache="$folder" --option Acquire::Retries=1 "$@" >>"$folder/log" 2>&1
}

# apt's state for a suite and component of the machine's sources.
prepare_apt() { # FOLDER SUITE COMPONENT OPTION...
  local apt=$1 suite=$2 component=$3
  shift 3
  command -v apt-get >/dev/null || { fetch_failed "apt-get is missing" || return; }
  [ ! -e "$apt/updated" ] || return 0
  mkdir -p "$apt"/{lists,archives}/partial
  touch "$apt/status"
  debian_sources "$suite" "$component" >"$apt/sources.list"
  [ -s "$apt/sources.list" ] || { fetch_failed "apt has no source of Debian's main" || return; }
  private_apt "$apt" "$@" update ||
    { fetch_failed "apt cannot read Debian's ${suite:+$suite, }$component: $(tail -n 1 "$apt/log")" || return; }
  touch "$apt/updated"
}

debian_package() {
  local folder=$1 suite=$2 component=$3 package=$4 apt=$work/apt-$2-$3
  prepare_apt "$apt" "$suite" "$component" || return
  mkdir -p "$folder"
  (cd "$apt" && private_apt "$apt" download "$package") ||
    { fetch_failed "apt cannot download $package: $(tail -n 1 "$apt/log")" || return; }
  dpkg-deb --extract "$apt/${package}"_*.deb "$folder"
}

debian_archives() {
  local folder=$1 architecture=$2 apt=$work/apt-$2
  local options=(--option APT::Architecture="$architecture" --option APT::Architectures="$architecture")
  shift 2
  prepare_apt "$apt" "" main "${options[@]}" || return
  rm -f "$apt"/archives/*.deb
  private_apt "$apt" "${options[@]}" --option Dir::Cache::archives="$apt/archives" --option APT::Keep-Downloaded-Packages=true \
    --yes --no-install-recommends --download-only install "$@" ||
    { fetch_failed "apt cannot download $*: $(tail -n 1 "$apt/log")" || return; }
  mkdir -p "$folder"
  mv "$apt"/archives/*.deb "$folder"
}

wheel() {
  local folder=$1 requirement=$2
  python3 -m pip --quiet --disable-pip-version-check download --no-deps --only-binary=:all: --retries 1 \
    --dest "$folder" "$requirement" >"$folder.log" 2>&1 ||
    { fetch_failed "pip cannot download $requirement: $(tail -n 1 "$folder.log")" || return; }
  python3 -m zipfile --extract "$folder"/*.whl "$folder"
}
