//! TSBS devops (github.com/timescale/tsbs, use case `devops`): nine measurements with 101 fields
//! per host. Walks that pin themselves at their upper bound, and `free` memory that equals
//! `available`, are the original's.

use crate::fleet::{Field, Label, Shape, Table};
use crate::law::{Kind, Law, Start, Stride};
use crate::random::{Draws, Purpose};

use super::{one_of, tsbs_cpu};

const GIB: f64 = 1_073_741_824.0;
const DISK_TOTAL: f64 = 1_099_511_627_776.0;
const INODE_BYTES: f64 = 4096.0;
static MEMORY_TOTALS: [f64; 3] = [8.0 * GIB, 12.0 * GIB, 16.0 * GIB];

const PATHS: [&str; 10] = [
    "/dev/sda0",
    "/dev/sda1",
    "/dev/sda2",
    "/dev/sda3",
    "/dev/sda4",
    "/dev/sda5",
    "/dev/sda6",
    "/dev/sda7",
    "/dev/sda8",
    "/dev/sda9",
];
const FILE_SYSTEMS: [&str; 3] = ["ext3", "ext4", "btrfs"];

/// Order of the tables; labels depend on it.
const DISKIO: usize = 1;
const DISK: usize = 2;
const NET: usize = 5;
const NGINX: usize = 6;
const REDIS: usize = 8;

/// The nine tables.
pub(super) fn tables() -> Vec<Table> {
    let table =
        |name, fields| Table { name, groups: 0, source_label: "hostname", fields, state_at: 0 };
    let mut tables = tsbs_cpu::written().tables();
    tables.extend([
        table("diskio", diskio()),
        table("disk", disk()),
        table("kernel", kernel()),
        table("mem", mem()),
        table("net", net()),
        table("nginx", nginx()),
        // The original's spelling.
        table("postgresl", postgres()),
        table("redis", redis()),
    ]);
    tables
}

/// The host's ten labels and those of the table.
pub(super) fn labels(shape: &Shape, source: u64, table: usize, out: &mut Vec<Label>) {
    tsbs_cpu::written().labels(shape, source, out);
    let mut draws = Draws::at(shape.seed, Purpose::Labels, source, 1 + table as u64);
    match table {
        DISKIO => out.push(Label::numbered("serial", "s", draws.below(1_000_000_000))),
        DISK => out.extend([
            Label::word("path", one_of(&PATHS, &mut draws)),
            Label::word("fstype", one_of(&FILE_SYSTEMS, &mut draws)),
        ]),
        NET => out.push(Label::numbered("interface", "eth", draws.below(4))),
        NGINX => out.extend([
            Label::numbered("port", "", 1024 + draws.below(20_000)),
            Label::numbered("server", "nginx_", draws.below(100_000)),
        ]),
        REDIS => out.extend([
            Label::numbered("port", "", 1024 + draws.below(20_000)),
            Label::numbered("server", "redis_", draws.below(100_000)),
        ]),
        _ => {}
    }
}

fn integers(names: &[&str], law: Law) -> Vec<Field> {
    names.iter().map(|name| Field::new(name, Kind::Integer, law.clone())).collect()
}

fn rising(mean: f64) -> Law {
    Law::Rising(Stride::Normal(mean, 1.0))
}

fn clamped(mean: f64, max: f64, start: f64) -> Law {
    Law::Clamped(Stride::Normal(mean, 1.0), 0.0, max, Start::At(start))
}

fn diskio() -> Vec<Field> {
    let mut fields = integers(&["reads", "writes"], rising(50.0));
    fields.extend(integers(&["read_bytes", "write_bytes"], rising(100.0)));
    fields.extend(integers(&["read_time", "write_time", "io_time"], rising(5.0)));
    fields
}

/// Only the free bytes move; everything else follows from them.
fn disk() -> Vec<Field> {
    fn free(states: &[f64]) -> f64 {
        states.get(1).copied().unwrap_or_default()
    }
    fn used(states: &[f64]) -> f64 {
        DISK_TOTAL - free(states)
    }
    let integer = |name, law| Field::new(name, Kind::Integer, law);
    vec![
        integer("total", Law::Still(Start::At(DISK_TOTAL))),
        integer("free", clamped(50.0, DISK_TOTAL, DISK_TOTAL / 2.0)),
        integer("used", Law::Derived(used)),
        integer("used_percent", Law::Derived(|states| 100.0 * used(states) / DISK_TOTAL)),
        integer("inodes_total", Law::Still(Start::At(DISK_TOTAL / INODE_BYTES))),
        integer("inodes_free", Law::Derived(|states| (free(states) / INODE_BYTES).trunc())),
        integer(
            "inodes_used",
            Law::Derived(|states| DISK_TOTAL / INODE_BYTES - (free(states) / INODE_BYTES).trunc()),
        ),
    ]
}

fn kernel() -> Vec<Field> {
    let mut fields = integers(&["boot_time"], Law::Still(Start::Uniform(0.0, 240.0)));
    let counters =
        ["interrupts", "context_switches", "processes_forked", "disk_pages_in", "disk_pages_out"];
    fields.extend(integers(&counters, rising(5.0)));
    fields
}

