// How clients send a first point, to be copied.

/** Where to send to. */
export interface Server {
  origin: string;
  host: string;
  port: string;
  database: string;
}

export interface Client {
  name: string;
  text: (server: Server) => string;
  /** Whether it speaks no HTTP, and so cannot say which database it means. */
  isBare?: boolean;
}

export const CLIENTS: Client[] = [
  {
    name: "curl",
    text: ({ origin, database }) => `while sleep 1; do
  curl '${origin}/write?db=${encodeURIComponent(database)}' -d "greenhouse,bed=north temp=$((20 + RANDOM % 5))"
done`,
  },
  {
    name: "Telnet put",
    isBare: true,
    text: ({ host, port }) => `while sleep 1; do
  echo "put greenhouse.temp $(date +%s) $((20 + RANDOM % 5)) bed=north"
done | nc ${host} ${port}`,
  },
  {
    name: "OpenTSDB JSON",
    text: ({ origin, database }) => `curl '${origin}/api/put?summary&db=${encodeURIComponent(database)}' -d "[{
  \\"metric\\": \\"greenhouse.temp\\", \\"timestamp\\": $(date +%s),
  \\"value\\": 21.5, \\"tags\\": {\\"bed\\": \\"north\\"}}]"`,
  },
  {
    name: "Python",
    text: ({ origin, database }) => `import random, time, urllib.request

while True:
    line = f"greenhouse,bed=north temp={random.uniform(20, 25):.1f}"
    urllib.request.urlopen("${origin}/write?db=${encodeURIComponent(database)}", line.encode())
    time.sleep(1)`,
  },
  {
    name: "Telegraf",
    text: ({ origin, database }) => `# /etc/telegraf/telegraf.d/foliot.conf
[[outputs.influxdb]]
  urls = ["${origin}"]
  database = ${JSON.stringify(database)}
  skip_database_creation = true`,
  },
  {
    name: "collectd",
    isBare: true,
    text: ({ host, port }) => `# /etc/collectd/collectd.conf.d/foliot.conf
LoadPlugin write_tsdb
<Plugin write_tsdb>
  <Node "foliot">
    Host "${host}"
    Port "${port}"
  </Node>
</Plugin>`,
  },
];
