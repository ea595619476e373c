#!/bin/sh
# Runs kazoo's own released suite against the embedded server.
#
# kazoo starts its servers as "java … QuorumPeerMain zoo.cfg"; a stand-in for java, first on PATH, starts
# zkrecipes-server with that configuration instead. Real servers run that way, alone and not as a cluster, pass 479 of
# 493: host lists and reconfiguration need several servers, and TLS and SASL are not for this one.
set -eu
cd "$(dirname "$0")/../.."
cargo build --package zkrecipes-embedded
root=$PWD
work=${ZKRECIPES_CACHE:-$root/.cache}/kazoo
kazoo="kazoo-2.11.0"
mkdir -p "$work/bin"
if [ ! -x "$work/venv/bin/pytest" ]; then
    python3 -m pip download --quiet --no-deps --no-binary :all: --dest "$work" "kazoo==${kazoo#kazoo-}"
    tar -xf "$work/$kazoo.tar.gz" -C "$work"
    python3 -m venv "$work/venv"
    # Later releases of pyOpenSSL lack what the suite makes its certificates with.
    "$work/venv/bin/pip" install --quiet --editable "$work/${kazoo}[test,sasl,eventlet,gevent]" "pyopenssl<24"
fi
cp target/debug/zkrecipes-server "$work/bin/zkrecipes-server"
cat > "$work/bin/java" <<'JAVA'
#!/bin/sh
for config do
    case $config in
        -Dzookeeper.DigestAuthenticationProvider.superDigest=*) digest=${config#*=} ;;
    esac
done
setting() { sed -n "s/^$1=//p" "$config"; }
exec "$(dirname "$0")/zkrecipes-server" --quiet --port "$(setting clientPort)" --tick "$(setting tickTime)" \
    --keep "$(setting dataDir)/kept" ${digest:+--super "$digest"}
JAVA
chmod +x "$work/bin/java"
cd "$work/$kazoo"
report=$work/report.txt
PATH=$work/bin:$PATH ZOOKEEPER_CLUSTER_SIZE=1 ZOOKEEPER_VERSION=3.9.5 ZOOKEEPER_CLASSPATH=none \
    "$work/venv/bin/pytest" -q --color=no --timeout=120 -o log_cli=false kazoo/tests > "$report" 2>&1 || true
grep -E '^(FAILED|ERROR) ' "$report" || true
summary=$(grep -E '^=+ .*passed' "$report" | tail -1)
echo "$summary"
passed=$(echo "$summary" | sed -n 's/.* \([0-9]*\) passed.*/\1/p')
[ "${passed:-0}" -ge 479 ]
