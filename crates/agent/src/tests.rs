//! Golden tests: invented `/proc` texts against the lines they must give.

use super::*;
use crate::{disks, kernel, memory, network};

fn lines(parse: fn(&str, &mut Sink<'_>), text: &str) -> Vec<String> {
    let mut out = Vec::new();
    parse(text, &mut |sample| put_line(&mut out, sample, 1_700_000_000, "web 1"));
    let text = String::from_utf8(out).unwrap();
    let short = |line: &str| {
        let line = line.strip_prefix("put ").unwrap().replace(" 1700000000 ", " ");
        line.strip_suffix(" host=web_1").unwrap().to_owned()
    };
    text.lines().map(short).collect()
}

#[test]
fn stat_gives_cpu_times_and_counters() {
    let text = "cpu  10 2 3 400 5 0 7 8 0 0\n\
                cpu0 10 2 3 400 5 0 7 8 0 0\n\
                intr 12345 0 9 0\n\
                ctxt 678\n\
                btime 1700000000\n\
                processes 90\n\
                procs_running 1\n\
                procs_blocked 0\n\
                softirq 1 2 3\n";
    let all = lines(kernel::stat, text);
    assert_eq!(all.len(), 25);
    assert_eq!(all[0], "proc.stat.cpu 10 type=user");
    assert_eq!(all[3], "proc.stat.cpu 400 type=idle");
    assert_eq!(all[4], "proc.stat.cpu 5 type=iowait");
    assert_eq!(all[17], "proc.stat.cpu.percpu 8 cpu=0 type=steal");
    let counters = [
        "proc.stat.intr 12345",
        "proc.stat.ctxt 678",
        "proc.stat.processes 90",
        "proc.stat.procs_running 1",
        "proc.stat.procs_blocked 0",
    ];
    assert_eq!(all[20..], counters);
}

#[test]
fn load_and_uptime() {
    let expected = [
        "proc.loadavg.1min 0.25",
        "proc.loadavg.5min 1.0",
        "proc.loadavg.15min 12.5",
        "proc.loadavg.runnable 3",
        "proc.loadavg.total_threads 456",
    ];
    assert_eq!(lines(kernel::loadavg, "0.25 1.00 12.50 3/456 7890\n"), expected);
    let expected = ["proc.uptime.total 350735.47", "proc.uptime.idle 234388.9"];
    assert_eq!(lines(kernel::uptime, "350735.47 234388.90\n"), expected);
    assert_eq!(lines(kernel::entropy, "256\n"), ["proc.kernel.entropy_avail 256"]);
    let expected = ["proc.files.open 928", "proc.files.max 1048576"];
    assert_eq!(lines(kernel::open_files, "928\t0\t1048576\n"), expected);
}

#[test]
fn memory_is_in_bytes() {
    let text = "MemTotal:        2048 kB\nActive(anon):       7 kB\nHugePages_Total:       3\nx\n";
    let expected = [
        "proc.meminfo.memtotal 2097152",
        "proc.meminfo.active_anon 7168",
        "proc.meminfo.hugepages_total 3",
    ];
    assert_eq!(lines(memory::meminfo, text), expected);
    let text = "nr_free_pages 1\npgpgin 22\npgfault 333\npgmajfault 4\n";
    let expected = ["proc.vmstat.pgpgin 22", "proc.vmstat.pgfault 333", "proc.vmstat.pgmajfault 4"];
    assert_eq!(lines(memory::vmstat, text), expected);
}

#[test]
fn disks_are_told_from_partitions_and_idle_ones_left_out() {
    let text = "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n \
                254       0 vda 1 2 3 4 5 6 7 8 9 10 11 0 0 0 0 0 0\n \
                254       1 vda1 21 0 0 0 0 0 0 0 0 0 0\n";
    let all = lines(disks::diskstats, text);
    assert_eq!(all.len(), 22);
    assert_eq!(all[0], "iostat.disk.read_requests 1 dev=vda");
    assert_eq!(all[7], "iostat.disk.msec_write 8 dev=vda");
    assert_eq!(all[10], "iostat.disk.msec_weighted_total 11 dev=vda");
    assert_eq!(all[11], "iostat.part.read_requests 21 dev=vda1");
}

#[test]
fn interfaces_and_sockets() {
    let text = "Inter-|   Receive      |  Transmit\n \
                face |bytes packets|bytes packets\n  \
                eth0:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n  \
                ifb0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    let all = lines(network::interfaces, text);
    assert_eq!(all.len(), 16);
    assert_eq!(all[0], "proc.net.bytes 1 iface=eth0 direction=in");
    assert_eq!(all[8], "proc.net.bytes 9 iface=eth0 direction=out");
    assert_eq!(all[13], "proc.net.collisions 14 iface=eth0 direction=out");
    let text = "sockets: used 17\nTCP: inuse 4 orphan 1 tw 2 alloc 5 mem 1\nUDP: inuse 3 mem 0\n";
    let expected = [
        "net.sockstat.num_sockets 17",
        "net.sockstat.sockets_inuse 4 type=tcp",
        "net.sockstat.num_orphans 1",
        "net.sockstat.num_timewait 2",
        "net.sockstat.sockets_inuse 3 type=udp",
    ];
    assert_eq!(lines(network::sockets, text), expected);
}

#[test]
fn cut_and_foreign_texts_give_no_nonsense() {
    let parsers: [fn(&str, &mut Sink<'_>); 6] = [
        kernel::stat,
        kernel::loadavg,
        memory::meminfo,
        memory::vmstat,
        disks::diskstats,
        network::sockets,
    ];
    for parse in parsers {
        for text in ["", "\n\n", "cpu", ":", "a b c", "cpu x y z", "MemTotal: many kB"] {
            assert_eq!(lines(parse, text), [""; 0], "{text:?}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn this_host_reports_the_core_metrics() {
    let mut names = std::collections::BTreeSet::new();
    Host::new().collect(&mut |sample| {
        names.insert(sample.metric.to_owned());
    });
    for name in ["proc.stat.cpu", "proc.loadavg.1min", "proc.meminfo.memtotal"] {
        assert!(names.contains(name), "{name} is missing");
    }
}
