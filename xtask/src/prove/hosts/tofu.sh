#!/bin/bash
# Proves `helenus hosts render --as tofu` with real OpenTofu: builds it and the Docker provider, checks the files of eight topologies, and
# brings six nodes up on six containers that stand for machines. Leaves both programs, their caches and the image's base; nothing that runs.
#   WORK=FOLDER HELENUS=BINARY tofu.sh [build|check|apply]...      without a word: all three
# Needs root, go, dockerd, mmdebstrap, ip, nsenter, ssh and, on PATH, ansible-playbook.
# PROXMOX=FILE is a binary of the Proxmox provider, which cannot be built here. Without it the Proxmox files are only parsed.
set -euo pipefail
WORK=$(realpath -m "${WORK:?a folder for programs and files}") HELENUS=$(realpath "${HELENUS:?the binary of Helenus}")
NS=${NS:-htofu} NET=${NET:-10.82.0} NAME=${NAME:-tofudemo} DEBIAN=${DEBIAN:-bookworm} BASE=helenus-base
TOFU=v1.12.6 HCL=v2.20.2-0.20251021132045-587d123c2828 # the fork of HCL that OpenTofu's own go.mod names
PROVIDER=v0.0.0-20260916201441-96d331c98ff4 VERSION=4.6.0 # the provider's commit, and the release that it follows
export GOPATH=$WORK/go GOCACHE=$WORK/gocache GOFLAGS="-p=${JOBS:-1} -trimpath -buildvcs=false -modcacherw"
export DOCKER_HOST=unix://$WORK/d/sock TF_CLI_CONFIG_FILE=$WORK/tofurc CHECKPOINT_DISABLE=1 HELENUS_HOME=$WORK/home
export ANSIBLE_HOME=$WORK/ansible ANSIBLE_SSH_CONTROL_PATH_DIR=$WORK/cp ANSIBLE_SSH_EXTRA_ARGS="-o UserKnownHostsFile=$WORK/known_hosts"
tofu=$WORK/bin/tofu fails=0 since=0
mkdir -p "$WORK/bin"
say() { printf '%-66s %5d s\n' "$1" $((SECONDS - since)); since=$SECONDS; }
# Only our network namespace reaches the machines: the network of this machine gets no bridge and no address.
inside() { nsenter --net="/run/netns/$NS" "$@"; }
# module NAME IMPORT: builds a program through a module of our own (standard input), which may have the replaces that `go install` refuses.
module() {
  [ ! -x "$WORK/bin/$1" ] || return 0
  rm -rf "$WORK/build/$1" && mkdir -p "$WORK/build/$1" && cd "$WORK/build/$1"
  # With a go line the modules that nothing of this imports are not asked for.
  { printf 'module build\ngo %s\n' "$(go env GOVERSION | tr -d a-z)"; cat; } >go.mod
  printf '//go:build tools\n\npackage build\n\nimport _ "%s"\n' "$2" >tools.go
  nice -n 10 go mod tidy >log 2>&1 || { tail -5 log; return 1; }
  nice -n 10 go build -ldflags "-s -w -X github.com/opentofu/opentofu/version.dev=no" -o "$WORK/bin/$1" "$2" >>log 2>&1 || { tail -5 log; return 1; }
}

