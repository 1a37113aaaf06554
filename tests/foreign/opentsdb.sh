#!/usr/bin/env bash
# OpenTSDB 2.4.1 over HBase, both from Maven Central: the same generated questions to it and to
# Foliot, and its recorded answers to it once more. Needs mvn, java and javac.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
here=$(realpath "$(dirname "$0")")

# jars NAME ARTIFACT...: the artifacts and what they need, in $work/NAME.
jars() {
    local name=$1 dependencies='' group artifact version
    shift
    for coordinates in "$@"; do
        IFS=: read -r group artifact version <<<"$coordinates"
        dependencies+="<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version></dependency>"
    done
    mkdir -p "$work/$name"
    cat >"$work/$name/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>foreign</groupId><artifactId>$name</artifactId><version>1</version><dependencies>$dependencies</dependencies></project>
POM
    fetched mvn -q -B -f "$work/$name/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/$name" >>"$work/mvn.log" 2>&1
}
jars hbase org.apache.hbase:hbase-server:1.4.14
jars opentsdb net.opentsdb:opentsdb:2.4.1 javax.xml.bind:jaxb-api:2.3.1

opens=()
for package in java.lang java.nio sun.nio.ch java.util java.io jdk.internal.ref java.lang.reflect; do
    opens+=(--add-opens "java.base/$package=ALL-UNNAMED")
done
# Weeks begin on Sunday, as they do where OpenTSDB was written.
java=(java -Xmx512m -Duser.timezone=UTC -Duser.language=en -Duser.country=US "${opens[@]}")
zookeeper_port=$(free_port) tsd_port=$(free_port)
mkdir "$work/conf" "$work/static" "$work/cache"
property() { echo "<property><name>$1</name><value>$2</value></property>"; }
{
    echo '<configuration>'
    property hbase.rootdir "file://$work/hbase-data"
    property hbase.tmp.dir "$work/hbase-tmp"
    property hbase.zookeeper.property.dataDir "$work/zookeeper"
    property hbase.zookeeper.property.clientPort "$zookeeper_port"
    property hbase.zookeeper.quorum 127.0.0.1
    property hbase.master.ipc.address 127.0.0.1
    property hbase.regionserver.ipc.address 127.0.0.1
    property hbase.master.info.port -1
    property hbase.regionserver.info.port -1
    echo '</configuration>'
} >"$work/conf/hbase-site.xml"
cat >"$work/conf/log4j.properties" <<CONF
log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d %p %c{2}: %m%n
CONF
echo '<configuration><root level="OFF"/></configuration>' >"$work/conf/logback.xml"
cat >"$work/conf/opentsdb.conf" <<CONF
tsd.network.port = $tsd_port
tsd.network.bind = 127.0.0.1
tsd.http.staticroot = $work/static
tsd.http.cachedir = $work/cache
tsd.http.request.enable_chunked = true
tsd.http.request.max_chunk = 67108864
tsd.http.show_stack_trace = false
tsd.core.auto_create_metrics = true
tsd.core.meta.enable_tsuid_tracking = true
tsd.core.histograms.config = {"net.opentsdb.core.SimpleHistogramDecoder": 0}
tsd.storage.fix_duplicates = true
tsd.storage.max_tags = 64
tsd.storage.hbase.zk_quorum = 127.0.0.1:$zookeeper_port
CONF
"${java[@]}" -cp "$work/conf:$work/hbase/*" org.apache.hadoop.hbase.master.HMaster start >"$work/hbase.log" 2>&1 &
others+=($!)
timeout 240 "${java[@]}" -cp "$work/conf:$work/hbase/*" "$here/OpentsdbTables.java" >"$work/tables.log" 2>&1 || fail "tables: $(tail -n 5 "$work/tables.log")"
"${java[@]}" -cp "$work/conf:$work/opentsdb/*" net.opentsdb.tools.TSDMain --config="$work/conf/opentsdb.conf" >"$work/opentsdb.log" 2>&1 &
others=($! "${others[@]}")
wait_for 120 "curl -sf http://127.0.0.1:$tsd_port/api/version -o /dev/null"
start_foliot

python3 "$here/opentsdb.py" "http://127.0.0.1:$port" "http://127.0.0.1:$tsd_port"
pass 'the same questions, the same answers'
