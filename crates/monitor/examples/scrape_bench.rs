//! Measures what scraping a target again costs, without sockets and store: `cargo run --release -p
//! foliot-monitor --example scrape_bench [SCRAPES]`. Prints megabytes of text per second of one
//! core, from the text to a batch for the store, for a page like that of a node exporter: about
//! 1 000 lines, two fifths of them comments.

#![allow(clippy::print_stdout, reason = "the report is the product of this program")]
#![allow(clippy::expect_used, reason = "a program for developers")]

use foliot_model::{Batch, BatchBuffers, KeyHasher, KeySecret};
use foliot_monitor::{Cache, Config, Most, Targets};
use foliot_proto_prometheus::{Format, KEY_SYNTAX, Samples};
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

const PAGES: usize = 4;
const PASSES: usize = 9;
const SECRET: KeySecret = KeySecret(7);
const CONFIG: &str =
    "scrape_configs:\n- job_name: node\n  static_configs: [{targets: ['host-17:9100']}]\n";

fn main() {
    let scrapes = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(200);
    let (config, _) = Config::read(CONFIG, "prometheus.yml", &|_| None).expect("it is good");
    let job = config.jobs.first().expect("there is one").clone();
    let groups: Vec<_> =
        job.discovery.groups.iter().map(|group| ("static".to_owned(), group.clone())).collect();
    let target = Targets::of_job(&job, &groups).active.remove(0);
    let pages: Vec<String> = (0..PAGES).map(page).collect();
    let hasher = KeyHasher::new(SECRET, 0, &KEY_SYNTAX);
    let mut scraper = (Cache::default(), Samples::hashed_by(hasher), BatchBuffers::default());
    let (mut at_ms, mut best_seconds) = (0, f64::MAX);
    let (mut bytes, mut samples) = (0, 0);
    for _ in 0..PASSES {
        let began = Instant::now();
        (bytes, samples) = (0, 0);
        for text in pages.iter().cycle().take(scrapes) {
            at_ms += 15_000;
            let (cache, out, buffers) = &mut scraper;
            let most = Most { samples: 1 << 20, may_hold: &mut |_| true };
            out.clear();
            let text = (text.as_bytes(), Format::Text);
            cache.take((&job, &target), text, most, at_ms, out).expect("it is good");
            let empty = std::mem::take(buffers);
            let mut batch = Batch::new(out.bytes(), 0, &KEY_SYNTAX, SECRET, empty);
            out.decode(0, &mut batch, &mut Vec::new());
            samples += black_box(batch.rows()).len();
            *buffers = batch.into_buffers();
            bytes += text.0.len();
        }
        best_seconds = best_seconds.min(began.elapsed().as_secs_f64());
    }
    println!(
        "{:.0} MB/s, {:.2} M samples/s: pages of {} bytes and {} samples",
        bytes as f64 / best_seconds / 1e6,
        samples as f64 / best_seconds / 1e6,
        bytes / scrapes.max(1),
        samples / scrapes.max(1),
    );
}

/// What a node exporter shows at a time.
fn page(time: usize) -> String {
    let mut out = String::new();
    let mut random = Random(0x9e37_79b9_7f4a_7c15 + time as u64);
    for cpu in 0..16 {
        for mode in ["idle", "iowait", "irq", "nice", "softirq", "steal", "system", "user"] {
            let labels = format!("{{cpu=\"{cpu}\",mode=\"{mode}\"}}");
            let first = cpu == 0 && mode == "idle";
            sample(&mut out, first, "node_cpu_seconds_total", &labels, &mut random);
        }
    }
    for name in ["size_bytes", "avail_bytes", "free_bytes", "files", "files_free", "readonly"] {
        for disk in 0..8 {
            let labels = format!(
                "{{device=\"/dev/nvme{disk}n1p1\",fstype=\"ext4\",mountpoint=\"/var/lib/data{disk}\"}}"
            );
            sample(&mut out, disk == 0, &format!("node_filesystem_{name}"), &labels, &mut random);
        }
    }
    for count in 0..20 {
        for device in 0..10 {
            let (name, labels) = (
                format!("node_network_figure{count}_total"),
                format!("{{device=\"eth{device}\"}}"),
            );
            sample(&mut out, device == 0, &name, &labels, &mut random);
        }
    }
    for count in 0..80 {
        sample(&mut out, true, &format!("node_memory_Figure{count}_bytes"), "", &mut random);
        sample(&mut out, true, &format!("node_netstat_Tcp_Figure{count}"), "", &mut random);
    }
    out
}

fn sample(out: &mut String, is_first: bool, name: &str, labels: &str, random: &mut Random) {
    if is_first {
        let _ = writeln!(out, "# HELP {name} What the kernel says of {name} since it was started.");
        let _ = writeln!(out, "# TYPE {name} counter");
    }
    let _ = match random.next() % 4 {
        0 => writeln!(out, "{name}{labels} 0"),
        1 => writeln!(out, "{name}{labels} {}", random.next() % 1_000_000),
        2 => writeln!(out, "{name}{labels} {}", (random.next() % 100_000_000) as f64 / 100.0),
        // As Go writes what has more than six digits.
        _ => writeln!(out, "{name}{labels} {:e}", 1e9 + (random.next() % 1_000_000_000) as f64)
            .map(|()| {
                if let Some(at) = out.rfind('e') {
                    out.replace_range(at..=at, "e+0");
                }
            }),
    };
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