build() {
  module tofu github.com/opentofu/opentofu/cmd/tofu <<<"require github.com/opentofu/opentofu $TOFU
replace github.com/hashicorp/hcl/v2 v2.20.1 => github.com/opentofu/hcl/v2 $HCL"
  say "OpenTofu $TOFU"
  # The provider calls itself by the name of its former owner.
  module terraform-provider-docker github.com/terraform-providers/terraform-provider-docker <<<"require github.com/terraform-providers/terraform-provider-docker v0.0.0-00010101000000-000000000000
replace github.com/terraform-providers/terraform-provider-docker => github.com/kreuzwerker/terraform-provider-docker $PROVIDER"
  say "Docker provider $VERSION"
  # A folder takes the registry's place: HOST/SOURCE/VERSION/PLATFORM/PROGRAM. OpenTofu says itself which host it would ask.
  local mirror platform probe=$WORK/probe
  platform=$(go env GOOS)_$(go env GOARCH)
  : >"$TF_CLI_CONFIG_FILE"
  mkdir -p "$probe" && printf 'terraform {\n  required_providers {\n    docker = { source = "kreuzwerker/docker" }\n  }\n}\n' >"$probe/main.tf"
  mirror=$WORK/mirror/$("$tofu" -chdir="$probe" providers | sed -n 's|.*provider\[\([^/]*\)/.*|\1|p' | head -1)
  install -D "$WORK/bin/terraform-provider-docker" "$mirror/kreuzwerker/docker/$VERSION/$platform/terraform-provider-docker_v$VERSION"
  [ -z "${PROXMOX:-}" ] || install -D "$PROXMOX" "$mirror/bpg/proxmox/0.111.1/$platform/terraform-provider-proxmox_v0.111.1"
  printf 'provider_installation {\n  filesystem_mirror {\n    path = "%s/mirror"\n  }\n}\n' "$WORK" >"$TF_CLI_CONFIG_FILE"
}

# one PROVIDER CASE HOSTS FLAGS…: renders one topology; fmt, init and validate must find nothing.
one() {
  local dir=$WORK/check/$1-$2 provider=$1 hosts=$3 bad=
  shift 3
  "$HELENUS" hosts render "$@" --name demo --as tofu --provider "$provider" --hosts "$hosts" -o "$dir" -q >/dev/null || bad=" render"
  "$tofu" -chdir="$dir" fmt -check -recursive >"$dir.log" 2>&1 || bad="$bad fmt"
  if [ "$provider" = docker ] || [ -n "${PROXMOX:-}" ]; then
    "$tofu" -chdir="$dir" init -no-color >>"$dir.log" 2>&1 || bad="$bad init"
    "$tofu" -chdir="$dir" validate -no-color >>"$dir.log" 2>&1 || bad="$bad validate"
  fi
  [ -z "$bad" ] || { fails=$((fails + 1)); echo "$dir:$bad"; cat "$dir.log"; }
}
check() {
  local p
  rm -rf "$WORK/check" && mkdir -p "$WORK/check"
  printf '[[data_center]]\nname = "DC1"\nnodes = 2\n\n[[data_center]]\nname = "DC2"\nnodes = 2\nheap = "128M"\n' >"$WORK/check/heaps.toml"
  for p in docker proxmox; do
    one $p one 10.0.0.11 -n 1
    one $p three 10.0.0.11-13 -n 3
    one $p two_on_a_host big=10.0.0.11+10.0.0.12,10.0.0.13 -n 3
    one $p racks 10.0.0.11-14,10.0.1.11-12 --dc DC1=4 --dc DC2=2 --racks 2
    one $p coordinator 10.0.0.11-14 -n 3 --coordinators 1
    one $p heaps 10.0.0.11-14 "$WORK/check/heaps.toml"
    one $p limited 10.0.0.11-12 -n 2 --cpus 1.5 --preset bench
    one $p older 10.0.0.11 -n 1 --cassandra 4.0.19
    say "eight topologies for $p: fmt$([ $p = proxmox ] && [ -z "${PROXMOX:-}" ] || echo ', init, validate')"
  done
}

