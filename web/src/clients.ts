// How clients send a first point, to be copied.

export interface Client {
  name: string;
  text: (origin: string, host: string, port: string) => string;
}

export const CLIENTS: Client[] = [
  {
    name: "curl",
    text: (origin) => `while sleep 1; do
  curl '${origin}/write?db=default' -d "greenhouse,bed=north temp=$((20 + RANDOM % 5))"
done`,
  },
  {
    name: "Telnet put",
    text: (_, host, port) => `while sleep 1; do
  echo "put greenhouse.temp $(date +%s) $((20 + RANDOM % 5)) bed=north"
done | nc ${host} ${port}`,
  },
  {
    name: "OpenTSDB JSON",
    text: (origin) => `curl '${origin}/api/put?summary' -d "[{
  \\"metric\\": \\"greenhouse.temp\\", \\"timestamp\\": $(date +%s),
  \\"value\\": 21.5, \\"tags\\": {\\"bed\\": \\"north\\"}}]"`,
  },
  {
    name: "Python",
    text: (origin) => `import random, time, urllib.request

while True:
    line = f"greenhouse,bed=north temp={random.uniform(20, 25):.1f}"
    urllib.request.urlopen("${origin}/write?db=default", line.encode())
    time.sleep(1)`,
  },
  {
    name: "Telegraf",
    text: (origin) => `# /etc/telegraf/telegraf.d/foliot.conf
[[outputs.influxdb]]
  urls = ["${origin}"]
  database = "default"
  skip_database_creation = true`,
  },
  {
    name: "collectd",
    text: (_, host, port) => `# /etc/collectd/collectd.conf.d/foliot.conf
LoadPlugin write_tsdb
<Plugin write_tsdb>
  <Node "foliot">
    Host "${host}"
    Port "${port}"
  </Node>
</Plugin>`,
  },
];
