#!/usr/bin/env bash
# What each face does once, by the command: command.sh PROGRAM. Everything that there is to say goes to standard error.
set -euo pipefail
command=$1 folder=$ZKR_SECURE_DIR
refused() {
    local status=$1 word=$2 said got=0
    shift 2
    said=$("$command" -vv "$@" 2>&1) || got=$?
    echo "$said" >&2
    if [ "$got" -ne "$status" ] || [[ $said != *"$word"* ]]; then
        echo "status $got instead of $status, or without $word" >&2
        exit 1
    fi
}
export ZKRECIPES_HOSTS=$ZKR_SECURE_TLS_39
(
    export ZKRECIPES_TLS_CA=$folder/ca.pem ZKRECIPES_TLS_CERT=$folder/client.pem ZKRECIPES_TLS_KEY=$folder/client.key
    export ZKRECIPES_AUTH=digest:user:$ZKR_SECURE_SECRET ZKRECIPES_SASL=me:$ZKR_SECURE_SECRET
    "$command" -vv lock /secure/lock -- true
    # On a busy machine a server is slow to answer, of which the doctor warns.
    said=$("$command" -vv doctor) || [[ $said == *'failures: 0,'* ]] || { echo "$said" >&2 && exit 1; }
    [[ $said == *leader,* && $said == *'ok'*'encrypted'* ]] || { echo "$said" >&2 && exit 1; }
    # One more that is down: the others are looked at all the same, and monitoring hears of it.
    got=0
    said=$("$command" doctor --json --connect-timeout 5 --hosts "$ZKRECIPES_HOSTS,localhost:1") || got=$?
    echo "$said" >&2
    [[ $got -eq 2 && $said == *'"level": "failure"'*'nothing listens there'* && $said == *'"mode": "follower"'* ]]
    [ "$(grep -c 'taken and released' <<<"$said")" -eq 3 ]
    refused 77 tls.ca --tls-ca "$folder/other.pem" ls /secure/lock
    refused 77 tls.allow_expired_crls --tls-ca "$folder/old-lists.pem" ls /secure/lock
    "$command" -vv lock --tls-ca "$folder/old-lists.pem" --tls-allow-expired-crls /secure/lock -- true
    refused 77 'plain text' --hosts "$ZKR_SECURE_PLAIN_39" ls /secure/lock
    # As it looks when the first line was not copied.
    ZKRECIPES_TLS_KEY=$(tail -n +2 "$folder/client.key") refused 2 tls.key ls /secure/lock
    # PEM itself.
    ZKRECIPES_TLS_KEY=$(<"$folder/client.key") "$command" -vv lock /secure/lock -- true
)
"$command" lock --tls-ca "$folder/ca.pem" --tls-cert "$folder/client.pem" --tls-key "$folder/client.key" \
    --tls-no-verify-hostname /open -- true
refused 77 tls.cert --tls-ca "$folder/ca.pem" ls /secure/lock
refused 77 'has expired' --hosts "$ZKR_SECURE_EXPIRED" --tls-ca "$folder/ca.pem" ls /secure/lock
refused 77 self-signed --hosts "$ZKR_SECURE_ALONE" --tls-ca "$folder/ca.pem" ls /secure/lock
refused 77 'for other hosts' --hosts "$ZKR_SECURE_ELSEWHERE" --tls-ca "$folder/ca.pem" ls /secure/lock
refused 2 'has credentials' --hosts "me:$ZKR_SECURE_SECRET@zk.example.org:2181" ls /secure/lock
refused 2 'has credentials' --hosts "me:$ZKR_SECURE_SECRET@zk.example.org:2181" doctor
refused 2 SRV --hosts _zookeeper._tcp.example.org ls /secure/lock
refused 77 sasl --hosts "$ZKR_SECURE_PLAIN_39" --sasl "me:$ZKR_SECURE_SECRET-wrong" ls /secure/lock
refused 2 allow_plaintext_auth --hosts zk.example.org --auth "digest:user:$ZKR_SECURE_SECRET" ls /secure/lock
refused 2 allow_plaintext_auth --hosts zk.example.org --sasl "me:$ZKR_SECURE_SECRET" ls /secure/lock
refused 2 ZKRECIPES_FORBID_EMBEDDED --hosts embedded: ls /secure/lock
# What the owner holds can be neither seen, nor queued for, nor broken by whoever has no credentials.
export ZKRECIPES_HOSTS=$ZKR_SECURE_PLAIN_39
coproc OWNER { ZKRECIPES_SASL=me:$ZKR_SECURE_SECRET "$command" lock /owned/by-command -- sh -c 'echo held; read -r line'; }
read -r held <&"${OWNER[0]}"
[ "$held" = held ]
refused 77 '' ls /owned/by-command
refused 77 '' lock /owned/by-command -- true
refused 77 '' break /owned/by-command holder --force-after 0
owner=$OWNER_PID
echo >&"${OWNER[1]}"
wait "$owner"
