// Dashboards that are ready for what usual senders store.

import type { Panel } from "./api";
import type { Language } from "./question";
import { type Explored, unexplored, write } from "./state";

interface Asked {
  title: string;
  language?: Language;
  texts: string[];
  look?: Partial<Explored>;
}

export interface Ready {
  name: string;
  /** What it shows, and who stores that. */
  about: string;
  /** A metric that is there where the others are. */
  needs: string;
  panels: Asked[];
}

const STACKED = { isStacked: true };

/** The same as deploy/grafana has, and others. */
export const READY: Ready[] = [
  {
    name: "This machine", about: "processors, memory, network and disks, as Foliot’s agent measures them", needs: "proc.loadavg.1min",
    panels: [
      { title: "Processors, jiffies a second", texts: ["sum:$step-avg:rate{dropcounter}:proc.stat.cpu{type=*}"], look: STACKED },
      { title: "Load", texts: ["avg:$step-avg:proc.loadavg.1min", "avg:$step-avg:proc.loadavg.15min"] },
      { title: "Memory", texts: ["sum:$step-avg:proc.meminfo.memavailable", "sum:$step-avg:proc.meminfo.memfree", "sum:$step-avg:proc.meminfo.cached"] },
      { title: "Network, bytes a second", texts: ["sum:$step-avg:rate{dropcounter}:proc.net.bytes{iface=*,direction=*}"] },
      { title: "Disks in use", texts: ["max:$step-avg:df.bytes.percentused{mount=*}"] },
      { title: "Disk requests a second", texts: ["sum:$step-avg:rate{dropcounter}:iostat.disk.read_requests{dev=*}", "sum:$step-avg:rate{dropcounter}:iostat.disk.write_requests{dev=*}"] },
    ],
  },
  {
    name: "Foliot itself", about: "what comes in, what is refused, questions, memory and disk of this server, as its agent stores them", needs: "foliot.samples_total",
    panels: [
      { title: "Samples a second, by protocol", texts: ["sum:$step-avg:rate{dropcounter}:foliot.samples_total{protocol=*}"], look: STACKED },
      { title: "Refused rows a second", texts: ["sum:$step-avg:rate{dropcounter}:foliot.rows_rejected_total{protocol=*}"] },
      { title: "Questions a second", texts: ["answered", "failed", "refused"].map((what) => `sum:$step-avg:rate{dropcounter}:foliot.queries_${what === "answered" ? "" : `${what}_`}total`) },
      { title: "Series", texts: ["avg:$step-avg:foliot.series"] },
      { title: "Memory", texts: ["avg:$step-avg:process.resident_memory_bytes", "avg:$step-avg:foliot.head_bytes", "avg:$step-avg:foliot.registry_bytes"] },
      { title: "Disk", texts: ["avg:$step-avg:foliot.part_bytes", "avg:$step-avg:foliot.wal_bytes"] },
    ],
  },
  {
    name: "What is scraped", about: "targets, how long they take and how much they have, as scraping stores them", needs: "up",
    panels: [
      { title: "Targets that are up", language: "promql", texts: ["sum by (job) (up)"] },
      { title: "Targets that are down", language: "promql", texts: ["count by (job) (up == 0)"] },
      { title: "The slowest scrapes", language: "promql", texts: ["topk(5, scrape_duration_seconds)"] },
      { title: "Samples of a scrape", language: "promql", texts: ["sum by (job) (scrape_samples_scraped)"] },
    ],
  },
  {
    name: "Machines of node_exporter", about: "processors, memory, disks and network of each machine", needs: "node_load1",
    panels: [
      { title: "Processors in use", language: "promql", texts: ['1 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[5m]))'] },
      { title: "Load", language: "promql", texts: ["node_load1"] },
      { title: "Memory in use", language: "promql", texts: ["1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes"] },
      { title: "File systems in use", language: "promql", texts: ['max by (instance, mountpoint) (1 - node_filesystem_avail_bytes{fstype!~"tmpfs|overlay"} / node_filesystem_size_bytes{fstype!~"tmpfs|overlay"})'] },
      { title: "Received bytes a second", language: "promql", texts: ['sum by (instance) (rate(node_network_receive_bytes_total{device!="lo"}[5m]))'] },
      { title: "Disks at work", language: "promql", texts: ["max by (instance) (rate(node_disk_io_time_seconds_total[5m]))"] },
    ],
  },
  {
    name: "Machines of Telegraf", about: "processors, memory, disks and load of each machine, as its usual inputs store them", needs: "cpu.usage_user",
    panels: [
      { title: "Processors in use, percent", texts: ["avg:$step-avg:cpu.usage_user{host=*}", "avg:$step-avg:cpu.usage_system{host=*}"] },
      { title: "Memory in use, percent", texts: ["avg:$step-avg:mem.used_percent{host=*}"] },
      { title: "Load", texts: ["avg:$step-avg:system.load1{host=*}"] },
      { title: "Disks in use, percent", texts: ["max:$step-avg:disk.used_percent{host=*,path=*}"] },
    ],
  },
];

/** The panels of a ready dashboard, over the last hour. */
export const readyPanels = ({ panels }: Ready): Panel[] => panels.map(({ title, language = "opentsdb", texts, look = {} }) => ({
  title, address: write({ ...unexplored(), ...look, questions: texts.map((text) => ({ language, text, isForm: language === "opentsdb", isHidden: false })) }),
}));
