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
    refused 77 tls.ca --tls-ca "$folder/other.pem" ls /secure/lock
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
