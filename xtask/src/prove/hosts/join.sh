#!/bin/bash
# swarm.yml on two guests: the first begins the Swarm, the second joins it by the manager's token; then the rendered stack on both.
# A line each: what was looked at, "holds" or "DOES NOT HOLD", seconds, what was seen.
#
# $GUEST and $GUEST_2 are the folders of the guests, $GUEST_SH the script that made them, $HELENUS the program, $IMAGE an archive of the image.
set -u

SH=${GUEST_SH:?guest.sh}
NET=${GUEST_NET:?the network of the guests}
W=$GUEST.join
D=$W/ansible
mkdir -p "$W"
cat "$GUEST/known_hosts" "$GUEST_2/known_hosts" >"$W/known_hosts"
at=$SECONDS

# holds WHAT SEEN WANTED
holds() {
  local word=holds
  [ "$2" = "$3" ] || word='DOES NOT HOLD'
  printf '%-70s %-13s %4d s  %s\n' "$1" "$word" $((SECONDS - at)) "$([ "$2" = "$3" ] || echo "$2, wanted $3")"
  at=$SECONDS
}
first() { "$SH" in ssh -F "$GUEST/ssh" guest sudo "$@"; }
second() { "$SH" in ssh -F "$GUEST_2/ssh" guest sudo "$@"; }
# Ansible's last lines as host=changed/failed/unreachable; the token must be in nothing that it prints.
play() {
  (cd "$D" && "$SH" in env ANSIBLE_SSH_EXTRA_ARGS="-o UserKnownHostsFile=$W/known_hosts" ansible-playbook -i inventory.yml -v swarm.yml "$@") \
    </dev/null >"$W/play.log" 2>&1
  cat "$W/play.log" >>"$W/plays.log"
  awk '/PLAY RECAP/ { on = 1; next } on && /ok=/ { match($0, /changed=[0-9]+/); c = substr($0, RSTART + 8, RLENGTH - 8)
    match($0, /failed=[0-9]+/); f = substr($0, RSTART + 7, RLENGTH - 7); match($0, /unreachable=[0-9]+/); u = substr($0, RSTART + 12, RLENGTH - 12)
    printf "%s%s=%s/%s/%s", sep, $1, c, f, u; sep = " " }' "$W/play.log"
}
# Nodes of the Swarm as its manager sees them: name, state, role.
nodes() { first docker node ls --format '{{.Hostname}}={{.Status}}={{.ManagerStatus}}' | sort | tr '\n' ' '; }
labels() { first docker node inspect guest1 guest2 --format "'{{index .Spec.Labels \"dc\"}}/{{index .Spec.Labels \"rack\"}}'" | tr '\n' ' '; }

place=(-n 2 --racks 2 --preset tiny --name demo --hosts "one=$NET.11,two=$NET.21")
"$HELENUS" hosts render "${place[@]}" --user ops --key "$GUEST/key" --as ansible -o "$D" >/dev/null || exit 1

seen=$(play --check)
holds "swarm.yml --check on new hosts fails nowhere" "$(echo "$seen" | sed 's,=[0-9]*/,=/,g')" "one=/0/0 two=/0/0"
holds "--check installed nothing" "$(first sh -c "'command -v docker'"; second sh -c "'command -v docker'")" ""
seen=$(play)
holds "swarm.yml installs Docker, begins the Swarm, joins the second host" "$(echo "$seen" | sed 's,=[0-9]*/,=/,g')" "one=/0/0 two=/0/0"
holds "one Swarm of two hosts, one manager" "$(nodes)" "guest1=Ready=Leader guest2=Ready= "
holds "each host has the labels of its data centre and rack" "$(labels)" "datacenter1/rack1 datacenter1/rack2 "
token=$(first docker swarm join-token --quiet worker)
holds "the token is in no line that Ansible prints" "$(grep -c -- "${token:-SWMTKN}" "$W/plays.log")" 0
holds "a second run changes nothing" "$(play)" "one=0/0/0 two=0/0/0"
second docker swarm leave >/dev/null 2>&1
for _ in $(seq 60); do [ "$(nodes)" = "guest1=Ready=Leader guest2=Down= " ] && break; sleep 1; done
gone=$(first docker node ls --filter "name=guest2" -q)
first docker node rm "$gone" >/dev/null 2>&1
holds "a host that left joins again, and only it changes" "$(play | sed 's,two=[1-9][0-9]*/,two=some/,')" "one=0/0/0 two=some/0/0"
holds "it is Ready and labelled" "$(nodes)$(labels)" "guest1=Ready=Leader guest2=Ready= datacenter1/rack1 datacenter1/rack2 "

# The stack, a node on each host.
for guest in first second; do $guest docker load <"$IMAGE" >/dev/null 2>>"$W/stderr" || echo "docker load failed on the $guest host"; done
"$HELENUS" hosts render "${place[@]}" --as swarm --network host -o "$W/stack" >/dev/null || exit 1
# The address of a host's name: Debian gives the name a loopback one.
first sed -i "'s/^127.0.1.1.*/$NET.11 guest1/'" /etc/hosts
second sed -i "'s/^127.0.1.1.*/$NET.21 guest2/'" /etc/hosts
tar -C "$W/stack" -cf - . | first sh -c "'mkdir -p /root/stack && tar -C /root/stack -xf -'"
at=$SECONDS
first docker stack deploy --resolve-image never -c /root/stack/stack.yml demo >>"$W/stderr" 2>&1
up() { first sh -c "'docker exec \$(docker ps -q --filter name=demo_ | head -1) nodetool status'" 2>/dev/null | grep -c '^UN'; }
for _ in $(seq 120); do [ "$(up)" = 2 ] && break; sleep 5; done
holds "the rendered stack has a node on each host, both up and normal" "$(up) $(first docker ps -q | wc -l) $(second docker ps -q | wc -l)" "2 1 1"
first docker stack rm demo >/dev/null 2>&1
for _ in $(seq 60); do [ -z "$(first docker ps -q)$(second docker ps -q)" ] && break; sleep 2; done
holds "docker stack rm ends both" "$(first docker ps -q)$(second docker ps -q)" ""
rm -rf "$W"