# Ends containers, Docker by its id, what is left in the namespace, and the namespace, whatever happened before.
down() {
  local pid
  set +e
  if pid=$(cat "$WORK/d/pid" 2>/dev/null); then
    docker ps -aq | xargs -r docker rm -f >/dev/null
    kill "$pid"; for _ in $(seq 150); do kill -0 "$pid" 2>/dev/null || break; sleep 0.2; done
  fi
  for pid in $(ip netns pids "$NS" 2>/dev/null); do kill "$pid"; done
  grep -o " $WORK/d/[^ ]*" /proc/mounts | sort -r | xargs -r umount -l
  ip netns del "$NS" 2>/dev/null
  find /sys/fs/cgroup -depth -type d -path "*/$NS*" -exec rmdir {} + 2>/dev/null
  rm -rf "$WORK"/{d,home,cp,ansible,key,key.pub,known_hosts,machines}
  set -e
}
apply() {
  local m=$WORK/machines at left place=(-n 3:3 --preset tiny --name "$NAME" --hosts "$NET.11-16" --user ubuntu)
  down; trap down EXIT
  # The image's base: Debian with what the Dockerfile asks for, so that its apt downloads nothing.
  [ -s "$WORK/base.tar" ] || nice -n 10 mmdebstrap --quiet --variant=apt \
    --include=iproute2,openjdk-17-jre-headless,openssh-server,procps,python3,sudo "$DEBIAN" "$WORK/base.tar"
  say "base of the image"
  # Docker in a network namespace: no rules, no bridge of its own, all its folders below ours.
  mkdir -p "$WORK/d" && ip netns add "$NS" && ip -n "$NS" link set lo up
  inside dockerd -H "$DOCKER_HOST" --data-root "$WORK/d/data" --exec-root "$WORK/d/exec" --pidfile "$WORK/d/pid" --cgroup-parent "/$NS" \
    --iptables=false --ip6tables=false --ip-masq=false --bridge=none --userland-proxy=false >"$WORK/dockerd.log" 2>&1 </dev/null &
  for _ in $(seq 100); do docker info >/dev/null 2>&1 && break; sleep 0.2; done
  # The files, then the image by the Dockerfile among them.
  "$HELENUS" hosts render "${place[@]}" --as tofu --provider docker -o "$m" -q >/dev/null
  docker import "$WORK/base.tar" "$BASE" >/dev/null
  docker build -q --network host --build-arg BASE=$BASE -t helenus-machine "$m/machine" >"$WORK/image.log" 2>&1 || { cat "$WORK/image.log"; return 1; }
  say "Docker and the image"
  # What a person writes down, then the steps that the rendering prints.
  ssh-keygen -q -t ed25519 -N '' -f "$WORK/key"
  printf 'subnet         = "%s.0/24"\nssh_public_key = "%s"\n' "$NET" "$(cat "$WORK/key.pub")" >"$m/terraform.tfvars"
  cd "$m"
  "$tofu" init -no-color >tofu.log
  "$tofu" plan -no-color -input=false -out plan.bin >>tofu.log
  "$tofu" apply -no-color -parallelism=1 plan.bin >>tofu.log
  "$tofu" output -raw inventory >out.yml
  for at in "$NET".1{1..6}; do
    for _ in $(seq 50); do grep -qs "^$at " "$WORK/known_hosts" && break; inside ssh-keyscan -T 2 -t ed25519 "$at" >>"$WORK/known_hosts" 2>/dev/null || sleep 0.2; done
  done
  inside ansible -i out.yml all -m ansible.builtin.ping -b --private-key "$WORK/key" >ping.log 2>&1 || { cat ping.log; return 1; }
  say "six machines by tofu apply; Ansible reaches $(grep -c SUCCESS ping.log) by the inventory"
  # The cluster on these machines, a second plan, which must find nothing to change, and the way back.
  inside "$HELENUS" hosts up "${place[@]}" --key "$WORK/key" >up.log 2>&1 || { cat up.log; return 1; }
  say "$(tail -1 up.log)"
  "$tofu" plan -no-color -input=false -detailed-exitcode >plan.log || { fails=$((fails + 1)); cat plan.log; }
  inside "$HELENUS" hosts rm "$NAME" >rm.log 2>&1 || { cat rm.log; return 1; }
  say "a second plan, hosts rm"
  "$tofu" destroy -no-color -auto-approve -input=false >>tofu.log
  # Docker's own lists, as the rendering advises.
  left=$(docker ps -aq; docker volume ls -q; docker network ls -q --filter type=custom)
  [ -z "$left" ] || { fails=$((fails + 1)); echo "left: $left"; }
  say "tofu destroy: containers, volumes and networks left: $(grep -c . <<<"$left" || true)"
}

[ $# -gt 0 ] || set -- build check apply
for word; do case $word in build | check | apply) "$word" ;; *) sed -n 2,6p "$0"; exit 2 ;; esac; done
echo "$fails wrong" && [ "$fails" = 0 ]