/// States: total, available, used, free, cached, buffered; the first is drawn per host.
fn mem() -> Vec<Field> {
    fn at(states: &[f64], place: usize) -> f64 {
        states.get(place).copied().unwrap_or_default()
    }
    fn share(part: f64, states: &[f64]) -> f64 {
        100.0 * part / at(states, 0).max(1.0)
    }
    fn available(states: &[f64]) -> f64 {
        (at(states, 0) - at(states, 2)).max(0.0)
    }
    // The original bounds these walks by each host's total; the smallest total bounds all here.
    let walk = || {
        let most = 8.0 * GIB;
        let stride = Stride::Normal(0.0, most / 64.0);
        Law::Clamped(stride, 0.0, most, Start::Uniform(0.0, most))
    };
    let integer = |name, law| Field::new(name, Kind::Integer, law);
    let decimal = |name, law| Field::new(name, Kind::Decimal(6), law);
    vec![
        integer("total", Law::Still(Start::OneOf(&MEMORY_TOTALS))),
        integer("available", Law::Derived(available)),
        integer("used", walk()),
        integer("free", Law::Derived(available)),
        integer("cached", walk()),
        integer("buffered", walk()),
        decimal("used_percent", Law::Derived(|states| share(at(states, 2), states))),
        decimal("available_percent", Law::Derived(|states| share(available(states), states))),
        decimal("buffered_percent", Law::Derived(|states| share(at(states, 5), states))),
    ]
}

fn net() -> Vec<Field> {
    let traffic = ["bytes_sent", "bytes_recv", "packets_sent", "packets_recv"];
    let mut fields = integers(&traffic, rising(50.0));
    fields.extend(integers(&["err_in", "err_out", "drop_in", "drop_out"], rising(5.0)));
    fields
}

fn nginx() -> Vec<Field> {
    let law = |name: &str| match name {
        "accepts" | "handled" | "requests" => rising(5.0),
        _ => clamped(5.0, 100.0, 0.0),
    };
    ["accepts", "active", "handled", "reading", "requests", "waiting", "writing"]
        .iter()
        .map(|name| Field::new(name, Kind::Integer, law(name)))
        .collect()
}

fn postgres() -> Vec<Field> {
    let names = [
        "numbackends",
        "xact_commit",
        "xact_rollback",
        "blks_read",
        "blks_hit",
        "tup_returned",
        "tup_fetched",
        "tup_inserted",
        "tup_updated",
        "tup_deleted",
        "conflicts",
        "temp_files",
        "temp_bytes",
        "deadlocks",
        "blk_read_time",
        "blk_write_time",
    ];
    let law = |name: &str| match name {
        "temp_bytes" => clamped(1024.0, GIB, 0.0),
        _ => clamped(5.0, 1000.0, 0.0),
    };
    names.iter().map(|name| Field::new(name, Kind::Integer, law(name))).collect()
}

fn redis() -> Vec<Field> {
    // Seconds since the start: ten more at each step.
    let mut fields = integers(&["uptime_in_seconds"], Law::Rising(Stride::Uniform(10.0, 10.0)));
    let counters = [
        "total_connections_received",
        "expired_keys",
        "evicted_keys",
        "keyspace_hits",
        "keyspace_misses",
    ];
    fields.extend(integers(&counters, rising(5.0)));
    let rates =
        ["instantaneous_ops_per_sec", "instantaneous_input_kbps", "instantaneous_output_kbps"];
    fields.extend(integers(&rates, Law::Free(Stride::Normal(1.0, 1.0))));
    fields.extend(integers(&["connected_clients"], clamped(50.0, 10_000.0, 0.0)));
    let memory = ["used_memory", "used_memory_rss", "used_memory_peak", "used_memory_lua"];
    fields.extend(integers(&memory, clamped(50.0, 16.0 * GIB, 8.0 * GIB)));
    let hundreds = [
        "rdb_changes_since_last_save",
        "sync_full",
        "sync_partial_ok",
        "sync_partial_err",
        "pubsub_channels",
        "pubsub_patterns",
        "latest_fork_usec",
        "connected_slaves",
        "master_repl_offset",
        "repl_backlog_active",
        "repl_backlog_size",
        "repl_backlog_histlen",
        "mem_fragmentation_ratio",
        "used_cpu_sys",
        "used_cpu_user",
        "used_cpu_sys_children",
        "used_cpu_user_children",
    ];
    fields.extend(integers(&hundreds, clamped(5.0, 1000.0, 0.0)));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_101_fields_as_published() {
        let counts: Vec<usize> = tables().iter().map(|table| table.fields.len()).collect();
        assert_eq!(counts, [10, 7, 7, 6, 9, 8, 7, 16, 31]);
        assert_eq!(counts.iter().sum::<usize>(), 101);
        let tables = tables();
        let name = |at: usize| tables[at].name;
        assert_eq!([name(DISKIO), name(DISK), name(NET)], ["diskio", "disk", "net"]);
        assert_eq!([name(NGINX), name(REDIS)], ["nginx", "redis"]);
    }
}
