#!/usr/bin/env bash
# The newest forms in which metrics come, taken by Foliot and by a Prometheus: Debian's, or the one that
# PROMETHEUS names. Needs prometheus, python3 and curl.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
prometheus=${PROMETHEUS:-prometheus}

version=$("$prometheus" --version 2>&1 | sed -n 's/.*version \([0-9]*\).*/\1/p' | head -n 1)
target_port=$(free_port)
python3 "$here/forms.py" serve "$target_port" "$version" >"$work/target.log" 2>&1 &
others+=($!)
wait_for 20 "curl -sf http://127.0.0.1:$target_port/text"

# From 3.8 on native histograms are a setting of the configuration, before that a feature.
features=exemplar-storage
native='scrape_native_histograms: true, '
own=$native
flags=()
if [ "$version" -lt 3 ]; then
    features+=,native-histograms
    own=
else
    flags+=(--web.enable-otlp-receiver)
fi
configuration() {
    echo "{global: {${1}scrape_interval: 1s}, scrape_configs: [
      {job_name: text, metrics_path: /text, static_configs: [{targets: ['127.0.0.1:$target_port']}]},
      {job_name: messages, metrics_path: /messages, static_configs: [{targets: ['127.0.0.1:$target_port']}]}]}"
}
configuration "$own" >"$work/prometheus.yml"
configuration "$native" >"$work/foliot.yml"
its_port=$(free_port)
"$prometheus" --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/prometheus" --log.level=warn \
    --web.listen-address="127.0.0.1:$its_port" --enable-feature=$features "${flags[@]}" >"$work/prometheus.log" 2>&1 &
others+=($!)
start_foliot --prometheus-config "$work/foliot.yml"
wait_for 60 "curl -sf http://127.0.0.1:$its_port/-/ready"
python3 "$here/forms.py" compare "http://127.0.0.1:$port/prometheus" "http://127.0.0.1:$its_port"
pass 'messages, native histograms, exemplars: the same as Prometheus'
